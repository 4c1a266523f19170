"""Formats of single records: bytes to rows `(kind, *fields)` of internal values, and back.

`row_format(name, row_type, options, table)` makes one; formats can be pickled, what they need is made where they run.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa

from penstock.errors import SqlError
from penstock.table.connectors.contract import ALL_KINDS, INSERTS
from penstock.table.connectors.csv_columns import csv_lines
from penstock.table.connectors.json_values import JsonTexts, from_json, to_json
from penstock.vocabulary.sql.external_values import to_internal
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.vocabulary.sql.scalar.kinds import CHARACTERS, INTEGERS

__all__ = ["FORMATS", "FORMAT_KEYS", "RowFormat", "row_format"]

Row = tuple[Any, ...]

FORMAT_KEYS = ("json.", "csv.", "raw.", "avro.", "debezium-json.")


class RowFormat(ABC):
    """How rows of a type are written as bytes."""

    kinds: frozenset[int] = INSERTS
    """The kinds of rows that can be read and written."""
    known_options: tuple[str, ...] = ()
    name = ""
    """What tables call it."""

    def __init__(self, row_type: LogicalType, options: Mapping[str, str]) -> None:
        """Keep what decides; functions are made when they are needed."""
        self.row_type = row_type
        self.options = dict(options)
        self.ignores_errors = options.get("ignore-parse-errors", "false").lower() == "true"
        self._decode: Callable[[bytes], list[Row]] | None = None
        self._encode: Callable[[Row], bytes] | None = None

    def check(self) -> None:  # noqa: B027
        """Refuse a row type that the format has no form for."""

    def __getstate__(self) -> tuple[LogicalType, dict[str, str]]:
        """What decides, without functions."""
        return self.row_type, self.options

    def __setstate__(self, state: tuple[LogicalType, dict[str, str]]) -> None:
        """Be made again."""
        self.__init__(*state)  # type: ignore[misc]

    def decode(self, message: bytes) -> list[Row]:
        """The rows of a message."""
        if self._decode is None:
            self._decode = self.decoder()
        try:
            return self._decode(message)
        except Exception as error:
            if self.ignores_errors:
                return []
            raise self._refusal(message, error) from None

    def _refusal(self, message: bytes, error: Exception) -> SqlError:
        """Tell what is wrong with a message, and what to do; where it is from the connector tells."""
        if isinstance(error, SqlError):
            reason = str(error).removesuffix(".")
        elif isinstance(error, EOFError | IndexError):  # what fastavro raises
            reason = "it ends too early"
        else:
            reason = f"{type(error).__name__}: {error}"
        remedy = "Correct what writes such messages"
        if "ignore-parse-errors" in self.known_options:
            remedy += f", or set '{self.name}.ignore-parse-errors' = 'true' to leave them out"
        return SqlError(
            f"A message cannot be read as {self.name}: {reason}. It begins with {message[:100]!r}. {remedy}."
        )

    def encode(self, row: Row) -> bytes:
        """The message of a row."""
        if self._encode is None:
            self._encode = self.encoder()
        return self._encode(row)

    def encode_lines(self, rows: Sequence[Row], fields: Sequence[int]) -> bytes:
        """Some fields of rows as lines; the type of rows is that of these fields."""
        return b"".join([self.encode((row[0], *[row[at + 1] for at in fields])) + b"\n" for row in rows])

    def encode_columns(self, columns: Sequence[pa.Array]) -> bytes | None:
        """The same of columns; None where rows have to be asked."""
        return None

    @abstractmethod
    def decoder(self) -> Callable[[bytes], list[Row]]:
        """Make what decodes."""

    @abstractmethod
    def encoder(self) -> Callable[[Row], bytes]:
        """Make what encodes."""


JSON_OPTIONS = (
    "fail-on-missing-field",
    "ignore-parse-errors",
    "timestamp-format.standard",
    "map-null-key.mode",
    "map-null-key.literal",
    "encode.decimal-as-plain-number",
    "encode.ignore-null-fields",
)


class JsonRows(RowFormat):
    """One JSON object for each row."""

    known_options = JSON_OPTIONS
    name = "json"

    def decoder(self) -> Callable[[bytes], list[Row]]:
        """Fields by name; those that are missing are NULL."""
        convert = from_json(self.row_type)
        must_have = self.options.get("fail-on-missing-field", "false").lower() == "true"
        names = self.row_type.names

        def decode(message: bytes) -> list[Row]:
            data = _json_object(message)
            if must_have:
                for name in names:
                    if name not in data:
                        raise SqlError(f"it has no field '{name}'")
            return [(INSERT, *convert(data))]

        return decode

    def encoder(self) -> Callable[[Row], bytes]:
        """Fields in the order of the columns."""
        write = JsonTexts(self.options).of(self.row_type)
        return lambda row: write(row[1:]).encode()


_CHANGES = {
    "c": ((INSERT, "after"),),
    "r": ((INSERT, "after"),),
    "u": ((UPDATE_BEFORE, "before"), (UPDATE_AFTER, "after")),
    "d": ((DELETE, "before"),),
}


def _side(data: dict[str, Any], side: str) -> Any:
    if data.get(side) is None:
        hint = "; with PostgreSQL, set REPLICA IDENTITY FULL" if side == "before" else ""
        raise SqlError(f"its 'op' is {data['op']!r}, but it has no '{side}'{hint}")
    return data[side]


def _json_object(message: bytes) -> dict[str, Any]:
    data = json.loads(message, parse_float=Decimal)
    if not isinstance(data, dict):
        raise SqlError("it is no JSON object")
    return data


class DebeziumRows(RowFormat):
    """The changes that Debezium writes as JSON: `before`, `after` and `op`."""

    kinds = ALL_KINDS
    known_options = (*JSON_OPTIONS, "schema-include")
    name = "debezium-json"

    def decoder(self) -> Callable[[bytes], list[Row]]:
        """An update is two rows."""
        convert = from_json(self.row_type)

        def decode(message: bytes) -> list[Row]:
            if not message:
                return []
            data = _json_object(message)
            data = data.get("payload", data)
            if not isinstance(data, dict) or data.get("op") not in _CHANGES:
                given = data.get("op") if isinstance(data, dict) else None
                raise SqlError(f"its 'op' is {given!r}, and not one of {', '.join(_CHANGES)}")
            kinds = _CHANGES[data["op"]]
            return [(kind, *convert(_side(data, side))) for kind, side in kinds]

        return decode

    def encoder(self) -> Callable[[Row], bytes]:
        """As Flink does: what adds a row is a creation, what takes one back a deletion."""
        write = JsonTexts(self.options).of(self.row_type)

        def encode(row: Row) -> bytes:
            data = write(row[1:])
            if row[0] in (INSERT, UPDATE_AFTER):
                return f'{{"before":null,"after":{data},"op":"c"}}'.encode()
            return f'{{"before":{data},"after":null,"op":"d"}}'.encode()

        return encode


class CsvRows(RowFormat):
    """One line of CSV for each row."""

    name = "csv"
    known_options = (
        "field-delimiter",
        "null-literal",
        "quote-character",
        "disable-quote-character",
        "escape-character",
        "allow-comments",
        "ignore-surplus-fields",
        "ignore-parse-errors",
    )

    def check(self) -> None:
        """Only values that are one text each."""
        for each in self.row_type.parts:
            _from_text(each)

    def _layout(self) -> dict[str, Any]:
        is_quoted = self.options.get("disable-quote-character", "false").lower() != "true"
        return {
            "delimiter": self.options.get("field-delimiter", ",").replace("\\t", "\t"),
            "quotechar": self.options.get("quote-character", '"') if is_quoted else None,
            "quoting": csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE,
            "escapechar": self.options.get("escape-character"),
        }

    def decoder(self) -> Callable[[bytes], list[Row]]:
        """Fields by position."""
        converts = [_from_text(each) for each in self.row_type.parts]
        null = self.options.get("null-literal", "")
        layout = self._layout()
        takes_longer = self.options.get("ignore-surplus-fields", "false").lower() == "true"
        comments = self.options.get("allow-comments", "false").lower() == "true"

        def decode(message: bytes) -> list[Row]:
            text = message.decode()
            if not text or (comments and text.startswith("#")):
                return []
            (fields,) = csv.reader([text], **layout)
            if takes_longer and len(fields) > len(converts):
                fields = fields[: len(converts)]
            if len(fields) != len(converts):
                raise SqlError(
                    f"A CSV line has {len(fields)} fields, but the table has {len(converts)}: {text[:200]!r}"
                )
            pairs = zip(converts, fields, strict=True)
            return [(INSERT, *[None if each == null else convert(each) for convert, each in pairs])]

        return decode

    @cached_property
    def _writers(self) -> list[Callable[[Any], str] | None]:
        return [_csv_writer(each) for each in self.row_type.parts]

    def encoder(self) -> Callable[[Row], bytes]:
        """Quotes where they are needed."""
        null = self.options.get("null-literal", "")
        writers = self._writers
        out = io.StringIO()
        write_row = csv.writer(out, lineterminator="", **self._layout()).writerow

        def encode(row: Row) -> bytes:
            out.seek(0)
            out.truncate()
            values = zip(writers, row[1:], strict=True)
            write_row([null if each is None else each if write is None else write(each) for write, each in values])
            return out.getvalue().encode()

        return encode

    def encode_lines(self, rows: Sequence[Row], fields: Sequence[int]) -> bytes:
        """The same with one call for all rows."""
        null = self.options.get("null-literal", "")
        columns: list[list[Any]] = []
        for at, write in zip(fields, self._writers, strict=True):
            values = [row[at + 1] for row in rows]
            if write is not None:
                values = [None if each is None else write(each) for each in values]
            columns.append([null if each is None else each for each in values] if null else values)
        out = io.StringIO()
        csv.writer(out, lineterminator="\n", **self._layout()).writerows(zip(*columns, strict=True))
        return out.getvalue().encode()

    def encode_columns(self, columns: Sequence[pa.Array]) -> bytes | None:
        """Columns of texts side by side, unless the options ask for other signs than quotes."""
        layout = self._layout()
        if layout["quotechar"] is None or layout["escapechar"] is not None:
            return None
        null = self.options.get("null-literal", "")
        return csv_lines(columns, self._writers, null, layout["delimiter"], layout["quotechar"])


def _csv_writer(declared: LogicalType) -> Callable[[Any], str] | None:
    """What writes a value of a column; None where the value is what is written."""
    if declared.kind in (*CHARACTERS, *INTEGERS):
        return None
    if declared.kind is Kind.BOOLEAN:
        return lambda value: "true" if value else "false"
    convert = to_json(declared, "SQL")
    return lambda value: str(convert(value))


def _from_text(declared: LogicalType) -> Callable[[str], Any]:
    convert = to_internal(declared)
    readers: dict[Kind, Callable[[str], Any]] = {
        Kind.BOOLEAN: lambda text: {"true": True, "false": False}[text.strip().lower()],
        Kind.VARBINARY: base64.b64decode,
        Kind.BINARY: base64.b64decode,
    }
    if declared.kind in (Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT):
        return lambda text: convert(int(text))
    if declared.kind in (Kind.FLOAT, Kind.DOUBLE):
        return lambda text: convert(float(text))
    if declared.kind in (Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.MULTISET):
        raise SqlError(f"The format 'csv' has no columns of type {declared}; use 'json'.")
    read = readers.get(declared.kind)
    return convert if read is None else lambda text: convert(read(text))


class RawRows(RowFormat):
    """The one column of the table is the message itself: text or bytes."""

    name = "raw"
    known_options = ("charset", "endianness")

    def check(self) -> None:
        """One column of text or bytes."""
        self._is_text()

    def _is_text(self) -> bool:
        kinds = [each.kind for each in self.row_type.parts]
        if len(kinds) != 1 or kinds[0] not in (Kind.VARCHAR, Kind.CHAR, Kind.VARBINARY, Kind.BINARY):
            raise SqlError("The format 'raw' is for tables with one column, of type STRING or BYTES.")
        return kinds[0] in (Kind.VARCHAR, Kind.CHAR)

    def decoder(self) -> Callable[[bytes], list[Row]]:
        """Text is UTF-8 unless `raw.charset` says otherwise."""
        charset = self.options.get("charset", "UTF-8")
        if self._is_text():
            return lambda message: [(INSERT, message.decode(charset))]
        return lambda message: [(INSERT, bytes(message))]

    def encoder(self) -> Callable[[Row], bytes]:
        """NULL is an empty message."""
        charset = self.options.get("charset", "UTF-8")
        if self._is_text():
            return lambda row: b"" if row[1] is None else row[1].encode(charset)
        return lambda row: row[1] or b""


class AvroRows(RowFormat):
    """Avro without a container, by a schema made from the columns as Flink makes it."""

    name = "avro"
    known_options = ("codec", "encoding", "timestamp_mapping.legacy")

    def check(self) -> None:
        """Only types that Avro has."""
        from penstock.table.connectors.avro_schemas import avro_schema

        avro_schema(self.row_type)

    def decoder(self) -> Callable[[bytes], list[Row]]:
        """One record for each message."""
        import fastavro

        from penstock.table.connectors.avro_schemas import avro_schema, from_avro

        schema = fastavro.parse_schema(avro_schema(self.row_type))
        convert = from_avro(self.row_type)
        return lambda message: [(INSERT, *convert(fastavro.schemaless_reader(io.BytesIO(message), schema, schema)))]

    def encoder(self) -> Callable[[Row], bytes]:
        """One record for each message."""
        import fastavro

        from penstock.table.connectors.avro_schemas import avro_schema, to_avro

        schema = fastavro.parse_schema(avro_schema(self.row_type))
        convert = to_avro(self.row_type)

        def encode(row: Row) -> bytes:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, schema, convert(row[1:]))
            return out.getvalue()

        return encode


FORMATS: dict[str, type[RowFormat]] = {
    "json": JsonRows,
    "csv": CsvRows,
    "raw": RawRows,
    "avro": AvroRows,
    "debezium-json": DebeziumRows,
}


def row_format(name: str, row_type: LogicalType, options: Mapping[str, str], table: str) -> RowFormat:
    """The format of a name; `options` are those of the table, of which those of the format are taken."""
    if name not in FORMATS:
        raise SqlError(f"Table {table}: there is no format '{name}' for records; there are {', '.join(FORMATS)}.")
    prefix = name + "."
    own = {key[len(prefix) :]: value for key, value in options.items() if key.startswith(prefix)}
    form = FORMATS[name](row_type, own)
    unknown = [key for key in own if key not in form.known_options]
    if unknown:
        raise SqlError(
            f"Table {table}: format '{name}' has no option '{prefix}{unknown[0]}'. Its options are: "
            f"{', '.join(prefix + each for each in form.known_options)}."
        )
    try:
        form.check()
    except SqlError as error:
        raise SqlError(f"Table {table}: {error}") from None
    return form
