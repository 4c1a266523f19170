"""What a table holds after the changes so far: rows in the order in which they came, updated in their place."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from penstock.vocabulary.sql.row_kinds import ADDS, UPDATE_AFTER, UPDATE_BEFORE

R = TypeVar("R", bound=Hashable)


class MaterializedTable(Generic[R]):
    """Rows by the changes of a query; a row may be there many times.

    >>> table = MaterializedTable()
    >>> for kind, row in ((0, ("a", 1)), (0, ("b", 1)), (1, ("a", 1)), (2, ("a", 2))):
    ...     table.change(kind, row)
    >>> list(table.rows())
    [('a', 2), ('b', 1)]
    """

    def __init__(self, most_rows: int = 1_000_000) -> None:
        """Keep so many rows; beyond that the oldest go."""
        self.dropped = 0
        self._most = most_rows
        self._numbers = itertools.count()
        self._rows: dict[int, R] = {}
        self._places: dict[R, list[int]] = {}
        self._updated: int | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, begin: int = 0, end: int | None = None) -> Iterator[R]:
        """The rows, or some of them."""
        return itertools.islice(self._rows.values(), begin, end)

    def change(self, kind: int, row: R) -> None:
        """Take the next change."""
        if kind != UPDATE_AFTER:
            self._forget_updated()
        if ADDS[kind]:
            self._add(row)
            return
        places = self._places.get(row)
        if not places:
            return  # one of the rows that were dropped
        number = places.pop()
        if not places:
            del self._places[row]
        if kind == UPDATE_BEFORE:
            self._updated = number  # what comes next takes its place
        else:
            del self._rows[number]

    def _add(self, row: R) -> None:
        number, self._updated = self._updated, None
        if number is None:
            number = next(self._numbers)
        self._rows[number] = row
        self._places.setdefault(row, []).append(number)
        if len(self._rows) > self._most:
            self._drop_oldest()

    def finish(self) -> None:
        """No change comes any more: what was taken back and not put in anew is gone."""
        self._forget_updated()

    def _forget_updated(self) -> None:
        if self._updated is not None:
            del self._rows[self._updated]
            self._updated = None

    def _drop_oldest(self) -> None:
        number = next(iter(self._rows))
        row = self._rows.pop(number)
        places = self._places[row]
        places.remove(number)
        if not places:
            del self._places[row]
        self.dropped += 1
