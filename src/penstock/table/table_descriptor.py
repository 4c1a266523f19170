"""`Schema` and `TableDescriptor`: a table described in Python instead of DDL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.pyflink_names import names_from_elsewhere
from penstock.table.catalog.columns import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    PrimaryKey,
    TableSchema,
    WatermarkSpec,
)
from penstock.table.catalog.entries import CatalogTable
from penstock.table.data_type_texts import declared_type
from penstock.table.resolved_schema import ResolvedSchema

__all__ = ["FormatDescriptor", "Schema", "TableDescriptor"]


class Schema:
    """The columns of a table; made by `Schema.new_builder()`."""

    class Builder:
        """Collects columns, a watermark and a primary key."""

        def __init__(self) -> None:
            """Start with none."""
            self._columns: list[Column] = []
            self._watermark: WatermarkSpec | None = None
            self._key: PrimaryKey | None = None

        def column(self, column_name: str, data_type: Any) -> Schema.Builder:
            """A column, of a type from DataTypes or as text."""
            self._columns.append(PhysicalColumn(column_name, declared_type(data_type)))
            return self

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """All that another schema has."""
            declared = unresolved_schema.declared
            self._columns += declared.columns
            self._watermark = declared.watermark or self._watermark
            self._key = declared.primary_key or self._key
            return self

        def from_resolved_schema(self, resolved_schema: ResolvedSchema) -> Schema.Builder:
            """The columns of a table that is there."""
            return self.from_fields(resolved_schema.names, resolved_schema.types)

        def from_row_data_type(self, data_type: Any) -> Schema.Builder:
            """The fields of a row type, as columns."""
            row = declared_type(data_type)
            return self.from_fields(list(row.names), list(row.parts))

        def from_fields(self, field_names: Sequence[str], field_data_types: Sequence[Any]) -> Schema.Builder:
            """Columns by names and types."""
            for name, data_type in zip(field_names, field_data_types, strict=True):
                self.column(name, data_type)
            return self

        def column_by_expression(self, column_name: str, expr: Any) -> Schema.Builder:
            """A computed column, by SQL text or `call_sql`."""
            self._columns.append(ComputedColumn(column_name, str(expr)))
            return self

        def column_by_metadata(
            self, column_name: str, data_type: Any, metadata_key: str | None = None, is_virtual: bool = False
        ) -> Schema.Builder:
            """A column of the connector's metadata."""
            type_ = declared_type(data_type)
            self._columns.append(MetadataColumn(column_name, type_, metadata_key, is_virtual))
            return self

        def watermark(self, column_name: str, watermark_expr: Any) -> Schema.Builder:
            """The watermark, by SQL text; `SOURCE_WATERMARK()` takes that of a DataStream."""
            self._watermark = WatermarkSpec(column_name, _watermark_text(watermark_expr))
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """The primary key, which is not enforced."""
            self._key = PrimaryKey(column_names)
            return self

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """The primary key, with a name for it."""
            self._key = PrimaryKey(column_names, constraint_name)
            return self

        def build(self) -> Schema:
            """The schema."""
            return Schema(TableSchema(tuple(self._columns), self._watermark, self._key))

    def __init__(self, declared: TableSchema) -> None:
        """Made by the builder."""
        self.declared = declared

    @staticmethod
    def new_builder() -> Schema.Builder:
        """A builder."""
        return Schema.Builder()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.declared == other.declared

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return "(\n" + ",\n".join(f"  {line}" for line in _lines(self.declared)) + "\n)"


def _lines(declared: TableSchema) -> list[str]:
    lines = []
    for each in declared.columns:
        if isinstance(each, ComputedColumn):
            lines.append(f"`{each.name}` AS [{each.expression}]")
        elif isinstance(each, MetadataColumn):
            source = f" FROM '{each.key}'" if each.key is not None else ""
            lines.append(f"`{each.name}` {each.type} METADATA{source}{' VIRTUAL' if each.is_virtual else ''}")
        else:
            lines.append(f"`{each.name}` {each.type}")
    if declared.watermark is not None:
        lines.append(f"WATERMARK FOR `{declared.watermark.column}` AS [{declared.watermark.expression}]")
    if declared.primary_key is not None:
        key = declared.primary_key
        name = key.constraint_name or "PK_" + "_".join(key.columns)
        lines.append(f"CONSTRAINT `{name}` PRIMARY KEY ({', '.join(f'`{each}`' for each in key.columns)}) NOT ENFORCED")
    return lines


