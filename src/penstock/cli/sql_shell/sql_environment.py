"""Statements of SQL in one table environment: what the shell and a session of the SQL gateway have in common."""

from __future__ import annotations

from penstock.cli.sql_shell.shell_settings import DEFAULTS, ShellSettings
from penstock.common.configuration import Configuration
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.graph.unused_keys import keys_of_nobody
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.sql import parse
from penstock.table.sql.statements import CreateTable, Insert, Reset, Set, Statement, StatementSet
from penstock.table.table_environment import TABLE_PREFIXES, TableEnvironment
from penstock.table.table_result import TableResult, ok, told


class SqlEnvironment:
    """A table environment whose settings can be set and reset by statements."""

    def __init__(self, configuration: Configuration) -> None:
        """Begin with a configuration; RESET goes back to it."""
        settings = EnvironmentSettings.new_instance().with_configuration(configuration).build()
        self._given = configuration.to_dict()
        self.tables = TableEnvironment(settings, StreamExecutionEnvironment())
        self.settings()  # refuse what cannot be used

    def settings(self) -> ShellSettings:
        """The settings of the shell."""
        return ShellSettings.of(self.tables.get_config().to_map())

    def execute(self, text: str, statement: Statement) -> TableResult:
        """Run a statement; a query or an INSERT is started and runs on."""
        if isinstance(statement, Set | Reset):
            return self._run_setting(statement)
        return self.tables.execute_sql(text)

    def _run_setting(self, statement: Set | Reset) -> TableResult:
        config = self.tables.get_config()
        if isinstance(statement, Reset):
            self._reset(statement.key)
            return ok()
        if statement.key is None:
            return told(("key", "value"), sorted({**DEFAULTS, **config.to_map()}.items()))
        value = statement.value or ""
        ShellSettings.of({**config.to_map(), statement.key: value})
        config.set(statement.key, value)
        return ok()

    def _reset(self, key: str | None) -> None:
        """Go back to what the session was started with; the environment of jobs is made anew, since it only adds."""
        config = self.tables.get_config()
        config.remove(key)
        kept = {**config.to_map(), **{each: self._given[each] for each in self._given if key in (None, each)}}
        self.tables.stream_environment = StreamExecutionEnvironment()
        config.add_configuration(Configuration.from_dict(kept))


def parsed(text: str) -> Statement:
    """The one statement of a text."""
    statements = parse(text)
    if len(statements) != 1:
        raise SqlError(f"Expected one statement, got {len(statements)}.")
    return statements[0]


def writes(statement: Statement) -> bool:
    """Whether a statement starts a job that writes tables."""
    is_filled = isinstance(statement, CreateTable) and statement.query is not None
    return is_filled or isinstance(statement, Insert | StatementSet)


def unknown_key(statement: Statement) -> str | None:
    """The key of a SET that nothing reads."""
    if not isinstance(statement, Set) or statement.key is None or statement.key.startswith(TABLE_PREFIXES):
        return None
    return statement.key if keys_of_nobody({statement.key: statement.value or ""}) else None
