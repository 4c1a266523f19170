"""A session of the shell: runs one statement after the other in one table environment."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.cli.sql_shell.background_jobs import BackgroundJobs
from penstock.cli.sql_shell.results import ResultPrinter
from penstock.cli.sql_shell.shell_commands import ShellCommand, ShowJobs, StopJob, shell_command
from penstock.cli.sql_shell.shell_settings import ShellSettings
from penstock.cli.sql_shell.sql_environment import SqlEnvironment, parsed, unknown_key, writes
from penstock.cli.sql_shell.starting import started
from penstock.common.configuration import Configuration
from penstock.errors import SqlError
from penstock.graph.declared_settings import JOB_NAME
from penstock.table.sql.statements import Query
from penstock.table.table_environment import TableEnvironment
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
        self._environment = SqlEnvironment(configuration)
        self.jobs = BackgroundJobs(tell)
        self._printer = printer
        self._tell = tell
        self._show_query = show_query or printer.show
        self._is_interactive = False

    @property
    def tables(self) -> TableEnvironment:
        """Where the statements run."""
        return self._environment.tables

    def begin_dialogue(self) -> None:
        """Somebody types from now on: say OK, and let INSERTs run on; files wait for those that end."""
        self._is_interactive = True

    def settings(self) -> ShellSettings:
        """The settings of the shell."""
        return self._environment.settings()

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
        statement = parsed(text)

        def execute() -> TableResult:
            return self._environment.execute(text, statement)

        if isinstance(statement, Query):
            self._show_query(started(execute), self.settings(), began)
        elif writes(statement):
            self._follow(started(execute), began)
        else:
            result = execute()
            key = unknown_key(statement)
            if key is not None:
                self._tell(f"Penstock and Spark do not know the key {key}.")
            self._show(result)

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
