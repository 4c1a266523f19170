"""SHOW and DESCRIBE: what there is, as results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from penstock.common.masking import shown
from penstock.errors import SqlError
from penstock.table.catalog.columns import ComputedColumn, MetadataColumn, PhysicalColumn
from penstock.table.catalog.entries import CatalogTable, CatalogView
from penstock.table.catalog.lookup import CatalogManager
from penstock.table.resolved_schema import ResolvedSchema
from penstock.table.sql.statements import Describe, Name, Show
from penstock.table.table_result import STRING, TableResult, told
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["Shower", "create_table_text"]

BOOLEAN = LogicalType(Kind.BOOLEAN)


class Shower:
    """Answers SHOW and DESCRIBE from the catalogs; `resolve` gives the typed schema of a table or view."""

    def __init__(
        self,
        manager: CatalogManager,
        resolve: Callable[[Name], ResolvedSchema],
        functions: Callable[[], Iterable[str]],
    ) -> None:
        """Answer from these catalogs."""
        self._manager = manager
        self._resolve = resolve
        self._functions = functions

    def show(self, statement: Show) -> TableResult:
        """The result of SHOW."""
        if statement.kind in ("CREATE TABLE", "CREATE VIEW"):
            return told(("result",), [(self._create_text(statement),)])
        if statement.kind == "CREATE CATALOG":
            return told(("result",), [(self._catalog_text(statement.name[0]),)])
        if statement.kind == "FULL MODULES":
            return told(("module name", "used"), [("core", True)], (STRING, BOOLEAN))
        if statement.kind == "COLUMNS":
            return self._columns(statement.name, statement)
        names: dict[str, tuple[str, Callable[[], Iterable[str]]]] = {
            "CATALOGS": ("catalog name", lambda: self._manager.catalogs),
            "CURRENT CATALOG": ("current catalog name", lambda: [self._manager.current_catalog or "NULL"]),
            "CURRENT DATABASE": ("current database name", lambda: [self._manager.current_database or "NULL"]),
            "DATABASES": ("database name", lambda: self._databases(statement.name)),
            "TABLES": ("table name", lambda: self._manager.tables(self._manager.database_name(statement.name))),
            "VIEWS": ("view name", lambda: self._manager.tables(self._database(statement), CatalogView)),
            "FUNCTIONS": ("function name", lambda: {*self._functions(), *self._user_functions()}),
            "USER FUNCTIONS": ("function name", self._user_functions),
            "MODULES": ("module name", lambda: ["core"]),
            "JARS": ("jars", lambda: []),
        }
        if statement.kind not in names:
            raise SqlError(f"SHOW {statement.kind} is not supported; these are: {', '.join(sorted(names))}.")
        title, found = names[statement.kind]
        return told((title,), [(each,) for each in sorted(_like(found(), statement))])

    def _catalog_text(self, name: str) -> str:
        catalog = self._manager.catalog(name)
        options = ",\n".join(f"  '{key}' = '{shown(key, value)}'" for key, value in catalog.options.items())
        comment = f"COMMENT '{catalog.comment}'\n" if catalog.comment else ""
        return f"CREATE CATALOG `{catalog.name}`\n{comment}WITH (\n{options}\n)\n"

    def _database(self, statement: Show) -> tuple[str, str]:
        return self._manager.database_name(statement.name)

    def _databases(self, name: Name) -> Iterable[str]:
        catalog = name[0] if name else self._manager.current_catalog or ""
        return self._manager.catalog(catalog).databases

    def _user_functions(self) -> Iterable[str]:
        database = self._manager.database_name(())
        stored = self._manager.catalog(database[0]).database(database[1]).functions
        temporary = [name[2] for name in self._manager.temporary_functions if name[:2] == database]
        return {*stored, *temporary, *self._manager.system_functions}

    def describe(self, statement: Describe) -> TableResult:
        """The result of DESCRIBE."""
        if statement.kind == "CATALOG":
            catalog = self._manager.catalog(statement.name[0])
            rows = [("name", catalog.name), ("type", catalog.options["type"]), ("comment", catalog.comment)]
            return told(("info name", "info value"), rows)
        if statement.kind == "DATABASE":
            catalog_name, name = self._manager.database_name(statement.name)
            entry = self._manager.catalog(catalog_name).database(name).entry
            return told(("info name", "info value"), [("name", name), ("comment", entry.comment)])
        return self._columns(statement.name, None)

    def _columns(self, name: Name, statement: Show | None) -> TableResult:
        entry = self._manager.resolve(name)
        schema = self._resolve(name)
        watermarks = dict(schema.watermarks)
        extras = _extras(entry) if isinstance(entry, CatalogTable) else {}
        comments = _comments(entry) if isinstance(entry, CatalogTable) else {}
        keys = ", ".join(schema.primary_key)
        wanted = None if statement is None else set(_like(schema.names, statement))
        rows = [
            (
                column,
                str(type_.with_nullable(True)),
                type_.nullable,
                f"PRI({keys})" if column in schema.primary_key else None,
                extras.get(column),
                watermarks.get(column),
                *([comments.get(column)] if any(comments.values()) else []),
            )
            for column, type_ in zip(schema.names, schema.types, strict=True)
            if wanted is None or column in wanted
        ]
        titles = ["name", "type", "null", "key", "extras", "watermark"]
        types = [STRING, STRING, BOOLEAN, STRING, STRING, STRING]
        if any(comments.values()):
            titles.append("comment")
            types.append(STRING)
        return told(titles, rows, types)

    def create_statement(self, name: Name) -> str:
        """The statement that makes a table as it is, with its passwords: for a program, not for people."""
        entry = self._manager.resolve(name)
        assert isinstance(entry, CatalogTable), name
        full_name = self._manager.full_name(name)
        full = ".".join(f"`{each}`" for each in full_name)
        return create_table_text(full, entry, full_name in self._manager.temporary, is_shown=False)

    def _create_text(self, statement: Show) -> str:
        entry = self._manager.resolve(statement.name)
        full = ".".join(f"`{each}`" for each in self._manager.full_name(statement.name))
        if isinstance(entry, CatalogView):
            if statement.kind == "CREATE TABLE":
                raise SqlError(f"SHOW CREATE TABLE: {full} is a view; use SHOW CREATE VIEW.")
            columns = "" if entry.column_names is None else "(" + ", ".join(f"`{c}`" for c in entry.column_names) + ")"
            return f"CREATE VIEW {full}{columns} AS {entry.query}\n"
        if statement.kind == "CREATE VIEW":
            raise SqlError(f"SHOW CREATE VIEW: {full} is a table; use SHOW CREATE TABLE.")
        is_temporary = self._manager.full_name(statement.name) in self._manager.temporary
        return create_table_text(full, entry, is_temporary)


def _like(names: Iterable[str], statement: Show) -> Iterable[str]:
    if statement.like is None:
        return names
    pattern = re.escape(statement.like).replace("%", ".*").replace("_", ".")
    flags = re.IGNORECASE if statement.is_case_insensitive else 0
    return [each for each in names if bool(re.fullmatch(pattern, each, flags)) != statement.is_not]


def _extras(table: CatalogTable) -> dict[str, str]:
    found = {}
    for column in table.schema.columns:
        if isinstance(column, ComputedColumn):
            found[column.name] = f"AS {column.expression}"
        elif isinstance(column, MetadataColumn):
            key = f" FROM '{column.key}'" if column.key is not None else ""
            found[column.name] = f"METADATA{key}{' VIRTUAL' if column.is_virtual else ''}"
    return found


def _comments(table: CatalogTable) -> dict[str, str | None]:
    return {each.name: each.comment for each in table.schema.columns}


def create_table_text(full_name: str, table: CatalogTable, is_temporary: bool, *, is_shown: bool = True) -> str:
    """The statement that makes a table; what is shown to people has no passwords in it."""
    lines = [f"  {_column_text(table, each.name)}" for each in table.schema.columns]
    watermark, key = table.schema.watermark, table.schema.primary_key
    if watermark is not None:
        lines.append(f"  WATERMARK FOR `{watermark.column}` AS {watermark.expression}")
    if key is not None:
        columns = ", ".join(f"`{each}`" for each in key.columns)
        lines.append(f"  CONSTRAINT `{key.constraint_name}` PRIMARY KEY ({columns}) NOT ENFORCED")
    text = f"CREATE {'TEMPORARY ' if is_temporary else ''}TABLE {full_name} (\n" + ",\n".join(lines) + "\n)"
    if table.comment:
        text += f"\nCOMMENT '{table.comment}'"
    if table.partition_keys:
        text += "\nPARTITIONED BY (" + ", ".join(f"`{each}`" for each in table.partition_keys) + ")"
    told = {key: shown(key, value) if is_shown else value for key, value in table.options.items()}
    options = ",\n".join(f"  '{key}' = '{value}'" for key, value in told.items())
    return f"{text}\nWITH (\n{options}\n)\n"


def _column_text(table: CatalogTable, name: str) -> str:
    column = table.schema.column(name)
    if isinstance(column, ComputedColumn):
        text = f"`{name}` AS {column.expression}"
    else:
        assert isinstance(column, PhysicalColumn | MetadataColumn)
        text = f"`{name}` {column.type}"
        if isinstance(column, MetadataColumn):
            text += " " + _extras(table)[name]
    return text + (f" COMMENT '{column.comment}'" if column.comment else "")
