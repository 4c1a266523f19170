"""Parquet files for file sinks: records to Arrow columns, chunks as row groups, chunks merged to one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common.column_block import ColumnBlock
from penstock.errors import SinkError
from penstock.formats.exact_columns import Misfit, exact_array
from penstock.formats.file_formats import (
    BlockEncoder,
    Chunk,
    ChunkWriter,
    FileFormat,
    declared_schema,
    unknown_field,
)
from penstock.formats.learned_types import learned_type, settled
from penstock.formats.records import RecordShapeError, misshapen, to_columns
from penstock.formats.shown_values import shortened
from penstock.storage.places import Storage

_ROW_GROUP_BYTES = 16 * 1024 * 1024
_ROW_GROUP_ROWS = 1_000_000


@dataclass(frozen=True)
class ParquetFormat(FileFormat):
    """Parquet. Without `type_info` each subtask learns the columns from its first records and then keeps them.

    A column that has only been None so far has no type yet and takes the one of its first other value. A value that
    its column cannot hold as it is fails the job.
    """

    type_info: Any = None
    compression: str = "snappy"
    suffix: str = ".parquet"

    def create_encoder(self, sink_name: str, learned: Any) -> BlockEncoder:
        """Make the encoder."""
        return TableEncoder(sink_name, declared_schema(self.type_info), learned, self.compression)


class TableEncoder(BlockEncoder):
    """Makes tables of records, and writes them as Parquet; formats of the same columns derive from it."""

    def __init__(
        self,
        sink_name: str,
        declared: pa.Schema | None,
        learned: pa.Schema | None,
        compression: str,
        format_name: str = "Parquet",
    ) -> None:
        """Take the columns that were declared, or those that were learned so far."""
        self._sink_name = sink_name
        self._format_name = format_name
        self._names = None if declared is None else declared.names
        self._is_declared = declared is not None
        self._schema = learned if declared is None else declared
        self._compression = compression

    def learned(self) -> pa.Schema | None:
        """The columns."""
        return self._schema

    def encode(self, values: list[Any]) -> pa.Table:
        """Make a table of the records."""
        try:
            columns = to_columns(values, self._names)
        except RecordShapeError as failure:
            record = shortened(misshapen(values, self._names))
            raise SinkError(
                f"Sink {self._sink_name!r} cannot write {record} as {self._format_name}: it {failure}."
            ) from None
        schema = self._schema or pa.schema([(name, pa.null()) for name in columns])
        for name in columns:
            if schema.get_field_index(name) < 0:
                raise unknown_field(self._sink_name, name, columns[name], schema.names)
        missing = [None] * len(values)
        arrays = [self._array(field, columns.get(field.name, missing)) for field in schema]
        fields = [field.with_type(array.type) for field, array in zip(schema, arrays, strict=True)]
        self._schema = pa.schema(fields)
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def encode_columns(self, block: ColumnBlock) -> pa.Table | None:
        """Make a table of columns; None where their objects have to be asked."""
        if block.form in ("tuple", "value"):
            return None  # `encode` handles names
        schema = self._schema or pa.schema([(name, pa.null()) for name in block.batch.schema.names])
        if set(schema.names) != set(block.batch.schema.names):
            return None
        found = [_learned_column(block.column(field.name), field.type) for field in schema]
        arrays = [array for array in found if array is not None]
        if len(arrays) < len(found):
            return None
        self._schema = pa.schema([field.with_type(array.type) for field, array in zip(schema, arrays, strict=True)])
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def open_chunk(self, stream: Any) -> ChunkWriter:
        """Start a Parquet file."""
        assert self._schema is not None, "a chunk is opened before the first block"
        return _ParquetChunkWriter(stream, self._schema, self._compression)

    def merge(self, storage: Storage, chunks: Sequence[Chunk], stream: Any) -> None:
        """Write the row groups of all chunks as one file."""
        schema = _schema_of_all([_schema_of(storage, chunk) for chunk in chunks])
        merged = _ParquetChunkWriter(stream, schema, self._compression)
        try:
            for chunk in chunks:
                with storage.open_input(chunk.path) as source:
                    for batch in pq.ParquetFile(source).iter_batches():
                        merged.write(pa.Table.from_batches([batch]).cast(schema))
        finally:
            merged.finish()

    def _array(self, field: pa.Field, column: list[Any]) -> pa.Array:
        try:
            if not self._is_declared:
                field = field.with_type(learned_type(field.type, column))
            return exact_array(column, field)
        except Misfit as misfit:
            raise self._refusal(field, misfit) from None

    def _refusal(self, field: pa.Field, misfit: Misfit) -> SinkError:
        value = shortened(misfit.value)
        if self._is_declared:
            return SinkError(
                f"Sink {self._sink_name!r} cannot write the field {field.name!r} with the value {value} into "
                f"{self._format_name}, a column of type {field.type}: {misfit}. Map the value, or declare another type."
            )
        learned = "still unknown" if pa.types.is_null(field.type) else field.type
        return SinkError(
            f"Sink {self._sink_name!r} cannot write the field {field.name!r} with the value {value}: {misfit}. The "
            f"type of the column, {learned}, was inferred from the first records. Declare the types: "
            "FileSink.parquet(path, Types.ROW_NAMED([...], [...]))."
        )


def _learned_column(column: pa.Array | None, known: pa.DataType) -> pa.Array | None:
    """A column of the type that its objects would get; None where they have to be asked, or to complain."""
    if column is None:
        return None
    if column.null_count == len(column):
        return pa.nulls(len(column), known)
    if column.type == known:
        return column
    wanted = next((kind for kind, is_kind in _AS_OBJECTS if is_kind(column.type)), None)
    if wanted is None or (known != wanted and not pa.types.is_null(known)):
        return None
    try:
        return column if column.type == wanted else column.cast(wanted)
    except pa.ArrowInvalid:  # a number beyond 64 bits
        return None


# What Arrow makes of the objects of such columns.
_AS_OBJECTS = (
    (pa.int64(), pa.types.is_integer),
    (pa.float64(), pa.types.is_floating),
    (pa.bool_(), pa.types.is_boolean),
    (pa.string(), pa.types.is_string),
    (pa.binary(), pa.types.is_binary),
    (pa.date32(), pa.types.is_date32),
    (pa.timestamp("us"), lambda kind: pa.types.is_timestamp(kind) and kind.tz is None and kind.unit == "us"),
)


def _schema_of(storage: Storage, chunk: Chunk) -> pa.Schema:
    with storage.open_input(chunk.path) as source:
        return pq.read_schema(source)


def _schema_of_all(schemas: list[pa.Schema]) -> pa.Schema:
    """What was learned until the last chunk: a later one knows at least what an earlier one did."""
    types = {field.name: field.type for field in schemas[0]}
    for schema in schemas[1:]:
        types |= {field.name: settled(types.get(field.name, pa.null()), field.type) for field in schema}
    return pa.schema(list(types.items()))


class _ParquetChunkWriter(ChunkWriter):
    """Holds small blocks back until they make a row group worth writing."""

    def __init__(self, stream: Any, schema: pa.Schema, compression: str) -> None:
        self._stream = stream
        self._schema = schema
        self._writer = pq.ParquetWriter(stream, schema, compression=compression)
        self._held: list[pa.Table] = []
        self._held_bytes = 0
        self._held_rows = 0

    def accepts(self, block: pa.Table) -> bool:
        return bool(block.schema.equals(self._schema))

    def write(self, block: pa.Table) -> None:
        self._held.append(block)
        self._held_bytes += block.nbytes
        self._held_rows += block.num_rows
        if self._held_bytes >= _ROW_GROUP_BYTES or self._held_rows >= _ROW_GROUP_ROWS:
            self._write_row_group()

    def size(self) -> int:
        return int(self._stream.tell()) + self._held_bytes

    def finish(self) -> None:
        if self._held:
            self._write_row_group()
        self._writer.close()

    def _write_row_group(self) -> None:
        self._writer.write_table(pa.concat_tables(self._held), row_group_size=_ROW_GROUP_ROWS)
        self._held = []
        self._held_bytes = self._held_rows = 0
