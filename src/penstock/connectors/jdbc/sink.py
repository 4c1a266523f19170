"""Database sinks: rows are written by tasks in batches (at least once), or staged and published with a marker row.

How a database is spoken to is `penstock.connectors.jdbc.databases`, how staging works
`penstock.connectors.staged_sink`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.common.composite_types import RowTypeInfo, TupleTypeInfo
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.jdbc.databases import Database, complaint, in_transaction, transaction
from penstock.connectors.jdbc.fencing import Fence, ensure_fences_table, why_refused
from penstock.connectors.jdbc.sql import Statement
from penstock.connectors.sink import Committer, DeliveryGuarantee, RecordError, SinkContext, SinkWriter
from penstock.connectors.staged_sink import Marker, Publication, Publisher, RecordEncoder, StagedSink
from penstock.errors import ConfigurationError, SinkError

COMMITS_TABLE = "penstock_commits"
"""One row for each owner of publications, with the marker of the last one."""

CREATE_COMMITS_TABLE = (
    f"CREATE TABLE IF NOT EXISTS {COMMITS_TABLE} (job_id TEXT NOT NULL, uid TEXT NOT NULL, "
    "part TEXT NOT NULL, marker TEXT NOT NULL, PRIMARY KEY (job_id, uid, part))"
)
_CREATE = Statement.parse(CREATE_COMMITS_TABLE)
_LOOK = Statement.parse(f"SELECT 1 FROM {COMMITS_TABLE} WHERE job_id IS NULL")
_CLAIM = Statement.parse(
    f"INSERT INTO {COMMITS_TABLE} (job_id, uid, part, marker) VALUES (?, ?, ?, '') ON CONFLICT DO NOTHING"
)
_OWNER = "WHERE job_id = ? AND uid = ? AND part = ?"
_READ = Statement.parse(f"SELECT marker FROM {COMMITS_TABLE} {_OWNER}")
_WRITE = Statement.parse(f"UPDATE {COMMITS_TABLE} SET marker = ? {_OWNER}")

_UNFIT = (OverflowError, UnicodeEncodeError)  # what drivers say of numbers and texts that they cannot send at all

Rows = list[tuple[Any, ...]]

_WHOLE_COLUMNS = ("smallint", "integer", "bigint")
_TIMES = ("date", "time without time zone", "time with time zone")
# Columns, as PostgreSQL calls them, that round or cut values of a type. What they refuse themselves is not here.
_CHANGED_BY: dict[TypeInformation, tuple[str, ...]] = {
    Types.INT(): ("real",),
    Types.LONG(): ("real", "double precision"),
    Types.BIG_INT(): ("real", "double precision"),
    Types.FLOAT(): _WHOLE_COLUMNS,
    Types.DOUBLE(): (*_WHOLE_COLUMNS, "real"),
    Types.BIG_DEC(): (*_WHOLE_COLUMNS, "real", "double precision"),
    Types.SQL_TIMESTAMP(): _TIMES,
    Types.INSTANT(): (*_TIMES, "timestamp without time zone"),
}


@dataclass(frozen=True)
class Execution:
    """How rows are sent: at most `batch_size` at once, not later than `batch_interval_ms` after the last (0: no limit).

    All rows of a batch of the job are sent at its end at the latest. `max_retries` is for errors that may pass.
    """

    batch_size: int = 5_000
    batch_interval_ms: int = 0
    max_retries: int = 3


class JdbcSink(StagedSink):
    """Runs a statement for every record."""

    state_identity = "JdbcSink"

    def __init__(
        self,
        sql: str,
        type_info: TypeInformation,
        database: Database,
        execution: Execution,
        guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
    ) -> None:
        """Describe the sink; the fields of the type are the statement's parameters, in their order."""
        self.statement = Statement.parse(sql)
        self.type_info = type_info
        self.database = database
        self.execution = execution
        self.guarantee = guarantee
        fields = len(_fields_of(type_info))
        if fields != self.statement.parameters:
            raise ConfigurationError(
                f"JdbcSink: the statement has {self.statement.parameters} parameters ('?'), but {type_info!r} has "
                f"{fields} fields: {sql}"
            )

    @property
    def is_staged(self) -> bool:
        """Whether rows are published after the seal."""
        return self.guarantee is DeliveryGuarantee.EXACTLY_ONCE

    def validate(self, name: str) -> None:
        """Connect, let the database read the statement, and make the table of markers."""
        who, database = f"JDBC sink {name!r}", self.database
        columns: list[str] = []
        try:
            with transaction(database) as cursor:
                columns = database.check(cursor, self.statement)
                raise _Undo
        except _Undo:
            pass
        except database.library.Error as error:
            raise complaint(who, "use its statement on", database, error) from error
        self._check_columns(who, columns)
        if self.is_staged:
            ensure_commits_table(database, who)
        else:
            ensure_fences_table(database, who)

    def _check_columns(self, who: str, columns: list[str]) -> None:
        """The database converts without a word; a type that says something else than the column is refused."""
        fields = _fields_of(self.type_info)
        for (name, declared), column in zip(fields, columns, strict=False):
            if column in _CHANGED_BY.get(declared, ()):
                raise SinkError(
                    f"{who}: the field {name!r} is declared as {declared!r}, and its column is {column}, which would "
                    "silently change values. Declare the type of the column and map the values to it, or change "
                    "the column."
                )

    def create_encoder(self, context: SinkContext) -> RecordEncoder:
        """Make the encoder of a subtask."""
        return RowEncoder(self.type_info)

    def create_publisher(self) -> Publisher:
        """Make the publisher of transactions."""
        return JdbcPublisher(self.statement, self.database, self.execution)

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Make the writer: one that stages, or one that sends."""
        if self.is_staged:
            return super().create_writer(context)
        who = f"JDBC sink {context.name!r}"
        fence = Fence(self.database, context, self.execution.max_retries, who)
        batches = RowBatches(self.statement, self.database, self.execution, who, fence)
        return SendingWriter(RowEncoder(self.type_info), batches, context.clock)

    def create_committer(self) -> Committer | None:
        """Make the committer of what was staged."""
        return super().create_committer() if self.is_staged else None


def _fields_of(type_info: TypeInformation) -> list[tuple[str, TypeInformation]]:
    if not isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return [("value", type_info)]
    types = type_info.get_field_types()
    names = (
        type_info.get_field_names() if isinstance(type_info, RowTypeInfo) else [f"f{at}" for at in range(len(types))]
    )
    return list(zip(names, types, strict=True))


class _Undo(Exception):
    """Ends a transaction that was only for looking."""


class RowEncoder(RecordEncoder):
    """Makes parameters of records, checked by their type."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type = type_info
        self._has_fields = isinstance(type_info, (RowTypeInfo, TupleTypeInfo))

    def encode(self, values: list[Any], timestamps: list[int | None] | None) -> Rows:
        """A tuple of parameters for each record."""
        rows: Rows = []
        coerce, has_fields = self._type.coerce, self._has_fields
        try:
            for value in values:
                row = coerce(value)
                if has_fields and row is None:
                    raise TypeError(f"expected {self._type!r}, got None")
                rows.append(tuple(row) if has_fields else (row,))
        except Exception as error:
            raise RecordError(values[len(rows)]) from error
        return rows


