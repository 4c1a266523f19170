"""What a program is, how it is played, and how results are written so that both packages' can be compared."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.conformance.pyflink_programs.api import Api


@dataclass(frozen=True)
class Program:
    """`build(p)` gives the stream whose elements are the result; `is_ordered` if their order is part of it."""

    name: str
    build: Callable[[Api], Any]
    is_ordered: bool = True


def programs_of(builds: dict[str, Callable[[Api], Any]], *, is_ordered: bool = True) -> list[Program]:
    return [Program(name, build, is_ordered) for name, build in builds.items()]


def play(program: Program, package: str) -> list[str]:
    """The elements as text; one line that begins with `refused` if there are none because of an error."""
    try:
        with program.build(Api(package)).execute_and_collect() as results:
            lines = [written(value) for value in results]
    except Exception as error:
        return [f"refused: {_first_line(error)}"]
    return lines if program.is_ordered else sorted(lines)


def agrees(measured: list[str], found: list[str]) -> bool:
    """Whether two plays are the same; texts of errors are each package's own."""
    is_refused = [bool(lines) and lines[0].startswith("refused") for lines in (measured, found)]
    return all(is_refused) or (not any(is_refused) and measured == found)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:100]


def written(value: Any) -> str:
    """A value as text that says its type, where Python's own repr would depend on the package or hide it."""
    if type(value).__name__ == "Row":
        names = list(value._fields) if getattr(value, "_fields", None) else []
        kind = value.get_row_kind().name
        fields = [written(field) for field in value]
        inner = ", ".join(f"{name}={field}" for name, field in zip(names, fields, strict=True)) if names else ""
        return f"Row{'' if kind == 'INSERT' else '/' + kind}({inner or ', '.join(fields)})"
    if isinstance(value, (list, tuple)):
        ends = "[]" if isinstance(value, list) else "()"
        return f"{ends[0]}{', '.join(map(written, value))}{ends[1]}"
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{written(key)}: {written(item)}" for key, item in value.items())) + "}"
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return f"{type(value).__name__} {value.isoformat()}"
    if isinstance(value, decimal.Decimal):
        return f"Decimal {value}"
    if isinstance(value, (bytes, bytearray)):
        return f"bytes {bytes(value)!r}"
    return repr(value)
