"""Commands for jobs that run: list, savepoint, stop, cancel."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from penstock.cli.output import NOTHING, Columns, moment, note, number, one_line, show_json
from penstock.common.job_failure import summary_of
from penstock.errors import ConfigurationError
from penstock.job.running_jobs import RunningJob, find_job, running_jobs

_ID_DIGITS = 12

Job = Annotated[
    str,
    typer.Argument(metavar="JOB", help="Job id (or its beginning), name or process id; see `penstock list`."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def list_jobs(as_json: AsJson = False) -> None:
    """Show the running jobs of this user on this machine."""
    found = [status for _, status in running_jobs()]
    if as_json:
        show_json(found)
        return
    if not found:
        note("no job is running")
        return
    table = Columns(
        "id", "name", "status", "batch", "records", "records/s", "watermark", "since", "process",
        numbers=("batch", "records", "records/s", "process"), cut="name",
    )  # fmt: skip
    for status in found:
        table.add(*_cells(status))
    table.show()
    for status in found:
        if status.get("last_failure"):
            note(_failure(status))


def _failure(status: dict[str, Any]) -> str:
    """Why a job was restarted, in a line."""
    failure, restarts = status["last_failure"], status.get("restarts", 0)
    times = "once" if restarts == 1 else f"{restarts} times"
    what = one_line(summary_of(failure["text"]))
    return f"job {status['name']!r} was restarted {times}; last failure at {moment(failure['at_ms'])}: {what}"


def _cells(status: dict[str, Any]) -> list[object]:
    batch = status.get("batch", -1)
    return [
        status["id"][:_ID_DIGITS],
        status["name"],
        status["status"].lower(),
        NOTHING if batch < 0 else batch,
        number(status.get("records")),
        number(status.get("records_per_second")),
        moment(status.get("watermark")),
        moment(status["started_ms"]),
        status["pid"],
    ]


def savepoint(
    job: Job,
    directory: Annotated[
        str | None, typer.Argument(metavar="DIRECTORY", help="Directory for the savepoint; default: the job's.")
    ] = None,
) -> None:
    """Write a savepoint of a job, which goes on. Prints its path."""
    found, place = _with_place(job, directory, "DIRECTORY")
    path = found.savepoint(place)
    note(f"savepoint of job {found.card.name!r} ({found.card.job_id}):")
    typer.echo(one_line(path))


def stop(
    job: Job,
    savepoint_path: Annotated[
        str | None,
        typer.Option(
            "--savepoint-path", "-p", metavar="DIRECTORY", help="Directory for the savepoint; default: the job's."
        ),
    ] = None,
    drain: Annotated[
        bool,
        typer.Option(
            "--drain",
            "-d",
            help="First end the sources and fire all timers and windows. For jobs that will not be resumed.",
        ),
    ] = False,
) -> None:
    """Write a savepoint of a job and end it. Prints the path; nothing is done between the two."""
    found, place = _with_place(job, savepoint_path, "--savepoint-path")
    path = found.stop(place, drain=drain)
    note(f"job {found.card.name!r} ({found.card.job_id}) has stopped; savepoint:")
    typer.echo(one_line(path))


def cancel(job: Job) -> None:
    """End a job at once, without a savepoint. Its checkpoint stays as it is."""
    found, _ = find_job(job)
    found.cancel()
    note(f"job {found.card.name!r} ({found.card.job_id}) was cancelled")


def _with_place(job: str, directory: str | None, option: str) -> tuple[RunningJob, str | None]:
    """The job, and the directory as it understands it: it has a working directory of its own."""
    # Here, because `list` need not wait until half of Penstock is loaded.
    from penstock.checkpoint.directory import absolute_uri

    found, status = find_job(job)
    if directory is None and status.get("savepoint_directory") is None:
        raise ConfigurationError(
            f"job {found.card.name!r} has no savepoint directory: pass {option}, or start the job with "
            "execution.checkpointing.savepoint-dir"
        )
    return found, None if directory is None else absolute_uri(directory)
