"""How results look: tables on a terminal, plain columns where they are piped, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK

NOTHING = "-"
_GAP = "  "
_CUT_TO = 20
_UNITS = ("B", "KB", "MB", "GB", "TB")


class Columns:
    """A table: titles, and rows of texts; numbers stand at the right."""

    def __init__(self, *titles: str, numbers: Sequence[str] = (), cut: str = "") -> None:
        """Name the columns, those of numbers among them, and the one that is cut where a terminal is too narrow."""
        self._titles = titles
        self._is_number = [title in numbers for title in titles]
        self._cut = cut
        self._rows: list[list[str]] = []

    def add(self, *cells: object) -> None:
        """Add a row; None shows as nothing."""
        self._rows.append([NOTHING if cell is None else one_line(str(cell)) for cell in cells])

    def show(self, indent: int = 0) -> None:
        """Write the table to standard output."""
        console = Console()
        if console.is_terminal:
            console.width = max(console.width, self._least_width(indent))  # rather broken lines than nothing to read
            console.print(self._as_rich(indent), end="")
        else:
            typer.echo(self.as_text(indent))

    def as_text(self, indent: int = 0) -> str:
        """The table as columns of plain text, nothing cut."""
        lines = [list(map(str.upper, self._titles)), *self._rows]
        widths = self._widths()
        return "\n".join(" " * indent + self._line(cells, widths) for cells in lines)

    def _widths(self) -> list[int]:
        return [max(map(len, column)) for column in zip(self._titles, *self._rows, strict=True)]

    def _least_width(self, indent: int) -> int:
        wanted = zip(self._titles, self._widths(), strict=True)
        widths = [min(width, max(len(title), _CUT_TO)) if title == self._cut else width for title, width in wanted]
        return indent + sum(widths) + len(_GAP) * len(widths)

    def _line(self, cells: list[str], widths: list[int]) -> str:
        parts = [
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(cells, widths, self._is_number, strict=True)
        ]
        return _GAP.join(parts).rstrip()

    def _as_rich(self, indent: int) -> Padding:
        table = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style="bold")
        for title, is_number in zip(self._titles, self._is_number, strict=True):
            # Where it is narrow, rich takes from columns that may wrap; the text of the cell sees to it that none does.
            table.add_column(title, justify="right" if is_number else "left", no_wrap=title != self._cut)
        for cells in self._rows:
            # Text: what users name may look like markup.
            table.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in cells))
        return Padding(table, (0, 0, 0, indent))


def show_json(content: Any) -> None:
    """Write JSON to standard output."""
    typer.echo(json.dumps(content, indent=2))


def note(text: str) -> None:
    """Tell a person something that is not the result; names and texts in it may come from elsewhere."""
    typer.echo("".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text), err=True)


def one_line(text: str) -> str:
    """A text without line breaks and other characters that a terminal would act on."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def moment(milliseconds: int | None) -> str:
    """A point in time for people, in UTC; numbers that are no date stay numbers."""
    if milliseconds is None or milliseconds == MIN_WATERMARK:
        return NOTHING
    if milliseconds == MAX_WATERMARK:
        return "end"
    try:
        return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)


def size(count: int) -> str:
    """A number of bytes for people."""
    amount = float(count)
    for unit in _UNITS:
        if amount < 1000 or unit == _UNITS[-1]:
            break
        amount /= 1000
    return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"


def number(count: float | None) -> str:
    """A number for people."""
    return NOTHING if count is None else f"{count:,.0f}"
