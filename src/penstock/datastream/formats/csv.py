"""PyFlink's names for CSV files: what `FileSource` reads and `FileSink` writes; owns no encoding."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.common.typeinfo import Types
from penstock.connectors.file_formats import CsvFormat
from penstock.connectors.file_source import FileReading
from penstock.datastream.connectors.file_system import StreamFormat
from penstock.datastream.formats.csv_reading import CsvRowDeserializationSchema
from penstock.datastream.formats.csv_writing import CsvRowSerializationSchema
from penstock.errors import ConfigurationError

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]

_WRITER_OPTIONS = frozenset({"sep", "header"})


@dataclass(frozen=True)
class CsvSchema:
    """Columns of a CSV file and how it is laid out; `options` are Spark's names for the layout."""

    columns: dict[str, Any]
    options: dict[str, str] = field(default_factory=dict)

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
    """Collects columns, in order, and layout."""

    def __init__(self) -> None:
        self._columns: dict[str, Any] = {}
        self._options: dict[str, str] = {}

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of true and false."""
        return self._add(name, Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: Any = None) -> CsvSchemaBuilder:
        """Add a column of numbers; LONG unless a type is given."""
        return self._add(name, Types.LONG() if number_type is None else number_type)

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of texts."""
        return self._add(name, Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add all columns of another schema."""
        for name, column_type in schema.columns.items():
            self._add(name, column_type)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forget all columns."""
        self._columns.clear()
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Set the sign between fields."""
        return self._set("sep", char)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the line end."""
        return self._set("lineSep", separator)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Set the quote sign."""
        return self._set("quote", char)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Take quote signs as part of the text."""
        return self._set("quote", "")

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Set the sign that makes the next one literal."""
        return self._set("escape", char)

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
        return CsvSchema(dict(self._columns), dict(self._options))

    def _add(self, name: str, column_type: Any) -> CsvSchemaBuilder:
        if name in self._columns:
            raise ConfigurationError(f"The CSV schema has a column {name!r} already; give each column its own name.")
        self._columns[name] = column_type
        return self

    def _set(self, option: str, value: str) -> CsvSchemaBuilder:
        self._options[option] = value
        return self


class CsvReaderFormat(StreamFormat):
    """CSV files read as rows."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Read the columns of the schema."""
        return CsvReaderFormat(FileReading("csv", dict(schema.options), schema.row_type()))


class CsvBulkWriters:
    """Makes CSV writers for `FileSink.for_bulk_format`."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvFormat:
        """Write the columns of the schema."""
        other = sorted(set(schema.options) - _WRITER_OPTIONS)
        if other:
            raise ConfigurationError(
                f"The CSV writer knows a column separator and a header only, not {', '.join(other)}: leave them out."
            )
        return CsvFormat(schema.row_type(), schema.options.get("header") == "true", schema.options.get("sep", ","))
