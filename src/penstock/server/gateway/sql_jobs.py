"""The jobs of a server, as statements of its SQL sessions start, show and stop them."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime

from penstock.errors import PenstockError
from penstock.job.journal import now_ms
from penstock.server.answers import Refusal
from penstock.server.dispatcher.dispatcher import Dispatcher
from penstock.server.dispatcher.programs import checked_program
from penstock.server.dispatcher.registry import Launch
from penstock.server.dispatcher.routes import await_job
from penstock.server.job_views import ENDED, JobView

PROGRAM = "sql_statement.py"
_LOOK_SECONDS = 0.2


class SqlJobs:
    """Programs of INSERTs go to the dispatcher, which keeps them running without the session."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def submit(self, program: str) -> str:
        """Have a program run as a job; returns the id of the job when it has one."""
        registry = self._dispatcher.registry
        made = checked_program(PROGRAM, program.encode())
        for row in registry.programs():
            if row["name"] == PROGRAM and row["id"] != made.id:
                with suppress(PenstockError):  # a job needs it
                    registry.remove_program(row["id"])
        registry.add_program(made.id, made.name, made.content, made.requirements, now_ms())
        submission = registry.add_submission(made.id, made.name, Launch([], {}))
        found = await_job(self._dispatcher, submission)
        return found.job_id or found.id

    def await_end(self, job: str) -> None:
        """Wait for the end of a job; raises if it did not finish."""
        while True:
            document = self._dispatcher.view(job).document()
            if document["status"] in ENDED:
                break
            time.sleep(_LOOK_SECONDS)
        if document["status"] != "FINISHED":
            raise Refusal(500, f"job {job} is {document['status']}; /jobs/{job}/exceptions says more")

    def jobs(self, job: str | None) -> list[list[str]]:
        """Id, name, status and start of all jobs, or of one."""
        views = self._dispatcher.views() if job is None else [self._view(job)]
        rows = []
        for view in views:
            with suppress(PenstockError, TimeoutError):  # it has just gone, or is just going
                told = view.document()
                rows.append([str(told["id"]), str(told["name"]), str(told["status"]), _moment(told["started_ms"])])
        return rows

    def stop_job(self, job: str, with_savepoint: bool, with_drain: bool) -> str | None:
        """End a job; returns the path of its savepoint if one was asked for."""
        view = self._view(job)
        if with_savepoint:
            return view.stop(None, drain=with_drain)
        if with_drain:
            raise Refusal(400, "STOP JOB: WITH DRAIN needs WITH SAVEPOINT.")
        view.cancel()
        return None

    def _view(self, job: str) -> JobView:
        """The job that an id, or the beginning of one, means."""
        found = [view for view in self._dispatcher.views() if view.job_id.startswith(job)] if job else []
        if len(found) != 1:
            how = "There is no job" if not found else "There is more than one job"
            raise Refusal(404, f"{how} with the id '{job}' at this server; SHOW JOBS shows them.")
        return found[0]


def _moment(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
