"""Rows as CSV messages: `CsvRowSerializationSchema`, one line each."""

from __future__ import annotations

from typing import Any

from penstock.common.composite_types import MapTypeInfo, RowTypeInfo
from penstock.common.serialization import SerializationSchema
from penstock.common.typeinfo import TypeInformation
from penstock.errors import ConfigurationError
from penstock.formats.csv_signs import CsvSigns
from penstock.formats.plain_values import plain_converter


class CsvRowSerializationSchema(SerializationSchema):
    """Writes rows of a declared type as lines of separated values."""

    class Builder:
        """Collects how the lines are to be written."""

        def __init__(self, type_info: TypeInformation) -> None:
            if not isinstance(type_info, RowTypeInfo):
                raise ConfigurationError(f"CSV rows need Types.ROW_NAMED(...), got {type_info!r}")
            for name, each in zip(type_info.get_field_names(), type_info.get_field_types(), strict=True):
                if isinstance(each, MapTypeInfo):
                    raise ConfigurationError(f"field {name!r} of type {each!r} cannot be written to CSV")
            self._type = type_info
            self._signs: dict[str, str] = {}
            self._separator = ";"

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the character between fields."""
            self._signs["sep"] = _sign("set_field_delimiter", c)
            return self

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set what ends a line; an empty text if each line is a message of its own."""
            if delimiter not in ("\n", "\r", "\r\n", ""):
                raise ConfigurationError(
                    f"set_line_delimiter: expected a line break or an empty string, got {delimiter!r}"
                )
            self._signs["line_end"] = delimiter
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set the sign between the elements of an array, row or tuple in a field."""
            self._separator = delimiter
            return self

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Write no quotes; a field that would need them is refused."""
            self._signs["quote"] = ""
            return self

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the quote character."""
            self._signs["quote"] = _sign("set_quote_character", c)
            return self

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set the sign that makes the next one literal for readers: it is written twice, as a quote is."""
            self._signs["escape"] = _sign("set_escape_character", c)
            return self

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """Set the text that stands for None."""
            self._signs["null"] = s
            return self

        def build(self) -> CsvRowSerializationSchema:
            """Make the schema."""
            return CsvRowSerializationSchema(self._type, CsvSigns(**self._signs), self._separator)

    def __init__(self, row_type: RowTypeInfo, signs: CsvSigns, separator: str) -> None:
        """Take type and layout; programs call `Builder`."""
        self._row_type = row_type
        self._signs = signs
        self._separator = separator
        self._convert: Any = None

    def serialize(self, value: Any) -> bytes:
        """Return the line in UTF-8."""
        if self._convert is None:
            self._convert = plain_converter(self._row_type)
        signs, separator = self._signs, self._separator
        return signs.line([signs.field(_listed(field), separator) for field in self._convert(value).values()]).encode()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_convert": None}


def _listed(field: Any) -> Any:
    """A row in a field is written as a list of its values."""
    return [_listed(each) for each in field.values()] if isinstance(field, dict) else field


def _sign(method: str, given: Any) -> str:
    if not isinstance(given, str) or len(given) != 1:
        raise ConfigurationError(f"{method}: expected one character, got {given!r}")
    return given
