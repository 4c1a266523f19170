"""Vertices of a job: subtasks, their times, watermarks, backpressure and where they run."""

from __future__ import annotations

from typing import Any

from penstock.errors import JobNotFoundError
from penstock.server.flink.figures import (
    io_metrics,
    load_shares,
    spread,
    subtasks_of,
)
from penstock.server.flink.states import TASK_STATES, duration_ms, task_counts, task_state, vertex_state
from penstock.server.job_views import Document

_STATUS_TIMES = ("CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING")
_LOW, _HIGH = 0.1, 0.5
"""From which share of time on Flink calls backpressure low, and high."""


def vertex_of(document: Document, vertex_id: str) -> dict[str, Any]:
    """The vertex with an id; raises JobNotFoundError."""
    for vertex in document["plan"]:
        if vertex["id"] == vertex_id:
            return dict(vertex)
    raise JobNotFoundError(f"job {document['id']} has no vertex {vertex_id!r}; /jobs/{document['id']} lists them")


def details(document: Document, vertex_id: str) -> dict[str, Any]:
    """/jobs/:jobid/vertices/:vertexid."""
    vertex = vertex_of(document, vertex_id)
    subtasks = subtasks_of(document, vertex_id)
    return {
        "id": vertex_id,
        "name": vertex["name"],
        "parallelism": vertex["parallelism"],
        "maxParallelism": vertex["max_parallelism"],
        "now": document["now_ms"],
        "aggregated": aggregated(document, subtasks),
        "subtasks": [subtask(document, each) for each in subtasks],
    }


def subtask(document: Document, record: dict[str, Any]) -> dict[str, Any]:
    """One subtask of a vertex, as one attempt of it: those before the last restart are over."""
    running = document["status_ms"].get("RUNNING", document["started_ms"])
    created = document["started_ms"]
    return {
        "subtask": record["subtask"],
        "status": task_state(document, record),
        "attempt": document["progress"]["restarts"],
        "endpoint": document["process"]["host"],
        "start-time": created,
        "start_time": created,
        "end-time": -1 if document["ended_ms"] is None else document["ended_ms"],
        "duration": duration_ms(document),
        "metrics": io_metrics([record], document),
        "taskmanager-id": worker_of(document),
        "status-duration": _status_durations(document, created, running),
        "other-concurrent-attempts": [],
    }


def _status_durations(document: Document, created: int, running: int) -> dict[str, int]:
    spent = dict.fromkeys(_STATUS_TIMES, 0)
    spent["CREATED"] = max(0, running - created)
    spent["RUNNING"] = max(0, duration_ms(document) - spent["CREATED"])
    return spent


def worker_of(document: Document) -> str:
    """Where a subtask runs: unknown on a cluster, for Spark gives its tasks to whoever is free, batch by batch."""
    is_alone = all(each["id"] == "driver" for each in document["cluster"]["workers"])
    return f"{document['id'][:8]}-driver" if is_alone else "(unassigned)"


def aggregated(document: Document, subtasks: list[dict[str, Any]]) -> dict[str, Any]:
    """How the figures of a vertex are spread over its subtasks."""
    each = [io_metrics([record], document) for record in subtasks]
    names = [name for name in (each[0] if each else {}) if not name.endswith("-complete")]
    durations = [subtask(document, record)["status-duration"] for record in subtasks]
    return {
        "metrics": {name: spread([metrics[name] for metrics in each]) for name in names},
        "status-duration": {state: spread([found[state] for found in durations]) for state in _STATUS_TIMES},
    }


def times(document: Document, vertex_id: str) -> dict[str, Any]:
    """/jobs/:jobid/vertices/:vertexid/subtasktimes."""
    vertex = vertex_of(document, vertex_id)
    moments = {state: document["status_ms"].get(state, 0) for state in TASK_STATES}
    found = [
        {
            "subtask": each["subtask"],
            "endpoint": document["process"]["host"],
            "duration": duration_ms(document),
            "timestamps": moments,
        }
        for each in subtasks_of(document, vertex_id)
    ]
    return {"id": vertex_id, "name": vertex["name"], "now": document["now_ms"], "subtasks": found}


def watermarks(document: Document, vertex_id: str) -> list[dict[str, str]]:
    """/jobs/:jobid/vertices/:vertexid/watermarks; none for subtasks that have had none, nor for sources."""
    vertex = vertex_of(document, vertex_id)
    if vertex["is_source"]:
        return []
    return [
        {"id": f"{each['subtask']}.currentInputWatermark", "value": str(each["watermark"])}
        for each in subtasks_of(document, vertex_id)
        if each["watermark"] is not None
    ]


def backpressure(document: Document, vertex_id: str) -> dict[str, Any]:
    """/jobs/:jobid/vertices/:vertexid/backpressure."""
    vertex = vertex_of(document, vertex_id)
    found: list[dict[str, Any]] = []
    for each in subtasks_of(document, vertex_id):
        ratio, busy, idle = load_shares(document, vertex, each)
        found.append(
            {
                "subtask": each["subtask"],
                "attempt-number": document["progress"]["restarts"],
                # Under both names: Flink's clients and its page do not agree on it.
                "backpressureLevel": _level(ratio),
                "backpressure-level": _level(ratio),
                "ratio": ratio,
                "busyRatio": busy,
                "idleRatio": idle,
                "other-concurrent-attempts": [],
            }
        )
    level = _level(max((each["ratio"] for each in found), default=0.0))
    return {
        "status": "ok",
        "backpressureLevel": level,
        "backpressure-level": level,
        "end-timestamp": document["now_ms"],
        "subtasks": found,
    }


def _level(ratio: float) -> str:
    return "high" if ratio > _HIGH else "low" if ratio > _LOW else "ok"


def task_managers(document: Document, vertex_id: str) -> dict[str, Any]:
    """/jobs/:jobid/vertices/:vertexid/taskmanagers."""
    vertex = vertex_of(document, vertex_id)
    subtasks = subtasks_of(document, vertex_id)
    entry = {
        "endpoint": document["process"]["host"],
        "status": vertex_state(document, vertex_id),
        "start-time": document["started_ms"],
        "end-time": -1 if document["ended_ms"] is None else document["ended_ms"],
        "duration": duration_ms(document),
        "metrics": io_metrics(subtasks, document),
        "status-counts": task_counts(document, vertex_id),
        "taskmanager-id": worker_of(document),
        "aggregated": aggregated(document, subtasks),
    }
    return {"id": vertex_id, "name": vertex["name"], "now": document["now_ms"], "taskmanagers": [entry]}


def accumulators(document: Document, vertex_id: str) -> dict[str, Any]:
    """/jobs/:jobid/vertices/:vertexid/accumulators."""
    return {"id": vertex_of(document, vertex_id)["id"], "user-accumulators": []}


def subtask_accumulators(document: Document, vertex_id: str) -> dict[str, Any]:
    """/jobs/:jobid/vertices/:vertexid/subtasks/accumulators: the figures of each subtask."""
    vertex = vertex_of(document, vertex_id)
    names = {each["uid"]: each["name"] for each in vertex["operators"]}
    found = [
        {
            "subtask": each["subtask"],
            "attempt": document["progress"]["restarts"],
            "endpoint": document["process"]["host"],
            "host": document["process"]["host"],
            "user-accumulators": [
                {"name": f"{names.get(uid, uid)}.{name}", "type": "Metric", "value": str(value)}
                for uid, figures in each["figures"].items()
                for name, value in figures.items()
            ],
        }
        for each in subtasks_of(document, vertex_id)
    ]
    return {"id": vertex_id, "parallelism": vertex["parallelism"], "subtasks": found}
