"""What a file sink asks of a format: encode blocks of records, write chunk files, merge chunks into one file.

Parquet has a module of its own.
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

import numpy as np
import pyarrow as pa

from penstock.common.avro_type import GenericRecordAvroTypeInfo
from penstock.common.basic_types import PickledBytesTypeInfo
from penstock.common.column_block import ColumnBlock
from penstock.common.serialization import BulkWriterFactory
from penstock.errors import ConfigurationError, SinkError
from penstock.formats.csv_signs import CsvSigns, real_text
from penstock.formats.exact_columns import Misfit, exact_texts
from penstock.formats.records import SCALAR_COLUMN, Columns, RecordShapeError, misshapen, plain, to_columns
from penstock.formats.shown_values import clipped, shortened
from penstock.storage.places import Storage

_COPY_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Chunk:
    """A finished staged file: its path below the sink's base, its size, how much of that is a header, its CRC-32.

    The checksum is None for what versions before wrote, which did not count the bytes of the file.
    """

    path: str
    size: int
    header_size: int = 0
    checksum: int | None = None

    def to_plain(self) -> list[Any]:
        """Return it as plain data."""
        return [self.path, self.size, self.header_size, self.checksum]

    @classmethod
    def from_plain(cls, plain: list[Any]) -> Chunk:
        """Return what `to_plain` described."""
        return cls(*plain)


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
        """Return knowledge for the encoder of the next batch: plain data, or any object that can be pickled."""
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

    With `type_info` every record has its fields, and a value that is not of its type fails the job. Times are ISO 8601
    texts, bytes base64, decimals texts; NaN and infinities are quoted, as Jackson does and Spark reads.
    """

    type_info: Any = None
    suffix: str = ".json"

    def create_encoder(self, sink_name: str, learned: Any) -> BlockEncoder:
        """Make the encoder."""
        return _JsonEncoder(sink_name, self.type_info)


class _JsonEncoder(ByteEncoder):
    def __init__(self, sink_name: str, type_info: Any) -> None:
        super().__init__(sink_name)
        self._declared = None if type_info is None else DeclaredFields(sink_name, type_info)
        self._dumps = json.JSONEncoder(
            ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_json_value
        ).encode

    def encode(self, values: list[Any]) -> bytes:
        if self._declared is not None:
            return self._lines(self._declared_records(values, self._declared))
        if all(type(value) is dict for value in values):
            return self._lines(values)
        return self._lines([plain(value) for value in values])

    def _declared_records(self, values: list[Any], declared: DeclaredFields) -> list[Any]:
        try:
            columns = declared.columns(values)
        except RecordShapeError as failure:
            raise self.refused(misshapen(values, declared.names), "JSON", f"it {failure}") from None
        return [dict(zip(declared.names, record, strict=True)) for record in zip(*columns, strict=True)]

    def _lines(self, records: list[Any]) -> bytes:
        try:
            return ("\n".join(map(self._dumps, records)) + "\n").encode()
        except (TypeError, ValueError, RecursionError):
            return b"".join(map(self._line, records))

    def _line(self, record: Any) -> bytes:
        try:
            return (self._dumps(_without_nan(plain(record))) + "\n").encode()
        except (TypeError, ValueError, RecursionError) as failure:
            raise self.refused(record, "JSON", failure) from None


def _without_nan(value: Any) -> Any:
    if isinstance(value, np.floating):
        value = value.item()
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
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, datetime):  # a Timestamp of pandas, or NaT, which is not equal to itself
        return value.isoformat() if value == value else None
    as_plain = plain(value)
    if as_plain is not value:
        return as_plain
    raise TypeError(f"a {type(value).__name__} cannot be written as JSON; map it to a string or a number first")


@dataclass(frozen=True)
class CsvFormat(FileFormat):
    """Comma-separated values, quoted where needed; None is an empty field, nested values are JSON texts.

    The columns are those of `type_info`, or of the first record; a later record with other fields is an error. With
    `signs` lines are as Flink writes them, lists too: `array_separators` names what stands between elements by column.
    """

    type_info: Any = None
    header: bool = False
    delimiter: str = ","
    suffix: str = ".csv"
    signs: CsvSigns | None = None
    array_separators: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        """Check the delimiter."""
        if not isinstance(self.delimiter, str) or len(self.delimiter) != 1 or self.delimiter in '\r\n"':
            raise ConfigurationError(f"A CSV delimiter is one character, no quote or line end: {self.delimiter!r}.")

    def create_encoder(self, sink_name: str, learned: Any) -> BlockEncoder:
        """Make the encoder."""
        return _CsvEncoder(sink_name, self, learned)


