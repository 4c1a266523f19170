"""File readers that do not need Spark: they read ranges of numbered positions as blocks.

What a position is depends on the format: 64 bytes of lines or Avro blocks, a row of Parquet and ORC, or the whole file
where it can only be read from its start. Which files there are is known elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa
from pyarrow import fs as arrow_fs

from penstock.common.column_block import ColumnBlock
from penstock.connectors.files.damaged import naming
from penstock.connectors.files.lines import is_compressed, lines_of
from penstock.connectors.files.listing import ListedFile
from penstock.connectors.frame_source import RowFormat, batch_to_block
from penstock.errors import ConfigurationError, SourceError
from penstock.formats import json_lines
from penstock.formats.csv_lines import CsvLayout
from penstock.formats.text_values import text_converter

UNIT_BYTES = 64
"""Bytes to a position: about a record, so that limits in records mean something for files."""

_LINES = 5_000

Block = list[Any] | ColumnBlock


class FileReader(ABC):
    """Reads files of one format; a picklable description."""

    @abstractmethod
    def positions(self, files: arrow_fs.FileSystem, file: ListedFile) -> int:
        """How many positions a file has; 0 for one without records."""

    @abstractmethod
    def read(self, files: arrow_fs.FileSystem, path: str, start: int, stop: int) -> Iterator[Block]:
        """Yield the records of positions start..stop-1, in order."""


@dataclass(frozen=True)
class LineReader(FileReader):
    """Files of lines: a line is where it begins."""

    schema: pa.Schema
    row_format: RowFormat
    options: Mapping[str, str] = field(default_factory=dict)

    def positions(self, files: arrow_fs.FileSystem, file: ListedFile) -> int:
        """Units of bytes, or one for a file that cannot be entered in its middle."""
        if self._is_whole(file.path):
            return 1 if file.size else 0
        return -(-file.size // UNIT_BYTES)

    def read(self, files: arrow_fs.FileSystem, path: str, start: int, stop: int) -> Iterator[Block]:
        """Make columns of some thousand lines at a time."""
        lines = self._data_lines(files, path, start, stop)
        while taken := list(islice(lines, _LINES)):
            columns = self.columns(taken)
            yield batch_to_block(pa.RecordBatch.from_arrays(columns, schema=self.schema), self.row_format)

    def lines(self, files: arrow_fs.FileSystem, path: str, start: int, stop: int) -> Iterator[str]:
        """The lines of a range, as texts."""
        end = self.options.get("lineSep")
        encoding = self.options.get("encoding", "UTF-8")
        is_whole = self._is_whole(path)
        first, last = (0, None) if is_whole else (start * UNIT_BYTES, stop * UNIT_BYTES)
        for line in lines_of(files, path, first, last, None if end is None else end.encode(encoding)):
            yield line.decode(encoding, "replace")

    def _is_whole(self, path: str) -> bool:
        encoding = self.options.get("encoding", "UTF-8").lower().replace("_", "-")
        # Units of two or four bytes could be cut, and so could a long line end.
        return is_compressed(path) or "16" in encoding or "32" in encoding or len(self.options.get("lineSep", "")) > 1

    def _data_lines(self, files: arrow_fs.FileSystem, path: str, start: int, stop: int) -> Iterator[str]:
        return self.lines(files, path, start, stop)

    @abstractmethod
    def columns(self, lines: list[str]) -> list[pa.Array]:
        """The columns of lines."""


class TextReader(LineReader):
    """Each line is a record."""

    def columns(self, lines: list[str]) -> list[pa.Array]:
        """One column."""
        return [pa.array(lines, pa.string())]


@dataclass(frozen=True)
class CsvReader(LineReader):
    """Lines of fields; `skipped` lines at the start of a file are no records, `arrays` are separators of elements."""

    layout: CsvLayout = field(default_factory=CsvLayout)
    skipped: int = 0
    arrays: Mapping[str, str] = field(default_factory=dict)
    header: tuple[str, ...] | None = None

    def _data_lines(self, files: arrow_fs.FileSystem, path: str, start: int, stop: int) -> Iterator[str]:
        lines: Iterator[str] = filter(self.layout.is_data, self.lines(files, path, start, stop))
        if not self.skipped:
            return lines
        before = 0
        if start > 0:  # what is skipped may end behind the first positions
            earlier = self.lines(files, path, 0, start)
            before = sum(1 for _ in islice(filter(self.layout.is_data, earlier), self.skipped))
        elif self.header is not None:
            lines = self._with_header_checked(lines, path)
        return islice(lines, self.skipped - before, None)

    def _with_header_checked(self, lines: Iterator[str], path: str) -> Iterator[str]:
        assert self.header is not None
        for number, line in enumerate(lines):
            if number == 0 and tuple(map(str, self.layout.fields(line))) != self.header:
                raise SourceError(
                    f"the header of {path} is {line!r}, but the columns are {', '.join(self.header)} (strict headers)"
                )
            yield line

    def columns(self, lines: list[str]) -> list[pa.Array]:
        """Fields that are missing are null, those too many are dropped."""
        width = len(self.schema)
        rows = [self.layout.fields(line) for line in lines]
        for row in rows:
            if len(row) < width:
                row.extend([None] * (width - len(row)))
        converted = [self._convert(field) for field in self.schema]
        return [
            pa.array([None if row[place] is None else convert(row[place]) for row in rows], each.type)
            for place, (each, convert) in enumerate(zip(self.schema, converted, strict=True))
        ]

    def _convert(self, column: pa.Field) -> Any:
        if not pa.types.is_list(column.type):
            return text_converter(column.type)
        element = text_converter(column.type.value_type)
        separator = self.arrays.get(column.name)
        if not separator:
            return lambda text: [element(text)]
        return lambda text: [element(each) for each in text.split(separator)]


class JsonReader(LineReader):
    """Lines of objects."""

    def columns(self, lines: list[str]) -> list[pa.Array]:
        """Lines that are no objects give rows without values."""
        found: list[tuple[str, dict[str, Any]]] = []
        for line in lines:
            if line.strip():
                found += [
                    (line, each if each is not None else {"_corrupt_record": line}) for each in json_lines.records(line)
                ]
        return [self._column(column, found) for column in self.schema]

    def _column(self, column: pa.Field, found: list[tuple[str, dict[str, Any]]]) -> pa.Array:
        name, convert = column.name, json_lines.or_none(json_lines.converter(column.type))
        if not pa.types.is_string(column.type):
            return pa.array([convert(record.get(name)) for _, record in found], column.type)
        return pa.array([self._text(line, name, record.get(name), convert) for line, record in found], column.type)

    def _text(self, line: str, name: str, value: Any, convert: Any) -> str | None:
        written = json_lines.written_field(line, name) if isinstance(value, (dict, list)) else None
        return convert(value) if written is None else written


@dataclass(frozen=True)
class ColumnReader(FileReader):
    """Parquet and ORC: a position is a row."""

    file_format: str
    schema: pa.Schema
    row_format: RowFormat

    def positions(self, files: arrow_fs.FileSystem, file: ListedFile) -> int:
        """The number of rows."""
        return open_columns(files, file.path, self.file_format).row_count

    def read(self, files: arrow_fs.FileSystem, path: str, start: int, stop: int) -> Iterator[Block]:
        """Read the groups that the rows are in."""
        opened = open_columns(files, path, self.file_format)
        groups = opened.groups(self.schema.names, start, stop)
        while (found := self._next(groups, path)) is not None:
            first, group = found
            wanted = group.slice(max(0, start - first), min(stop, first + group.num_rows) - max(start, first))
            for batch in self._fitted(wanted, path).to_batches(max_chunksize=10_000):
                yield batch_to_block(batch, self.row_format)

    def _next(self, groups: Iterator[tuple[int, pa.Table]], path: str) -> tuple[int, pa.Table] | None:
        with naming(path, self.file_format):
            return next(groups, None)

    def _fitted(self, table: pa.Table, path: str) -> pa.Table:
        columns = []
        for column in self.schema:
            place = table.schema.get_field_index(column.name)
            if place < 0:
                columns.append(pa.nulls(table.num_rows, column.type))
                continue
            try:
                columns.append(as_type(table.column(place), column.type))
            except pa.ArrowException as error:
                raise SourceError(
                    f"column {column.name!r} of {path} is {table.schema.field(place).type}, which cannot be read as "
                    f"{column.type}: {error}"
                ) from None
        return pa.Table.from_arrays(columns, schema=self.schema)


def as_type(column: Any, kind: pa.DataType) -> Any:
    """A column cast; what has no zone in the file is UTC where the column has one."""
    if pa.types.is_timestamp(kind) and column.type != kind:
        if pa.types.is_timestamp(column.type) and column.type.tz is None and kind.tz is not None:
            column = column.cast(pa.timestamp("us"), safe=False)
            return column.cast(pa.timestamp("us", "UTC"))
        return column.cast(kind, safe=False)
    return column if column.type == kind else column.cast(kind)


@dataclass(frozen=True)
class OpenedColumns:
    """A file of columns whose footer has been read."""

    schema: pa.Schema
    row_count: int
    group_sizes: list[int]
    read_group: Any

    def groups(self, names: list[str], start: int, stop: int) -> Iterator[tuple[int, pa.Table]]:
        """The groups that have rows of a range, with the number of their first."""
        there = [name for name in names if name in self.schema.names]
        first = 0
        for number, size in enumerate(self.group_sizes):
            if first < stop and first + size > start:
                yield first, self.read_group(number, there)
            first += size


def open_columns(files: arrow_fs.FileSystem, path: str, file_format: str) -> OpenedColumns:
    """Open a Parquet or ORC file."""
    with naming(path, file_format):
        stream = files.open_input_file(path)
        return _open_parquet(stream) if file_format == "parquet" else _open_orc(stream)


def _open_parquet(stream: Any) -> OpenedColumns:
    from pyarrow import parquet

    opened = parquet.ParquetFile(stream)
    sizes = [opened.metadata.row_group(n).num_rows for n in range(opened.metadata.num_row_groups)]
    return OpenedColumns(
        opened.schema_arrow,
        opened.metadata.num_rows,
        sizes,
        lambda number, names: opened.read_row_group(number, columns=names),
    )


def _open_orc(stream: Any) -> OpenedColumns:
    from pyarrow import orc

    opened = orc.ORCFile(stream)
    stripes = [opened.nrows] * min(opened.nstripes, 1)
    if opened.nstripes > 1:  # the library says how many rows a stripe has only by reading a column of it
        column = opened.schema.names[:1]
        stripes = [opened.read_stripe(number, columns=column).num_rows for number in range(opened.nstripes)]

    def read(number: int, names: list[str]) -> pa.Table:
        return pa.Table.from_batches([opened.read_stripe(number, columns=names)])

    return OpenedColumns(opened.schema, opened.nrows, stripes, read)


@dataclass(frozen=True)
class AvroReader(FileReader):
    """Avro container files: a block is where it begins; records are dicts, made into what the row format asks for."""

    reader_schema: Any
    row_format: RowFormat

    def positions(self, files: arrow_fs.FileSystem, file: ListedFile) -> int:
        """Units of bytes."""
        return -(-file.size // UNIT_BYTES)

    def read(self, files: arrow_fs.FileSystem, path: str, start: int, stop: int) -> Iterator[Block]:
        """Decode the blocks that begin in the range."""
        from penstock.connectors.files.avro_files import avro_blocks, shaped

        for names, records in avro_blocks(files, path, self.reader_schema, start * UNIT_BYTES, stop * UNIT_BYTES):
            yield shaped(records, names, self.row_format)


_CSV_OPTIONS = frozenset(
    {"sep", "header", "quote", "escape", "comment", "nullValue", "emptyValue", "lineSep", "encoding", "enforceSchema"}
)
_LINE_OPTIONS = frozenset({"encoding", "lineSep"})


def check_options(file_format: str, options: Mapping[str, str]) -> None:
    """Raise for options that only Spark's readers support."""
    known = {"csv": _CSV_OPTIONS, "text": _LINE_OPTIONS, "json": _LINE_OPTIONS}.get(file_format, frozenset())
    unknown = sorted(set(options) - known)
    if unknown:
        raise ConfigurationError(
            f"The option {unknown[0]!r} of {file_format} files is known to Spark only: run the job on Spark, "
            "or leave it out."
        )
