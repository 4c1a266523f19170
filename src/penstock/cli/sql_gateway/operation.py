"""One statement of a session, from the moment it was given until its result is closed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from penstock.cli.sql_gateway.result_pages import ResultPages
from penstock.server.gateway.channel import CallError
from penstock.table.table_result import ResultKind, TableResult

RUNNING, FINISHED, CANCELED, ERROR, CLOSED = "RUNNING", "FINISHED", "CANCELED", "ERROR", "CLOSED"


class Executed:
    """What a statement gave: its result, and the job that it started, if any."""

    def __init__(self, result: TableResult, job_id: str | None = None, *, is_query: bool = False) -> None:
        self.result = result
        self.job_id = job_id
        self.is_query = is_query


class Operation:
    """Runs a statement in a thread; a query is FINISHED once its rows can be fetched, as in Flink."""

    def __init__(self, execute: Callable[[], Executed]) -> None:
        """Begin to run."""
        self._execute = execute
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._status = RUNNING
        self._failure: BaseException | None = None
        self._executed: Executed | None = None
        self._pages: ResultPages | None = None
        threading.Thread(target=self._run, name="penstock-sql-operation", daemon=True).start()

    @property
    def status(self) -> str:
        """Where it is in its life, in Flink's words."""
        return self._status

    def is_idle(self) -> bool:
        """Whether it runs no job, so that it can be forgotten."""
        with self._lock:
            client = None if self._executed is None else self._executed.result.get_job_client()
        return self._status != RUNNING and (client is None or client.get_job_execution_result().done())

    def wait(self) -> None:
        """Wait until it has run, and raise its failure."""
        self._done.wait()
        if self._failure is not None:
            raise self._failure

    def fetch(self, token: int, row_format: str) -> dict[str, Any]:
        """A page of its result; `type` is NOT_READY while it runs."""
        self._done.wait(0.5)
        with self._lock:
            status, executed, pages = self._status, self._executed, self._pages
        if self._failure is not None:
            raise self._failure
        if status in (CANCELED, CLOSED):
            raise CallError(f"the operation is {status}, so it has no result", 409)
        if executed is None or pages is None:
            return {"type": "NOT_READY", "next": token}
        has_content = executed.result.get_result_kind() is ResultKind.SUCCESS_WITH_CONTENT
        return {
            **pages.fetch(token, row_format),
            "is_query": executed.is_query,
            "job": executed.job_id,
            "kind": "SUCCESS_WITH_CONTENT" if has_content else "SUCCESS",
        }

    def end(self, status: str) -> None:
        """Cancel or close it; its job is ended too."""
        with self._lock:
            if self._status not in (CANCELED, CLOSED, ERROR) or status == CLOSED:
                self._status = status
            pages = self._pages
        self._done.set()
        if pages is not None:
            pages.close()

    def _run(self) -> None:
        try:
            executed = self._execute()
        except BaseException as error:
            with self._lock:
                self._failure = error
                self._status = ERROR if self._status == RUNNING else self._status
            self._done.set()
            return
        pages = ResultPages(executed.result)
        with self._lock:
            self._executed, self._pages = executed, pages
            was_ended = self._status != RUNNING
            self._status = self._status if was_ended else FINISHED
        self._done.set()
        if was_ended:
            pages.close()
