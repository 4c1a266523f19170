"""Statements of Flink SQL as plain data: what `penstock.table.sql.parse` returns.

A name is a tuple of one to three parts, `("catalog", "database", "table")`. Queries are trees of sqlglot's expressions;
expressions that a catalog keeps (computed columns, watermarks, views) are text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.table.catalog.columns import Column, PrimaryKey, WatermarkSpec
from penstock.table.catalog.entries import Distribution

Name = tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """A statement; `text` is what it was read from."""

    text: str = field(kw_only=True, default="", compare=False)


@dataclass(frozen=True)
class Query(Statement):
    """`SELECT`, `VALUES`, `WITH` and set operations; positions of nodes point into `source`."""

    query: exp.Query
    source: str = field(kw_only=True, default="", compare=False)


@dataclass(frozen=True)
class Insert(Statement):
    """`INSERT INTO table (columns) query`; `options` of an OPTIONS hint, `partition` of a PARTITION clause."""

    table: Name
    query: exp.Query
    columns: tuple[str, ...] | None = None
    is_overwrite: bool = False
    partition: Mapping[str, exp.Expr] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    on_conflict: str | None = None
    source: str = field(kw_only=True, default="", compare=False)


@dataclass(frozen=True)
class StatementSet(Statement):
    """`EXECUTE STATEMENT SET BEGIN ...; END`: several INSERTs as one job."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True)
class Explain(Statement):
    """`EXPLAIN details PLAN FOR statement`."""

    statement: Statement
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Like:
    """`LIKE table (INCLUDING ALL EXCLUDING OPTIONS ...)`; options are pairs of strategy and feature."""

    table: Name
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class CreateTable(Statement):
    """`CREATE TABLE`; with `query` it is filled by it (CTAS), with `like` it takes over from another table."""

    name: Name
    columns: tuple[Column, ...] = ()
    watermark: WatermarkSpec | None = None
    primary_key: PrimaryKey | None = None
    comment: str | None = None
    partition_keys: tuple[str, ...] = ()
    distribution: Distribution | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    like: Like | None = None
    query: Query | None = None
    column_names: tuple[str, ...] | None = None
    is_temporary: bool = False
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True)
class CreateView(Statement):
    """`CREATE VIEW name (columns) AS query`, the query as text."""

    name: Name
    query: str
    column_names: tuple[str, ...] | None = None
    comment: str | None = None
    is_temporary: bool = False
    if_not_exists: bool = False
    or_replace: bool = False


@dataclass(frozen=True)
class CreateFunction(Statement):
    """`CREATE FUNCTION name AS 'module.name' LANGUAGE PYTHON`."""

    name: Name
    class_name: str
    language: str = "JAVA"
    is_temporary: bool = False
    is_system: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateCatalog(Statement):
    """`CREATE CATALOG name WITH (...)`."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class CreateDatabase(Statement):
    """`CREATE DATABASE name COMMENT '...' WITH (...)`."""

    name: Name
    comment: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    if_not_exists: bool = False


@dataclass(frozen=True)
class Drop(Statement):
    """`DROP TABLE | VIEW | FUNCTION | DATABASE | CATALOG name`; `kind` is that word."""

    kind: str
    name: Name
    if_exists: bool = False
    is_temporary: bool = False
    is_system: bool = False
    is_cascade: bool = False


@dataclass(frozen=True)
class Rename(Statement):
    """`ALTER TABLE | VIEW name RENAME TO other`."""

    kind: str
    name: Name
    new_name: Name
    if_exists: bool = False


@dataclass(frozen=True)
class AlterOptions(Statement):
    """`ALTER TABLE | DATABASE | CATALOG name SET (...)` and `RESET (...)`."""

    kind: str
    name: Name
    options: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True)
class ColumnChange:
    """A column to add or change; `after` is the column it comes behind, "" puts it first, None leaves it or ends."""

    column: Column
    after: str | None = None


@dataclass(frozen=True)
class AlterSchema(Statement):
    """`ALTER TABLE name ADD (...)` or `MODIFY (...)`: columns, watermark, primary key."""

    name: Name
    is_modify: bool
    columns: tuple[ColumnChange, ...] = ()
    watermark: WatermarkSpec | None = None
    primary_key: PrimaryKey | None = None
    if_exists: bool = False


@dataclass(frozen=True)
class AlterDrop(Statement):
    """`ALTER TABLE name DROP (a, b)`, `DROP PRIMARY KEY`, `DROP CONSTRAINT c`, `DROP WATERMARK`."""

    name: Name
    columns: tuple[str, ...] = ()
    what: str = "COLUMNS"
    if_exists: bool = False


@dataclass(frozen=True)
class AlterRenameColumn(Statement):
    """`ALTER TABLE name RENAME a TO b`."""

    name: Name
    column: str
    new_column: str
    if_exists: bool = False


@dataclass(frozen=True)
class AlterView(Statement):
    """`ALTER VIEW name AS query`."""

    name: Name
    query: str


@dataclass(frozen=True)
class Use(Statement):
    """`USE database`, `USE CATALOG name`, `USE MODULES a, b`; `kind` is DATABASE, CATALOG or MODULES."""

    kind: str
    name: Name


@dataclass(frozen=True)
class Show(Statement):
    """`SHOW TABLES FROM db LIKE '%x'`: `kind` is TABLES, VIEWS, CREATE TABLE, COLUMNS and so on."""

    kind: str
    name: Name = ()
    like: str | None = None
    is_not: bool = False
    is_case_insensitive: bool = False


@dataclass(frozen=True)
class Describe(Statement):
    """`DESCRIBE table`, `DESCRIBE CATALOG name`, `DESCRIBE DATABASE name`, `DESCRIBE FUNCTION name`."""

    kind: str
    name: Name
    is_extended: bool = False


@dataclass(frozen=True)
class Set(Statement):
    """`SET 'key' = 'value'`; without a key all settings are shown."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True)
class Reset(Statement):
    """`RESET 'key'`, or all."""

    key: str | None = None