def _watermark_text(given: Any) -> str:
    text = str(given)
    return "SOURCE_WATERMARK()" if text == "sourceWatermark()" else text


class FormatDescriptor:
    """A format with its options; made by `FormatDescriptor.for_format(name)`."""

    class Builder:
        """Collects the options."""

        def __init__(self, format: str) -> None:
            """Start with the name of the format."""
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: Any, value: Any) -> FormatDescriptor.Builder:
            """An option of the format, without its name in front."""
            self._options[_key(key)] = _text(value)
            return self

        def build(self) -> FormatDescriptor:
            """The descriptor."""
            return FormatDescriptor(self._format, self._options)

    def __init__(self, format: str, options: dict[str, str]) -> None:
        """Made by the builder."""
        self._format = format
        self._options = dict(options)

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """A builder for a format."""
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """The name of the format."""
        return self._format

    def get_options(self) -> dict[str, str]:
        """The options."""
        return dict(self._options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatDescriptor) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"{self._format}[{{{', '.join(f'{key}={value}' for key, value in self._options.items())}}}]"


def _key(key: Any) -> str:
    named = getattr(key, "key", None)
    return str(named() if callable(named) else named or key)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class TableDescriptor:
    """A table: schema, connector, options; made by `TableDescriptor.for_connector(name)`."""

    class Builder:
        """Collects the parts."""

        def __init__(self, connector: str) -> None:
            """Start with the connector."""
            self._schema: Schema | None = None
            self._options = {"connector": connector}
            self._partition_keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """The columns."""
            self._schema = schema
            return self

        def option(self, key: Any, value: Any) -> TableDescriptor.Builder:
            """An option of the connector."""
            self._options[_key(key)] = _text(value)
            return self

        def format(self, format: str | FormatDescriptor, format_option: Any = None) -> TableDescriptor.Builder:
            """The format of the records, by name or with options; `format_option`: that of keys or values only."""
            key = "format" if format_option is None else _key(format_option)
            name = format if isinstance(format, str) else format.get_format()
            self.option(key, name)
            prefix = name if key == "format" else f"{key.removesuffix('format')}{name}"
            for each, value in ({} if isinstance(format, str) else format.get_options()).items():
                self.option(f"{prefix}.{each}", value)
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """The columns that make partitions."""
            self._partition_keys = partition_keys
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """A comment."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """The descriptor."""
            return TableDescriptor(self._schema, self._options, self._partition_keys, self._comment)

    def __init__(
        self, schema: Schema | None, options: dict[str, str], partition_keys: tuple[str, ...], comment: str | None
    ) -> None:
        """Made by the builder."""
        self._schema = schema
        self._options = dict(options)
        self._partition_keys = partition_keys
        self._comment = comment

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """A builder for a table of a connector."""
        return TableDescriptor.Builder(connector)

    def get_schema(self) -> Schema | None:
        """The columns."""
        return self._schema

    def get_options(self) -> dict[str, str]:
        """The options, with the connector."""
        return dict(self._options)

    def get_partition_keys(self) -> list[str]:
        """The columns that make partitions."""
        return list(self._partition_keys)

    def get_comment(self) -> str | None:
        """The comment."""
        return self._comment

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableDescriptor) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        schema = "" if self._schema is None else f"{self._schema}\n"
        comment = "" if self._comment is None else f"COMMENT '{self._comment}'\n"
        keys = ", ".join(f"`{each}`" for each in self._partition_keys)
        parts = f"PARTITIONED BY ({keys})\n" if keys else ""
        options = ",\n".join(f"  '{key}' = '{value}'" for key, value in sorted(self._options.items()))
        return f"{schema}{comment}{parts}WITH (\n{options}\n)"

    def to_entry(self) -> CatalogTable:
        """The entry of a catalog."""
        declared = self._schema.declared if self._schema is not None else TableSchema(())
        return CatalogTable(declared, self._options, self._comment, self._partition_keys)


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
