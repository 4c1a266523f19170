"""Checkpoints: every version of a job is one, and savepoints are told beside them."""

from __future__ import annotations

from typing import Any

from penstock.errors import JobNotFoundError
from penstock.server.flink.figures import summary
from penstock.server.flink.vertices import vertex_of
from penstock.server.job_views import Document

_SHOWN = 60
"""More rows than that help nobody, and Flink's page draws them all."""


def _duration(version: dict[str, Any]) -> int:
    return int(version["work_ms"] + version["seal_ms"] + version["publish_ms"])


def statistics(document: Document) -> dict[str, Any]:
    """/jobs/:jobid/checkpoints."""
    told = document["checkpoints"]
    versions = [version(document, each) for each in told["history"]]
    savepoints = [savepoint(document, each, number) for number, each in enumerate(told["savepoints"])]
    history = sorted([*versions[:_SHOWN], *savepoints], key=lambda each: -each["trigger_timestamp"])
    done = [each for each in savepoints if each["status"] == "COMPLETED"]
    failed = [each for each in savepoints if each["status"] == "FAILED"]
    return {
        "counts": {
            "restored": 0 if told["restored"] is None else 1,
            "total": told["completed"] + len(savepoints),
            "in_progress": 0,
            "completed": told["completed"] + len(done),
            "failed": len(failed),
        },
        "summary": {
            "checkpointed_size": summary([each["written_bytes"] for each in told["history"]]),
            "state_size": summary([each["state_bytes"] for each in told["history"]]),
            "end_to_end_duration": summary([_duration(each) for each in told["history"]]),
            "alignment_buffered": summary([]),
            "processed_data": summary([]),
            "persisted_data": summary([]),
        },
        "latest": {
            "completed": versions[0] if versions else None,
            "savepoint": done[0] if done else None,
            "failed": failed[0] if failed else None,
            "restored": _restored(document),
        },
        "history": history,
    }


def version(document: Document, record: dict[str, Any]) -> dict[str, Any]:
    """A version as a completed checkpoint; its number here is one more, for Flink counts from 1."""
    return {
        "className": "completed",
        "id": record["version"] + 1,
        "status": "COMPLETED",
        "is_savepoint": False,
        "savepointFormat": None,
        "trigger_timestamp": record["began_ms"],
        "latest_ack_timestamp": record["sealed_ms"],
        "checkpointed_size": record["written_bytes"],
        "state_size": record["state_bytes"],
        "end_to_end_duration": _duration(record),
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": record["subtasks"],
        "num_acknowledged_subtasks": record["subtasks"],
        "checkpoint_type": "CHECKPOINT",
        "tasks": {},
        "external_path": str(document.get("checkpoint")),
        "discarded": False,
    }


def savepoint(document: Document, record: dict[str, Any], number: int) -> dict[str, Any]:
    """A savepoint; it has no number of its own, so it gets one that no version has."""
    is_done = record["path"] is not None
    found = {
        "className": "completed" if is_done else "failed",
        "id": -1 - number,
        "status": "COMPLETED" if is_done else "FAILED",
        "is_savepoint": True,
        "savepointFormat": "CANONICAL",
        "trigger_timestamp": record["began_ms"],
        "latest_ack_timestamp": record["ended_ms"],
        "checkpointed_size": 0,
        "state_size": 0,
        "end_to_end_duration": record["ended_ms"] - record["began_ms"],
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": 0,
        "num_acknowledged_subtasks": 0,
        "checkpoint_type": "SYNC_SAVEPOINT" if record["stops"] else "SAVEPOINT",
        "tasks": {},
    }
    if is_done:
        return {**found, "external_path": record["path"], "discarded": False}
    return {**found, "failure_timestamp": record["ended_ms"], "failure_message": record["error"]}


def _restored(document: Document) -> dict[str, Any] | None:
    number = document["checkpoints"]["restored"]
    if number is None:
        return None
    return {
        "id": number + 1,
        "restore_timestamp": document["started_ms"],
        "is_savepoint": False,
        "external_path": str(document.get("checkpoint")),
    }


