"""Words and calls that do not belong on main: left-over marks, swallowed errors, stubs, sleeps, stray prints."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

import pytest

from tests.tidy.repository import Module, modules, report, text_files

Check = Callable[[Module], list[str]]

# Bracketed letters keep this file from matching itself.
MARKS = re.compile(r"\bFIXM[E]\b|\bXX[X]\b|\bTOD[O]\b(?! ?\(#\d+\))")
PROGRAMS = (".py", ".sh", "Makefile", ".ci/run")

# Modules of the package that write to standard output by design, each with its reason. Functions called `main`,
# `__main__` blocks and penstock.cli may print anyway.
PRINTERS: dict[str, str] = {}


def mark_problems(path: str, text: str) -> list[str]:
    return [
        f"{path}:{number}: {match.group()}"
        for number, line in enumerate(text.splitlines(), 1)
        for match in MARKS.finditer(line)
    ]


def swallowed(module: Module) -> list[str]:
    """Handlers that catch everything and do nothing, and handlers that name no error."""
    return [
        f"{module.path}:{node.lineno}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler) and (node.type is None or (_is_broad(node.type) and _is_idle(node.body)))
    ]


def _is_broad(caught: ast.expr) -> bool:
    return isinstance(caught, ast.Name) and caught.id in {"Exception", "BaseException"}


def _is_idle(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


def stubs(module: Module) -> list[str]:
    names = [node for node in ast.walk(module.tree) if isinstance(node, ast.Name) and node.id == "NotImplementedError"]
    return [f"{module.path}:{node.lineno}" for node in names]


def sleeps(module: Module) -> list[str]:
    found = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.module in {"time", "asyncio"}:
            found += [f"{module.path}:{node.lineno}" for alias in node.names if alias.name == "sleep"]
        if isinstance(node, ast.Attribute) and ast.unparse(node) in {"time.sleep", "asyncio.sleep"}:
            found.append(f"{module.path}:{node.lineno}")
    return found


def prints(module: Module) -> list[str]:
    if module.name.startswith("penstock.cli"):
        return []
    return [f"{module.path}:{line}" for line in _prints(module.tree)]


def _prints(parent: ast.AST) -> Iterator[int]:
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            continue
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
            yield node.lineno
        yield from _prints(node)


FORMULA = re.compile(r"; owns? |(?:^|[.:] |\n\s*)Owns? ")


def formulas(module: Module) -> list[str]:
    """Docstrings that say what a thing "owns" instead of what it does."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        f"{module.path}:{getattr(node, 'lineno', 1)}"
        for node in ast.walk(module.tree)
        if isinstance(node, owners) and FORMULA.search(ast.get_docstring(node) or "")
    ]


# Phrases that readers stumble over, each with what to write. Bracketed letters keep this file from matching itself.
PHRASES = {
    r"\bbe gone (?:on wit[h]|back t[o])\b": "resumed, restored",
    r"\bnot to be see[n] by\b": "will not appear in",
    r"\blots of so man[y]\b": "groups of",
    r"\bwaited in vai[n] for\b": "timed out waiting for",
    r"\bso many records a secon[d]\b": "this many records per second",
    r"(?:engine|runtime|operator|sink|class|transcript)'?s'? (?:own )?busines[s]\b": "say what does it instead",
    r"\bReturn what tell[s]\b": "name what is returned",
    r"\bno say abou[t]\b": "no control over",
}
PHRASE = re.compile("|".join(f"(?:{phrase})" for phrase in PHRASES))


def stumbling_blocks(path: str, text: str) -> list[str]:
    return [
        f"{path}:{number}: {match.group()}"
        for number, line in enumerate(text.splitlines(), 1)
        for match in PHRASE.finditer(line)
    ]


def test_text_for_users_is_plain() -> None:
    problems = [
        problem
        for path, text in text_files().items()
        if path.startswith(("src/penstock/", "docs/")) or path == "README.md"
        for problem in stumbling_blocks(path, text)
    ]
    report(problems, "Use the words of a data engineer; PHRASES has what to write:")


def test_a_stumbling_block_is_seen() -> None:
    assert stumbling_blocks("x.py", "state cannot be gone on wit" + "h") != []
    assert stumbling_blocks("x.py", "that is the engine's busines" + "s.") != []
    assert stumbling_blocks("x.py", "state cannot be resumed") == []


def test_docstrings_say_what_a_thing_does() -> None:
    problems = [problem for module in modules() for problem in formulas(module)]
    report(problems, "Say what it does and how to use it; what it owns or does not own helps nobody:")


def test_no_left_over_marks() -> None:
    problems = [
        problem
        for path, text in text_files().items()
        if path.endswith(PROGRAMS) or path.startswith("scripts/")
        for problem in mark_problems(path, text)
    ]
    report(problems, "Do it now, or file an issue and write its number after the mark, as in (#12):")


def test_no_error_is_swallowed() -> None:
    problems = [problem for module in modules() for problem in swallowed(module)]
    report(problems, "Name the error that is expected, and say in a comment why nothing is to be done:")


def test_no_stubs() -> None:
    problems = [problem for module in modules("src") for problem in stubs(module)]
    report(problems, "Finish it, make it abstract, or leave the name out; penstock.errors has errors for users:")


def test_tests_never_sleep() -> None:
    problems = [problem for module in modules("tests") for problem in sleeps(module)]
    report(problems, "Wait for the event itself (a queue, a process, a file that appears), with a time limit:")


def test_the_package_prints_only_where_it_should() -> None:
    printing = {module.path: prints(module) for module in modules("src")}
    problems = [line for path, lines in printing.items() if path not in PRINTERS for line in lines]
    problems += [f"{path}: prints nothing; delete its row of PRINTERS" for path in PRINTERS if not printing.get(path)]
    report(problems, "Use logging, or add the module to PRINTERS with the reason:")


@pytest.mark.parametrize(
    "text", ["# FIXM" + "E later", "# TOD" + "O tidy up", "# TOD" + "O(me): tidy", "x = 1  # XX" + "X"]
)
def test_a_mark_is_seen(text: str) -> None:
    assert mark_problems("x.py", text)


def test_a_mark_with_an_issue_number_passes() -> None:
    assert mark_problems("x.py", "# TOD" + "O (#12): widen") == []


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (formulas, '"""Files of lines; owns no meaning of a line."""'),
        (swallowed, "try:\n    f()\nexcept Exception:\n    pass"),
        (swallowed, "try:\n    f()\nexcept BaseException:\n    ..."),
        (swallowed, "try:\n    f()\nexcept:\n    raise"),
        (stubs, "def f():\n    raise NotImplementedError"),
        (stubs, "def f():\n    raise NotImplementedError('later')"),
        (sleeps, "import time\ntime.sleep(1)"),
        (sleeps, "from time import sleep"),
        (prints, "def f():\n    print(1)"),
    ],
)
def test_a_forbidden_construct_is_seen(check: Check, text: str) -> None:
    assert check(Module("src/penstock/x.py", text))


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (swallowed, "try:\n    f()\nexcept KeyError:\n    pass"),
        (swallowed, "try:\n    f()\nexcept Exception as error:\n    log(error)"),
        (sleeps, "event.wait(1)"),
        (prints, "def main():\n    print(1)\nif __name__ == '__main__':\n    print(2)"),
    ],
)
def test_a_sound_construct_passes(check: Check, text: str) -> None:
    assert check(Module("src/penstock/x.py", text)) == []
