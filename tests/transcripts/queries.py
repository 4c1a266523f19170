"""SQL queries as pipelines of transcripts: tables of scripted changes in, the changelog of the query out.

A change is a tuple that begins with its kind: `("+I", "a", 1)`. Times are milliseconds since 1970, in and out.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common import Row, RowKind
from penstock.common.column_block import ColumnBlock
from penstock.datastream import DataStream
from penstock.datastream.stream import add_operator
from penstock.runtime.columns import Stamps
from penstock.runtime.operators import StreamOperator
from penstock.runtime.operators.table.stamping import StampOperator
from penstock.runtime.rows import Timestamps
from penstock.table import ChangelogMode, Schema, StreamTableEnvironment
from penstock.table import Table as QueriedTable
from penstock.table.catalog.columns import PhysicalColumn
from penstock.table.sql import parse
from penstock.table.sql.statements import CreateTable
from penstock.testing.transcripts import Step, Transcript
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar import arrow_type

MANY_OPERATORS = "a query is many operators: what it is made of is for the planner to decide"

Text = str | Callable[[StreamTableEnvironment], QueriedTable]
"""A query: SQL, or a program of the Table API."""


class Form(Enum):
    """How rows come to the operators of a query. `number` is the type of columns that are declared as `{n}`."""

    COLUMNS = "columns"
    """Blocks of columns, which the column path of operators takes."""
    ROWS = "rows"
    """Rows with a DECIMAL that no columns are made of, so that operators have to see rows."""
    MIXED = "columns and rows by turns"
    """Both paths of an operator on the same state, with the types of columns."""

    @property
    def number(self) -> str:
        """The type of numbers: values, sums and counts of it are equal to those of the other forms."""
        return "DECIMAL(20, 0)" if self is Form.ROWS else "INT"


@dataclass(frozen=True)
class Table:
    """A table of scripted changes, declared as in CREATE TABLE: `Table("t", "k STRING, v {n}")`.

    `kinds`: "insert", "all", or "upsert" for changes by primary key without the rows before.
    """

    name: str
    columns: str
    kinds: str = "insert"

    def declared(self, form: Form) -> CreateTable:
        """Return the declaration, with the types of a form."""
        return _parsed(f"CREATE TABLE {self.name} ({self.columns.replace('{n}', form.number)})")

    def make(self, tables: StreamTableEnvironment, changes: DataStream, form: Form) -> QueriedTable:
        """Make the table of a stream of changes."""
        statement = self.declared(form)
        columns = [each for each in statement.columns if isinstance(each, PhysicalColumn)]
        names = tuple(each.name for each in columns)
        operator = RowsOperator(names, tuple(each.type for each in columns), form, self.kinds == "insert")
        rows = _behind(changes, f"rows of {self.name}", operator, is_single=True)
        if self.kinds == "insert":
            return tables.from_data_stream(rows, _schema(statement))
        mode = ChangelogMode.upsert() if self.kinds == "upsert" else ChangelogMode.all()
        return tables.from_changelog_stream(rows, _schema(statement), mode)


@lru_cache(maxsize=64)
def _parsed(text: str) -> CreateTable:
    (statement,) = parse(text)
    assert isinstance(statement, CreateTable)
    return statement


def _schema(statement: CreateTable) -> Schema:
    builder = Schema.new_builder()
    for column in statement.columns:
        if isinstance(column, PhysicalColumn):
            builder.column(column.name, str(column.type))
        else:
            builder.column_by_expression(column.name, getattr(column, "expression"))  # noqa: B009
    if statement.watermark is not None:
        builder.watermark(statement.watermark.column, statement.watermark.expression)
    if statement.primary_key is not None:
        builder.primary_key(*statement.primary_key.columns)
    return builder.build()


@dataclass(frozen=True)
class Query:
    """The pipeline of a transcript that asks a query of its tables, one for each input."""

    text: Text
    tables: tuple[Table, ...]
    form: Form
    settings: Mapping[str, str] = field(default_factory=dict)
    views: tuple[str, ...] = ()

    def __call__(self, *streams: DataStream) -> DataStream:
        """Build the query behind the streams of the inputs."""
        graph = streams[0].get_execution_environment().graph
        known = set(graph.nodes)
        tables = StreamTableEnvironment.create(streams[0].get_execution_environment())
        for key, value in self.settings.items():
            tables.get_config().set(key, value)
        for table, stream in zip(self.tables, streams, strict=True):
            tables.create_temporary_view(table.name, table.make(tables, stream, self.form))
        for view in self.views:
            tables.execute_sql(f"CREATE TEMPORARY VIEW {view}")
        result = tables.sql_query(self.text) if isinstance(self.text, str) else self.text(tables)
        changes = _behind(tables.to_changelog_stream(result), "changes", ChangesOperator())
        for node in list(graph.nodes.values()):
            if node.id not in known and type(node.operator) is StampOperator:
                graph.change(node.id, operator=ColumnStampOperator(rowtime=node.operator.rowtime))
        return changes


def asked(
    name: str,
    text: Text,
    tables: Table | Sequence[Table],
    steps: Sequence[Step],
    *,
    settings: Mapping[str, str] | None = None,
    views: Sequence[str] = (),
    forms: Sequence[Form] = (),
    **more: Any,
) -> list[Transcript]:
    """Return the transcript of a query in each form; `more` is for `Transcript`.

    Without `forms` there are columns and rows, and rows only where all tables update: those changes are never columns.
    """
    declared = (tables,) if isinstance(tables, Table) else tuple(tables)
    has_columns = any(each.kinds == "insert" for each in declared)
    made = []
    for form in forms or ((Form.COLUMNS, Form.ROWS) if has_columns else (Form.ROWS,)):
        query = Query(text, declared, form, settings or {}, tuple(views))
        settled = {"inputs": len(declared), "job_only": MANY_OPERATORS, **more}
        made.append(Transcript(f"{name}, {form.value}", query, steps, **settled))
    return made


def form_of(transcript: Transcript) -> Form | None:
    """Return the form of the rows; None if the transcript is not about a query."""
    return transcript.pipeline.form if isinstance(transcript.pipeline, Query) else None


def mixed(transcript: Transcript) -> Transcript:
    """Return the transcript with rows and columns by turns."""
    query = transcript.pipeline
    assert isinstance(query, Query)
    name = f"{transcript.name.rpartition(',')[0]}, {Form.MIXED.value}"
    return replace(transcript, name=name, pipeline=replace(query, form=Form.MIXED))


def out(*changes: tuple[Any, ...]) -> list[Any]:
    """Return changes as the output of a step: they have no timestamps."""
    return [(change, None) for change in changes]


# ---- changes in and out ----


def _behind(stream: DataStream, name: str, operator: StreamOperator, **settings: Any) -> DataStream:
    environment = stream.get_execution_environment()
    return add_operator(environment, name, operator, stream.edges, None, is_checked=False, **settings)


_EPOCH = datetime.datetime(1970, 1, 1)
_KINDS = {str(kind): kind for kind in RowKind}


class RowsOperator(StreamOperator):
    """Makes elements of changes, all of a batch that no watermark parts at once: as columns or as Rows."""

    state_identity = "transcripts/RowsOperator"

    def __init__(self, names: tuple[str, ...], types: tuple[LogicalType, ...], form: Form, only_inserts: bool) -> None:
        self._names = names
        self._types = types
        self._form = form
        can_be_columns = only_inserts and None not in [arrow_type(each) for each in types]
        self._has_columns = can_be_columns and form is not Form.ROWS
        self._waiting: list[Any] = []
        self._turn = 0

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Drop what is left of a batch that failed."""
        self._waiting = []
        self._turn = version

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Let changes wait for others."""
        self._waiting += values

    def on_watermark(self, watermark: int) -> None:
        """Emit what came before."""
        self._flush()
        super().on_watermark(watermark)

    def on_status(self, is_idle: bool) -> None:
        """Emit what came before."""
        self._flush()
        super().on_status(is_idle)

    def on_end(self) -> None:
        """Emit what came before."""
        self._flush()
        super().on_end()

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Emit all of the batch."""
        self._flush()

    def _flush(self) -> None:
        changes, self._waiting = self._waiting, []
        if not changes:
            return
        self._turn += 1
        if self._has_columns and (self._form is Form.COLUMNS or self._turn % 2):
            self.output.emit(self._columns(changes), None)
        else:
            self.output.emit([self._row(change) for change in changes], None)

    def _columns(self, changes: list[Any]) -> ColumnBlock:
        _, *columns = zip(*changes, strict=True)
        arrays = [pa.array(each, _arrow(type_)) for each, type_ in zip(columns, self._types, strict=True)]
        return ColumnBlock(pa.RecordBatch.from_arrays(arrays, names=list(self._names)), "row")

    def _row(self, change: Any) -> Row:
        kind, *fields = change
        values = [_external(value, type_) for value, type_ in zip(fields, self._types, strict=True)]
        return Row.of_fields(self._names, values, _KINDS[kind])