@dataclass(frozen=True)
class RowBatches:
    """Sends rows in batches of the size that was asked for."""

    statement: Statement
    database: Database
    execution: Execution
    who: str
    fence: Fence | None = None

    def send(self, cursor: Any, rows: Rows) -> None:
        """Run the statement for rows, within a transaction."""
        text, size = self.database.text(self.statement), self.execution.batch_size
        for first in range(0, len(rows), size):
            cursor.executemany(text, [*map(self.database.parameters, rows[first : first + size])])

    def commit(self, work: Callable[[Any], None], rows: Callable[[], Iterator[Rows]]) -> None:
        """Do `work(cursor)` in a transaction; if the database refuses, `rows` are searched for the one it means."""
        try:
            if self.fence is not None:
                self.fence.commit(work)
            else:
                in_transaction(self.database, work, self.execution.max_retries, self.who)
        except (self.database.library.Error, *_UNFIT) as error:
            failure = complaint(self.who, "write to", self.database, error)
            refused = None if self.database.may_pass(error) else self._refused(rows)
            raise (SinkError(f"{failure}\nrow: {refused!r}") if refused else failure) from error

    def _refused(self, blocks: Callable[[], Iterator[Rows]]) -> tuple[Any, ...] | None:
        """The first row that the database does not take, found by sending them one by one, and undoing that."""
        text, row = self.database.text(self.statement), None
        try:
            with transaction(self.database) as cursor:
                for rows in blocks():
                    for row in rows:
                        cursor.execute(text, self.database.parameters(row))
                raise _Undo
        except _Undo:
            return None
        except (self.database.library.Error, *_UNFIT):
            return row


