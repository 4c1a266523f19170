"""What a catalog holds under a name: tables, views, functions, databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.table.catalog.columns import TableSchema

__all__ = ["CatalogDatabase", "CatalogFunction", "CatalogTable", "CatalogView", "Distribution"]


@dataclass(frozen=True)
class Distribution:
    """`DISTRIBUTED BY HASH(columns) INTO n BUCKETS`; each part may be left out."""

    kind: str | None = None
    columns: tuple[str, ...] = ()
    buckets: int | None = None


@dataclass(frozen=True)
class CatalogTable:
    """A table: its schema, and the options of the connector that reads and writes it.

    `inline` is set for a table that is no connector's: rows or a DataStream given by the program. It has a `stream`
    method like a `TableSource`.
    """

    schema: TableSchema
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    partition_keys: tuple[str, ...] = ()
    distribution: Distribution | None = None
    inline: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class CatalogView:
    """A view: its query as text, and the names of its columns if they were given.

    `catalog` and `database` are those in which names of the query are looked up. `query_operation` is set for the view
    of a `Table` object, which stands for a query without a text.
    """

    query: str
    catalog: str
    database: str
    column_names: tuple[str, ...] | None = None
    comment: str | None = None
    query_operation: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class CatalogFunction:
    """A user function: where its code is, by `module.name`, and in which language; or the object itself."""

    class_name: str
    language: str = "JAVA"
    function: Any = field(default=None, compare=False)


@dataclass(frozen=True)
class CatalogDatabase:
    """A database: a comment and properties."""

    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
