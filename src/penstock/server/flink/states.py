"""States of jobs and of their tasks in Flink's words."""

from __future__ import annotations

from typing import Any

from penstock.server.job_views import ENDED, Document

JOB_STATES = (
    "INITIALIZING", "CREATED", "RUNNING", "FAILING", "FAILED", "CANCELLING", "CANCELED", "FINISHED", "RESTARTING",
    "SUSPENDED", "RECONCILING",
)  # fmt: skip
TASK_STATES = (
    "CREATED", "SCHEDULED", "DEPLOYING", "RUNNING", "FINISHED", "CANCELING", "CANCELED", "FAILED", "RECONCILING",
    "INITIALIZING",
)  # fmt: skip

# What the tasks of a job are doing while the job is in a state.
_TASKS_OF = {
    "CREATED": "CREATED",
    "RESTARTING": "SCHEDULED",
    "CANCELLING": "CANCELING",
    "FAILING": "CANCELING",
    "FINISHED": "FINISHED",
    "CANCELED": "CANCELED",
    "FAILED": "FAILED",
}


def is_over(document: Document) -> bool:
    """Whether a job has ended."""
    return document["status"] in ENDED


def duration_ms(document: Document) -> int:
    """How long a job has run, or ran."""
    end = document["ended_ms"] if document["ended_ms"] is not None else document["now_ms"]
    return max(0, int(end) - int(document["started_ms"]))


def task_state(document: Document, subtask: dict[str, Any] | None = None) -> str:
    """The state of a subtask; tasks of a batch come and go, what lasts is the subtask."""
    if document["status"] == "RUNNING" and subtask is not None and subtask["has_ended"]:
        return "FINISHED"
    return _TASKS_OF.get(document["status"], "RUNNING")


def vertex_state(document: Document, vertex_id: str) -> str:
    """The state of a vertex: finished when all of its subtasks are."""
    states = {task_state(document, each) for each in document["subtasks"].get(vertex_id, ())}
    return states.pop() if len(states) == 1 else task_state(document)


def task_counts(document: Document, vertex_id: str) -> dict[str, int]:
    """How many subtasks of a vertex are in each state."""
    counts = dict.fromkeys(TASK_STATES, 0)
    for subtask in document["subtasks"].get(vertex_id, ()):
        counts[task_state(document, subtask)] += 1
    return counts
