"""`Schema` and `TableDescriptor`: a table described in Python instead of DDL."""

from __future__ import annotations

from typing import Any

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

__all__ = ["Schema", "TableDescriptor"]


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

        def column_by_expression(self, column_name: str, expr: str) -> Schema.Builder:
            """A computed column, by SQL text."""
            self._columns.append(ComputedColumn(column_name, expr))
            return self

        def column_by_metadata(
            self, column_name: str, data_type: Any, metadata_key: str | None = None, is_virtual: bool = False
        ) -> Schema.Builder:
            """A column of the connector's metadata."""
            type_ = declared_type(data_type)
            self._columns.append(MetadataColumn(column_name, type_, metadata_key, is_virtual))
            return self

        def watermark(self, column_name: str, watermark_expr: str) -> Schema.Builder:
            """The watermark, by SQL text; `SOURCE_WATERMARK()` takes that of a DataStream."""
            self._watermark = WatermarkSpec(column_name, watermark_expr)
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
            self._options[str(key)] = str(value).lower() if isinstance(value, bool) else str(value)
            return self

        def format(self, format: str, format_option: Any = None) -> TableDescriptor.Builder:
            """The format of the records."""
            return self.option("format", format)

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

    def to_entry(self) -> CatalogTable:
        """The entry of a catalog."""
        declared = self._schema.declared if self._schema is not None else TableSchema(())
        return CatalogTable(declared, self._options, self._comment, self._partition_keys)
