"""Statements that change the catalog: CREATE, DROP, ALTER, USE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.errors import CatalogError, SqlError
from penstock.table.altered_tables import altered_schema, dropped, merged_like, renamed_column
from penstock.table.catalog.catalog import Catalog, Database
from penstock.table.catalog.columns import TableSchema
from penstock.table.catalog.entries import CatalogDatabase, CatalogFunction, CatalogTable, CatalogView
from penstock.table.catalog.file_catalog import FileCatalog
from penstock.table.catalog.lookup import CatalogManager
from penstock.table.sql.statements import (
    AlterDrop,
    AlterOptions,
    AlterRenameColumn,
    AlterSchema,
    AlterView,
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateView,
    Drop,
    Name,
    Rename,
    Statement,
    Use,
)

__all__ = ["CatalogStatements"]


class CatalogStatements:
    """Runs statements on a catalog manager: `run(statement)` returns whether it was one of them."""

    def __init__(self, manager: CatalogManager) -> None:
        """Work on these catalogs."""
        self.manager = manager
        self._runners: dict[type[Statement], Callable[[Any], None]] = {
            CreateTable: self._create_table,
            CreateView: self._create_view,
            CreateFunction: self._create_function,
            CreateCatalog: self._create_catalog,
            CreateDatabase: self._create_database,
            Drop: self._drop,
            Rename: self._rename,
            AlterOptions: self._alter_options,
            AlterSchema: lambda s: self._alter(s, lambda schema: altered_schema(schema, s)),
            AlterDrop: lambda s: self._alter(s, lambda schema: dropped(schema, s)),
            AlterRenameColumn: lambda s: self._alter(s, lambda schema: renamed_column(schema, s)),
            AlterView: self._alter_view,
            Use: self._use,
        }

    def run(self, statement: Statement) -> bool:
        """Run a statement, if it is one on catalogs."""
        run = self._runners.get(type(statement))
        if run is not None:
            run(statement)
        return run is not None

    # ---- create ----

    def _create_table(self, statement: CreateTable) -> None:
        if statement.like is not None:
            other = self.manager.resolve(statement.like.table)
            if not isinstance(other, CatalogTable):
                raise SqlError(f"CREATE TABLE ... LIKE: {'.'.join(statement.like.table)} is a view, not a table.")
            table = merged_like(statement, statement.like, other)
        else:
            schema = TableSchema(statement.columns, statement.watermark, statement.primary_key)
            table = CatalogTable(
                schema, dict(statement.options), statement.comment, statement.partition_keys, statement.distribution
            )
        check_schema(statement.name, table)
        self.manager.create(
            statement.name,
            table,
            is_temporary=statement.is_temporary,
            if_not_exists=statement.if_not_exists,
            or_replace=statement.or_replace,
        )

    def _create_view(self, statement: CreateView) -> None:
        catalog, database = self.manager.database_name(())
        view = CatalogView(statement.query, catalog, database, statement.column_names, statement.comment)
        self.manager.create(
            statement.name,
            view,
            is_temporary=statement.is_temporary,
            if_not_exists=statement.if_not_exists,
            or_replace=statement.or_replace,
        )

    def _create_function(self, statement: CreateFunction) -> None:
        entry = CatalogFunction(statement.class_name, statement.language)
        name = statement.name
        if statement.is_system:
            place: dict[Any, CatalogFunction] = self.manager.system_functions
            key: Any = name[-1].lower()
        elif statement.is_temporary:
            place, key = self.manager.temporary_functions, self.manager.function_name(name)
        else:
            whole = self.manager.function_name(name)
            place, key = self.manager.database_of(whole).functions, whole[2]
        if key in place and not statement.if_not_exists:
            raise CatalogError(f"Function {'.'.join(name)} exists already; drop it first, or say IF NOT EXISTS.")
        place.setdefault(key, entry)

    def _create_catalog(self, statement: CreateCatalog) -> None:
        if statement.name in self.manager.catalogs:
            if statement.if_not_exists:
                return
            raise CatalogError(f"Catalog {statement.name} exists already; drop it first, or say IF NOT EXISTS.")
        self.manager.catalogs[statement.name] = made_catalog(statement)

    def _create_database(self, statement: CreateDatabase) -> None:
        catalog_name, name = self.manager.database_name(statement.name)
        catalog = self.manager.catalog(catalog_name)
        if name in catalog.databases:
            if statement.if_not_exists:
                return
            raise CatalogError(f"Database {catalog_name}.{name} exists already; drop it first, or say IF NOT EXISTS.")
        catalog.databases[name] = Database(CatalogDatabase(statement.comment, dict(statement.options)))
        catalog.changed()

    # ---- drop ----

    def _drop(self, statement: Drop) -> None:
        if statement.kind in ("TABLE", "VIEW"):
            kind = CatalogTable if statement.kind == "TABLE" else CatalogView
            self.manager.drop(statement.name, kind, statement.is_temporary, statement.if_exists)
        elif statement.kind == "FUNCTION":
            self._drop_function(statement)
        elif statement.kind == "DATABASE":
            self._drop_database(statement)
        else:
            self._drop_catalog(statement)

    def _drop_function(self, statement: Drop) -> None:
        name = self.manager.function_name(statement.name)
        places: list[tuple[dict[Any, CatalogFunction], Any]] = [(self.manager.database_of(name).functions, name[2])]
        if statement.is_temporary:
            places = [(self.manager.temporary_functions, name)]
        if statement.is_system:
            places = [(self.manager.system_functions, statement.name[-1].lower())]
        place, key = places[0]
        if key not in place and not statement.if_exists:
            raise CatalogError(f"There is no function {'.'.join(statement.name)}; nothing was dropped.")
        place.pop(key, None)

    def _drop_database(self, statement: Drop) -> None:
        catalog_name, name = self.manager.database_name(statement.name)
        catalog = self.manager.catalog(catalog_name)
        if name not in catalog.databases:
            if statement.if_exists:
                return
            catalog.database(name)
        if catalog.databases[name].tables and not statement.is_cascade:
            raise CatalogError(f"Database {catalog_name}.{name} is not empty; say CASCADE to drop its tables too.")
        if (catalog_name, name) == (self.manager.current_catalog, self.manager.current_database):
            raise CatalogError(f"Database {catalog_name}.{name} is in use; USE another one first.")
        del catalog.databases[name]
        catalog.changed()

    def _drop_catalog(self, statement: Drop) -> None:
        name = statement.name[0]
        if name not in self.manager.catalogs and statement.if_exists:
            return
        self.manager.catalog(name)
        if name == self.manager.current_catalog:
            raise CatalogError(f"Catalog {name} is in use; USE CATALOG another one first.")
        del self.manager.catalogs[name]

    # ---- alter ----

    def _table(self, name: Name, if_exists: bool) -> CatalogTable | None:
        found = self.manager.get(name)
        if found is None and if_exists:
            return None
        found = self.manager.resolve(name)
        if not isinstance(found, CatalogTable):
            raise SqlError(f"ALTER TABLE: {'.'.join(name)} is a view; use ALTER VIEW.")
        return found

    def _alter(self, statement: Any, change: Callable[[TableSchema], TableSchema]) -> None:
        table = self._table(statement.name, statement.if_exists)
        if table is not None:
            changed = replace(table, schema=change(table.schema))
            check_schema(statement.name, changed)
            self.manager.replace(statement.name, changed)

    def _alter_options(self, statement: AlterOptions) -> None:
        if statement.kind != "TABLE":
            self._alter_database(statement)
            return
        table = self._table(statement.name, statement.if_exists)
        if table is not None:
            options = {k: v for k, v in {**table.options, **statement.options}.items() if k not in statement.removed}
            self.manager.replace(statement.name, replace(table, options=options))

    def _alter_database(self, statement: AlterOptions) -> None:
        if statement.kind == "CATALOG":
            self.manager.catalog(statement.name[0]).options.update(statement.options)
            return
        catalog_name, name = self.manager.database_name(statement.name)
        catalog = self.manager.catalog(catalog_name)
        database = catalog.database(name)
        database.entry = replace(database.entry, properties={**database.entry.properties, **statement.options})
        catalog.changed()

    def _alter_view(self, statement: AlterView) -> None:
        found = self.manager.resolve(statement.name)
        if not isinstance(found, CatalogView):
            raise SqlError(f"ALTER VIEW: {'.'.join(statement.name)} is a table.")
        self.manager.replace(statement.name, replace(found, query=statement.query))

    def _rename(self, statement: Rename) -> None:
        if statement.if_exists and self.manager.get(statement.name) is None:
            return
        entry = self.manager.resolve(statement.name)
        old = self.manager.full_name(statement.name)
        new = (*old[:2], statement.new_name[-1])
        is_temporary = old in self.manager.temporary
        self.manager.create(new, entry, is_temporary=is_temporary)
        self.manager.drop(old, type(entry), is_temporary, if_exists=False)

    # ---- use ----

    def _use(self, statement: Use) -> None:
        if statement.kind == "MODULES":
            raise SqlError("USE MODULES is not supported: Penstock has the built-in functions only.")
        if statement.kind == "CATALOG":
            catalog = self.manager.catalog(statement.name[0])
            self.manager.current_catalog = catalog.name
            self.manager.current_database = catalog.default_database
            return
        catalog_name, name = self.manager.database_name(statement.name)
        self.manager.catalog(catalog_name).database(name)
        self.manager.current_catalog, self.manager.current_database = catalog_name, name


def made_catalog(statement: CreateCatalog) -> Catalog:
    """The catalog that CREATE CATALOG asks for."""
    options = dict(statement.options)
    kind = options.pop("type", "generic_in_memory")
    database = options.pop("default-database", "default_database" if kind == "file" else "default")
    if kind == "generic_in_memory" and not options:
        catalog = Catalog(statement.name, database)
    elif kind == "file" and set(options) == {"path"}:
        catalog = FileCatalog(statement.name, options["path"], database)
    else:
        raise SqlError(
            f"CREATE CATALOG {statement.name}: expected 'type' = 'generic_in_memory', or 'type' = 'file' with 'path'; "
            f"got type '{kind}' with options {sorted(options)}."
        )
    catalog.options = dict(statement.options)
    catalog.comment = statement.comment
    return catalog


def check_schema(name: Name, table: CatalogTable) -> None:
    """Refuse a schema whose primary key or partitions name columns that are not there."""
    names = set(table.schema.names)
    key = table.schema.primary_key
    for column in (*(key.columns if key else ()), *table.partition_keys):
        if column not in names:
            raise SqlError(f"Table {'.'.join(name)}: there is no column '{column}', which its key or partitions name.")
    watermark = table.schema.watermark
    if watermark is not None and watermark.column.split(".")[0] not in names:
        raise SqlError(f"Table {'.'.join(name)}: WATERMARK FOR {watermark.column} names a column that is not there.")
