"""The repository as data: its text files and its Python modules with their syntax trees.

What is right or wrong is said by the tests beside it.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOWN_DOT_NAMES = {".ci", ".gitignore", ".pre-commit-config.yaml"}
BUILD_FOLDERS = {"__pycache__", "artifacts", "build", "dist", "spark-warehouse", "metastore_db"}
# What the programs of examples/<name>/ read and write.
RUNS = "run"


@dataclass(frozen=True)
class Module:
    """One Python file. `path` is relative to the root; `name` is what an import statement calls it."""

    path: str
    text: str

    @property
    def name(self) -> str:
        parts = Path(self.path).with_suffix("").parts
        parts = parts[1:] if parts[0] == "src" else parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)


@dataclass(frozen=True)
class Import:
    """One imported module. `names` are those taken from it; empty for a plain `import module`."""

    module: str
    names: tuple[str, ...]
    line: int
    is_lazy: bool
    is_for_types: bool

    def targets(self) -> list[str]:
        """Every dotted name this may load: a name taken from a package can be a module of it."""
        return [self.module, *(f"{self.module}.{name}" for name in self.names)]


@cache
def text_files() -> dict[str, str]:
    """Text of every file that belongs to the repository, by path relative to the root."""
    found = {}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in sorted(folders) if _belongs(name) and name != RUNS]
        for name in sorted(filter(_belongs, files)):
            path = Path(folder, name)
            try:
                found[path.relative_to(ROOT).as_posix()] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
    return found


def _belongs(name: str) -> bool:
    if name in SHOWN_DOT_NAMES:
        return True
    return not name.startswith(".") and name not in BUILD_FOLDERS and not name.endswith(".egg-info")


@cache
def modules(*folders: str) -> tuple[Module, ...]:
    """Python modules below the given top folders (all if none is given)."""
    return tuple(
        Module(path, text)
        for path, text in text_files().items()
        if path.endswith(".py") and (not folders or path.split("/")[0] in folders)
    )


def imports(module: Module) -> Iterator[Import]:
    """Every import of a module, wherever in the file it stands."""
    yield from _imports(module, module.tree, is_lazy=False, is_for_types=False)


def _imports(module: Module, parent: ast.AST, *, is_lazy: bool, is_for_types: bool) -> Iterator[Import]:
    for node in ast.iter_child_nodes(parent):
        lazy = is_lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, (), node.lineno, lazy, is_for_types)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield Import(_absolute(module, node), names, node.lineno, lazy, is_for_types)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            body = ast.Module(node.body, [])
            orelse = ast.Module(node.orelse, [])
            yield from _imports(module, body, is_lazy=lazy, is_for_types=True)
            yield from _imports(module, orelse, is_lazy=lazy, is_for_types=is_for_types)
        else:
            yield from _imports(module, node, is_lazy=lazy, is_for_types=is_for_types)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    package = module.name.split(".") if module.is_package else module.name.split(".")[:-1]
    parents = package[: len(package) - node.level + 1]
    return ".".join([*parents, *([node.module] if node.module else [])])


def docstring_lines(tree: ast.AST) -> int:
    """How many lines of a file are docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return sum(_docstring_length(node) for node in ast.walk(tree) if isinstance(node, owners))


def body_length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function from its first statement to its last, docstring apart."""
    body = function.body[1:] if _docstring_length(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def _docstring_length(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    if ast.get_docstring(node, clean=False) is None:
        return 0
    first = node.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1


def report(problems: list[str], advice: str) -> None:
    """Fail the test if there are problems, with what to do about them."""
    assert not problems, "\n".join([advice, *(f"  {problem}" for problem in problems)])
