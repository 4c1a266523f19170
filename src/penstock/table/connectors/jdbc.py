"""The connector 'jdbc': tables of PostgreSQL and SQLite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.connectors.jdbc.databases import Database, complaint, database_of
from penstock.connectors.jdbc.fencing import Fence, ensure_fences_table
from penstock.connectors.jdbc.sql import Statement, upsert
from penstock.connectors.sink import Sink, SinkContext, SinkWriter
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions
from penstock.datastream.connectors.jdbc_source import JdbcSource
from penstock.datastream.stream import DataStream
from penstock.table.connectors.contract import (
    INSERTS,
    UPSERTS,
    Connector,
    LookupOffer,
    LookupRequest,
    TableContext,
    TableSink,
    TableSource,
)
from penstock.table.connectors.jdbc_filters import sql_condition
from penstock.table.connectors.jdbc_lookup import JdbcLookup, from_driver, qualified_names, quoted_name
from penstock.table.connectors.lookup_caches import CACHE_KEYS, cache_of
from penstock.vocabulary.sql.external_values import to_external
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.row_kinds import ADDS, INSERT

__all__ = ["JdbcConnector"]


class JdbcConnector(Connector):
    """A table of a database. With a primary key rows are written by it, and deleted."""

    name = "jdbc"

    def keys(self) -> Mapping[str, str]:
        """Those of Flink's connector."""
        return {
            "url": "jdbc:postgresql://host/db or jdbc:sqlite:file",
            "table-name": "the table",
            "username": "who connects",
            "password": "with which password",
            "driver": "kept for Flink programs",
            "sink.max-retries": "how often a transaction is tried again",
            "sink.buffer-flush.max-rows": "kept for Flink programs: rows are written with their batch",
            "sink.buffer-flush.interval": "kept for Flink programs",
            "connection.max-retry-timeout": "kept for Flink programs",
            "scan.partition.": "kept for Flink programs: one subtask reads the table",
            "lookup.max-retries": "how often a lookup is tried again",
            **CACHE_KEYS,
            "scan.fetch-size": "kept for Flink programs",
            "scan.auto-commit": "kept for Flink programs",
        }

    def source(self, table: TableContext) -> TableSource:
        """What reads the table, once."""
        return _JdbcTable(table)

    def sink(self, table: TableContext) -> TableSink:
        """What writes the table."""
        return _JdbcTableSink(table)


class _JdbcTable(TableSource):
    is_bounded = True
    can_be_looked_up = True

    def __init__(self, table: TableContext) -> None:
        self.table = table

    def lookup(self, request: LookupRequest) -> LookupOffer:
        options = self.table.options
        columns = qualified_names(request.row_type.names)
        done = [(each, made) for each in request.filters if (made := sql_condition(each, columns)) is not None]
        lookup = JdbcLookup(
            options["table-name"],
            request.row_type,
            request.keys,
            database_of(options["url"], options.get("username"), options.get("password"), None),
            condition=" AND ".join(text for _, (text, _) in done),
            parameters=tuple([value for _, (_, values) in done for value in values]),
            retries=options.integer("lookup.max-retries", 3) or 0,
        )
        return LookupOffer(lookup, cache=cache_of(options), taken=tuple([each for each, _ in done]))

    def stream(
        self, environment: Any, row_type: LogicalType, metadata: tuple[str, ...] = (), name: str = ""
    ) -> DataStream[tuple[Any, ...]]:
        options = self.table.options
        builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(options["url"])
        if "username" in options:
            builder = builder.with_user_name(options["username"])
        if "password" in options:
            builder = builder.with_password(options["password"])
        columns = ", ".join(map(quoted_name, row_type.names))
        source = JdbcSource.query(f"SELECT {columns} FROM {quoted_name(options['table-name'])}", builder.build())
        made: DataStream[tuple[Any, ...]] = environment.from_source(source, None, name or self.table.path[-1]).map(
            _FromDatabase(row_type)
        )
        return made


