"""Rows of a database looked up by key: one query for all keys of a block."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from penstock.connectors.jdbc.databases import Database
from penstock.connectors.jdbc.sql import Statement
from penstock.errors import SourceError
from penstock.runtime.lookups import Fields, Lookup
from penstock.vocabulary.sql.external_values import to_external, to_internal
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["JdbcLookup", "qualified_names", "quoted_name"]

_log = logging.getLogger(__name__)

MOST_KEYS = 1000
MOST_PARAMETERS = 30_000
"""SQLite takes 32,766, PostgreSQL 65,535."""


def quoted_name(name: str) -> str:
    """A name, or several with dots between them, in quotes."""
    return ".".join('"' + each.replace('"', '""') + '"' for each in name.split("."))


def qualified_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Columns of the table that is looked up, as its queries name them."""
    return tuple([f"penstock_rows.{quoted_name(each)}" for each in columns])


def from_driver(declared: LogicalType) -> Callable[[Any], Any]:
    """What makes internal values of those of a driver; SQLite has no booleans, PostgreSQL types that are texts here."""
    convert = to_internal(declared)
    if declared.kind in (Kind.CHAR, Kind.VARCHAR):
        return lambda value: convert(value if value is None else str(value))
    if declared.kind is Kind.BOOLEAN:
        return lambda value: convert(bool(value) if value in (0, 1) else value)
    return convert


class JdbcLookup(Lookup):
    """Looks up rows of `table` by the columns `keys`; `condition` is SQL over `qualified_names`, with `parameters`.

    The database compares keys, so that its own rules hold. A lost connection is made anew, `retries` times.
    """

    def __init__(
        self,
        table: str,
        row_type: LogicalType,
        keys: tuple[int, ...],
        database: Database,
        *,
        condition: str = "",
        parameters: tuple[Any, ...] = (),
        retries: int = 3,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take what is looked up where."""
        self.table = table
        self.row_type = row_type
        self.keys = keys
        self.database = database
        self.condition = condition
        self.parameters = parameters
        self.retries = retries
        self.sleep = sleep
        self._connection: Any = None
        self._asks_one_by_one = False

    def open(self, context: Any) -> None:
        """Make what converts values."""
        self._to_key = [to_external(self.row_type.parts[each]) for each in self.keys]
        self._to_row = [from_driver(each) for each in self.row_type.parts]

    def close(self) -> None:
        """Close the connection."""
        self._disconnect()

    def find(self, keys: Sequence[Fields]) -> list[list[Fields]]:
        """The rows of each key."""
        found: list[list[Fields]] = [[] for _ in keys]
        limit = min(MOST_KEYS, (MOST_PARAMETERS - len(self.parameters)) // len(self.keys))
        for start in range(0, len(keys), limit):
            part = [self._external(key) for key in keys[start : start + limit]]
            for number, row in self._asked(part):
                found[start + number].append(row)
        return found

    def _external(self, key: Fields) -> Fields:
        return tuple([convert(value) for convert, value in zip(self._to_key, key, strict=True)])

    def _asked(self, keys: list[Fields]) -> list[tuple[int, Fields]]:
        if len(keys) > 1 and not self._asks_one_by_one:
            try:
                values = [value for key in keys for value in key]
                return [(row[0], self._internal(row[1:])) for row in self._run(self.joined(len(keys)), values)]
            except SourceError as error:
                if not isinstance(error.__cause__, self.database.library.ProgrammingError):
                    raise
                # Parameters in a list have types of their own, which a column of an unusual type may not compare with.
                self._asks_one_by_one = True
        return [
            (number, self._internal(row))
            for number, key in enumerate(keys)
            for row in self._run(self.single(), list(key))
        ]

    def _internal(self, row: Sequence[Any]) -> Fields:
        return tuple([convert(value) for convert, value in zip(self._to_row, row, strict=True)])

    # ---- statements ----

    def single(self) -> str:
        """The query for one key."""
        columns = qualified_names(self.row_type.names)
        where = [f"{columns[each]} = ?" for each in self.keys] + ([self.condition] if self.condition else [])
        return (
            f"SELECT {', '.join(columns)} FROM {quoted_name(self.table)} AS penstock_rows WHERE {' AND '.join(where)}"
        )

    def joined(self, count: int) -> str:
        """The query for several keys, with the number of the key in front of each row."""
        names = [f"k{index}" for index in range(len(self.keys))]
        marks = ", ".join("?" * len(self.keys))
        values = ", ".join(f"({number}, {marks})" for number in range(count))
        columns = qualified_names(self.row_type.names)
        equal = [f"{columns[each]} = penstock_keys.{name}" for each, name in zip(self.keys, names, strict=True)]
        where = f" WHERE {self.condition}" if self.condition else ""
        return (
            f"WITH penstock_keys (n, {', '.join(names)}) AS (VALUES {values}) "
            f"SELECT penstock_keys.n, {', '.join(columns)} FROM penstock_keys "
            f"JOIN {quoted_name(self.table)} AS penstock_rows ON {' AND '.join(equal)}{where}"
        )

    # ---- the connection ----

    def _run(self, sql: str, values: list[Any]) -> list[Any]:
        database = self.database
        for number in range(self.retries + 1):
            try:
                return self._rows(sql, values)
            except database.library.Error as error:
                self._disconnect()
                if number == self.retries or not database.may_pass(error):
                    said = str(error).strip() or type(error).__name__
                    raise SourceError(f"table {self.table!r} of {database.url} cannot be looked up: {said}") from error
                _log.warning("lookup in %s is tried again: %s", database.url, str(error).strip())
            self.sleep(number)
        raise AssertionError("the last try returns or raises")

    def _rows(self, sql: str, values: list[Any]) -> list[Any]:
        if self._connection is None:
            self._connection = self.database.connect()
        with contextlib.closing(self._connection.cursor()) as cursor:
            given = self.database.parameters((*values, *self.parameters))
            cursor.execute(self.database.text(Statement.parse(sql)), given)
            rows: list[Any] = cursor.fetchall()
        # PostgreSQL's driver has begun a transaction, and the next lookup must not see this one's past.
        self._connection.rollback()
        return rows

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                self.database.drop(connection)
