"""CSV messages as rows: `CsvRowDeserializationSchema`, one line each."""

from __future__ import annotations

import csv
from typing import Any

from penstock.common.composite_types import RowTypeInfo, TupleTypeInfo
from penstock.common.serialization import DeserializationSchema
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.types import Row
from penstock.errors import ConfigurationError
from penstock.formats.typed_values import Wrong, converter


class CsvRowDeserializationSchema(DeserializationSchema[Row]):
    """Reads lines of separated values as rows of a declared type."""

    class Builder:
        """Collects how the lines are written."""

        def __init__(self, type_info: TypeInformation) -> None:
            if not isinstance(type_info, RowTypeInfo):
                raise ConfigurationError(f"CSV rows need Types.ROW_NAMED(...), got {type_info!r}")
            self._type = type_info
            self._layout: dict[str, Any] = {"delimiter": ",", "quotechar": '"', "doublequote": True, "strict": True}
            self._rules: dict[str, Any] = {"comments": False, "separator": ";", "null": None, "forgives": False}

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set the character between fields."""
            self._layout["delimiter"] = _sign("set_field_delimiter", delimiter)
            return self

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Leave out lines that start with #."""
            self._rules["comments"] = allow_comments
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set the sign between the elements of an array in a field."""
            self._rules["separator"] = delimiter
            return self

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set the quote character."""
            self._layout["quotechar"] = _sign("set_quote_character", c)
            return self

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set the sign that makes the next one literal."""
            self._layout["escapechar"] = _sign("set_escape_character", c)
            return self

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """Set the text that stands for None."""
            self._rules["null"] = null_literal
            return self

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> CsvRowDeserializationSchema.Builder:
            """Read None for fields that do not fit, and leave out lines with another number of fields."""
            self._rules["forgives"] = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Make the schema."""
            return CsvRowDeserializationSchema(self._type, dict(self._layout), dict(self._rules))

    def __init__(self, row_type: RowTypeInfo, layout: dict[str, Any], rules: dict[str, Any]) -> None:
        """Take type and layout; programs call `Builder`."""
        self._row_type = row_type
        self._layout = layout
        self._rules = rules
        self._names = tuple(row_type.get_field_names())
        self._fields: list[Any] | None = None

    def deserialize(self, message: bytes) -> Row | None:
        """Return the row of a line; None for a comment, or for a line that cannot be read if that is to be ignored."""
        try:
            text = message.decode()
            if self._rules["comments"] and text.startswith("#"):
                return None
            lines = list(csv.reader([text], **self._layout))
            if len(lines) != 1 or len(lines[0]) != len(self._names):
                raise Wrong(f"expected one line of {len(self._names)} fields, got {text!r}")
            return Row.of_fields(self._names, [self._field(n, each) for n, each in enumerate(lines[0])])
        except (ValueError, csv.Error):
            if self._rules["forgives"]:
                return None
            raise

    def get_produced_type(self) -> TypeInformation[Row]:
        """Return the declared type."""
        return self._row_type

    def _field(self, number: int, text: str) -> Any:
        if self._fields is None:
            self._fields = [self._reader(each) for each in self._row_type.get_field_types()]
        kind, convert = self._fields[number]
        if text == self._rules["null"] or (not text and kind != "text"):
            return None
        try:
            return convert(text if kind in ("text", "other") else self._parts(number, text))
        except Wrong as error:
            if self._rules["forgives"]:
                return None
            raise Wrong(f"field {self._names[number]!r}: {error}") from None

    def _parts(self, number: int, text: str) -> Any:
        """The elements of an array or tuple; those of a row by the names of its fields."""
        parts, wanted = text.split(self._rules["separator"]), self._row_type.get_field_types()[number]
        if not isinstance(wanted, RowTypeInfo):
            return parts
        names = wanted.get_field_names()
        if len(parts) != len(names):
            raise Wrong(f"expected {wanted!r}, got {text!r}")
        return dict(zip(names, parts, strict=True))

    def _reader(self, wanted: TypeInformation) -> tuple[str, Any]:
        has_elements = getattr(wanted, "element_type", None) is not None or isinstance(wanted, TupleTypeInfo)
        if isinstance(wanted, RowTypeInfo) or (has_elements and wanted != Types.PRIMITIVE_ARRAY(Types.BYTE())):
            kind = "parts"
        else:
            kind = "text" if wanted == Types.STRING() else "other"
        return kind, converter(wanted)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fields": None}


def _sign(method: str, given: Any) -> str:
    if not isinstance(given, str) or len(given) != 1:
        raise ConfigurationError(f"{method}: expected one character, got {given!r}")
    return given
