"""Sinks on the driver's side of a job on Spark: those of every job, and any writer Spark has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from penstock.connectors.driver_sinks import SparkWriterSink
from penstock.errors import SinkError
from penstock.formats.ddl import schema_to_ddl
from penstock.formats.exact_columns import Misfit, exact_array
from penstock.formats.file_formats import in_order
from penstock.formats.learned_types import learned_type
from penstock.formats.records import RecordShapeError, misshapen, to_columns
from penstock.formats.shown_values import shortened
from penstock.graph.plan import JobPlan, Vertex
from penstock.job.driver_sinks import DriverSinks
from penstock.runtime.columns import ColumnBlock
from penstock.runtime.rows import ExchangeRow, decode_block, decode_values


class SparkDriverSinks(DriverSinks):
    """All driver-side sinks of a job on Spark."""

    def __init__(self, plan: JobPlan, *, collects_at_once: bool = False) -> None:
        self._spark: dict[int, tuple[str, SparkWriterSink]] = {}
        super().__init__(plan, collects_at_once=collects_at_once)

    def place(self, vertex: Vertex) -> None:
        """Take a sink that Spark writes."""
        self._spark[vertex.id] = (vertex.name, vertex.operators[0].operator.description)

    def spark_vertices(self) -> list[int]:
        """Vertices whose records are not brought to the driver but written by Spark."""
        return list(self._spark)

    def before_seal(self, frame: DataFrame, rows: list[ExchangeRow], batch: int) -> None:
        """At-least-once sinks: done before the batch is final, so that nothing is lost if the driver dies."""
        for vertex, (name, sink) in self._spark.items():
            _write_with_spark(frame, vertex, name, sink, batch)
        self.print_rows(rows)


def _write_with_spark(frame: DataFrame, vertex: int, name: str, sink: SparkWriterSink, batch: int) -> None:
    mine = frame.where(frame["vertex"] == vertex).select("payload")
    if sink.schema is None:
        first = mine.limit(1).collect()
        if not first:
            return  # nothing to infer columns from, and nothing to write
        schema = _inferred(decode_values(bytes(first[0][0])), name)
    else:
        declared = StructType.fromDDL(schema_to_ddl(sink.schema))
        assert isinstance(declared, StructType)
        schema = declared
    try:
        sink.write(mine.mapInArrow(_decoder(schema, name, sink.schema is not None), schema), batch)
    except Exception as error:
        refusal = _REFUSAL.search(str(error))
        if refusal is not None:
            raise SinkError(refusal[1]) from error
        raise SinkError(f"Spark writer {name!r} failed on batch {batch}: {error}") from error


# What a task raised comes back within the text of Spark's own error.
_REFUSAL = re.compile(r"^penstock\.errors\.SinkError: (.*)$", re.MULTILINE)


def _decoder(
    schema: StructType, name: str, is_declared: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    arrow = to_arrow_schema(schema, timezone="UTC")

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _decoded(batches, arrow, name, is_declared)

    return decode


def _decoded(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, name: str, is_declared: bool
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for payload in batch.column(0).to_pylist():
            block = decode_block(payload).values
            arrays = _columns_of(block, schema) if isinstance(block, ColumnBlock) else None
            if arrays is None:
                arrays = _exact(decode_values(payload), schema, name, is_declared)
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns_of(block: ColumnBlock, schema: pa.Schema) -> list[pa.Array] | None:
    """The columns that Spark is to get, if they are of its types as they are, and there are no others."""
    arrays = [block.column(field.name) for field in schema]
    is_same = all(
        array is not None and array.type == field.type and (field.nullable or not array.null_count)
        for array, field in zip(arrays, schema, strict=True)
    )
    return arrays if is_same and set(block.batch.schema.names) <= set(schema.names) else None


def _exact(values: list[Any], schema: pa.Schema, name: str, is_declared: bool) -> list[pa.Array]:
    """The columns of objects; raises SinkError for a value that would have to change."""
    try:
        columns = to_columns(values, schema.names)
    except RecordShapeError as failure:
        record = shortened(misshapen(values, schema.names))
        raise SinkError(f"Spark writer {name!r} cannot write {record}: it {failure}.") from None
    arrays = []
    for field, column in zip(schema, in_order(name, columns, schema.names, len(values)), strict=True):
        try:
            arrays.append(exact_array(column, field))
        except Misfit as misfit:
            raise _refused(name, field, misfit, is_declared) from None
    return arrays


def _refused(name: str, field: pa.Field, misfit: Misfit, is_declared: bool) -> SinkError:
    advice = (
        "Map the value, or declare another type."
        if is_declared
        else "The column types were inferred from the first records of the batch. Declare the types: "
        "write_with_spark(write, schema='...')."
    )
    return SinkError(
        f"Spark writer {name!r} cannot write the field {field.name!r} with the value {shortened(misfit.value)} into a "
        f"column of type {field.type}: {misfit}. {advice}"
    )


def _inferred(values: list[Any], name: str) -> StructType:
    fields = []
    for column_name, column in to_columns(values).items():
        try:
            fields.append((column_name, learned_type(pa.null(), column)))
        except Misfit as misfit:
            raise _refused(name, pa.field(column_name, pa.null()), misfit, is_declared=False) from None
    return from_arrow_schema(pa.schema(fields))