class _FromDatabase:
    """Makes a row of the values that a driver gives."""

    def __init__(self, row_type: LogicalType) -> None:
        self.row_type = row_type
        self._converts: list[Callable[[Any], Any]] | None = None

    def __getstate__(self) -> LogicalType:
        return self.row_type

    def __setstate__(self, row_type: LogicalType) -> None:
        self.row_type, self._converts = row_type, None

    def __call__(self, values: Any) -> tuple[Any, ...]:
        if self._converts is None:
            self._converts = [from_driver(each) for each in self.row_type.parts]
        return (INSERT, *[convert(value) for convert, value in zip(self._converts, values, strict=True)])


class _JdbcTableSink(TableSink):
    def __init__(self, table: TableContext) -> None:
        self.table = table

    def accepts(self, kinds: frozenset[int]) -> frozenset[int]:
        return UPSERTS if self.table.primary_key else INSERTS

    def consume(
        self,
        stream: DataStream[tuple[Any, ...]],
        row_type: LogicalType,
        primary_key: tuple[int, ...] = (),
        name: str = "",
        metadata: tuple[str, ...] = (),
    ) -> Any:
        options = self.table.options
        database = database_of(options["url"], options.get("username"), options.get("password"), None)
        retries = options.integer("sink.max-retries", 3) or 0
        return stream.sink_to(JdbcTableSink(options["table-name"], row_type, primary_key, database, retries))


class JdbcTableSink(Sink[tuple[Any, ...]]):
    """Writes the changes of a batch in one transaction, the last of each key; at least once.

    With a key that is as good as exactly once, for a change that is written again changes nothing, and a driver that
    was paused and taken over writes nothing more (`penstock.connectors.jdbc.fencing`).
    """

    state_identity = "JdbcTableSink"

    def __init__(
        self, table: str, row_type: LogicalType, key: tuple[int, ...], database: Database, retries: int
    ) -> None:
        """Take the table of the database and the columns of its key, by number."""
        self.table = table
        self.row_type = row_type
        self.key = key
        self.database = database
        self.retries = retries

    def statements(self) -> tuple[Statement, Statement | None]:
        """What writes a row, and what deletes one."""
        names = self.row_type.names
        if not self.key:
            marks = ", ".join("?" * len(names))
            text = f"INSERT INTO {quoted_name(self.table)} ({', '.join(map(quoted_name, names))}) VALUES ({marks})"
            return Statement.parse(text), None
        keys = [names[each] for each in self.key]
        where = " AND ".join(f"{quoted_name(each)} = ?" for each in keys)
        delete = f"DELETE FROM {quoted_name(self.table)} WHERE {where}"
        return Statement.parse(upsert(self.table, names, keys)), Statement.parse(delete)

    def validate(self, name: str) -> None:
        """Make the table of fences."""
        ensure_fences_table(self.database, f"JDBC sink {name!r}")

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Make the writer of a subtask."""
        return _Writer(self, context)


class _Writer(SinkWriter):
    def __init__(self, sink: JdbcTableSink, context: SinkContext) -> None:
        self._sink = sink
        self._who = f"JDBC sink {context.name!r}"
        self._fence = Fence(sink.database, context, sink.retries, self._who)
        self._converts = [to_external(each) for each in sink.row_type.parts]
        self._changes: dict[Any, tuple[Any, ...]] = {}

    def begin(self, version: int, attempt: str, state: Any) -> None:
        """Start with nothing."""
        self._changes = {}

    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        """Keep the last change of each key; without a key, all."""
        key = self._sink.key
        for row in values:
            place = tuple([row[each + 1] for each in key]) if key else len(self._changes)
            # A change that comes later counts as later in the transaction too.
            self._changes.pop(place, None)
            self._changes[place] = row

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        """Write them in one transaction."""
        if self._changes:
            database = self._sink.database
            try:
                self._fence.commit(self._send)
            except database.library.Error as error:
                raise complaint(self._who, "write to", database, error) from error
        self._changes = {}
        return []

    def _send(self, cursor: Any) -> None:
        database, (write, delete) = self._sink.database, self._sink.statements()
        writing = database.text(write)
        deleting = None if delete is None else database.text(delete)
        for row in self._changes.values():
            fields = [convert(each) for convert, each in zip(self._converts, row[1:], strict=True)]
            if ADDS[row[0]]:
                cursor.execute(writing, database.parameters(tuple(fields)))
            elif deleting is not None:
                cursor.execute(deleting, database.parameters(tuple(fields[each] for each in self._sink.key)))
