"""Tables in files of columns: what the files hold of a row, in which folder, and as which types."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from penstock.common.column_block import ColumnBlock
from penstock.connectors.files.bucketing import BucketAssigner, BucketContext, FunctionBucketAssigner
from penstock.errors import SqlError
from penstock.formats.avro_format import AvroFormat
from penstock.formats.file_formats import FileFormat
from penstock.formats.orc_format import OrcFormat
from penstock.formats.parquet_format import ParquetFormat
from penstock.table.connectors.avro_schemas import avro_schema
from penstock.table.java_texts import java_text
from penstock.vocabulary.sql.external_values import external_row
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["COLUMNAR", "DEFAULT_PARTITION", "FolderAssigner", "Folders", "StoredRows", "file_format"]

DEFAULT_PARTITION = "__DEFAULT_PARTITION__"
COLUMNAR = ("parquet", "avro", "orc")
_PLAIN: dict[Kind, pa.DataType] = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.TINYINT: pa.int8(),
    Kind.SMALLINT: pa.int16(),
    Kind.INTEGER: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.CHAR: pa.string(),
    Kind.VARCHAR: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.VARBINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.time32("ms"),
}


@dataclass(frozen=True)
class Columns:
    """A row type as formats want a type to be."""

    row_type: LogicalType

    def arrow_type(self) -> pa.DataType:
        """The columns as a struct."""
        return arrow_type(self.row_type)


def arrow_type(declared: LogicalType) -> pa.DataType:
    """The Arrow type of values as Python has them."""
    kind = declared.kind
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind is Kind.DECIMAL:
        return pa.decimal128(declared.precision, declared.scale)
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        return pa.timestamp("us", "UTC" if kind is Kind.TIMESTAMP_LTZ else None)
    if kind is Kind.ARRAY:
        return pa.list_(arrow_type(declared.parts[0]))
    if kind is Kind.MAP:
        return pa.map_(*map(arrow_type, declared.parts))
    if kind is Kind.ROW:
        fields = [pa.field(n, arrow_type(t)) for n, t in zip(declared.names, declared.parts, strict=True)]
        return pa.struct(fields)
    raise SqlError(f"Files of columns have no columns of type {declared}; use the format 'json'.")


def file_format(name: str, stored: LogicalType, options: dict[str, str]) -> FileFormat:
    """The format of files that hold rows of a type."""
    if name == "parquet":
        arrow_type(stored)
        return ParquetFormat(Columns(stored), options.get("compression", "snappy").lower())
    if name == "orc":
        if any(each.kind is Kind.TIME for each in stored.parts):
            raise SqlError("ORC files have no columns of type TIME; use another format, or cast the column to STRING.")
        arrow_type(stored)
        return OrcFormat(Columns(stored), options.get("compress", "zlib").lower())
    codec = {"snappy": "deflate"}.get(options.get("codec", "snappy"), options.get("codec", "snappy"))
    return AvroFormat(json.dumps(avro_schema(stored)), codec)


_KNOWN_FOLDERS = 10_000


class Folders:
    """Names the folder of a row after the values of its partition columns: name, place and type of each."""

    def __init__(self, keys: list[tuple[str, int, LogicalType]], default: str = DEFAULT_PARTITION) -> None:
        """Take the columns, and the folder of NULL."""
        self.keys = keys
        self.default = default
        self._known: dict[tuple[Any, ...], str] = {}

    def __call__(self, row: tuple[Any, ...]) -> str:
        """The folder of a row."""
        return self.of(tuple([row[at + 1] for _, at, _ in self.keys]))

    def of(self, values: tuple[Any, ...]) -> str:
        """The folder of values of the partition columns."""
        found = self._known.get(values)
        if found is None:
            if len(self._known) > _KNOWN_FOLDERS:
                self._known.clear()
            found = self._known[values] = self._folder(values)
        return found

    def _folder(self, values: tuple[Any, ...]) -> str:
        parts = []
        for (key, _, declared), value in zip(self.keys, values, strict=True):
            text = self.default if value is None else quote(java_text(declared)(value), safe=" +-.,_")
            parts.append(f"{key}={text}")
        return "/".join(parts)


class FolderAssigner(FunctionBucketAssigner):
    """Sorts rows into the folders of `Folders`, which is its function."""

    function: Folders

    def assign_columns(self, block: ColumnBlock) -> Iterable[tuple[str, ColumnBlock]] | None:
        """Rows by folder, where the partition columns are texts and whole numbers."""
        columns = [block.batch.column(at + 1) for _, at, _ in self.function.keys]
        if not all(pa.types.is_string(each.type) or pa.types.is_integer(each.type) for each in columns):
            return None
        codes = np.zeros(len(block), np.int64)
        for column in columns:
            encoded = column.dictionary_encode(null_encoding="encode")
            # Numbered anew after each column, so that they stay small.
            wide = codes * len(encoded.dictionary) + encoded.indices.to_numpy()
            codes = pa.array(wide).dictionary_encode().indices.to_numpy().astype(np.int64)
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        sorted_block = block if len(starts) == 1 else block.take(order)
        values = [column.take(pa.array(order[starts])).to_pylist() for column in columns]
        folders = map(self.function.of, zip(*values, strict=True))
        buckets: dict[str, list[ColumnBlock]] = {}
        for folder, start, stop in zip(folders, starts.tolist(), [*starts[1:].tolist(), len(block)], strict=True):
            buckets.setdefault(folder, []).append(sorted_block.slice(start, stop))
        return [(folder, part) for folder, parts in buckets.items() for part in parts]


class StoredRows(BucketAssigner):
    """Sorts rows into folders and makes of each what the files hold: a Row of the columns that are no partitions."""

    def __init__(self, folders: Folders, stored: LogicalType, keep: tuple[int, ...]) -> None:
        """Take the type of what is stored, and which fields of a row that is."""
        self.folders = folders
        self.stored = stored
        self.keep = keep
        self._convert: Callable[[tuple[Any, ...]], Any] | None = None

    def __getstate__(self) -> tuple[Folders, LogicalType, tuple[int, ...]]:
        """Plain data."""
        return self.folders, self.stored, self.keep

    def __setstate__(self, state: tuple[Folders, LogicalType, tuple[int, ...]]) -> None:
        """Be made again."""
        self.folders, self.stored, self.keep = state
        self._convert = None

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """The folder of a row."""
        return self.folders(element)

    def assign(
        self, values: list[Any], timestamps: list[int | None] | None, watermark: int
    ) -> Iterable[tuple[str, list[Any]]]:
        """Rows as they are stored, by folder."""
        if self._convert is None:
            self._convert = external_row(self.stored)
        buckets: dict[str, list[Any]] = {}
        for row in values:
            kept = self._convert((row[0], *[row[each + 1] for each in self.keep]))
            buckets.setdefault(self.folders(row), []).append(kept)
        return buckets.items()
