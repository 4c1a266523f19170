"""What LIKE and ALTER TABLE make of the schema and options of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.errors import SqlError
from penstock.table.catalog.columns import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    TableSchema,
)
from penstock.table.catalog.entries import CatalogTable
from penstock.table.sql.statements import AlterDrop, AlterRenameColumn, AlterSchema, CreateTable, Like

__all__ = ["altered_schema", "dropped", "merged_like", "renamed_column"]

# What LIKE takes over of each feature if nothing is said.
DEFAULTS = {
    "OPTIONS": "OVERWRITING",
    "CONSTRAINTS": "INCLUDING",
    "DISTRIBUTION": "INCLUDING",
    "GENERATED": "INCLUDING",
    "METADATA": "INCLUDING",
    "PARTITIONS": "INCLUDING",
    "WATERMARKS": "INCLUDING",
}


def merged_like(statement: CreateTable, like: Like, other: CatalogTable) -> CatalogTable:
    """The table of CREATE TABLE ... LIKE other."""
    rules = dict(DEFAULTS)
    for strategy, feature in like.options:
        for each in rules if feature == "ALL" else [feature]:
            rules[each] = strategy
    schema = other.schema
    has_key = rules["CONSTRAINTS"] != "EXCLUDING"
    has_watermark = rules["WATERMARKS"] != "EXCLUDING"
    key = schema.primary_key if has_key and statement.primary_key is None else statement.primary_key
    watermark = schema.watermark if has_watermark and statement.watermark is None else statement.watermark
    partitions = other.partition_keys if rules["PARTITIONS"] != "EXCLUDING" else ()
    distribution = other.distribution if rules["DISTRIBUTION"] != "EXCLUDING" else None
    return CatalogTable(
        TableSchema(_merged_columns(statement, schema, rules), watermark, key),
        _merged_options(statement, other, rules["OPTIONS"]),
        statement.comment or other.comment,
        statement.partition_keys or partitions,
        statement.distribution or distribution,
    )


def _merged_columns(statement: CreateTable, schema: TableSchema, rules: Mapping[str, str]) -> tuple[Column, ...]:
    columns: dict[str, Column] = {}
    for column in schema.columns:
        feature = {ComputedColumn: "GENERATED", MetadataColumn: "METADATA"}.get(type(column))
        if feature is None or rules[feature] != "EXCLUDING":
            columns[column.name] = column
    for column in statement.columns:
        if column.name in columns and isinstance(column, PhysicalColumn):
            raise SqlError(
                f"CREATE TABLE ... LIKE: column '{column.name}' is in both tables; leave it out of the new one."
            )
        columns[column.name] = column
    return tuple(columns.values())


def _merged_options(statement: CreateTable, other: CatalogTable, rule: str) -> dict[str, str]:
    if rule == "EXCLUDING":
        return dict(statement.options)
    both = set(other.options) & set(statement.options)
    if rule == "INCLUDING" and both:
        raise SqlError(f"CREATE TABLE ... LIKE: option '{sorted(both)[0]}' is in both tables; say OVERWRITING OPTIONS.")
    return {**other.options, **statement.options}


def altered_schema(schema: TableSchema, statement: AlterSchema) -> TableSchema:
    """The schema after ALTER TABLE ... ADD or MODIFY."""
    columns = list(schema.columns)
    for change in statement.columns:
        at = next((i for i, each in enumerate(columns) if each.name == change.column.name), None)
        if (at is not None) != statement.is_modify:
            what = "is there already; use MODIFY" if at is not None else "is not there; use ADD"
            raise SqlError(f"ALTER TABLE: column '{change.column.name}' {what}.")
        if at is not None:
            del columns[at]
        place = at if change.after is None and at is not None else _place(columns, change.after)
        columns.insert(place, change.column)
    for name, new, old in (
        ("watermark", statement.watermark, schema.watermark),
        ("primary key", statement.primary_key, schema.primary_key),
    ):
        if new is not None and (old is not None) != statement.is_modify:
            raise SqlError(
                f"ALTER TABLE: the table has {'a' if old else 'no'} {name}; use {'MODIFY' if old else 'ADD'}."
            )
    return TableSchema(
        tuple(columns),
        statement.watermark or schema.watermark,
        statement.primary_key or schema.primary_key,
    )


def _place(columns: list[Column], after: str | None) -> int:
    if after is None:
        return len(columns)
    if after == "":
        return 0
    names = [each.name for each in columns]
    if after not in names:
        raise SqlError(f"ALTER TABLE: AFTER names column '{after}', which is not there.")
    return names.index(after) + 1


def dropped(schema: TableSchema, statement: AlterDrop) -> TableSchema:
    """The schema after ALTER TABLE ... DROP."""
    if statement.what == "WATERMARK":
        if schema.watermark is None:
            raise SqlError("ALTER TABLE: the table has no watermark to drop.")
        return replace(schema, watermark=None)
    if statement.what in ("PRIMARY KEY", "CONSTRAINT"):
        if schema.primary_key is None:
            raise SqlError("ALTER TABLE: the table has no primary key to drop.")
        return replace(schema, primary_key=None)
    for name in statement.columns:
        if schema.column(name) is None:
            raise SqlError(f"ALTER TABLE: there is no column '{name}' to drop.")
        _refuse_used(schema, name)
    return replace(schema, columns=tuple(each for each in schema.columns if each.name not in statement.columns))


def _refuse_used(schema: TableSchema, name: str) -> None:
    if schema.primary_key is not None and name in schema.primary_key.columns:
        raise SqlError(f"ALTER TABLE: column '{name}' is part of the primary key; drop that first.")
    if schema.watermark is not None and schema.watermark.column == name:
        raise SqlError(f"ALTER TABLE: column '{name}' has the watermark; drop that first.")


def renamed_column(schema: TableSchema, statement: AlterRenameColumn) -> TableSchema:
    """The schema after ALTER TABLE ... RENAME a TO b."""
    old, new = statement.column, statement.new_column
    if schema.column(old) is None or schema.column(new) is not None:
        problem = f"there is no column '{old}'" if schema.column(old) is None else f"column '{new}' is there already"
        raise SqlError(f"ALTER TABLE: {problem}.")
    _refuse_used(schema, old)
    columns = tuple(replace(each, name=new) if each.name == old else each for each in schema.columns)
    return replace(schema, columns=columns)
