"""A session of the gateway: runs statements, remembers what they made, and hands INSERTs to the server."""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Mapping
from typing import Any, Protocol

from penstock.cli.sql_gateway.operation import CANCELED, CLOSED, Executed, Operation
from penstock.cli.sql_gateway.submitted_program import is_remembered, program_text
from penstock.cli.sql_shell.shell_commands import Clear, Help, Quit, ShellCommand, ShowJobs, StopJob, shell_command
from penstock.cli.sql_shell.sql_environment import SqlEnvironment, parsed, writes
from penstock.common.configuration import Configuration
from penstock.errors import SqlError
from penstock.server.gateway.channel import CallError
from penstock.table.sql.statements import CreateTable, Query, Reset, Set, Statement
from penstock.table.table_result import TableResult, ok, told

MOST_OPERATIONS = 50
"""Statements of a session whose results are not closed; those that have ended are forgotten first."""

_BEGIN_SET = re.compile(r"\s*BEGIN\s+STATEMENT\s+SET\s*;?\s*", re.IGNORECASE)
_END_SET = re.compile(r"\s*END\s*;?\s*", re.IGNORECASE)


class Server(Protocol):
    """What a session asks of the server: jobs that outlast it."""

    def submit(self, program: str) -> str:
        """Have a program run as a job; returns the id of the job."""

    def await_end(self, job: str) -> None:
        """Wait for the end of a job; raises if it failed."""

    def jobs(self, job: str | None) -> list[list[str]]:
        """The jobs of the server, or one: id, name, status and start."""

    def stop_job(self, job: str, with_savepoint: bool, with_drain: bool) -> str | None:
        """End a job; returns the path of its savepoint."""


