"""CSV files, under PyFlink's names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.common.typeinfo import Types
from penstock.common.types import Row
from penstock.connectors.files.source import FileReading
from penstock.datastream.connectors.file_system import StreamFormat
from penstock.datastream.formats.declared_columns import column_type
from penstock.errors import ConfigurationError
from penstock.formats.csv_reading import CsvRowDeserializationSchema
from penstock.formats.csv_signs import CsvSigns
from penstock.formats.csv_writing import CsvRowSerializationSchema
from penstock.formats.file_formats import CsvFormat
from penstock.pyflink_names import names_from_elsewhere

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]

_DEFAULT_OPTIONS = {"escape": '"'}
"""A quote within quotes is written twice, as Flink and most programs write it; Spark's own default is a backslash."""


@dataclass(frozen=True)
class CsvSchema:
    """Columns of a CSV file and how it is laid out; `options` are Spark's names for the layout.

    `escape` makes the next character literal, inside and outside quotes; Spark's readers do not support it.
    """

    columns: dict[str, Any]
    options: dict[str, str] = field(default_factory=dict)
    array_separators: dict[str, str] = field(default_factory=dict)
    skips_first_row: bool = False
    escape: str = ""

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Start with no columns."""
        return CsvSchemaBuilder()

    def row_type(self) -> Any:
        """Return the type of the records."""
        return Types.ROW_NAMED(list(self.columns), list(self.columns.values()))

    def size(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class CsvSchemaBuilder:
    """Builds a `CsvSchema`."""

    def __init__(self) -> None:
        self._columns: dict[str, Any] = {}
        self._options: dict[str, str] = dict(_DEFAULT_OPTIONS)
        self._separators: dict[str, str] = {}
        self._skips_first_row = False
        self._escape = ""

    def add_array_column(self, name: str, separator: str = ";", element_type: Any = None) -> CsvSchemaBuilder:
        """Add a column of lists, whose elements (strings unless a type is given) are separated by a separator."""
        if not isinstance(separator, str):
            raise ConfigurationError(f"add_array_column: the separator must be a string, got {separator!r}.")
        self._add(name, Types.LIST(Types.STRING() if element_type is None else column_type(element_type)))
        self._separators[name] = separator
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the separator for the elements of all list columns."""
        if not isinstance(separator, str) or not separator:
            raise ConfigurationError(f"set_array_element_separator: expected a string, got {separator!r}.")
        return self._separate(separator)

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Read each field of a list column as one element."""
        return self._separate("")

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Read each field of this column as one element."""
        names = list(self._columns)
        if not isinstance(index, int) or not 0 <= index < len(names) or names[index] not in self._separators:
            raise ConfigurationError(f"remove_array_element_separator: there is no column of lists at {index!r}.")
        self._separators[names[index]] = ""
        return self

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Accepted without effect: fields without a column are dropped."""
        if not isinstance(name, str):
            raise ConfigurationError(f"set_any_property_name: expected a string, got {name!r}.")
        return self

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Skip the first line after the header."""
        self._skips_first_row = bool(skip)
        return self

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Fail if the header differs from the schema."""
        return self._set("enforceSchema", str(not strict).lower())

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of true and false."""
        return self._add(name, Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: Any = None) -> CsvSchemaBuilder:
        """Add a column of numbers; LONG unless a type is given."""
        return self._add(name, Types.LONG() if number_type is None else column_type(number_type))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of texts."""
        return self._add(name, Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add all columns of another schema."""
        for name, its_type in schema.columns.items():
            self._add(name, its_type)
        self._separators.update(schema.array_separators)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forget all columns."""
        self._columns.clear()
        self._separators.clear()
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set the character between fields."""
        return self._set("sep", char)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the line end."""
        return self._set("lineSep", separator)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set the quote character."""
        return self._set("quote", char)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Read quote characters as part of the text."""
        return self._set("quote", "")

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set the character that makes the next one literal, inside and outside quotes."""
        if not isinstance(char, str) or len(char) != 1:
            raise ConfigurationError(f"set_escape_char: expected one character, got {char!r}.")
        self._escape = char
        return self

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Read escape characters as part of the text; a quote inside quotes is always doubled."""
        self._escape = ""
        return self

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set the text that stands for None."""
        return self._set("nullValue", null_value)

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Skip lines that start with #."""
        return self._set("comment", "#" if allow else "")

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Expect, or write, the column names in the first line."""
        return self._set("header", str(use).lower())

    def size(self) -> int:
        """Return the number of columns so far."""
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def build(self) -> CsvSchema:
        """Make the schema."""
        options, separators = dict(self._options), dict(self._separators)
        return CsvSchema(dict(self._columns), options, separators, self._skips_first_row, self._escape)

    def _add(self, name: str, column_type: Any) -> CsvSchemaBuilder:
        if name in self._columns:
            raise ConfigurationError(f"The CSV schema already has a column {name!r}; give each column its own name.")
        self._columns[name] = column_type
        return self

    def _set(self, option: str, value: str) -> CsvSchemaBuilder:
        self._options[option] = value
        return self

    def _separate(self, separator: str) -> CsvSchemaBuilder:
        self._separators = dict.fromkeys(self._separators, separator)
        return self


class CsvReaderFormat(StreamFormat[Row]):
    """CSV files read as rows."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Read the columns of the schema."""
        return CsvReaderFormat(
            FileReading(
                "csv",
                dict(schema.options),
                schema.row_type(),
                array_separators=dict(schema.array_separators),
                skips_first_row=schema.skips_first_row,
                csv_escape=schema.escape,
            )
        )


class CsvBulkWriters:
    """Makes CSV writers for `FileSink.for_bulk_format`."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvFormat:
        """Write the columns of the schema, quoted and escaped as Flink does."""
        options = schema.options
        signs = CsvSigns(
            options.get("sep", ","),
            options.get("quote", '"'),
            schema.escape,
            options.get("nullValue", ""),
            options.get("lineSep", "\n"),
        )
        separators = tuple(schema.array_separators.items())
        has_header = options.get("header") == "true"
        return CsvFormat(schema.row_type(), has_header, signs.sep, signs=signs, array_separators=separators)


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
