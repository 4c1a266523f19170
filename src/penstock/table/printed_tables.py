"""Results as text in a frame, as Flink's `print()` shows them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["MOST", "NULL", "border", "count_text", "framed", "framed_changelog", "line", "width_of"]

MOST = 30
NULL = "<NULL>"

_WIDTHS = {Kind.BOOLEAN: 5, Kind.TINYINT: 4, Kind.SMALLINT: 6, Kind.INTEGER: 11, Kind.BIGINT: 20, Kind.DATE: 10}


def framed(names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> str:
    """A finished result: columns as wide as what is in them."""
    if not rows:
        return "Empty set\n"
    shown = [[NULL if each is None else each for each in row] for row in rows]
    widths = [max(map(width_of, column)) for column in zip(names, *shown, strict=True)]
    lines = [border(widths), line(names, widths), border(widths)]
    lines += [line(row, widths) for row in shown]
    return "\n".join([*lines, border(widths), count_text(len(rows))]) + "\n"


def framed_changelog(
    names: Sequence[str], types: Sequence[LogicalType], rows: Iterable[tuple[str, Sequence[str | None]]]
) -> Iterator[str]:
    """Lines of a result that goes on: columns as wide as their types need, rows with `+I` and its kin before them."""
    widths = [2, *[max(width_of(name), _type_width(each)) for name, each in zip(names, types, strict=True)]]
    count = 0
    for kind, row in rows:
        if count == 0:
            yield from (border(widths), line(["op", *names], widths), border(widths))
        count += 1
        yield line([kind, *[NULL if each is None else each for each in row]], widths)
    if count:
        yield from (border(widths), count_text(count))
    else:
        yield "Empty set"


def width_of(text: str) -> int:
    """How many columns a text takes on a screen."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def _type_width(declared: LogicalType) -> int:
    kind = declared.kind
    if kind in _WIDTHS:
        return _WIDTHS[kind]
    if kind is Kind.DECIMAL:
        return declared.precision + 2
    if kind in (Kind.CHAR, Kind.VARCHAR, Kind.BINARY, Kind.VARBINARY):
        return min(declared.precision, MOST)
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        return 19 if declared.precision == 0 else 20 + declared.precision
    if kind is Kind.TIME:
        return 8 if declared.precision == 0 else 9 + declared.precision
    return MOST


def count_text(rows: int) -> str:
    """How many rows there are, in words."""
    return "1 row in set" if rows == 1 else f"{rows} rows in set"


def border(widths: Sequence[int]) -> str:
    """A line of the frame."""
    return "+" + "+".join("-" * (width + 2) for width in widths) + "+"


def line(texts: Sequence[str], widths: Sequence[int]) -> str:
    """A row in the frame; what is wider than its column is cut."""
    cells = [_fitting(text, width) for text, width in zip(texts, widths, strict=True)]
    return "| " + " | ".join(cells) + " |"


def _fitting(text: str, width: int) -> str:
    if width_of(text) > width:
        text = _cut(text, width - 3) + "..."
    return " " * (width - width_of(text)) + text


def _cut(text: str, width: int) -> str:
    while width_of(text) > width:
        text = text[:-1]
    return text
