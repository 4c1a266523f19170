"""A session of the shell: runs one statement after the other in one table environment."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.cli.sql_shell.background_jobs import BackgroundJobs
from penstock.cli.sql_shell.results import ResultPrinter
from penstock.cli.sql_shell.shell_commands import ShellCommand, ShowJobs, StopJob, shell_command
from penstock.cli.sql_shell.shell_settings import DEFAULTS, ShellSettings
from penstock.cli.sql_shell.starting import started
from penstock.common.configuration import Configuration
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.graph.declared_settings import JOB_NAME
from penstock.graph.unused_keys import keys_of_nobody
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.sql import parse
from penstock.table.sql.statements import CreateTable, Insert, Query, Reset, Set, Statement, StatementSet
from penstock.table.table_environment import TABLE_PREFIXES, TableEnvironment
from penstock.table.table_result import ResultKind, TableResult, told

Shown = Callable[[TableResult, ShellSettings, float], None]


class Session:
    """Runs statements; those that only a prompt can answer (HELP, QUIT, CLEAR) are given back.

    Prompt and scripts know of a session `run`, `settings`, `jobs` and, for completion, `tables`: one that sends its
    statements to a server would take its place.
    """

    def __init__(
        self,
        configuration: Configuration,
        printer: ResultPrinter,
        tell: Callable[[str], None],
        *,
        show_query: Shown | None = None,
    ) -> None:
        """Begin with a configuration.

        `tell` says things to a person that are no results. `show_query` shows the rows of a query, if not the printer.
        """
        settings = EnvironmentSettings.new_instance().with_configuration(configuration).build()
        self._given = configuration.to_dict()
        self.tables = TableEnvironment(settings, StreamExecutionEnvironment())
        self.jobs = BackgroundJobs(tell)
        self._printer = printer
        self._tell = tell
        self._show_query = show_query or printer.show
        self._is_interactive = False
        self.settings()  # refuse what cannot be used

    def begin_dialogue(self) -> None:
        """Somebody types from now on: say OK, and let INSERTs run on; files wait for those that end."""
        self._is_interactive = True

    def settings(self) -> ShellSettings:
        """The settings of the shell."""
        return ShellSettings.of(self.tables.get_config().to_map())

    def run(self, text: str) -> ShellCommand | None:
        """Run a statement and show its result; a command that the session cannot answer itself is returned."""
        command = shell_command(text)
        if isinstance(command, ShowJobs):
            self._show(self.jobs.shown(command.job))
        elif isinstance(command, StopJob):
            self._stop(command)
        elif command is not None:
            return command
        else:
            self._run_sql(text)
        return None

    def _run_sql(self, text: str) -> None:
        began = time.monotonic()
        statements = parse(text)
        if len(statements) != 1:
            raise SqlError(f"Expected one statement, got {len(statements)}.")
        statement = statements[0]
        if isinstance(statement, Set | Reset):
            self._run_setting(statement)
        elif isinstance(statement, Query):
            result = started(lambda: self.tables.execute_sql(text))
            self._show_query(result, self.settings(), began)
        elif _writes(statement):
            self._follow(started(lambda: self.tables.execute_sql(text)), began)
        else:
            self._show(self.tables.execute_sql(text))

    def _show(self, result: TableResult) -> None:
        if result.get_result_kind() is ResultKind.SUCCESS:
            self._acknowledge()
        else:
            self._printer.show(result, self.settings())

    def _acknowledge(self) -> None:
        if self._is_interactive:
            self._tell("OK")

    # ---- INSERT ----

    def _follow(self, result: TableResult, began: float) -> None:
        """Wait for the job of an INSERT, or let it run on."""
        client = result.get_job_client()
        assert client is not None
        name = ", ".join(result.row_type.names)
        if self.settings().waits_for_inserts or (result.is_bounded and not self._is_interactive):
            client.wait()
            self._tell(f"Job {client.get_job_id()} has written {name} ({time.monotonic() - began:.2f} seconds).")
            return
        job = self.jobs.add(client, self.tables.get_config().get(JOB_NAME, f"insert-into_{name.replace(', ', ',')}"))
        self._tell(f"Job {job.job_id} writes {name} in the background.")

    def _stop(self, command: StopJob) -> None:
        client = self.jobs.find(command.job).client
        if command.with_savepoint:
            path = client.stop_with_savepoint(command.with_drain).result()
            self._show(told(("savepoint path",), [(path,)]))
            return
        if command.with_drain:
            raise SqlError("STOP JOB: WITH DRAIN needs WITH SAVEPOINT.")
        client.cancel().result()
        self._acknowledge()

    # ---- settings ----

    def _run_setting(self, statement: Set | Reset) -> None:
        config = self.tables.get_config()
        if isinstance(statement, Reset):
            self._reset(statement.key)
        elif statement.key is None:
            self._show(told(("key", "value"), sorted({**DEFAULTS, **config.to_map()}.items())))
            return
        else:
            value = statement.value or ""
            ShellSettings.of({**config.to_map(), statement.key: value})
            config.set(statement.key, value)
            if not statement.key.startswith(TABLE_PREFIXES) and keys_of_nobody({statement.key: value}):
                self._tell(f"Penstock and Spark do not know the key {statement.key}.")
        self._acknowledge()

    def _reset(self, key: str | None) -> None:
        """Go back to what the session was started with; the environment of jobs is made anew, since it only adds."""
        config = self.tables.get_config()
        config.remove(key)
        kept = {**config.to_map(), **{each: self._given[each] for each in self._given if key in (None, each)}}
        self.tables.stream_environment = StreamExecutionEnvironment()
        config.add_configuration(Configuration.from_dict(kept))


def _writes(statement: Statement) -> bool:
    is_filled = isinstance(statement, CreateTable) and statement.query is not None
    return is_filled or isinstance(statement, Insert | StatementSet)
