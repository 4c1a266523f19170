"""The table of CREATE TABLE ... AS SELECT: its columns are those of the query."""

from __future__ import annotations

from penstock.errors import SqlError
from penstock.table.catalog.columns import PhysicalColumn, TableSchema
from penstock.table.catalog.entries import CatalogTable
from penstock.table.sql.statements import CreateTable
from penstock.vocabulary.sql.logical_types import LogicalType

__all__ = ["table_of_query"]


def table_of_query(statement: CreateTable, row_type: LogicalType) -> CatalogTable:
    """The entry for the catalog; columns that the statement declares come first, as in Flink."""
    types = dict(zip(row_type.names, row_type.parts, strict=True))
    names = statement.column_names or row_type.names
    unknown = [each for each in names if each not in types]
    if unknown:
        raise SqlError(f"CREATE TABLE ... AS: the query has no column '{unknown[0]}'.")
    declared = {each.name for each in statement.columns}
    queried = tuple(PhysicalColumn(each, types[each].as_plain_time()) for each in names if each not in declared)
    schema = TableSchema((*statement.columns, *queried), statement.watermark, statement.primary_key)
    return CatalogTable(schema, dict(statement.options), statement.comment, statement.partition_keys)
