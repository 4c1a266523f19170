"""What a file sink asks of a format: encode blocks of records, write chunk files, merge chunks into one file.

Owns the contract and the formats made of lines (text, JSON, CSV); Parquet has a module of its own.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

from penstock.common.column_block import ColumnBlock
from penstock.common.serialization import BulkWriterFactory
from penstock.connectors.records import SCALAR_COLUMN, RecordShapeError, has_names, plain, to_columns
from penstock.connectors.storage import Storage
from penstock.errors import ConfigurationError, SinkError

_COPY_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Chunk:
    """A finished staged file: its path below the sink's base, its size and how much of that is a header."""

    path: str
    size: int
    header_size: int = 0


class ChunkWriter(ABC):
    """Writes one chunk file. The stream is opened and closed by the caller."""

    header_size: int = 0

    def accepts(self, block: Any) -> bool:
        """Whether the block can go into this chunk; if not, the caller starts another one."""
        return True

    @abstractmethod
    def write(self, block: Any) -> None:
        """Append what `BlockEncoder.encode` returned."""

    @abstractmethod
    def size(self) -> int:
        """Bytes written, with those still held back."""

    @abstractmethod
    def finish(self) -> None:
        """Write what is held back; nothing is written after it."""


class BlockEncoder(ABC):
    """Encodes the records of one subtask. What it learned about them is carried from batch to batch."""

    @abstractmethod
    def encode(self, values: list[Any]) -> Any:
        """Encode a block of at least one record; raise SinkError for a record that cannot be."""

    def encode_columns(self, block: ColumnBlock) -> Any:
        """Encode a block of columns as `encode` encodes their objects; None where it has to."""
        return None

    @abstractmethod
    def open_chunk(self, stream: Any) -> ChunkWriter:
        """Start a chunk file, after at least one block was encoded."""

    @abstractmethod
    def merge(self, storage: Storage, chunks: Sequence[Chunk], stream: Any) -> None:
        """Write the records of all chunks, in order, as one file."""

    def learned(self) -> Any:
        """Picklable knowledge for the encoder of the next batch."""
        return None


class FileFormat(BulkWriterFactory):
    """A description of how files are written; small and picklable."""

    suffix: str = ""

    @abstractmethod
    def create_encoder(self, sink_name: str, learned: Any) -> BlockEncoder:
        """Make the encoder of one subtask and batch; `learned` is None at first."""


class _ByteChunkWriter(ChunkWriter):
    def __init__(self, stream: Any, header: bytes) -> None:
        self._stream = stream
        self._size = self.header_size = len(header)
        stream.write(header)

    def write(self, block: bytes) -> None:
        self._stream.write(block)
        self._size += len(block)

    def size(self) -> int:
        return self._size

    def finish(self) -> None:
        pass  # every block is written at once


class ByteEncoder(BlockEncoder):
    """An encoder whose files can be joined byte by byte, but for a header."""

    def __init__(self, sink_name: str) -> None:
        """Keep the name for error messages."""
        self.sink_name = sink_name

    def header(self) -> bytes:
        """Return what every file starts with."""
        return b""

    def open_chunk(self, stream: Any) -> ChunkWriter:
        """Start a chunk with the header."""
        return _ByteChunkWriter(stream, self.header())

    def merge(self, storage: Storage, chunks: Sequence[Chunk], stream: Any) -> None:
        """Copy the chunks, with the header of the first only."""
        for position, chunk in enumerate(chunks):
            with storage.open_input(chunk.path) as source:
                source.seek(chunk.header_size if position else 0)
                while piece := source.read(_COPY_BYTES):
                    stream.write(piece)

    def refused(self, value: Any, format_name: str, reason: object) -> SinkError:
        """Build the error for a record that cannot be encoded."""
        return SinkError(
            f"Sink {self.sink_name!r} cannot write {shortened(value)} as {format_name}: {clipped(str(reason))}."
        )


def shortened(value: Any) -> str:
    """Show a value in an error message without flooding it."""
    return clipped(repr(value))


def clipped(text: str) -> str:
    """Cut a text that may hold a whole record to a readable length."""
    return text if len(text) <= 200 else f"{text[:200]}... ({len(text)} characters)"


def line_of(value: Any) -> bytes:
    """Encode a record as its text and a line feed."""
    return f"{value}\n".encode()


@dataclass(frozen=True)
class TextFormat(FileFormat):
    """Each record becomes the bytes that `encode` makes of it, line feed included if there shall be one."""

    encode: Callable[[Any], bytes] = line_of

    def create_encoder(self, sink_name: str, learned: Any) -> BlockEncoder:
        """Make the encoder."""
        return _TextEncoder(sink_name, self.encode)


class _TextEncoder(ByteEncoder):
    def __init__(self, sink_name: str, encode: Callable[[Any], bytes]) -> None:
        super().__init__(sink_name)
        self._encode = encode

    def encode(self, values: list[Any]) -> bytes:
        try:
            return b"".join(map(self._encode, values))
        except (TypeError, UnicodeError):
            raise self._first_refusal(values) from None

    def _first_refusal(self, values: list[Any]) -> SinkError:
        for value in values:
            try:
                b"".join([self._encode(value)])
            except (TypeError, UnicodeError) as failure:
                return self.refused(value, "text", failure)
        raise AssertionError("a block failed though each of its records can be encoded")


@dataclass(frozen=True)
class JsonFormat(FileFormat):
    """One JSON object a line; records without field names become what they are: a list, a string, a number.

    Times are ISO 8601 texts, bytes base64, decimals texts; NaN and infinities are quoted, as Jackson does and
    Spark reads.
    """

    type_info: Any = None
    suffix: str = ".json"

    def create_encoder(self, sink_name: str, learned: Any) -> BlockEncoder:
        """Make the encoder."""
        return _JsonEncoder(sink_name, field_names(self.type_info))


