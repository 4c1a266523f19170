"""A catalog: databases, and in them tables, views and functions, in memory.

`CatalogInFile` in `penstock.table.catalog.file_catalog` keeps the same in a file.
"""

from __future__ import annotations

from penstock.errors import CatalogError
from penstock.table.catalog.entries import CatalogDatabase, CatalogFunction, CatalogTable, CatalogView
from penstock.table.catalog.names import ObjectPath

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

    # ---- under PyFlink's names ----

    def get_default_database(self) -> str:
        """The database that is used unless another is."""
        return self.default_database

    def list_databases(self) -> list[str]:
        """The names of all databases."""
        return sorted(self.databases)

    def database_exists(self, database_name: str) -> bool:
        """Whether there is a database."""
        return database_name in self.databases

    def get_database(self, database_name: str) -> CatalogDatabase:
        """What is known of a database."""
        return self.database(database_name).entry

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Make a database."""
        if name in self.databases:
            if ignore_if_exists:
                return
            raise CatalogError(f"Database {self.name}.{name} exists already; drop it first.")
        self.databases[name] = Database(database)
        self.changed()

    def drop_database(self, name: str, ignore_if_exists: bool) -> None:
        """Drop a database with all that is in it."""
        if not ignore_if_exists:
            self.database(name)
        self.databases.pop(name, None)
        self.changed()

    def list_tables(self, database_name: str) -> list[str]:
        """The tables and views of a database."""
        return sorted(self.database(database_name).tables)

    def list_views(self, database_name: str) -> list[str]:
        """The views of a database."""
        held = self.database(database_name).tables.items()
        return sorted(name for name, entry in held if isinstance(entry, CatalogView))

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Whether there is a table or view."""
        database = self.databases.get(table_path.database_name)
        return database is not None and table_path.object_name in database.tables

    def get_table(self, table_path: ObjectPath) -> CatalogTable | CatalogView:
        """A table or view."""
        found = self.database(table_path.database_name).tables.get(table_path.object_name)
        if found is None:
            raise CatalogError(f"There is no table {table_path} in catalog {self.name}.")
        return found

    def create_table(self, table_path: ObjectPath, table: CatalogTable | CatalogView, ignore_if_exists: bool) -> None:
        """Make a table or view."""
        if self.table_exists(table_path):
            if ignore_if_exists:
                return
            raise CatalogError(f"Table {self.name}.{table_path} exists already; drop it first.")
        self.database(table_path.database_name).tables[table_path.object_name] = table
        self.changed()

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a table or view."""
        if not ignore_if_not_exists:
            self.get_table(table_path)
        self.database(table_path.database_name).tables.pop(table_path.object_name, None)
        self.changed()

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        """Give a table or view another name."""
        if ignore_if_not_exists and not self.table_exists(table_path):
            return
        tables = self.database(table_path.database_name).tables
        if new_table_name in tables:
            raise CatalogError(f"Table {new_table_name} exists already; drop it first.")
        tables[new_table_name] = self.get_table(table_path)
        del tables[table_path.object_name]
        self.changed()

    def list_functions(self, database_name: str) -> list[str]:
        """The functions of a database."""
        return sorted(self.database(database_name).functions)

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Whether there is a function."""
        database = self.databases.get(function_path.database_name)
        return database is not None and function_path.object_name.lower() in database.functions

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """A function."""
        found = self.database(function_path.database_name).functions.get(function_path.object_name.lower())
        if found is None:
            raise CatalogError(f"There is no function {function_path} in catalog {self.name}.")
        return found

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a function."""
        if not ignore_if_not_exists:
            self.get_function(function_path)
        self.database(function_path.database_name).functions.pop(function_path.object_name.lower(), None)
        self.changed()

    def changed(self) -> None:
        """Called after each change; catalogs that are kept somewhere write themselves."""
