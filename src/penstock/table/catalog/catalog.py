"""A catalog: databases, and in them tables, views and functions, in memory.

`CatalogInFile` in `penstock.table.catalog.file_catalog` keeps the same in a file.
"""

from __future__ import annotations

from penstock.errors import CatalogError
from penstock.table.catalog.entries import CatalogDatabase, CatalogFunction, CatalogTable, CatalogView

__all__ = ["Catalog", "Database"]


class Database:
    """The tables, views and functions of one database, by name."""

    def __init__(self, entry: CatalogDatabase) -> None:
        """Start empty."""
        self.entry = entry
        self.tables: dict[str, CatalogTable | CatalogView] = {}
        self.functions: dict[str, CatalogFunction] = {}


class Catalog:
    """A catalog in memory; it is gone with the environment."""

    def __init__(self, name: str, default_database: str = "default_database") -> None:
        """Start with an empty default database."""
        self.name = name
        self.default_database = default_database
        self.databases: dict[str, Database] = {default_database: Database(CatalogDatabase())}
        self.comment: str | None = None
        self.options: dict[str, str] = {"type": "generic_in_memory"}

    def database(self, name: str) -> Database:
        """The database of a name; refused if there is none."""
        if name not in self.databases:
            raise CatalogError(
                f"There is no database {name} in catalog {self.name}; it has {', '.join(sorted(self.databases))}."
            )
        return self.databases[name]

    def changed(self) -> None:
        """Called after each change; catalogs that are kept somewhere write themselves."""