class SendingWriter(SinkWriter):
    """Sends the rows of one subtask while they come; at the end of the batch all are committed."""

    def __init__(self, encoder: RowEncoder, batches: RowBatches, clock: Callable[[], int]) -> None:
        """Take what makes rows of records and what sends them."""
        self._encoder = encoder
        self._batches = batches
        self._clock = clock
        self._rows: Rows = []
        self._sent_ms = 0

    def begin(self, version: int, attempt: str, state: Any) -> None:
        """Start with nothing."""
        self._rows = []
        self._sent_ms = self._clock()

    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        """Take records; full batches are sent."""
        self._rows += self._encoder.encode(values, timestamps)
        execution = self._batches.execution
        whole = len(self._rows) // execution.batch_size * execution.batch_size
        interval = execution.batch_interval_ms
        if interval and self._clock() - self._sent_ms >= interval:
            whole = len(self._rows)
        if whole:
            rows, self._rows = self._rows[:whole], self._rows[whole:]
            self._send(rows)

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        """Send what is left."""
        rows, self._rows = self._rows, []
        if rows:
            self._send(rows)
        return []

    def abort(self) -> None:
        """Forget what was not sent."""
        self._rows = []

    def _send(self, rows: Rows) -> None:
        self._batches.commit(lambda cursor: self._batches.send(cursor, rows), lambda: iter([rows]))
        self._sent_ms = self._clock()


@dataclass(frozen=True)
class JdbcPublisher(Publisher):
    """Publishes rows and a marker in one transaction of the database."""

    statement: Statement
    database: Database
    execution: Execution

    def publish(self, publication: Publication) -> None:
        """Publish; the row of the marker is locked first, so that no other process can be doing the same."""
        batches = RowBatches(self.statement, self.database, self.execution, f"JDBC sink {publication.uid!r}")
        try:
            batches.commit(partial(self._write, batches, publication), publication.blocks)
        except SinkError as failure:
            if failure.__cause__ is None:
                raise
            raise SinkError(
                f"{failure}\nVersion {publication.version} stays staged and is published when the job is started again."
            ) from failure.__cause__

    def _write(self, batches: RowBatches, publication: Publication, cursor: Any) -> None:
        found = _locked_marker(self.database, cursor, publication)
        if publication.is_done(Marker.from_text(found) if found else None):
            return
        for rows in publication.blocks():
            batches.send(cursor, rows)
        cursor.execute(self.database.text(_WRITE), (publication.marker.to_text(), *_owner(publication)))


def _owner(publication: Publication) -> tuple[str, str, str]:
    return publication.job_id, publication.uid, publication.part


def _locked_marker(database: Database, cursor: Any, publication: Publication) -> str:
    """The marker of an owner, empty at first. Whoever else asks for it waits until this transaction has ended."""
    owner = _owner(publication)
    cursor.execute(database.text(_CLAIM), owner)
    cursor.execute(database.text(_READ) + database.lock_rows, owner)
    return str(cursor.fetchone()[0])


def ensure_commits_table(database: Database, who: str) -> None:
    """Make the table of markers if it is not there. Another process may be doing the same."""
    if why_refused(database, _LOOK) is None:
        return
    failure = why_refused(database, _CREATE)
    still = why_refused(database, _LOOK)
    if still is not None:
        error = failure or still
        raise SinkError(
            f"{complaint(who, f'create the table {COMMITS_TABLE} in', database, error)}\nAsk someone with the rights "
            "to run: "
            f"{CREATE_COMMITS_TABLE}"
        ) from error
