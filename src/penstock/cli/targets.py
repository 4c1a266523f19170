"""Where commands for jobs find them: on this machine, or at a server. The commands cannot tell the difference."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import typer

from penstock.errors import ConfigurationError, JobNotFoundError
from penstock.job.ended_jobs import EndedJobs
from penstock.job.running_jobs import find_job, running_jobs

SERVER = "PENSTOCK_SERVER"
"""Variable that names a server for commands that are given none."""

Status = dict[str, Any]

Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        envvar=SERVER,
        help="Ask a server instead of this machine; `penstock server` runs one.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, for programs.")]
Job = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="Id, beginning of an id, name, or number of the process; `penstock list` shows them."
    ),
]


class JobTarget(Protocol):
    """What commands ask of jobs, wherever they are."""

    def statuses(self, *, also_ended: bool) -> list[Status]:
        """All jobs, each with id, name, status and progress."""

    def find(self, text: str, *, also_ended: bool = False) -> Status:
        """The job that is meant by a text; raises JobNotFoundError."""

    def document(self, job_id: str) -> dict[str, Any]:
        """Everything that is known of a job."""

    def savepoint(self, job_id: str, directory: str | None) -> str:
        """Write a savepoint; returns its path."""

    def stop(self, job_id: str, directory: str | None, *, drain: bool) -> str:
        """Write a savepoint and end the job; returns the path."""

    def cancel(self, job_id: str) -> None:
        """End the job at once."""

    def log(self, job_id: str, offset: int | None, limit: int) -> dict[str, Any]:
        """A part of the log of its driver: text, offset, next and size."""

    def absolute(self, directory: str) -> str:
        """A directory as a job understands it, which has a working directory of its own."""


def target(server: str | None) -> JobTarget:
    """The server of a URL, or this machine."""
    if server is None:
        return LocalTarget()
    from penstock.cli.server_target import ServerTarget

    return ServerTarget(server)


class LocalTarget:
    """The jobs of this user on this machine."""

    def statuses(self, *, also_ended: bool) -> list[Status]:
        """Those that run, and what ended ones have left."""
        running = [status for _, status in running_jobs()]
        if not also_ended:
            return running
        known = {status["id"] for status in running}
        return [*running, *(status_of(each) for each in _ended() if each["id"] not in known)]

    def find(self, text: str, *, also_ended: bool = False) -> Status:
        """The job that is meant; one that runs is preferred."""
        try:
            return find_job(text)[1]
        except JobNotFoundError:
            matching = [each for each in _ended() if also_ended and is_meant(status_of(each), text)]
            if not matching:
                raise
            return status_of(matching[0])

    def document(self, job_id: str) -> dict[str, Any]:
        """What the driver says, or what it left."""
        try:
            return find_job(job_id)[0].document()
        except JobNotFoundError:
            for document in _ended():
                if document["id"] == job_id:
                    return document
            raise

    def savepoint(self, job_id: str, directory: str | None) -> str:
        """Ask the driver."""
        return find_job(job_id)[0].savepoint(directory)

    def stop(self, job_id: str, directory: str | None, *, drain: bool) -> str:
        """Ask the driver."""
        return find_job(job_id)[0].stop(directory, drain=drain)

    def cancel(self, job_id: str) -> None:
        """Ask the driver."""
        find_job(job_id)[0].cancel()

    def log(self, job_id: str, offset: int | None, limit: int) -> dict[str, Any]:
        """Read the file that the output of the driver goes to."""
        document = self.document(job_id)
        path = document["process"].get("log")
        if path is None:
            raise ConfigurationError(
                f"the output of job {document['name']!r} goes to a terminal: start it with --detached to have a log"
            )
        try:
            with open(path, "rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                start = max(0, size - limit) if offset is None else min(offset, size)
                stream.seek(start)
                content = stream.read(limit)
        except OSError as error:
            raise ConfigurationError(f"the log {path} cannot be read: {error.strerror}") from None
        return {"text": content.decode(errors="replace"), "offset": start, "next": start + len(content), "size": size}

    def absolute(self, directory: str) -> str:
        """Relative to where the command was given."""
        # Here, because `list` need not wait until half of Penstock is loaded.
        from penstock.checkpoint.directory import absolute_uri

        return absolute_uri(directory)


def _ended() -> list[dict[str, Any]]:
    """What ended jobs have left, the latest first."""
    folder = EndedJobs.of_this_user()
    found = [folder.read(name) for name in reversed(folder.names())]
    return [each for each in found if isinstance(each, dict) and "plan" in each]


def status_of(document: dict[str, Any]) -> Status:
    """What `list` shows of a job, from its document."""
    process = document.get("process") or {}
    return {
        "id": document["id"],
        "name": document["name"],
        "status": document["status"],
        **document["progress"],
        "started_ms": document["started_ms"],
        "ended_ms": document["ended_ms"],
        "pid": process.get("pid"),
        "host": process.get("host"),
        "checkpoint": document.get("checkpoint"),
        "savepoint_directory": document.get("savepoint_directory"),
        "submission": process.get("submission"),
    }


_WAYS: tuple[Callable[[Status, str], bool], ...] = (
    lambda status, text: status["id"] == text or status.get("submission") == text,
    lambda status, text: status["name"] == text,
    lambda status, text: str(status.get("pid")) == text,
    lambda status, text: str(status["id"]).startswith(text),
)


def is_meant(status: Status, text: str) -> bool:
    """Whether a text may mean a job."""
    return any(way(status, text) for way in _WAYS)


def the_one_meant(statuses: list[Status], text: str) -> Status:
    """The one job that a text means; raises JobNotFoundError."""
    for way in _WAYS:
        matching = [each for each in statuses if way(each, text)]
        if len(matching) == 1:
            return matching[0]
        if matching:
            listed = ", ".join(f"{each['id'][:12]} ({each['name']!r})" for each in matching)
            raise JobNotFoundError(f"{text!r} may be {listed}: give the id")
    known = ", ".join(f"{each['id'][:12]} ({each['name']!r})" for each in statuses[:10])
    others = f"; known are {known}" if known else ": the server knows no job"
    raise JobNotFoundError(f"no job has the id, name or process number {text!r}{others}")
