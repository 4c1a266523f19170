"""JSON messages as rows: `JsonRowDeserializationSchema`."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.json

from penstock.common.column_block import ColumnBlock
from penstock.common.composite_types import RowTypeInfo
from penstock.common.serialization import DeserializationSchema
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.types import Row
from penstock.errors import ConfigurationError
from penstock.formats.typed_values import Wrong, converter

# Types for which Arrow's parser gives exactly what this module gives, or an error.
_NATIVE = {Types.STRING(), Types.BOOLEAN(), Types.INT(), Types.LONG(), Types.DOUBLE()}


class JsonRowDeserializationSchema(DeserializationSchema[Row]):
    """Reads JSON objects as rows of a declared type; fields that are not declared are left out."""

    def __init__(self, row_type: RowTypeInfo, needs_all: bool = False, forgives: bool = False) -> None:
        """Take the type; programs call `builder`."""
        self._row_type = row_type
        self._forgives = forgives
        self._needs_all = needs_all
        self._names = tuple(row_type.get_field_names())
        self._schema = None if needs_all else _native_schema(row_type)
        self._convert: Any = None

    class Builder:
        """Collects what a reader of JSON needs to know."""

        def __init__(self) -> None:
            self._type: RowTypeInfo | None = None
            self._needs_all = False
            self._forgives = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows, a `Types.ROW_NAMED`."""
            if not isinstance(type_info, RowTypeInfo):
                raise ConfigurationError(f"type_info: expected Types.ROW_NAMED(...), got {type_info!r}")
            self._type = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows by a JSON schema."""
            try:
                found = _type_of(json.loads(json_schema))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ConfigurationError(f"json_schema: not a JSON schema that can be used: {error}") from None
            return self.type_info(found)

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Refuse objects that lack a field, instead of reading None."""
            self._needs_all = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Read None for fields that do not fit, and leave out messages that are no JSON object."""
            self._forgives = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Make the schema."""
            if self._type is None:
                raise ConfigurationError("JsonRowDeserializationSchema needs type_info(...) or json_schema(...)")
            if self._needs_all and self._forgives:
                raise ConfigurationError("fail_on_missing_field() and ignore_parse_errors() exclude each other")
            return JsonRowDeserializationSchema(self._type, self._needs_all, self._forgives)

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Start without a type."""
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes) -> Row | None:
        """Return the row of a message; None for one that cannot be read, if that is to be ignored."""
        if self._convert is None:
            self._convert = converter(self._row_type, needs_all=self._needs_all, forgives=self._forgives)
        try:
            parsed = _parsed(message)
            if not isinstance(parsed, dict):
                raise Wrong(f"expected a JSON object, got {parsed!r}")
            row: Row = self._convert(parsed)
        except ValueError:
            if self._forgives:
                return None
            raise
        return row

    def deserialize_many(self, messages: list[bytes]) -> list[Any]:
        """Return rows; whole columns are parsed at once where the types allow it."""
        columns = self._parsed_at_once(messages)
        return [self.deserialize(message) for message in messages] if columns is None else columns.values()

    def deserialize_columns(self, messages: list[bytes]) -> ColumnBlock | None:
        """Return rows as the columns they are parsed to."""
        # A class derived from this one may read messages in another way.
        return self._parsed_at_once(messages) if type(self) is JsonRowDeserializationSchema else None

    def _parsed_at_once(self, messages: list[bytes]) -> ColumnBlock | None:
        if self._schema is None or len(messages) < 2:
            return None
        # One object in each message, so that rows and messages cannot be mixed up.
        joined = b"\n".join(messages)
        if joined.count(b"\n") != len(messages) - 1 or not all(
            each[:1] == b"{" and each[-1:] == b"}" for each in messages
        ):
            return None
        try:
            joined.decode()  # Arrow looks only at the fields that it keeps, and tells too late
            table = pyarrow.json.read_json(
                io.BytesIO(joined),
                read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(joined) + 1),
                parse_options=pyarrow.json.ParseOptions(self._schema, unexpected_field_behavior="ignore"),
            )
        except (pa.ArrowInvalid, UnicodeDecodeError):
            return None  # one by one tells which, and can do more
        if table.num_rows != len(messages):
            return None
        return ColumnBlock(table.select(self._names).combine_chunks().to_batches()[0], "row")

    def get_produced_type(self) -> TypeInformation[Row]:
        """Return the declared type."""
        return self._row_type

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_convert": None}


def _parsed(message: bytes) -> Any:
    try:
        return json.loads(message)
    except RecursionError:
        raise Wrong(f"the message of {len(message)} bytes is nested too deep: {message[:80]!r}...") from None


def _native_schema(row_type: RowTypeInfo) -> pa.Schema | None:
    fields = list(zip(row_type.get_field_names(), row_type.get_field_types(), strict=True))
    if not fields or not all(each in _NATIVE for _, each in fields):
        return None
    return pa.schema([(name, each.arrow_type()) for name, each in fields])


def _type_of(schema: Any) -> Any:
    """The type that Flink gives a JSON schema."""
    kind = schema["type"]
    if isinstance(kind, list):  # "or null"
        (kind,) = [each for each in kind if each != "null"]
    if kind == "object":
        properties = schema["properties"]
        return Types.ROW_NAMED(list(properties), [_type_of(each) for each in properties.values()])
    if kind == "array":
        return Types.OBJECT_ARRAY(_type_of(schema["items"]))
    if kind == "string":
        by_format = {"date": Types.SQL_DATE(), "time": Types.SQL_TIME(), "date-time": Types.SQL_TIMESTAMP()}
        is_bytes = schema.get("contentEncoding") == "base64"
        plain = Types.PRIMITIVE_ARRAY(Types.BYTE()) if is_bytes else Types.STRING()
        return by_format.get(schema.get("format"), plain)
    return {"number": Types.BIG_DEC(), "integer": Types.BIG_INT(), "boolean": Types.BOOLEAN()}[kind]