class GatewaySession:
    """One table environment; statements run one after the other, queries that were started run on."""

    def __init__(self, properties: Mapping[str, str], server: Server) -> None:
        """Begin with the settings that a client gave."""
        self._environment = SqlEnvironment(Configuration.from_dict(dict(properties)))
        self._server = server
        self._lock = threading.Lock()
        self._remembered: list[str] = []
        self._set: list[str] | None = None
        self._operations: dict[str, Operation] = {}

    # ---- what the server calls ----

    def config(self) -> dict[str, str]:
        """The settings."""
        return dict(self._environment.tables.get_config().to_map())

    def execute(self, statement: str, settings: Mapping[str, str] | None = None) -> str:
        """Begin to run a statement; returns the handle of the operation."""
        self._make_room()
        handle = str(uuid.uuid4())
        self._operations[handle] = Operation(lambda: self._executed(statement, settings or {}))
        return handle

    def configure(self, statement: str) -> None:
        """Run a statement that changes the session, and wait for it."""
        found = parsed(statement)
        if isinstance(found, Query) or writes(found):
            raise CallError("configure-session takes SET, CREATE, DROP, ALTER and USE; send others to statements")
        Operation(lambda: self._executed(statement, {})).wait()

    def complete(self, statement: str, position: int) -> list[str]:
        """What can stand at a place in a statement."""
        from prompt_toolkit.document import Document

        from penstock.cli.sql_shell.completion import SqlCompleter
        from penstock.cli.sql_shell.known_names import KnownNames

        place = max(0, min(position, len(statement)))
        names = KnownNames(self._environment.tables, lambda: [job for job, *_ in self._server.jobs(None)])
        found = SqlCompleter(names).get_completions(Document(statement, place), None)
        return list(dict.fromkeys(each.text for each in found))

    def status(self, operation: str) -> str:
        """The status of an operation."""
        return self._operation(operation).status

    def fetch(self, operation: str, token: int, row_format: str) -> dict[str, Any]:
        """A page of the result of an operation."""
        return self._operation(operation).fetch(token, row_format)

    def cancel(self, operation: str) -> str:
        """Cancel an operation, and the query that it runs."""
        found = self._operation(operation)
        found.end(CANCELED)
        return found.status

    def close(self, operation: str) -> str:
        """Forget an operation; a query that it runs is ended."""
        self._operation(operation).end(CLOSED)
        self._operations.pop(operation, None)
        return CLOSED

    def end(self) -> None:
        """End all that runs."""
        for each in list(self._operations.values()):
            each.end(CLOSED)

    def _operation(self, handle: str) -> Operation:
        found = self._operations.get(handle)
        if found is None:
            raise CallError(f"this session has no operation {handle}", 404)
        return found

    def _make_room(self) -> None:
        if len(self._operations) < MOST_OPERATIONS:
            return
        idle = next((handle for handle, each in self._operations.items() if each.is_idle()), None)
        if idle is None:
            raise CallError(f"{MOST_OPERATIONS} statements of this session run: close some of them first", 429)
        self.close(idle)

    # ---- statements ----

    def _executed(self, text: str, settings: Mapping[str, str]) -> Executed:
        with self._lock, _AlsoSet(self._environment, settings):
            executed = self._run(text)
            waits = executed.job_id is not None and not executed.is_query
            waits = waits and self._environment.settings().waits_for_inserts
        if waits:
            self._server.await_end(str(executed.job_id))
            return Executed(ok(), executed.job_id)
        return executed

    def _run(self, text: str) -> Executed:
        if _BEGIN_SET.fullmatch(text):
            self._set = []
            return Executed(ok())
        if self._set is not None:
            return self._run_in_set(text, self._set)
        command = shell_command(text)
        if command is not None:
            return Executed(self._command(command))
        statement = parsed(text)
        if writes(statement):
            return self._submitted(text, statement)
        is_kept = is_remembered(statement, self._environment.tables)
        result = self._environment.execute(text, statement)
        if is_kept:
            self._remembered.append(text)
        client = result.get_job_client()
        job = None if client is None else str(client.get_job_id())
        return Executed(result, job, is_query=isinstance(statement, Query))

    def _run_in_set(self, text: str, inserts: list[str]) -> Executed:
        """Between BEGIN STATEMENT SET and END there are INSERTs, which run together at the end."""
        if not _END_SET.fullmatch(text):
            statement = parsed(text)
            if not writes(statement) or isinstance(statement, CreateTable):
                raise SqlError("Between BEGIN STATEMENT SET and END only INSERT is possible.")
            inserts.append(text.strip().rstrip(";"))
            return Executed(ok())
        self._set = None
        if not inserts:
            raise SqlError("BEGIN STATEMENT SET: there is no INSERT before END.")
        whole = "EXECUTE STATEMENT SET BEGIN " + " ".join(f"{each};" for each in inserts) + " END"
        return self._submitted(whole, parsed(whole))

    def _submitted(self, text: str, statement: Statement) -> Executed:
        """Check an INSERT here, where its errors have a reader, and let a driver of the server run it."""
        tables = self._environment.tables
        program = program_text(self.config(), self._remembered, text)
        tables.explained([made for _, made in tables.planned_writes(statement)])
        if isinstance(statement, CreateTable):
            self._remember_table(statement)
        job = self._server.submit(program)
        return Executed(told(("job id",), [(job,)]), job)

    def _remember_table(self, statement: CreateTable) -> None:
        """The table of CREATE TABLE ... AS is there from now on; a driver that is started later must not fill it."""
        tables = self._environment.tables
        if is_remembered(statement, tables):
            self._remembered.append(tables.create_statement(statement.name))

    def _command(self, command: ShellCommand) -> TableResult:
        if isinstance(command, ShowJobs):
            return told(("job id", "job name", "status", "start time"), self._server.jobs(command.job))
        if isinstance(command, StopJob):
            path = self._server.stop_job(command.job, command.with_savepoint, command.with_drain)
            return ok() if path is None else told(("savepoint path",), [(path,)])
        assert isinstance(command, Help | Quit | Clear), command
        raise SqlError(f"{type(command).__name__.upper()} is for a person at a prompt.")


class _AlsoSet:
    """Settings that are set while a block lasts: those that come with one statement."""

    def __init__(self, environment: SqlEnvironment, settings: Mapping[str, str]) -> None:
        self._environment = environment
        self._settings = settings

    def __enter__(self) -> None:
        config = self._environment.tables.get_config()
        self._before = {key: config.to_map().get(key) for key in self._settings}
        for key, value in self._settings.items():
            self._environment.execute("", Set(key, value))

    def __exit__(self, *raised: object) -> None:
        for key, value in self._before.items():
            self._environment.execute("", Reset(key) if value is None else Set(key, value))
