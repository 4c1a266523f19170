"""The program of an INSERT: what the session was told before it, and the statement itself, as a driver runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.table.catalog.file_catalog import FileCatalog
from penstock.table.sql.statements import (
    AlterDrop,
    AlterOptions,
    AlterRenameColumn,
    AlterSchema,
    AlterView,
    CreateDatabase,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Query,
    Rename,
    Reset,
    Set,
    Show,
    Statement,
)
from penstock.table.table_environment import TableEnvironment

_KEPT_BY_CATALOGS = (
    AlterDrop,
    AlterOptions,
    AlterRenameColumn,
    AlterSchema,
    AlterView,
    CreateDatabase,
    CreateTable,
    CreateView,
    Drop,
    Rename,
)

_PROGRAM = '''"""A statement of the SQL gateway, with what its session was told before."""

from penstock.common import Configuration
from penstock.table import EnvironmentSettings, TableEnvironment

SETTINGS = {settings}
BEFORE = {before}
STATEMENT = {statement}

settings = EnvironmentSettings.new_instance().with_configuration(Configuration.from_dict(SETTINGS)).build()
tables = TableEnvironment.create(settings)
for each in BEFORE:
    tables.execute_sql(each)
tables.execute_sql(STATEMENT).wait()
'''


def program_text(settings: Mapping[str, str], before: Sequence[str], statement: str) -> str:
    """The source of a program that runs a statement."""
    return _PROGRAM.format(settings=_lines(dict(settings)), before=_lines(list(before)), statement=repr(statement))


def _lines(held: dict[str, str] | list[str]) -> str:
    if isinstance(held, dict):
        return "{" + "".join(f"\n    {key!r}: {value!r}," for key, value in sorted(held.items())) + "\n}"
    return "[" + "".join(f"\n    {each!r}," for each in held) + "\n]"


def is_remembered(statement: Statement, tables: TableEnvironment) -> bool:
    """Whether a driver has to run a statement again: it changes the session, and nothing that outlasts it.

    Asked before the statement is run. Functions are not kept in the file of a catalog, so they are remembered.
    """
    if isinstance(statement, Query | Show | Describe | Explain | Set | Reset):
        return False
    kind = getattr(statement, "kind", "")
    if (
        not isinstance(statement, _KEPT_BY_CATALOGS)
        or kind in ("CATALOG", "FUNCTION")
        or getattr(statement, "is_temporary", False)
    ):
        return True
    name: Sequence[str] = getattr(statement, "name", ())
    parts = 2 if kind == "DATABASE" or isinstance(statement, CreateDatabase) else 3
    catalog = name[0] if len(name) == parts else tables.get_current_catalog()
    return not isinstance(tables.get_catalog(catalog), FileCatalog)
