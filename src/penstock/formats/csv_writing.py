"""Rows as CSV messages: `CsvRowSerializationSchema`, one line each."""

from __future__ import annotations

import csv
import io
from typing import Any

from penstock.common.composite_types import MapTypeInfo, RowTypeInfo, TupleTypeInfo
from penstock.common.serialization import SerializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.errors import ConfigurationError
from penstock.formats.plain_values import plain_converter


class CsvRowSerializationSchema(SerializationSchema):
    """Writes rows of a declared type as lines of separated values."""

    class Builder:
        """Collects how the lines are to be written."""

        def __init__(self, type_info: TypeInformation) -> None:
            if not isinstance(type_info, RowTypeInfo):
                raise ConfigurationError(f"CSV rows need Types.ROW_NAMED(...), got {type_info!r}")
            for name, each in zip(type_info.get_field_names(), type_info.get_field_types(), strict=True):
                if isinstance(each, (RowTypeInfo, TupleTypeInfo, MapTypeInfo)):
                    raise ConfigurationError(f"field {name!r} of type {each!r} has no place in a line of CSV")
            self._type = type_info
            self._layout: dict[str, Any] = {"delimiter": ",", "quotechar": '"', "lineterminator": "\n"}
            self._rules = {"separator": ";", "null": ""}

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the sign between fields."""
            self._layout["delimiter"] = _sign("set_field_delimiter", c)
            return self

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set what ends a line; an empty text if each line is a message of its own."""
            if delimiter not in ("\n", "\r", "\r\n", ""):
                raise ConfigurationError(f"set_line_delimiter: expected a line break or nothing, got {delimiter!r}")
            self._layout["lineterminator"] = delimiter
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set the sign between the elements of an array in a field."""
            self._rules["separator"] = delimiter
            return self

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Write no quotes; a field that would need them is refused, unless there is an escape sign."""
            self._layout |= {"quoting": csv.QUOTE_NONE, "quotechar": None}
            return self

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the quote sign."""
            self._layout["quotechar"] = _sign("set_quote_character", c)
            return self

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the sign that makes the next one literal, instead of doubling quotes."""
            self._layout |= {"escapechar": _sign("set_escape_character", c), "doublequote": False}
            return self

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """Set the text that stands for None."""
            self._rules["null"] = s
            return self

        def build(self) -> CsvRowSerializationSchema:
            """Make the schema."""
            return CsvRowSerializationSchema(self._type, dict(self._layout), dict(self._rules))

    def __init__(self, row_type: RowTypeInfo, layout: dict[str, Any], rules: dict[str, str]) -> None:
        """Take type and layout; programs call `Builder`."""
        self._row_type = row_type
        self._layout = layout
        self._rules = rules
        self._convert: Any = None

    def serialize(self, value: Any) -> bytes:
        """Return the line in UTF-8."""
        if self._convert is None:
            self._convert = plain_converter(self._row_type)
        line = io.StringIO(newline="")
        writer = csv.writer(line, **self._layout)
        try:
            writer.writerow([self._text(field) for field in self._convert(value).values()])
        except csv.Error as error:
            raise ValueError(f"{value!r} cannot be a line of CSV without quotes: {error}") from None
        return line.getvalue().encode()

    def _text(self, field: Any) -> str:
        if field is None:
            return self._rules["null"]
        if isinstance(field, bool):
            return "true" if field else "false"
        if isinstance(field, list):
            return self._rules["separator"].join(self._text(each) for each in field)
        return str(field)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_convert": None}


def _sign(method: str, given: Any) -> str:
    if not isinstance(given, str) or len(given) != 1:
        raise ConfigurationError(f"{method}: expected one sign, got {given!r}")
    return given
