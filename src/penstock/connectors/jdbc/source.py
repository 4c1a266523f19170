"""Rows of a database as a source: the result of a query once, or rows by a growing column for as long as they come.

How to connect is in `penstock.connectors.jdbc.databases`. By a column, a position is a value of it, so a range is read
again by asking for it again. Without one the whole result is one position.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.common.types import Row
from penstock.connectors.jdbc.databases import Database
from penstock.connectors.jdbc.sql import Statement
from penstock.connectors.source import (
    FoundPartition,
    PartitionedSource,
    PartitionEnumerator,
    PartitionItem,
    PartitionRange,
    PartitionReader,
)
from penstock.errors import SourceError

_log = logging.getLogger(__name__)

_CHUNK = 5_000
_WHOLE = "whole"
_EPOCH = datetime.datetime(1970, 1, 1)
_MICRO = datetime.timedelta(microseconds=1)
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Growth:
    """Reading by a column: where to begin, how many rows a batch takes, how often to look; no interval for once.

    `held_back` keeps that far away from the newest value, in numbers or microseconds: for rows that show late.
    """

    column: str
    start_after: Any = None
    rows_per_batch: int = 10_000
    interval_ms: int | None = None
    partitions: int = 1
    held_back: int = 0


@dataclass(frozen=True)
class JdbcSource(PartitionedSource[Any]):
    """Rows of a query; `growth` None reads its result once, as one piece."""

    sql: str
    database: Database
    type_info: TypeInformation | None = None
    growth: Growth | None = None

    def is_bounded(self) -> bool:
        """Whether it reads once."""
        return self.growth is None or self.growth.interval_ms is None

    def gives_columns(self) -> bool:
        """Return that records come one by one."""
        return False

    def produced_type(self) -> TypeInformation | None:
        """The declared type."""
        return self.type_info

    def paces_itself(self) -> bool:
        """Values of a column do not count rows."""
        return self.growth is not None

    def validate(self, name: str) -> None:
        """Check the query in the database."""
        with _connected(self, name) as cursor:
            _run(self, name, cursor, f"SELECT * FROM ({self.sql}) AS penstock_rows LIMIT 0", ())
            names = [each[0] for each in cursor.description]
        if self.growth is not None and self.growth.column not in names:
            raise SourceError(
                f"source {name!r}: the query has no column {self.growth.column!r}; it has {', '.join(names)}"
            )

    def create_enumerator(self, name: str) -> PartitionEnumerator:
        """Make what asks how far the column has grown."""
        return _WholeEnumerator() if self.growth is None else _GrowthEnumerator(self, self.growth, name)

    def create_reader(self, name: str, subtask: int) -> PartitionReader:
        """Make what reads rows."""
        return _RowReader(self, name)


class _WholeEnumerator(PartitionEnumerator):
    def discover(self, known: Mapping[str, int] | None, now_ms: int) -> dict[str, FoundPartition]:
        return {_WHOLE: FoundPartition(0, 1)}

    def ends(self, positions: Mapping[str, int]) -> dict[str, int]:
        return dict.fromkeys(positions, 1)


@contextlib.contextmanager
def _connected(source: JdbcSource, name: str, *, streams: bool = False) -> Iterator[Any]:
    """A cursor on a connection of its own; nothing is written."""
    database = source.database
    try:
        connection = database.connect()
    except database.library.Error as error:
        raise _complaint(source, name, error) from None
    try:
        # PostgreSQL's driver holds a whole result in memory unless the cursor has a name.
        is_named = streams and database.library.__name__ == "psycopg"
        with contextlib.closing(connection.cursor("penstock") if is_named else connection.cursor()) as cursor:
            yield cursor
    finally:
        with contextlib.suppress(Exception):
            database.drop(connection)


def _run(source: JdbcSource, name: str, cursor: Any, sql: str, values: tuple[Any, ...]) -> None:
    database = source.database
    try:
        cursor.execute(database.text(Statement.parse(sql)), database.parameters(values))
    except database.library.Error as error:
        raise _complaint(source, name, error) from error


def _complaint(source: JdbcSource, name: str, error: Exception) -> SourceError:
    said = str(error).strip() or type(error).__name__
    return SourceError(f"source {name!r} cannot read {source.database.url} by {source.sql!r}: {said}")


@dataclass(frozen=True)
class _Kind:
    """How values of a column are positions."""

    position: Callable[[Any], int]
    value: Callable[[int], Any]


_KINDS: dict[str, _Kind] = {
    "number": _Kind(lambda value: value, lambda position: position),
    "time": _Kind(lambda value: (value - _EPOCH) // _MICRO, lambda position: _EPOCH + position * _MICRO),
    "moment": _Kind(
        lambda value: (value - _EPOCH.replace(tzinfo=datetime.UTC)) // _MICRO,
        lambda position: _EPOCH.replace(tzinfo=datetime.UTC) + position * _MICRO,
    ),
    "day": _Kind(lambda value: (value - _EPOCH.date()) // _DAY, lambda position: _EPOCH.date() + position * _DAY),
}


def _kind_of(value: Any, source: JdbcSource, name: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return "number"
    if isinstance(value, datetime.datetime):
        return "time" if value.tzinfo is None else "moment"
    if isinstance(value, datetime.date):
        return "day"
    assert source.growth is not None
    raise SourceError(
        f"source {name!r}: column {source.growth.column!r} holds {value!r}, but only whole numbers, dates and "
        "timestamps work; choose another column"
    )


class _GrowthEnumerator(PartitionEnumerator):
    def __init__(self, source: JdbcSource, growth: Growth, name: str) -> None:
        self._source = source
        self._growth = growth
        self._name = name
        self._asked = 0.0
        self._had_rows = True
        quoted = growth.column.replace('"', '""')
        self._column = f'"{quoted}"'
        self._bounds = f"SELECT min({self._column}), max({self._column}) FROM"
        self._rows = f"({source.sql}) AS penstock_rows"

    def discover(self, known: Mapping[str, int] | None, now_ms: int) -> dict[str, FoundPartition]:
        if known or (known is not None and self._is_too_early()):
            return {}
        self._asked = time.monotonic()
        low, high = self._ask(f"{self._bounds} {self._rows}")
        if high is None:
            return {}
        kind = _kind_of(high, self._source, self._name)
        position = _KINDS[kind].position
        if self._growth.start_after is not None:
            low = self._growth.start_after
        first, last = position(low) + (self._growth.start_after is not None), position(high) + 1
        if self._growth.interval_ms is not None:
            return {kind: FoundPartition(first)}
        return _cut(kind, first, max(first, last), self._growth.partitions)

    def ends(self, positions: Mapping[str, int]) -> dict[str, int]:
        if self._growth.interval_ms is not None and not self._had_rows and self._is_too_early():
            return dict(positions)
        self._asked = time.monotonic()
        found = {name: self._end(name, at) for name, at in positions.items()}
        self._had_rows = found != dict(positions)
        return found

    def _is_too_early(self) -> bool:
        return time.monotonic() < self._asked + (self._growth.interval_ms or 0) / 1000

    def _end(self, name: str, at: int) -> int:
        kind = _KINDS[name.partition(" ")[0]]
        column = self._column
        some = f"SELECT {column} FROM {self._rows} WHERE {column} >= ? ORDER BY {column} LIMIT"
        sql = f"{self._bounds} ({some} {int(self._growth.rows_per_batch)}) AS penstock_next"
        try:
            _, high = self._ask(sql, kind.value(at))
        except SourceError as error:
            if error.__cause__ is None or not self._source.database.may_pass(error.__cause__):  # type: ignore[arg-type]
                raise
            _log.warning("%s; retrying", error)
            return at
        if high is None:
            return self._stop_of_empty(name, at)
        end = kind.position(high) + 1
        if self._growth.held_back:
            _, newest = self._ask(f"{self._bounds} {self._rows}")
            end = min(end, kind.position(newest) + 1 - self._growth.held_back)
        return max(at, end)

    def _stop_of_empty(self, name: str, at: int) -> int:
        """Nothing is left: a partition of a bounded source goes to its stop over what was removed meanwhile."""
        return at if self._growth.interval_ms is not None else (1 << 62)

    def _ask(self, sql: str, *values: Any) -> tuple[Any, Any]:
        with _connected(self._source, self._name) as cursor:
            _run(self._source, self._name, cursor, sql, values)
            low, high = cursor.fetchone()
            return low, high


def _cut(kind: str, first: int, last: int, count: int) -> dict[str, FoundPartition]:
    """As many partitions as are wanted, each a range of values."""
    width = max(1, -(-(last - first) // count))
    edges = [*range(first, last, width), last] if last > first else [first, last]
    return {f"{kind} {low}": FoundPartition(low, high) for low, high in itertools.pairwise(edges)}


class _RowReader(PartitionReader):
    def __init__(self, source: JdbcSource, name: str) -> None:
        self._source = source
        self._name = name

    def read(self, ranges: Sequence[PartitionRange]) -> Iterator[tuple[str, PartitionItem]]:
        for each in ranges:
            for rows in self._rows(each):
                yield each.name, (rows, None)

    def _rows(self, wanted: PartitionRange) -> Iterator[list[Any]]:
        source = self._source
        sql, values = source.sql, ()
        if source.growth is not None:
            column = '"' + source.growth.column.replace('"', '""') + '"'
            value = _KINDS[wanted.name.partition(" ")[0]].value
            values = (value(wanted.start), value(wanted.stop))  # type: ignore[assignment]
            sql = f"SELECT * FROM ({sql}) AS penstock_rows WHERE {column} >= ? AND {column} < ? ORDER BY {column}"
        with _connected(source, self._name, streams=True) as cursor:
            _run(source, self._name, cursor, sql, values)
            names = None
            while rows := cursor.fetchmany(_CHUNK):
                names = names or tuple(each[0] for each in cursor.description)
                yield self._typed(Row.of_all(names, rows))

    def _typed(self, rows: list[Row]) -> list[Any]:
        declared = self._source.type_info
        if declared is None:
            return rows
        typed = []
        for row in rows:
            try:
                typed.append(declared.coerce(row))
            except (TypeError, ValueError) as error:
                raise SourceError(f"source {self._name!r}: the row {row!r} is not of {declared!r}: {error}") from None
        return typed
