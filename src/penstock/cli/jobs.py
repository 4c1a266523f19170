"""Commands for jobs, on this machine or at a server: list, info, logs, metrics, savepoint, stop, cancel."""

from __future__ import annotations

import threading
from typing import Annotated, Any

import typer

from penstock.cli.output import NOTHING, Columns, moment, note, number, one_line, show_json, size
from penstock.cli.targets import AsJson, Job, JobTarget, Server, Status, target
from penstock.cli.waiting import waiting_for
from penstock.common.job_failure import summary_of
from penstock.errors import ConfigurationError

_ID_DIGITS = 12
_LOG_BYTES = 64 * 1024
_FOLLOW_SECONDS = 0.5


def list_jobs(
    also_ended: Annotated[bool, typer.Option("--all", "-a", help="Show jobs that have ended too.")] = False,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Show the running jobs of this user on this machine, or those of a server."""
    found = target(server).statuses(also_ended=also_ended)
    if as_json:
        show_json(found)
        return
    if not found:
        note("no job is known" if also_ended else "no job is running")
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
        for held in status.get("event_time_holders") or ():
            note(_held_back(status, held))


def _held_back(status: Status, held: dict[str, Any]) -> str:
    """Which input event time waits for, in a line."""
    return one_line(f"job {status['name']!r}: {held['text']}")


def _failure(status: Status) -> str:
    """Why a job was restarted, in a line."""
    failure, restarts = status["last_failure"], status.get("restarts", 0)
    times = "once" if restarts == 1 else f"{restarts} times"
    what = one_line(summary_of(failure["text"]))
    return f"job {status['name']!r} was restarted {times}; last failure at {moment(failure['at_ms'])}: {what}"


def _cells(status: Status) -> list[object]:
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


def info(job: Job, as_json: AsJson = False, server: Server = None) -> None:
    """Show a job, running or ended: its vertices, checkpoints, savepoints and failures."""
    asked = target(server)
    document = asked.document(asked.find(job, also_ended=True)["id"])
    if as_json:
        show_json(document)
        return
    _show_head(document)
    _show_vertices(document)
    _show_checkpoints(document["checkpoints"])
    for failure in document["exceptions"][:1]:
        typer.echo(f"\nlast failure, {moment(failure['at_ms'])}:\n{_safe_text(failure['text'])}")


def _show_head(document: dict[str, Any]) -> None:
    progress, process = document["progress"], document["process"]
    typer.echo(f"job {one_line(document['name'])!r} ({document['id']}): {document['status'].lower()}")
    since = f"started {moment(document['started_ms'])}"
    ended = "" if document["ended_ms"] is None else f", ended {moment(document['ended_ms'])}"
    typer.echo(f"{since}{ended}, {progress['restarts']} restarts, process {process['pid']} on {process['host']}")
    lag = NOTHING if progress["lag_ms"] is None else f"{progress['lag_ms'] / 1000:,.1f} s behind now"
    typer.echo(
        f"{number(progress['records'])} records, {number(progress['records_per_second'])}/s, "
        f"watermark {moment(progress['watermark'])} ({lag})"
    )
    for held in progress.get("event_time_holders") or ():
        typer.echo(_held_back(document, held))
    if document["cluster"].get("web_url"):
        typer.echo(f"Spark's pages: {document['cluster']['web_url']}")
    elif document["cluster"].get("workers") and document["cluster"]["engine"] == "spark" and not document["ended_ms"]:
        typer.echo("Spark's pages: off; set spark.ui.enabled=true")


def _show_vertices(document: dict[str, Any]) -> None:
    if not document["plan"]:
        return
    table = Columns(
        "vertex", "subtasks", "in", "out", "state", numbers=("subtasks", "in", "out", "state"), cut="vertex"
    )
    for vertex in document["plan"]:
        subtasks = document["subtasks"].get(vertex["id"], [])
        sums = [sum(each[name] for each in subtasks) for name in ("records_in", "records_out", "state_bytes")]
        table.add(vertex["name"], vertex["parallelism"], number(sums[0]), number(sums[1]), size(sums[2]))
    typer.echo()
    table.show()


def _show_checkpoints(told: dict[str, Any]) -> None:
    typer.echo(f"\n{told['completed']} checkpoints since the start of the driver")
    for each in told["history"][:1]:
        spent = f"work {each['work_ms']} ms, seal {each['seal_ms']} ms, publication {each['publish_ms']} ms"
        typer.echo(
            f"last: version {each['version']}, {moment(each['sealed_ms'])}, state {size(each['state_bytes'])}, {spent}"
        )
    for each in told["savepoints"][:3]:
        outcome = one_line(each["path"] or f"failed: {each['error']}")
        typer.echo(f"savepoint {moment(each['began_ms'])}: {outcome}")


def _safe_text(text: str) -> str:
    return "\n".join(map(one_line, text.splitlines()))


def logs(
    job: Job,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as the log grows, until the job ends.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", metavar="N", min=1, help="So many of the last lines.")] = 100,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Show the end of the log of a job's driver."""
    asked = target(server)
    job_id = asked.find(job, also_ended=True)["id"]
    part = asked.log(job_id, None, _LOG_BYTES)
    shown = part["text"].splitlines()[-lines:]
    if as_json:
        show_json({**part, "text": "\n".join(shown)})
        return
    for line in shown:
        typer.echo(one_line(line))
    while follow:
        is_over = asked.document(job_id)["ended_ms"] is not None
        part = asked.log(job_id, part["next"], _LOG_BYTES)
        for line in part["text"].splitlines():
            typer.echo(one_line(line))
        if is_over and not part["text"]:
            return
        threading.Event().wait(0 if part["text"] else _FOLLOW_SECONDS)


def savepoint(
    job: Job,
    directory: Annotated[
        str | None, typer.Argument(metavar="DIRECTORY", help="Directory for the savepoint; default: the job's.")
    ] = None,
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Write a savepoint of a job, which goes on. Prints its path."""
    asked = target(server)
    found, place = _with_place(asked, job, directory, "DIRECTORY")
    with waiting_for(f"savepoint of job {found['name']!r}"):
        path = asked.savepoint(found["id"], place)
    note(f"savepoint of job {found['name']!r} ({found['id']}):")
    _show_path(path, found["id"], as_json)


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
    as_json: AsJson = False,
    server: Server = None,
) -> None:
    """Write a savepoint of a job and end it. Prints the path; nothing is done between the two."""
    asked = target(server)
    found, place = _with_place(asked, job, savepoint_path, "--savepoint-path")
    with waiting_for(f"job {found['name']!r} to stop"):
        path = asked.stop(found["id"], place, drain=drain)
    note(f"job {found['name']!r} ({found['id']}) has stopped; savepoint:")
    _show_path(path, found["id"], as_json)


def cancel(job: Job, as_json: AsJson = False, server: Server = None) -> None:
    """End a job at once, without a savepoint. Its checkpoint stays as it is."""
    asked = target(server)
    found = asked.find(job)
    with waiting_for(f"job {found['name']!r} to end"):
        asked.cancel(found["id"])
    note(f"job {found['name']!r} ({found['id']}) was cancelled")
    if as_json:
        show_json({"job_id": found["id"], "status": "CANCELED"})


def _show_path(path: str, job_id: str, as_json: bool) -> None:
    if as_json:
        show_json({"job_id": job_id, "savepoint": path})
    else:
        typer.echo(one_line(path))


def _with_place(asked: JobTarget, job: str, directory: str | None, option: str) -> tuple[Status, str | None]:
    """The job, and the directory as it understands it: it has a working directory of its own."""
    found = asked.find(job)
    if directory is None and found.get("savepoint_directory") is None:
        raise ConfigurationError(
            f"job {found['name']!r} has no savepoint directory: pass {option}, or start the job with "
            "execution.checkpointing.savepoint-dir"
        )
    return found, None if directory is None else asked.absolute(directory)
