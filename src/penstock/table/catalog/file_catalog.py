"""A catalog that is kept in a file, as JSON: `CREATE CATALOG c WITH ('type' = 'file', 'path' = '...')`.

It is read when it is made and written, as a whole, after each change. Temporary tables and functions are not in it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.errors import CatalogError
from penstock.table.catalog.catalog import Catalog, Database
from penstock.table.catalog.columns import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    PrimaryKey,
    TableSchema,
    WatermarkSpec,
)
from penstock.table.catalog.entries import CatalogDatabase, CatalogTable, CatalogView

__all__ = ["FileCatalog"]

VERSION = 1


class FileCatalog(Catalog):
    """A catalog in a JSON file."""

    def __init__(self, name: str, path: str, default_database: str) -> None:
        """Read the file, if it is there."""
        super().__init__(name, default_database)
        self.path = Path(path)
        if self.path.exists():
            self._read()

    def changed(self) -> None:
        """Write the file, beside it first, so that a crash leaves the old one."""
        document = {
            "version": VERSION,
            "databases": {name: _database(each) for name, each in self.databases.items()},
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(self.path.name + ".new")
        beside.write_text(json.dumps(document, indent=1), encoding="utf-8")
        beside.replace(self.path)

    def _read(self) -> None:
        document = json.loads(self.path.read_text(encoding="utf-8"))
        if document.get("version") != VERSION:
            raise CatalogError(
                f"Catalog {self.name}: {self.path} has version {document.get('version')}, not {VERSION}."
            )
        for name, held in document["databases"].items():
            database = Database(CatalogDatabase(held["comment"], held["properties"]))
            database.tables = {table: _entry(each) for table, each in held["tables"].items()}
            self.databases[name] = database


def _database(database: Database) -> dict[str, Any]:
    tables = {
        name: _table_data(each) if isinstance(each, CatalogTable) else _view_data(each)
        for name, each in database.tables.items()
        if getattr(each, "inline", None) is None and getattr(each, "query_operation", None) is None
    }
    return {"comment": database.entry.comment, "properties": dict(database.entry.properties), "tables": tables}


def _table_data(table: CatalogTable) -> dict[str, Any]:
    schema = table.schema
    watermark, key = schema.watermark, schema.primary_key
    return {
        "kind": "table",
        "columns": [_column_data(each) for each in schema.columns],
        "watermark": None if watermark is None else [watermark.column, watermark.expression],
        "primary_key": None if key is None else {"columns": list(key.columns), "name": key.name},
        "options": dict(table.options),
        "comment": table.comment,
        "partition_keys": list(table.partition_keys),
    }


def _column_data(column: Column) -> dict[str, Any]:
    data: dict[str, Any] = {"name": column.name, "comment": column.comment}
    if isinstance(column, ComputedColumn):
        return {**data, "expression": column.expression}
    data["type"] = str(column.type)
    if isinstance(column, MetadataColumn):
        return {**data, "metadata": column.key, "virtual": column.is_virtual}
    return data


def _view_data(view: CatalogView) -> dict[str, Any]:
    names = None if view.column_names is None else list(view.column_names)
    return {
        "kind": "view",
        "query": view.query,
        "catalog": view.catalog,
        "database": view.database,
        "column_names": names,
        "comment": view.comment,
    }


def _entry(data: dict[str, Any]) -> CatalogTable | CatalogView:
    if data["kind"] == "view":
        names = None if data["column_names"] is None else tuple(data["column_names"])
        return CatalogView(data["query"], data["catalog"], data["database"], names, data["comment"])
    watermark, key = data["watermark"], data["primary_key"]
    schema = TableSchema(
        tuple(_column(each) for each in data["columns"]),
        None if watermark is None else WatermarkSpec(*watermark),
        None if key is None else PrimaryKey(tuple(key["columns"]), key["name"]),
    )
    return CatalogTable(schema, data["options"], data["comment"], tuple(data["partition_keys"]))


def _column(data: dict[str, Any]) -> Column:
    # The grammar reads statements into these columns, so it is loaded late.
    from penstock.table.sql import parse_type

    if "expression" in data:
        return ComputedColumn(data["name"], data["expression"], data["comment"])
    if "metadata" in data:
        return MetadataColumn(
            data["name"], parse_type(data["type"]), data["metadata"], data["virtual"], data["comment"]
        )
    return PhysicalColumn(data["name"], parse_type(data["type"]), data["comment"])
