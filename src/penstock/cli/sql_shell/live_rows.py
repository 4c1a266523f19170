"""What a view of a running query shows: the rows of a table, or its last changes, cut to a part of the screen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from penstock.cli.sql_shell.materialized_table import MaterializedTable
from penstock.table.printed_tables import MOST, NULL, border, line, width_of
from penstock.vocabulary.sql.row_kinds import SHORT_NAMES

Row = tuple[Any, ...]

_FRAME_LINES = 4  # above and below the names, below the rows, and the names themselves
_MOST_CHANGES = 10_000


class LiveRows(ABC):
    """Rows that change while they are looked at."""

    follows_end = False
    """Whether the newest rows are what is wanted, or the first."""

    def __init__(self, names: Sequence[str]) -> None:
        """Name the columns."""
        self.names = list(names)
        self.changes = 0
        self._widths = [width_of(name) for name in names]

    def change(self, kind: int, texts: Row) -> None:
        """Take the next change."""
        self.changes += 1
        row = tuple(NULL if each is None else each for each in texts)
        widths = zip(self._widths, [SHORT_NAMES[kind], *row][-len(self._widths) :], strict=True)
        self._widths = [max(width, min(width_of(text), MOST)) for width, text in widths]
        self.take(kind, row)

    @abstractmethod
    def take(self, kind: int, row: Row) -> None:
        """Take a change whose NULLs are texts."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def slice(self, begin: int, end: int) -> Iterator[Sequence[str]]:
        """Some of the rows, as texts."""

    def frame(self, top: int, height: int) -> list[str]:
        """So many lines: names and rows in a frame, from the row `top` on."""
        edge = border(self._widths)
        rows = [line(row, self._widths) for row in self.slice(top, top + self.visible(height))]
        return [edge, line(self.names, self._widths), edge, *rows, edge]

    def visible(self, height: int) -> int:
        """How many rows there is room for."""
        return max(1, height - _FRAME_LINES)

    def highest_top(self, height: int) -> int:
        """The first row that is shown when the last one is."""
        return max(0, len(self) - self.visible(height))


class LiveTable(LiveRows):
    """What the table holds now."""

    def __init__(self, names: Sequence[str], most_rows: int) -> None:
        """Keep so many rows; beyond that the oldest go."""
        super().__init__(names)
        self._table: MaterializedTable[Row] = MaterializedTable(most_rows)

    def take(self, kind: int, row: Row) -> None:
        """Change the table."""
        self._table.change(kind, row)

    def __len__(self) -> int:
        return len(self._table)

    def slice(self, begin: int, end: int) -> Iterator[Sequence[str]]:
        """Some of the rows, in the order in which they came."""
        return self._table.rows(begin, end)


class LiveChangelog(LiveRows):
    """The last changes, each with its op."""

    follows_end = True

    def __init__(self, names: Sequence[str], most_rows: int) -> None:
        """Keep so many changes, within what a person would scroll through."""
        super().__init__(["op", *names])
        self._rows: deque[Row] = deque(maxlen=min(most_rows, _MOST_CHANGES))

    def take(self, kind: int, row: Row) -> None:
        """Append the change."""
        self._rows.append((SHORT_NAMES[kind], *row))

    def __len__(self) -> int:
        return len(self._rows)

    def slice(self, begin: int, end: int) -> Iterator[Sequence[str]]:
        """Some of the changes, the oldest first."""
        return islice(self._rows, begin, end)
