"""Size budgets, as a ratchet: what is too long today is named with its size, and may only shrink."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.repository import Module, body_length, docstring_lines, modules, report

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 60

# Path, or path::function, and its size now. Lower the number when it shrinks; delete the row when it fits.
TOO_LONG: dict[str, int] = {}


def sizes(module: Module) -> Iterator[tuple[str, int, int]]:
    """Name, size and budget of a file (docstrings and overloads apart) and of each of its functions."""
    lines = len(module.text.splitlines()) - docstring_lines(module.tree) - overload_lines(module.tree)
    yield module.path, lines, FILE_LINES_MAX
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{module.path}::{node.name}", body_length(node), FUNCTION_LINES_MAX


def overload_lines(tree: ast.AST) -> int:
    """Lines of `@overload` signatures, each with the blank one behind it: like docstrings, they say what calls mean."""
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 3
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in node.decorator_list)
    )


def size_problems(measured: dict[str, tuple[int, int]], known: dict[str, int]) -> list[str]:
    problems = [
        f"{name}: {size} lines, at most {known.get(name, budget)}"
        for name, (size, budget) in measured.items()
        if size > known.get(name, budget)
    ]
    for name, allowed in known.items():
        size, budget = measured.get(name, (0, 0))
        if size <= budget:
            problems.append(f"{name}: fits now; delete its row of TOO_LONG")
        elif size < allowed:
            problems.append(f"{name}: has shrunk; set its row of TOO_LONG to {size}")
    return problems


def measure(sources: tuple[Module, ...]) -> dict[str, tuple[int, int]]:
    measured: dict[str, tuple[int, int]] = {}
    for module in sources:
        for name, size, budget in sizes(module):
            # Several functions of one name in a file (methods): the longest speaks for them.
            measured[name] = max(measured.get(name, (0, budget)), (size, budget))
    return measured


def test_files_and_functions_keep_to_their_budget() -> None:
    problems = size_problems(measure(modules()), TOO_LONG)
    report(problems, "Split it by subject (a file) or by step (a function):")


def test_docstrings_do_not_count() -> None:
    text = '"""One.\n\nTwo.\n"""\n\ndef f():\n    """Three.\n\n    Four.\n    """\n    a = 1\n    return a\n'
    assert list(sizes(Module("src/penstock/x.py", text))) == [
        ("src/penstock/x.py", 12 - 8, FILE_LINES_MAX),
        ("src/penstock/x.py::f", 2, FUNCTION_LINES_MAX),
    ]


def test_the_ratchet_only_turns_one_way() -> None:
    measured = {"new": (61, 60), "same": (70, 60), "grown": (75, 60), "shrunk": (65, 60), "fits": (60, 60)}
    known = {"same": 70, "grown": 70, "shrunk": 70, "fits": 70, "gone": 70}
    problems = size_problems(measured, known)
    assert [problem.split(":")[0] for problem in problems] == ["new", "grown", "shrunk", "fits", "gone"]


def test_overloads_do_not_count() -> None:
    text = "@overload\ndef f(a: int): ...\n\n@overload\ndef f(\n    a: str,\n): ...\n\ndef f(a):\n    return a\n"
    assert next(sizes(Module("src/penstock/x.py", text))) == ("src/penstock/x.py", 2, FILE_LINES_MAX)
