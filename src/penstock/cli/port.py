"""The command `port`: rewrite a PyFlink program's imports, and list what needs a hand."""

from __future__ import annotations

import ast
import difflib
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.output import note
from penstock.pyflink_names import GONE, GONE_MODULES

_JAVA = {
    "get_gateway": "it asks Flink's JVM",
    "_j_stream_execution_environment": "it asks Flink's JVM",
    "_j_data_stream": "it asks Flink's JVM",
    "_j_tenv": "it asks Flink's JVM",
    "add_jars": "jars of Flink's connectors are not used, so the call can go",
    "set_stream_time_characteristic": "Flink 2 removed it, and event time needs no switch: delete the call",
    "use_blink_planner": "Flink 2 removed it: leave it out",
    "use_old_planner": "Flink 2 removed it: leave it out",
    "register_table": "Flink 2 removed it: use create_temporary_view()",
    "register_function": "Flink 2 removed it: use create_temporary_function()",
    "sql_update": "Flink 2 removed it: use execute_sql()",
    "insert_into": "Flink 2 removed it: use execute_insert()",
    "create_java_table": "it makes a table of Java's",
    "from_java_function": "it names a Java class: write the function in Python",
    "create_java_function": "it names a Java class: write the function in Python",
    "create_java_temporary_function": "it names a Java class: write the function in Python",
}
_PACKAGE = re.compile(r"\bpyflink\b")
_SKIPPED = {".git", ".venv", "venv", "node_modules", "__pycache__", "site-packages"}


@dataclass
class Ported:
    """A program with its imports rewritten, and what a person has to look at, by line."""

    source: str
    changed_lines: int = 0
    by_hand: list[tuple[int, str]] = field(default_factory=list)


def port(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Programs, or folders with programs.")],
    write: Annotated[
        bool, typer.Option("--write", help="Change the files; otherwise the changes are printed.")
    ] = False,
) -> None:
    """Rewrite the imports of PyFlink programs, and list what needs a hand."""
    changed = by_hand = 0
    for path in _programs(paths):
        try:
            source = path.read_text(encoding="utf-8")
            ported = ported_program(source)
        except (SyntaxError, UnicodeDecodeError) as error:
            note(f"{path}: not read, because it is no program of Python 3 ({error})")
            continue
        changed += ported.changed_lines > 0
        by_hand += len(ported.by_hand)
        if ported.changed_lines and write:
            path.write_text(ported.source, encoding="utf-8")
        elif ported.changed_lines:
            typer.echo("".join(_difference(path, source, ported.source)), nl=False)
        for line, what in ported.by_hand:
            note(f"{path}:{line}: {what}")
    done = "changed" if write else "would change (--write does it)"
    note(f"{changed} files {done}; {by_hand} places need a hand")


def ported_program(source: str) -> Ported:
    """Return a program with `pyflink` replaced where it is imported, and what else has to be looked at."""
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    ported = Ported("")
    for number in sorted(set(_lines_with_module(tree))):
        new = _PACKAGE.sub("penstock", lines[number - 1])
        ported.changed_lines += new != lines[number - 1]
        lines[number - 1] = new
    ported.source = "".join(lines)
    ported.by_hand = sorted({*_gone_names(tree), *_java(tree)})
    return ported


def _programs(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(each for each in path.rglob("*.py") if not _SKIPPED & set(each.parts))
        elif path.exists():
            yield path
        else:
            raise typer.BadParameter(f"there is no file or folder {path}", param_hint="PATH")


def _lines_with_module(tree: ast.AST) -> Iterator[int]:
    """Lines on which PyFlink's package is named by the program itself, not by a text or a comment alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _is_pyflink(node.module):
            yield node.lineno
        elif isinstance(node, ast.Import):
            yield from (alias.lineno for alias in node.names if _is_pyflink(alias.name))
        elif isinstance(node, ast.Name) and node.id == "pyflink":
            yield node.lineno


def _is_pyflink(module: str | None) -> bool:
    return module is not None and (module == "pyflink" or module.startswith("pyflink."))


def _gone_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _is_pyflink(node.module):
            module = str(node.module).replace("pyflink", "penstock", 1)
            gone = _gone_module(module)
            if gone is not None:
                yield node.lineno, f"{module} is not there: {gone}"
                continue
            for alias in node.names:
                problem = _missing(module, alias.name)
                if problem is not None:
                    yield node.lineno, problem
        elif isinstance(node, ast.Import):
            for alias in node.names:
                gone = _gone_module(alias.name.replace("pyflink", "penstock", 1)) if _is_pyflink(alias.name) else None
                if gone is not None:
                    yield node.lineno, f"{alias.name} has no counterpart: {gone}"


def _gone_module(module: str) -> str | None:
    found = next((text for name, text in GONE_MODULES.items() if module == name or module.startswith(f"{name}.")), None)
    if found is not None:
        return found
    try:
        importlib.import_module(module)
    except ImportError as error:
        return None if error.name != module else "Penstock has no such module"
    return None


def _missing(module: str, name: str) -> str | None:
    if name in GONE:
        return f"{name}: {GONE[name]}"
    try:
        found = importlib.import_module(module)
    except ImportError:  # an extra that is not installed here
        return None
    if name == "*" or hasattr(found, name):
        return None
    try:
        importlib.import_module(f"{module}.{name}")
    except ImportError:
        close = difflib.get_close_matches(name, dir(found), n=1)
        return f"{module} has no {name}" + (f"; did you mean {close[0]}?" if close else "")
    return None


def _java(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
        if name in _JAVA and name not in GONE:
            yield getattr(node, "lineno", 0), f"{name}: {_JAVA[name]}"


def _difference(path: Path, before: str, after: str) -> Iterator[str]:
    return difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path))
