"""What a connector is to tables: something that makes sources and sinks of the options of a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.datastream.stream import DataStream
from penstock.errors import SqlError
from penstock.runtime.lookups import AsyncLookup, CacheSettings, Lookup
from penstock.table.catalog.entries import CatalogTable
from penstock.table.connectors.options import Options
from penstock.vocabulary.sql.logical_types import LogicalType, row_of
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.vocabulary.sql.typed_expressions import TypedExpression

__all__ = [
    "ALL_KINDS",
    "INSERTS",
    "UPSERTS",
    "Connector",
    "LookupOffer",
    "LookupRequest",
    "TableContext",
    "TableSink",
    "TableSource",
    "kinds_of_text",
]

INSERTS = frozenset([INSERT])
UPSERTS = frozenset([INSERT, UPDATE_AFTER, DELETE])
ALL_KINDS = frozenset([INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE])

_KIND_LETTERS = {"I": INSERT, "UB": UPDATE_BEFORE, "UA": UPDATE_AFTER, "D": DELETE}


def kinds_of_text(text: str) -> frozenset[int]:
    """The kinds of rows in `I,UA,D`."""
    return frozenset(_KIND_LETTERS[each.strip().upper()] for each in text.split(","))


@dataclass(frozen=True)
class TableContext:
    """The table that a connector is asked for: its full name, its entry in the catalog, its options."""

    path: tuple[str, ...]
    entry: CatalogTable
    options: Options

    @property
    def name(self) -> str:
        """The full name, for messages."""
        return ".".join(self.path)

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the primary key; empty if there is none."""
        key = self.entry.schema.primary_key
        return () if key is None else key.columns

    @property
    def physical_type(self) -> LogicalType:
        """The row type of the physical columns."""
        columns = self.entry.schema.physical
        return row_of(tuple(each.name for each in columns), tuple(each.type for each in columns))


@dataclass(frozen=True)
class LookupRequest:
    """What a query wants to look up: rows of `row_type` by the columns `keys`, numbers of its fields.

    `row_type` has physical columns only. `filters` are conditions over it, which the source may see to by itself.
    """

    row_type: LogicalType
    keys: tuple[int, ...]
    filters: tuple[TypedExpression, ...] = ()


@dataclass(frozen=True)
class LookupOffer:
    """How a source finds rows: one way at least. `taken` are the filters of the request that it sees to."""

    blocking: Lookup | None = None
    asynchronous: AsyncLookup | None = None
    cache: CacheSettings | None = None
    taken: tuple[TypedExpression, ...] = ()


class TableSource(ABC):
    """Reads a table. `changelog_kinds` are the kinds of rows it may give."""

    can_be_looked_up = False
    """Whether `lookup` works: a row can be found by some of its columns, at any time."""

    changelog_kinds: frozenset[int] = INSERTS
    is_bounded = False
    deletes_by_key = False
    """Whether rows that delete have their key only."""
    watermark_after_each_row = False
    """Whether event time advances with each row, instead of from time to time."""

    def metadata(self) -> Mapping[str, LogicalType]:
        """What the connector knows about a row beside its fields: the keys of metadata columns, and their types."""
        return {}

    @abstractmethod
    def stream(
        self, environment: Any, row_type: LogicalType, metadata: tuple[str, ...] = (), name: str = ""
    ) -> DataStream[tuple[Any, ...]]:
        """The rows as `(kind, *fields)` of internal values.

        `row_type` has the physical columns, then the metadata columns, whose keys are `metadata`.
        """

    def lookup(self, request: LookupRequest) -> LookupOffer:
        """What finds rows by key, if the table `can_be_looked_up`. Keys and rows are internal values."""
        raise SqlError(f"A {type(self).__name__} gives its rows as a stream only; none of them can be looked up.")


class TableSink(ABC):
    """Writes a table."""

    deletes_by_key = False
    """Whether it takes rows that delete and have their key only."""
    can_overwrite = False
    """Whether it takes INSERT OVERWRITE."""

    def metadata(self) -> Mapping[str, LogicalType]:
        """The metadata columns that can be written."""
        return {}

    @abstractmethod
    def accepts(self, kinds: frozenset[int]) -> frozenset[int]:
        """Of the kinds that a query puts out, those that the sink wants to get.

        A sink that needs a kind left out of `kinds` returns what it can take all the same; the planner compares.
        """

    @abstractmethod
    def consume(
        self,
        stream: DataStream[tuple[Any, ...]],
        row_type: LogicalType,
        primary_key: tuple[int, ...] = (),
        name: str = "",
        metadata: tuple[str, ...] = (),
    ) -> Any:
        """End a stream of `(kind, *fields)` in the sink; `primary_key` are numbers of fields.

        `row_type` has the physical columns, then the metadata columns, whose keys are `metadata`.
        """


class Connector(ABC):
    """Makes sources and sinks for tables WITH ('connector' = name)."""

    name: str

    @abstractmethod
    def keys(self) -> Mapping[str, str]:
        """The options it knows, with a few words on each; a key that ends in `.` stands for all that begin so."""

    def source(self, table: TableContext) -> TableSource:
        """What reads the table."""
        raise SqlError(f"Table {table.name}: connector '{self.name}' cannot be read, only written.")

    def sink(self, table: TableContext) -> TableSink:
        """What writes the table."""
        raise SqlError(f"Table {table.name}: connector '{self.name}' cannot be written, only read.")
