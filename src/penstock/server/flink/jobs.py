"""Jobs: lists, details, plan, configuration, exceptions."""

from __future__ import annotations

import html
from collections import Counter
from typing import Any

from penstock.server.flink.figures import io_metrics, subtasks_of
from penstock.server.flink.java_throwable import failure_cause
from penstock.server.flink.states import JOB_STATES, TASK_STATES, duration_ms, task_counts, vertex_state
from penstock.server.job_views import Document

FLINK_VERSION = "2.3.0"
"""The version of Flink whose API this is; clients compare it with their own."""


def job_id_with_status(document: Document) -> dict[str, Any]:
    """An entry of /jobs."""
    return {"id": document["id"], "status": document["status"]}


def job_overview(document: Document) -> dict[str, Any]:
    """An entry of /jobs/overview."""
    counts: Counter[str] = Counter()
    for vertex in document["plan"]:
        counts.update(task_counts(document, vertex["id"]))
    tasks = {state.lower(): counts[state] for state in TASK_STATES}
    return {
        "jid": document["id"],
        "name": document["name"],
        "jobType": document["type"],
        "schedulerType": "Default",
        "start-time": document["started_ms"],
        "end-time": _or_never(document["ended_ms"]),
        "duration": duration_ms(document),
        "state": document["status"],
        "last-modification": max(document["status_ms"].values()),
        "tasks": {"total": sum(tasks.values()), **tasks},
        "pending-operators": 0,
    }


def job_details(document: Document) -> dict[str, Any]:
    """/jobs/:jobid."""
    states = Counter(vertex_state(document, vertex["id"]) for vertex in document["plan"])
    return {
        "jid": document["id"],
        "name": document["name"],
        "isStoppable": True,
        "state": document["status"],
        "job-type": document["type"],
        "start-time": document["started_ms"],
        "end-time": _or_never(document["ended_ms"]),
        "duration": duration_ms(document),
        "maxParallelism": max((each["max_parallelism"] for each in document["plan"]), default=-1),
        "now": document["now_ms"],
        "timestamps": {state: document["status_ms"].get(state, 0) for state in JOB_STATES},
        "vertices": [_vertex(document, each) for each in document["plan"]],
        "status-counts": {state: states[state] for state in TASK_STATES},
        "plan": plan(document)["plan"],
        "stream-graph": {"nodes": _stream_nodes(document)},
        "pending-operators": 0,
        "application-id": application_id(document),
        "schedulerType": "Default",
    }


def application_id(document: Document) -> str:
    """The program that a job belongs to; a driver that nobody submitted is an application of its own."""
    return str((document.get("process") or {}).get("submission") or document["id"])


def _vertex(document: Document, vertex: dict[str, Any]) -> dict[str, Any]:
    subtasks = subtasks_of(document, vertex["id"])
    return {
        "id": vertex["id"],
        "slotSharingGroupId": "0" * 32,
        "name": vertex["name"],
        "maxParallelism": vertex["max_parallelism"],
        "parallelism": vertex["parallelism"],
        "status": vertex_state(document, vertex["id"]),
        "start-time": document["started_ms"],
        "end-time": _or_never(document["ended_ms"]),
        "duration": duration_ms(document),
        "tasks": task_counts(document, vertex["id"]),
        "metrics": io_metrics(subtasks, document),
    }


def plan(document: Document) -> dict[str, Any]:
    """/jobs/:jobid/plan."""
    nodes = [
        {
            "id": vertex["id"],
            "parallelism": vertex["parallelism"],
            "operator": "",
            "operator_strategy": "",
            "description": as_markup(" -> ".join(each["name"] for each in vertex["operators"])),
            "inputs": [_input(edge) for edge in vertex["inputs"]],
            "optimizer_properties": {},
        }
        for vertex in document["plan"]
    ]
    content = {"jid": document["id"], "name": document["name"], "type": document["type"], "nodes": nodes}
    return {"plan": content}


def as_markup(text: str) -> str:
    """A description as Flink sends it: its page shows it as HTML, so what a job is called must not be any."""
    return html.escape(text).replace("\n", "<br/>").replace("\\", "&#92;")


def _input(edge: dict[str, Any]) -> dict[str, Any]:
    return {
        "num": edge["number"],
        "id": edge["id"],
        "ship_strategy": edge["ship_strategy"],
        "exchange": "pipelined_bounded",
        "local_strategy": "",
        "caching": "",
    }