def config(document: Document) -> dict[str, Any]:
    """/jobs/:jobid/checkpoints/config."""
    settings = document["settings"]
    retention = settings.get("execution.checkpointing.externalized-checkpoint-retention", "")
    return {
        "mode": "exactly_once",
        "interval": int(settings.get("execution.checkpointing.interval", 0)),
        "timeout": int(settings.get("execution.checkpointing.timeout", 0)),
        "min_pause": int(settings.get("execution.checkpointing.min-pause", 0)),
        "max_concurrent": 1,
        "externalization": {"enabled": True, "delete_on_cancellation": retention == "DELETE_ON_CANCELLATION"},
        "state_backend": settings.get("state.backend.type", ""),
        "checkpoint_storage": str(document.get("checkpoint")),
        "unaligned_checkpoints": False,
        "tolerable_failed_checkpoints": int(settings.get("execution.checkpointing.tolerable-failed-checkpoints", 0)),
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": False,
        "changelog_periodic_materialization_interval": -1,
        "changelog_storage": None,
    }


def _found(document: Document, checkpoint_id: int) -> dict[str, Any]:
    for each in document["checkpoints"]["history"]:
        if each["version"] + 1 == checkpoint_id:
            return dict(each)
    raise JobNotFoundError(
        f"checkpoint {checkpoint_id} of job {document['id']} is not known any more: only the last ones are"
    )


def details(document: Document, checkpoint_id: int) -> dict[str, Any]:
    """/jobs/:jobid/checkpoints/details/:checkpointid."""
    if checkpoint_id < 0:
        savepoints = document["checkpoints"]["savepoints"]
        if -1 - checkpoint_id < len(savepoints):
            return savepoint(document, savepoints[-1 - checkpoint_id], -1 - checkpoint_id)
    record = _found(document, checkpoint_id)
    tasks = {vertex_id: _task(record, parts) for vertex_id, parts in record.get("written", {}).items()}
    return {**version(document, record), "tasks": tasks}


def _task(record: dict[str, Any], parts: list[list[int]]) -> dict[str, Any]:
    return {
        "id": record["version"] + 1,
        "status": "COMPLETED",
        "latest_ack_timestamp": record["sealed_ms"],
        "checkpointed_size": sum(part[2] for part in parts),
        "state_size": sum(part[1] for part in parts),
        "end_to_end_duration": _duration(record),
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": len(parts),
        "num_acknowledged_subtasks": len(parts),
    }


def subtasks(document: Document, checkpoint_id: int, vertex_id: str) -> dict[str, Any]:
    """/jobs/:jobid/checkpoints/details/:checkpointid/subtasks/:vertexid."""
    record = _found(document, checkpoint_id)
    parts = record.get("written", {}).get(vertex_of(document, vertex_id)["id"], [])
    none = summary([])
    return {
        **_task(record, parts),
        "summary": {
            "checkpointed_size": summary([part[2] for part in parts]),
            "state_size": summary([part[1] for part in parts]),
            "end_to_end_duration": summary([_duration(record)] * len(parts)),
            "checkpoint_duration": {"sync": none, "async": none},
            "alignment": {
                "buffered": none,
                "processed": none,
                "persisted": none,
                "duration": summary([record.get("alignment_ms", 0)] * len(parts)),
            },
            "start_delay": none,
        },
        "subtasks": [_subtask(record, part) for part in parts],
    }


def _subtask(record: dict[str, Any], part: list[int]) -> dict[str, Any]:
    return {
        "className": "completed",
        "index": part[0],
        "status": "completed",
        "ack_timestamp": record["sealed_ms"],
        "end_to_end_duration": _duration(record),
        "checkpointed_size": part[2],
        "state_size": part[1],
        "checkpoint": {"sync": 0, "async": record["seal_ms"]},
        "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 0},
        "start_delay": 0,
        "unaligned_checkpoint": False,
        "aborted": False,
    }
