"""Metrics as Flink's clients ask for them: names without `get`, values with it, and combined over subtasks or jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from penstock.server.flink.figures import load_shares, subtasks_of
from penstock.server.flink.states import duration_ms
from penstock.server.flink.vertices import vertex_of
from penstock.server.job_views import Document

Values = dict[str, float]

# Flink's names for figures of ours; both can be asked for.
_FLINK_NAMES = {
    "records_in": "numRecordsIn",
    "records_out": "numRecordsOut",
    "bytes_in": "numBytesIn",
    "pending_records": "pendingRecords",
}
# Figures of a whole source that Flink has for each of its subtasks.
_OF_SOURCES = ("watermarkAlignmentDrift", "paused_splits")
COMBINED: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "avg": lambda values: sum(values) / len(values),
    "skew": lambda values: skew(values),
}


def skew(values: Sequence[float]) -> float:
    """How unevenly a figure is spread, in percent of the mean; 0 is even."""
    mean = sum(values) / len(values)
    if mean == 0:
        return 0.0
    deviation = sum(abs(value - mean) for value in values) / len(values)
    return min(100.0, deviation / mean * 100)


def job_metrics(document: Document) -> Values:
    """Figures of a job as a whole, with Flink's names."""
    progress, told = document["progress"], document["checkpoints"]
    last = told["history"][0] if told["history"] else None
    found: Values = {
        "numRestarts": progress["restarts"],
        "fullRestarts": progress["restarts"],
        "uptime": duration_ms(document) if document["ended_ms"] is None else -1,
        "numberOfCompletedCheckpoints": told["completed"],
        "numberOfFailedCheckpoints": sum(each["path"] is None for each in told["savepoints"]),
        "numberOfInProgressCheckpoints": 0,
        "totalNumberOfCheckpoints": told["completed"] + len(told["savepoints"]),
        "records": progress["records"],
        "recordsPerSecond": progress["records_per_second"],
    }
    if last is not None:
        found["lastCheckpointSize"] = last["written_bytes"]
        found["lastCheckpointFullSize"] = last["state_bytes"]
        found["lastCheckpointDuration"] = last["work_ms"] + last["seal_ms"] + last["publish_ms"]
        found["lastCompletedCheckpointId"] = last["version"] + 1
    if progress["lag_ms"] is not None:
        found["watermarkLag"] = progress["lag_ms"]
    return found


def subtask_metrics(document: Document, vertex_id: str) -> dict[int, Values]:
    """Figures of every subtask of a vertex: those of the task, and those of each operator in it."""
    vertex = vertex_of(document, vertex_id)
    return {each["subtask"]: _of_subtask(document, vertex, each) for each in subtasks_of(document, vertex_id)}


def _of_subtask(document: Document, vertex: dict[str, Any], record: dict[str, Any]) -> Values:
    back, busy, idle = load_shares(document, vertex, record)
    seconds = max(1.0, duration_ms(document) / 1000)
    found: Values = {
        "numRecordsIn": record["records_in"],
        "numRecordsOut": record["records_out"],
        "numBytesIn": record["bytes_in"],
        "numRecordsInPerSecond": record["records_in"] / seconds,
        "numRecordsOutPerSecond": record["records_out"] / seconds,
        "busyTimeMsPerSecond": busy * 1000,
        "backPressuredTimeMsPerSecond": back * 1000,
        "idleTimeMsPerSecond": idle * 1000,
        "stateBytes": record["state_bytes"],
    }
    if record["watermark"] is not None:
        found["currentInputWatermark"] = record["watermark"]
        found["currentOutputWatermark"] = record["watermark"]
    names = {each["uid"]: each["name"] for each in vertex["operators"]}
    for uid, figures in record["figures"].items():
        for name, value in figures.items():
            found[f"{names.get(uid, uid)}.{name}"] = value
            if name in _FLINK_NAMES:
                found[f"{names.get(uid, uid)}.{_FLINK_NAMES[name]}"] = value
    for figures in document["metrics"].values():
        if figures.get("uid") in names:
            found |= {f"{names[figures['uid']]}.{name}": figures[name] for name in _OF_SOURCES if name in figures}
    return found


def vertex_metrics(document: Document, vertex_id: str) -> Values:
    """The same with the number of the subtask in front, as /jobs/:jobid/vertices/:vertexid/metrics has it."""
    found = subtask_metrics(document, vertex_id).items()
    return {f"{number}.{name}": value for number, values in found for name, value in values.items()}


def listed(values: Mapping[str, float], wanted: str | None) -> list[dict[str, str]]:
    """Names if none are asked for; otherwise names and values of those that are known."""
    if not wanted:
        return [{"id": name} for name in values]
    names = [name for name in wanted.split(",") if name in values]
    return [{"id": name, "value": shown(values[name])} for name in names]


def combined(
    many: Iterable[Mapping[str, float]], wanted: str | None, modes: str | None
) -> list[dict[str, str | float]]:
    """Names if none are asked for; otherwise each with its figures combined over subtasks, or over jobs."""
    known = list(many)
    if not wanted:
        return [{"id": name} for name in dict.fromkeys(name for values in known for name in values)]
    chosen = [mode for mode in (modes or "min,max,sum,avg,skew").lower().split(",") if mode in COMBINED]
    found: list[dict[str, str | float]] = []
    for name in wanted.split(","):
        values = [each[name] for each in known if name in each]
        if values:
            found.append({"id": name, **{mode: float(COMBINED[mode](values)) for mode in chosen}})
    return found


def shown(value: Any) -> str:
    """A figure as text; whole numbers without a point, as Flink writes them."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)
