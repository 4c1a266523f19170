"""Everything that can be told of a job, as one document of plain data.

A running job gives it to who asks through its socket; when the job ends, the same document is what history keeps. The
server turns it into the pages and answers that people and clients read. `FORMAT` is raised when a field changes its
meaning.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import threading
import traceback
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.job_failure import JobFailure
from penstock.common.masking import shown
from penstock.common.state_identity import identity_of
from penstock.graph.declared_settings import SETTINGS
from penstock.graph.plan import Vertex
from penstock.graph.plan_data import plan_data, vertex_key
from penstock.job.admission import has_no_end
from penstock.job.journal import JobJournal, SubtaskRecord, VersionRecord, now_ms

if TYPE_CHECKING:
    from penstock.job.engine_contract import Job

FORMAT = 1

LOG_FILE = "PENSTOCK_LOG_FILE"
"""Variable that tells a driver which file its output goes to, so that others can be shown it."""

SUBMISSION = "PENSTOCK_SUBMISSION"
"""Variable that tells a driver which program of a dispatcher it runs."""

_PLACE = re.compile(r"^in operator '(?P<name>.*)' \(uid '(?P<uid>.*)', subtask (?P<subtask>\d+)\)", re.MULTILINE)
_RECORD = re.compile(r"^record: (?P<record>.*)$", re.MULTILINE)


def job_document(job: Job) -> dict[str, Any]:
    """The document of a job; who announces it adds its process."""
    journal = job.statistics.journal
    status = job.status
    ended_ms = journal.status_ms.get(status.name) if status.is_globally_terminal_state() else None
    return {
        "format": FORMAT,
        "id": job.job_id,
        "name": job.settings.job_name,
        "status": status.name,
        "type": _type(job),
        "started_ms": journal.status_ms["CREATED"],
        "ended_ms": ended_ms,
        "now_ms": now_ms(),
        "status_ms": dict(journal.status_ms),
        "progress": _progress(job),
        "plan": plan_data(job.plan),
        "explanation": job.plan.explain(),
        "subtasks": _subtasks(job),
        "metrics": job.statistics.metrics(),
        "checkpoints": _checkpoints(journal),
        "latency": job.statistics.latency.to_plain(),
        "exceptions": [_failure(each) for each in reversed(journal.failures())],
        "settings": shown_settings(job),
        "restart_strategy": job.settings.restart_strategy.get_description(),
        "restart": _restart(job),
        "parallelism": job.settings.parallelism,
        "cluster": job.cluster(),
        "checkpoint": job.settings.checkpoint_directory,
        "savepoint_directory": job.settings.savepoint_directory,
    }


def _progress(job: Job) -> dict[str, Any]:
    """Where the job is; nothing holds back one that is over."""
    progress = job.statistics.progress
    is_over = job.status.is_globally_terminal_state()
    return asdict(replace(progress, event_time_holders=()) if is_over else progress)


def _type(job: Job) -> str:
    mode = job.settings.runtime_mode
    if mode == "AUTOMATIC":
        return "STREAMING" if has_no_end(job.plan) else "BATCH"
    return mode


def _restart(job: Job) -> dict[str, Any]:
    """The restart strategy as data, for a dispatcher that starts a driver again which died."""
    strategy = job.settings.restart_strategy
    values = {name: value for name, value in vars(strategy).items() if not callable(value)}
    return {"kind": identity_of(strategy), **values, "jitter_factor": 0.0}


def process_facts() -> dict[str, Any]:
    """The process that a job is driven by."""
    return {
        "pid": os.getpid(),
        "host": platform.node(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "log": os.environ.get(LOG_FILE),
        "submission": os.environ.get(SUBMISSION),
    }


def thread_stacks() -> list[dict[str, str]]:
    """What every thread of this process is doing."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return [
        {"name": names.get(ident, str(ident)), "stack": "".join(traceback.format_stack(frame))}
        for ident, frame in sys._current_frames().items()
    ]


def shown_settings(job: Job) -> dict[str, str]:
    """The settings of a job by key, those that were not set with their defaults; secrets are hidden."""
    known = {each.name for each in fields(job.settings)}
    found: dict[str, Any] = {
        key: getattr(job.settings, setting.field)
        for key, setting in SETTINGS.items()
        if setting.field is not None and setting.field in known
    }
    found |= job.settings.spark_config
    found |= job.settings.job_parameters
    return {key: shown(key, value) for key, value in sorted(found.items()) if value is not None}


def _subtasks(job: Job) -> dict[str, list[dict[str, Any]]]:
    """What the subtasks of each vertex have done, by the id of the vertex."""
    known = job.statistics.journal.subtasks()
    found: dict[str, list[dict[str, Any]]] = {}
    for vertex in job.plan.vertices:
        numbers = sorted({*range(vertex.parallelism), *(number for uid, number in known if uid == vertex.uid)})
        found[vertex_key(vertex.uid)] = [
            _subtask(vertex, number, known.get((vertex.uid, number), SubtaskRecord())) for number in numbers
        ]
    return found


def _subtask(vertex: Vertex, number: int, record: SubtaskRecord) -> dict[str, Any]:
    head = record.figures.get(vertex.operators[0].uid, {})
    sent = 0.0
    for edge in {(each.operator, each.tag is None) for each in vertex.outputs}:
        figures = record.figures.get(vertex.operators[edge[0]].uid, {})
        sent += figures.get("records_out" if edge[1] else "side_records_out", 0)
    return {
        "subtask": number,
        "records_in": int(head.get("records_in", 0)),
        "records_out": int(sent),
        "bytes_in": int(head.get("bytes_in", 0)),
        "watermark": event_time(record.watermark),
        "state_bytes": record.state_bytes,
        "has_ended": record.has_ended,
        "load": record.load,
        "figures": record.figures,
    }


def event_time(watermark: int) -> int | None:
    """A watermark as a time; None if there has been none, or no more will come."""
    return watermark if MIN_WATERMARK < watermark < MAX_WATERMARK else None


def _checkpoints(journal: JobJournal) -> dict[str, Any]:
    return {
        "completed": journal.versions_in_all,
        "restored": journal.restored_from,
        "history": [_version(each) for each in reversed(journal.versions())],
        "savepoints": [asdict(each) for each in reversed(journal.savepoints())],
    }


def _version(record: VersionRecord) -> dict[str, Any]:
    times = record.times
    found: dict[str, Any] = {
        "version": record.version,
        "began_ms": times.began_ms,
        "sealed_ms": record.sealed_ms,
        "work_ms": times.work_ms,
        "seal_ms": times.seal_ms,
        "publish_ms": times.publish_ms,
        "alignment_ms": times.alignment_ms,
        "records": record.records,
        "state_bytes": record.state_bytes,
        "written_bytes": record.written_bytes,
        "subtasks": record.subtasks,
    }
    if record.written is not None:
        found["written"] = {vertex_key(uid): parts for uid, parts in record.written.items()}
    return found


def _failure(failure: JobFailure) -> dict[str, Any]:
    place, record = _PLACE.search(failure.text), _RECORD.search(failure.text)
    return {
        "at_ms": failure.at_ms,
        "attempt": failure.attempt,
        "restart_in_ms": failure.restart_in_ms,
        "summary": failure.summary,
        "text": failure.text,
        "operator": None if place is None else place["name"],
        "uid": None if place is None else place["uid"],
        "subtask": None if place is None else int(place["subtask"]),
        "record": None if record is None else record["record"],
    }