class _JsonEncoder(ByteEncoder):
    def __init__(self, sink_name: str, names: list[str] | None) -> None:
        super().__init__(sink_name)
        self._names = names
        self._dumps = json.JSONEncoder(
            ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_json_value
        ).encode

    def encode(self, values: list[Any]) -> bytes:
        if all(type(value) is dict for value in values):
            return self._lines(values)
        return self._lines([self._record(value) for value in values])

    def _record(self, value: Any) -> Any:
        if self._names is None or has_names(value):
            return plain(value)
        try:
            return {name: column[0] for name, column in to_columns([value], self._names).items()}
        except RecordShapeError as failure:
            raise self.refused(value, "JSON", f"it {failure}") from None

    def _lines(self, records: list[Any]) -> bytes:
        try:
            return ("\n".join(map(self._dumps, records)) + "\n").encode()
        except (TypeError, ValueError):
            return b"".join(map(self._line, records))

    def _line(self, record: Any) -> bytes:
        try:
            return (self._dumps(_without_nan(plain(record))) + "\n").encode()
        except (TypeError, ValueError, RecursionError) as failure:
            raise self.refused(record, "JSON", failure) from None


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {_without_nan(key): _without_nan(item) for key, item in value.items()}
    return [_without_nan(item) for item in value] if isinstance(value, list) else value


_JSON_VALUES: dict[type, Callable[[Any], Any]] = {
    datetime: datetime.isoformat,
    date: date.isoformat,
    time: time.isoformat,
    bytes: lambda value: base64.b64encode(value).decode(),
    bytearray: lambda value: base64.b64encode(value).decode(),
    Decimal: str,
    UUID: str,
}


def _json_value(value: Any) -> Any:
    convert = _JSON_VALUES.get(type(value))
    if convert is not None:
        return convert(value)
    as_plain = plain(value)
    if as_plain is not value:
        return as_plain
    raise TypeError(f"a {type(value).__name__} has no JSON form; map it to a text or a number first")


@dataclass(frozen=True)
class CsvFormat(FileFormat):
    """Comma-separated values, quoted where needed; None is an empty field, nested values are JSON texts.

    The columns are those of `type_info`, or of the first record; a later record with other fields is an error.
    """

    type_info: Any = None
    header: bool = False
    delimiter: str = ","
    suffix: str = ".csv"

    def __post_init__(self) -> None:
        """Check the delimiter."""
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1 or self.delimiter in '\r\n"':
            raise ConfigurationError(f"A CSV delimiter is one character, no quote or line end: {self.delimiter!r}.")

    def create_encoder(self, sink_name: str, learned: Any) -> BlockEncoder:
        """Make the encoder."""
        return _CsvEncoder(sink_name, self, field_names(self.type_info), learned)


class _CsvEncoder(ByteEncoder):
    def __init__(self, sink_name: str, settings: CsvFormat, names: list[str] | None, learned: list[str] | None) -> None:
        super().__init__(sink_name)
        self._settings = settings
        self._names = names
        self._columns = names or learned

    def learned(self) -> list[str] | None:
        return self._columns

    def header(self) -> bytes:
        assert self._columns is not None, "a chunk is opened before the first block"
        return self._text([self._columns]).encode() if self._settings.header else b""

    def encode(self, values: list[Any]) -> bytes:
        try:
            columns = to_columns(values, self._names)
        except RecordShapeError as failure:
            raise self.refused(values[0], "CSV", f"a record {failure}") from None
        if self._columns is None:
            self._columns = list(columns)
        unknown = [name for name in columns if name not in self._columns]
        if unknown:
            raise unknown_field(self.sink_name, unknown[0], columns[unknown[0]], self._columns)
        missing = [None] * len(values)
        cells = [list(map(_csv_cell, columns.get(name, missing))) for name in self._columns]
        return self._text(list(zip(*cells, strict=True))).encode()

    def _text(self, rows: list[Any]) -> str:
        text = io.StringIO()
        csv.writer(text, delimiter=self._settings.delimiter, lineterminator="\n").writerows(rows)
        return text.getvalue()


_CSV_PLAIN = frozenset({str, int, float, bool, type(None), Decimal, datetime, date, time, UUID})


def _csv_cell(value: Any) -> Any:
    if type(value) in _CSV_PLAIN:
        return value
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    as_plain = plain(value)
    return json.dumps(as_plain, ensure_ascii=False, default=str) if isinstance(as_plain, (dict, list)) else value


def unknown_field(sink_name: str, field: str, column: list[Any], known: Sequence[str]) -> SinkError:
    """Build the error for a field that the files' columns do not have."""
    example = next((value for value in column if value is not None), None)
    return SinkError(
        f"Sink {sink_name!r} has no column for the field {field!r} (value {shortened(example)}): its columns are "
        f"{', '.join(known)}. Declare the type of the records to say which columns there are."
    )


def declared_schema(type_info: Any) -> pa.Schema | None:
    """Columns of a declared TypeInformation, or None if nothing was declared."""
    if type_info is None:
        return None
    arrow_type = type_info.arrow_type()
    if pa.types.is_struct(arrow_type):
        return pa.schema(list(arrow_type))
    return pa.schema([(SCALAR_COLUMN, arrow_type)])


def field_names(type_info: Any) -> list[str] | None:
    """Names of the columns of a declared TypeInformation, or None if nothing was declared."""
    schema = declared_schema(type_info)
    return None if schema is None else list(schema.names)
