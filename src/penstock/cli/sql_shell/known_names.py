"""The names that a session knows, for completion: tables, columns, functions, settings, jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from penstock.cli.sql_shell.shell_settings import DEFAULTS, VALUES
from penstock.cli.sql_shell.words import TABLE_FUNCTIONS
from penstock.errors import PenstockError
from penstock.graph.declared_settings import SETTINGS
from penstock.table.connectors.registry import connectors
from penstock.table.connectors.row_formats import FORMATS
from penstock.table.setting_keys import KEYS as TABLE_KEYS
from penstock.table.sql.grammar import KNOWN_FUNCTIONS
from penstock.table.table_environment import TableEnvironment


class KnownNames:
    """What can be named in a statement of a session, as it is now."""

    def __init__(self, tables: TableEnvironment, jobs: Callable[[], Iterable[str]]) -> None:
        """Ask an environment for its names; `jobs` gives the ids of jobs that can be stopped."""
        self._tables = tables
        self.jobs = jobs

    def tables(self, database: str | None = None) -> Iterable[str]:
        """Tables and views of the current database, or of another one."""
        if database is None:
            return self._tables.list_tables()
        return self._listed(f"SHOW TABLES FROM `{database}`")

    def databases(self) -> Iterable[str]:
        """The databases of the current catalog."""
        return self._tables.list_databases()

    def catalogs(self) -> Iterable[str]:
        """The catalogs."""
        return self._tables.list_catalogs()

    def columns(self, table: str) -> Iterable[str]:
        """The columns of a table or view; none if it cannot be read."""
        try:
            return self._tables.from_path(table).get_resolved_schema().names
        except Exception:  # half a statement may name anything, and typing goes on whatever the planner makes of it
            return ()

    def functions(self) -> Iterable[str]:
        """The names of all functions."""
        return sorted({*self._tables.list_functions(), *KNOWN_FUNCTIONS, *TABLE_FUNCTIONS})

    def settings(self) -> Mapping[str, str]:
        """The keys of settings, and what they mean."""
        told = {setting.key: setting.doc for setting in SETTINGS.values()} | TABLE_KEYS
        here = dict.fromkeys([*DEFAULTS, *TABLE_KEYS, *self._tables.get_config().to_map()], "")
        return {**here, **told}

    def values(self, key: str) -> Iterable[str]:
        """The values of a setting or option that has only some."""
        if key == "connector":
            return sorted(connectors())
        if key == "format" or key.endswith(".format"):
            return sorted(FORMATS)
        return {"penstock.engine": ("in-process", "spark"), **VALUES}.get(key, ())

    def options(self, connector: str) -> Iterable[str]:
        """The options of a connector; those that end with a point are beginnings."""
        known = connectors().get(connector)
        return () if known is None else sorted(known.keys())

    def _listed(self, statement: str) -> list[str]:
        try:
            return [row[0] for row in self._tables.execute_sql(statement).collect()]
        except PenstockError:
            return []