def _arrow(type_: LogicalType) -> Any:
    return pa.timestamp("ms") if type_.kind is Kind.TIMESTAMP else arrow_type(type_)


def _external(value: Any, type_: LogicalType) -> Any:
    if value is not None and type_.kind is Kind.TIMESTAMP:
        return _EPOCH + datetime.timedelta(milliseconds=value)
    return Decimal(value) if value is not None and type_.kind is Kind.DECIMAL else value


class ColumnStampOperator(StampOperator):
    """Gives columns their timestamps as columns, so that SOURCE_WATERMARK() does not make rows of them."""

    state_identity = "transcripts/ColumnStampOperator"

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Emit the block with its times."""
        times = block.batch.column(self.rowtime + 1)
        if times.null_count:
            super().process_columns(block, timestamps, keys)
        else:
            self.output.emit(block, times.to_numpy().astype(np.int64))


class ChangesOperator(StreamOperator):
    """Makes changes of Rows: tuples with their kinds first."""

    state_identity = "transcripts/ChangesOperator"

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Emit a block of changes."""
        self.output.emit([(str(row.get_row_kind()), *map(_shown, row)) for row in values], None)


def _shown(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return (value - _EPOCH) // datetime.timedelta(milliseconds=1)
    return tuple(map(_shown, value)) if isinstance(value, Row) else value