def _stream_nodes(document: Document) -> list[dict[str, Any]]:
    """Every operator by itself, before chaining."""
    nodes = []
    for vertex in document["plan"]:
        senders = {each["id"]: each for each in document["plan"]}
        for number, operator in enumerate(vertex["operators"]):
            if operator["parent"] is not None:
                parent = vertex["operators"][operator["parent"]]["uid"]
                inputs = [{"num": 0, "id": parent, "ship_strategy": "FORWARD", "exchange": "UNDEFINED"}]
            elif number == 0:
                inputs = [
                    {"num": edge["number"], "id": uid, "ship_strategy": edge["ship_strategy"], "exchange": "UNDEFINED"}
                    for edge in vertex["inputs"]
                    for uid in senders[edge["id"]]["sends"][:1]
                ]
            nodes.append(
                {
                    "id": operator["uid"],
                    "parallelism": vertex["parallelism"],
                    "operator": operator["kind"],
                    "description": as_markup(operator["name"]),
                    "job_vertex_id": vertex["id"],
                    "inputs": inputs,
                }
            )
    return nodes


def config(document: Document) -> dict[str, Any]:
    """/jobs/:jobid/config."""
    return {
        "jid": document["id"],
        "name": document["name"],
        "execution-config": {
            "restart-strategy": document["restart_strategy"],
            "job-parallelism": document["parallelism"],
            "object-reuse-mode": document["settings"].get("pipeline.object-reuse") == "true",
            "user-config": document["settings"],
        },
    }


def exceptions(document: Document, most: int) -> dict[str, Any]:
    """/jobs/:jobid/exceptions, the latest first; the text begins with the traceback of the user's code."""
    found = document["exceptions"]
    entries = [
        {
            "exceptionName": each["summary"],
            "stacktrace": each["text"],
            "timestamp": each["at_ms"],
            "failureLabels": _labels(each),
            "taskName": _task_name(document, each),
            "endpoint": None if each["subtask"] is None else document["process"]["host"],
            "taskManagerId": None,
            "concurrentExceptions": [],
        }
        for each in found[:most]
    ]
    history = {"entries": entries, "truncated": len(found) > most}
    latest = found[0] if found else None
    return {
        "root-exception": latest and latest["text"],
        "timestamp": latest and latest["at_ms"],
        "all-exceptions": [],
        "truncated": False,
        "exceptionHistory": history,
    }


def _labels(failure: dict[str, Any]) -> dict[str, str]:
    labels = {"attempt": str(failure["attempt"])}
    if failure["record"] is not None:
        labels["record"] = failure["record"]
    waited = failure["restart_in_ms"]
    labels["then"] = "the job ended" if waited is None else f"restarted after {waited} ms"
    return labels


def _task_name(document: Document, failure: dict[str, Any]) -> str | None:
    if failure["uid"] is None:
        return None
    for vertex in document["plan"]:
        if any(each["uid"] == failure["uid"] for each in vertex["operators"]):
            place = f"({failure['subtask'] + 1}/{vertex['parallelism']})"
            return f"{vertex['name']} {place} - execution #{failure['attempt']}"
    return str(failure["operator"])


def execution_result(document: Document) -> dict[str, Any]:
    """/jobs/:jobid/execution-result; clients poll it until the job has ended."""
    if document["ended_ms"] is None:
        return {"status": {"id": "IN_PROGRESS"}}
    result: dict[str, Any] = {
        "id": document["id"],
        "name": document["name"],
        "application-id": application_id(document),
        "start-time": document["started_ms"],
        "end-time": document["ended_ms"],
        "application-status": {"FINISHED": "SUCCEEDED", "CANCELED": "CANCELED"}.get(document["status"], "FAILED"),
        "accumulator-results": {},
        "net-runtime": duration_ms(document),
    }
    if document["status"] == "FAILED" and document["exceptions"]:
        result["failure-cause"] = failure_cause(document["exceptions"][0]["text"])
    return {"status": {"id": "COMPLETED"}, "job-execution-result": result}


def accumulators(document: Document) -> dict[str, Any]:
    """/jobs/:jobid/accumulators: the metrics of all operators."""
    found = [
        {"name": f"{name}.{metric}", "type": "Metric", "value": str(value)}
        for name, figures in document["metrics"].items()
        for metric, value in figures.items()
        if metric != "uid"
    ]
    return {"job-accumulators": [], "user-task-accumulators": found, "serialized-user-task-accumulators": {}}


def _or_never(moment_ms: int | None) -> int:
    """A time as Flink writes one that has not come."""
    return -1 if moment_ms is None else moment_ms