class _CsvEncoder(ByteEncoder):
    def __init__(self, sink_name: str, settings: CsvFormat, learned: list[str] | None) -> None:
        super().__init__(sink_name)
        self._settings = settings
        type_info = settings.type_info
        self._declared = None if type_info is None else DeclaredFields(sink_name, type_info)
        self._columns = learned if self._declared is None else self._declared.names

    def learned(self) -> list[str] | None:
        return self._columns

    def header(self) -> bytes:
        assert self._columns is not None, "a chunk is opened before the first block"
        if not self._settings.header:
            return b""
        signs = self._settings.signs
        line = self._text([self._columns]) if signs is None else signs.line(map(signs.text, self._columns))
        return line.encode()

    def encode(self, values: list[Any]) -> bytes:
        try:
            columns = self._learned_columns(values) if self._declared is None else self._declared.columns(values)
        except RecordShapeError as failure:
            names = None if self._declared is None else self._declared.names
            raise self.refused(misshapen(values, names), "CSV", f"a record {failure}") from None
        if self._settings.signs is not None:
            return self._signed(self._settings.signs, columns).encode()
        return self._text(list(zip(*[map(_csv_cell, column) for column in columns], strict=True))).encode()

    def _signed(self, signs: CsvSigns, columns: list[list[Any]]) -> str:
        assert self._declared is not None, "signs come with a declared type"
        separators, texts = dict(self._settings.array_separators), []
        for name, is_single, column in zip(self._declared.names, self._declared.are_single, columns, strict=True):
            separator, real = separators.get(name, ""), real_text(is_single)
            texts.append([signs.field(value, separator, real) for value in column])
        return "".join(map(signs.line, zip(*texts, strict=True)))

    def _learned_columns(self, values: list[Any]) -> list[list[Any]]:
        columns = to_columns(values)
        if self._columns is None:
            self._columns = list(columns)
        return in_order(self.sink_name, columns, self._columns, len(values))

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
        f"{', '.join(known)}. Declare the type of the records to set the columns."
    )


def declared_schema(type_info: Any) -> pa.Schema | None:
    """Columns of a declared TypeInformation, or None if nothing was declared."""
    if type_info is None:
        return None
    arrow_type = type_info.arrow_type()
    if pa.types.is_struct(arrow_type):
        return pa.schema(list(arrow_type))
    return pa.schema([(SCALAR_COLUMN, arrow_type)])


def in_order(sink_name: str, columns: Columns, names: Sequence[str], count: int) -> list[list[Any]]:
    """The columns of some names, Nones for those that are not there; a column of another name is refused."""
    for name in columns:
        if name not in names:
            raise unknown_field(sink_name, name, columns[name], names)
    missing = [None] * count
    return [columns.get(name, missing) for name in names]


class DeclaredFields:
    """The fields of a declared type, for formats of texts: it names the columns, and says what may be in them."""

    def __init__(self, sink_name: str, type_info: Any) -> None:
        """Take the TypeInformation of the records."""
        schema = declared_schema(type_info)
        assert schema is not None
        self._sink_name = sink_name
        self.names = list(schema.names)
        is_struct = pa.types.is_struct(type_info.arrow_type())
        types = type_info.get_field_types() if is_struct else [type_info]
        # An object of any kind has no type in Arrow, and every text says what it is.
        self._kinds = [None if _may_be_anything(each) else kind for each, kind in zip(types, schema.types, strict=True)]
        self.are_single = [_is_single(kind) for kind in schema.types]

    def columns(self, values: list[Any]) -> list[list[Any]]:
        """The values of each field; raises SinkError for one that is not of its type."""
        found = in_order(self._sink_name, to_columns(values, self.names), self.names, len(values))
        fields = zip(self.names, self._kinds, found, strict=True)
        return [self._exact(name, kind, column) for name, kind, column in fields]

    def _exact(self, name: str, kind: pa.DataType | None, column: list[Any]) -> list[Any]:
        try:
            return column if kind is None else exact_texts(column, kind)
        except Misfit as misfit:
            raise SinkError(
                f"Sink {self._sink_name!r} cannot write the field {name!r} with the value {shortened(misfit.value)} as "
                f"{kind}: {misfit}. Map the value, or declare another type."
            ) from None


def _is_single(kind: pa.DataType) -> bool:
    return bool(pa.types.is_float32(kind.value_type if pa.types.is_list(kind) else kind))


def _may_be_anything(type_info: Any) -> bool:
    if isinstance(type_info, (PickledBytesTypeInfo, GenericRecordAvroTypeInfo)):
        return True
    parts = [getattr(type_info, name, None) for name in ("element_type", "key_type", "value_type")]
    if hasattr(type_info, "get_field_types"):
        parts += type_info.get_field_types()
    return any(_may_be_anything(part) for part in parts if part is not None)
