"""Parquet files for file sinks: records to Arrow columns, chunks as row groups, chunks merged to one file.

Owns the schema of a subtask's files: declared, or learned from the first records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common.column_block import ColumnBlock
from penstock.connectors.file_formats import (
    BlockEncoder,
    Chunk,
    ChunkWriter,
    FileFormat,
    clipped,
    declared_schema,
    shortened,
    unknown_field,
)
from penstock.connectors.records import RecordShapeError, plain, to_columns
from penstock.connectors.storage import Storage
from penstock.errors import SinkError

_ROW_GROUP_BYTES = 16 * 1024 * 1024
_ROW_GROUP_ROWS = 1_000_000


@dataclass(frozen=True)
class ParquetFormat(FileFormat):
    """Parquet. Without `type_info` each subtask learns the columns from its first records and then keeps them.

    A column that has only been None so far has no type yet and takes the one of its first other value.
    """

    type_info: Any = None
    compression: str = "snappy"
    suffix: str = ".parquet"

    def create_encoder(self, sink_name: str, learned: Any) -> BlockEncoder:
        """Make the encoder."""
        return _ParquetEncoder(sink_name, declared_schema(self.type_info), learned, self.compression)


class _ParquetEncoder(BlockEncoder):
    def __init__(self, sink_name: str, declared: pa.Schema | None, learned: pa.Schema | None, compression: str) -> None:
        self._sink_name = sink_name
        self._names = None if declared is None else declared.names
        self._schema = learned if declared is None else declared
        self._compression = compression

    def learned(self) -> pa.Schema | None:
        return self._schema

    def encode(self, values: list[Any]) -> pa.Table:
        try:
            columns = to_columns(values, self._names)
        except RecordShapeError as failure:
            raise SinkError(
                f"Sink {self._sink_name!r} cannot write {shortened(values[0])} as Parquet: a record {failure}."
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
        if block.form in ("tuple", "value"):
            return None  # names are the business of `encode`
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
        assert self._schema is not None, "a chunk is opened before the first block"
        return _ParquetChunkWriter(stream, self._schema, self._compression)

    def merge(self, storage: Storage, chunks: Sequence[Chunk], stream: Any) -> None:
        schema = pa.unify_schemas([_schema_of(storage, chunk) for chunk in chunks])
        merged = _ParquetChunkWriter(stream, schema, self._compression)
        try:
            for chunk in chunks:
                with storage.open_input(chunk.path) as source:
                    for batch in pq.ParquetFile(source).iter_batches():
                        merged.write(pa.Table.from_batches([batch]).cast(schema))
        finally:
            merged.finish()

    def _array(self, field: pa.Field, column: list[Any]) -> pa.Array:
        wanted = None if pa.types.is_null(field.type) else field.type
        try:
            return _converted(column, wanted)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, TypeError, ValueError):
            raise self._first_refusal(field.name, column, wanted) from None

    def _first_refusal(self, name: str, column: list[Any], wanted: pa.DataType | None) -> SinkError:
        for position in range(len(column)):
            # Without a wanted type it is the mixture that fails, so the values before it belong to the question.
            asked = column[: position + 1] if wanted is None else column[position : position + 1]
            try:
                _converted(asked, wanted)
            except (pa.ArrowException, OverflowError, TypeError, ValueError) as failure:
                return SinkError(
                    f"Sink {self._sink_name!r} cannot write the field {name!r} with the value "
                    f"{shortened(column[position])} into a Parquet column of type {wanted or 'still unknown'}: "
                    f"{clipped(str(failure))}. Map the value, or declare the type of the records."
                )
        raise AssertionError("a column failed though each of its values fits")


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


def _converted(column: list[Any], wanted: pa.DataType | None) -> pa.Array:
    if not _LEAVES.issuperset(map(type, column)):
        column = [plain(value) for value in column]
    array = pa.array(column, type=wanted)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


_LEAVES = frozenset({int, float, str, bytes, bool, type(None)})


def _schema_of(storage: Storage, chunk: Chunk) -> pa.Schema:
    with storage.open_input(chunk.path) as source:
        return pq.read_schema(source)


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
