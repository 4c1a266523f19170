"""Figures of vertices and subtasks in Flink's words, and their summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.server.job_views import Document

_LOOK_BACK_MS = 10_000


def io_metrics(subtasks: Sequence[dict[str, Any]], document: Document) -> dict[str, Any]:
    """What subtasks of a vertex have read and written together."""
    times = [accumulated_ms(each, document) for each in subtasks]
    back, busy, idle = (sum(values) for values in zip((0, 0, 0), *times, strict=True))
    return {
        "read-bytes": sum(each["bytes_in"] for each in subtasks),
        "read-bytes-complete": True,
        "write-bytes": 0,
        "write-bytes-complete": True,
        "read-records": sum(each["records_in"] for each in subtasks),
        "read-records-complete": True,
        "write-records": sum(each["records_out"] for each in subtasks),
        "write-records-complete": True,
        "accumulated-backpressured-time": back,
        "accumulated-idle-time": idle,
        "accumulated-busy-time": float(busy),
    }


def subtasks_of(document: Document, vertex_id: str) -> list[dict[str, Any]]:
    """The subtasks of a vertex; a sink on the driver's side counts nothing itself, so it is told what it was sent."""
    subtasks: list[dict[str, Any]] = document["subtasks"].get(vertex_id, [])
    vertex = next(each for each in document["plan"] if each["id"] == vertex_id)
    if not vertex["is_driver"] or not subtasks:
        return subtasks
    sent = sum(each["records_out"] for edge in vertex["inputs"] for each in document["subtasks"].get(edge["id"], ()))
    own = {**subtasks[0], "records_in": max(sent, sum(each["records_in"] for each in subtasks))}
    return [own, *({**each, "records_in": 0} for each in subtasks[1:])]


def accumulated_ms(subtask: dict[str, Any], document: Document) -> tuple[int, int, int]:
    """Backpressured, busy and idle time of a subtask since the job was started."""
    back, busy, idle = (
        int(sum(each.get(name, 0) for each in subtask["figures"].values()))
        for name in ("backpressured_ms", "busy_ms", "idle_ms")
    )
    if subtask.get("load") is not None:
        return back, busy, idle
    running = max(0, document["now_ms"] - document["started_ms"])
    busy = min(running, int(running * busy_share(document)))
    return back, busy, max(0, running - busy)


def busy_share(document: Document) -> float:
    """The share of the last seconds in which the job worked on a version, rather than waited for the next."""
    now = document["now_ms"]
    recent = [each for each in document["checkpoints"]["history"] if now - each["sealed_ms"] < _LOOK_BACK_MS]
    if not recent or document["status"] != "RUNNING":
        return 0.0
    since = min(each["began_ms"] for each in recent)
    worked = sum(each["work_ms"] + each["seal_ms"] + each["publish_ms"] for each in recent)
    return float(min(1.0, worked / max(1, now - since)))


def load_shares(document: Document, vertex: dict[str, Any], subtask: dict[str, Any]) -> tuple[float, float, float]:
    """The shares of the last seconds in which a subtask was held back, busy and idle.

    Continuous mode measures them for each subtask. In micro-batches the sources are held back as a whole, by what a
    batch may take; behind them nothing piles up.
    """
    if document["status"] != "RUNNING":
        return 0.0, 0.0, 1.0
    load = subtask.get("load")
    if load is not None:
        return load["backpressured"], load["busy"], load["idle"]
    pace = document["progress"].get("pace")
    back = float(pace["backpressured"]) if pace and vertex["is_source"] else 0.0
    busy = min(busy_share(document), 1 - back)
    return back, busy, max(0.0, 1 - back - busy)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of sorted values lies."""
    if not values:
        return 0.0
    place = share * (len(values) - 1)
    low, rest = int(place), place - int(place)
    high = min(low + 1, len(values) - 1)
    return float(values[low] + (values[high] - values[low]) * rest)


def spread(values: Sequence[float]) -> dict[str, int]:
    """Minimum, mean, maximum, sum and quartiles: how a figure differs between subtasks."""
    known = sorted(values)
    if not known:
        return dict.fromkeys(("min", "max", "avg", "sum", "median", "p25", "p75", "p95"), 0)
    return {
        "min": int(known[0]),
        "max": int(known[-1]),
        "avg": int(sum(known) / len(known)),
        "sum": int(sum(known)),
        "median": int(percentile(known, 0.5)),
        "p25": int(percentile(known, 0.25)),
        "p75": int(percentile(known, 0.75)),
        "p95": int(percentile(known, 0.95)),
    }


def summary(values: Sequence[float]) -> dict[str, float]:
    """Minimum, mean, maximum and percentiles of a figure over checkpoints."""
    known = sorted(values)
    shares = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
    if not known:
        return {"min": 0, "max": 0, "avg": 0, **dict.fromkeys(shares, 0.0)}
    head = {"min": int(known[0]), "max": int(known[-1]), "avg": int(sum(known) / len(known))}
    return {**head, **{name: percentile(known, share) for name, share in shares.items()}}
