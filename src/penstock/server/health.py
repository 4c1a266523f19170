"""How a job is doing, in one word and one sentence: what a list of jobs shows first."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from penstock.server.job_views import ENDED, Document

RECENT_MS = 10 * 60_000
"""A restart that is older than this worries nobody any more."""

_STALLED_MS = 60_000
_STALLED_INTERVALS = 10
_SATURATED = 0.5


@dataclass(frozen=True)
class Health:
    """A word that is one of `good`, `warning`, `bad` and `over`, and the reason for it."""

    word: str
    reason: str


def health(document: Document) -> Health:
    """How a job is doing; the worst of what is wrong with it."""
    if document["status"] in ENDED:
        return _of_ended(document)
    if document["status"] in ("RESTARTING", "FAILING"):
        return Health("bad", f"restarting after: {_last_failure(document)}")
    found = [
        told for told in (_restarts(document), _stall(document), _saturation(document), _held_back(document)) if told
    ]
    return Health("warning", "; ".join(found)) if found else Health("good", "running as it should")


def _of_ended(document: Document) -> Health:
    if document["status"] == "FAILED":
        return Health("bad", f"failed: {_last_failure(document)}")
    return Health("over", "finished" if document["status"] == "FINISHED" else "cancelled")


def _last_failure(document: Document) -> str:
    failures = document["exceptions"]
    return str(failures[0]["summary"]) if failures else "an unknown failure"


def _restarts(document: Document) -> str | None:
    recent = [each for each in document["exceptions"] if document["now_ms"] - each["at_ms"] < RECENT_MS]
    if not recent:
        return None
    times = "once" if len(recent) == 1 else f"{len(recent)} times"
    return f"failed {times} in the last {RECENT_MS // 60_000} minutes: {recent[0]['summary']}"


def _stall(document: Document) -> str | None:
    """No checkpoint for a long time; a job that has nothing to read makes none, so it must be known to have more."""
    history, pace = document["checkpoints"]["history"], document["progress"].get("pace")
    since = history[0]["sealed_ms"] if history else document["status_ms"].get("RUNNING", document["started_ms"])
    told = str(document["settings"].get("execution.checkpointing.interval"))
    interval = int(told) if told.isdecimal() else 0  # one that has no driver yet has it as it was written
    waited = document["now_ms"] - since
    has_work = not history or bool(pace and (pace["backlog"] or pace["was_limited"]))
    if waited < max(_STALLED_MS, _STALLED_INTERVALS * interval) or not has_work:
        return None
    return f"no checkpoint for {waited // 1000} s"


def _saturation(document: Document) -> str | None:
    pace = document["progress"].get("pace")
    if not pace or pace["backpressured"] < _SATURATED:
        return None
    waiting = "" if pace["backlog"] is None else f" ({pace['backlog']:,} records wait)"
    return f"sources give more than the job can take{waiting}"


def _held_back(document: Document) -> str | None:
    """Event time stands still while records wait for it."""
    waited_for = [each for each in event_time_holders(document) if not each["is_quiet"]]
    if not waited_for:
        return None
    more = f", and {len(waited_for) - 1} more" if len(waited_for) > 1 else ""
    return f"{waited_for[0]['text']}{more}"


def event_time_holders(document: Document) -> list[dict[str, Any]]:
    """The inputs that hold event time back; drivers of earlier versions name none."""
    return list(document["progress"].get("event_time_holders") or ())


def summary(document: Document) -> dict[str, Any]:
    """A job in a list of jobs."""
    progress, told = document["progress"], document["checkpoints"]
    last = told["history"][0] if told["history"] else None
    return {
        **{name: document[name] for name in ("id", "name", "status", "type", "started_ms", "ended_ms", "now_ms")},
        "health": asdict(health(document)),
        "records": progress["records"],
        "records_per_second": progress["records_per_second"],
        "lag_ms": progress["lag_ms"],
        "watermark": progress["watermark"],
        "event_time_holders": event_time_holders(document),
        "pace": progress.get("pace"),
        "restarts": progress["restarts"],
        "checkpoints": told["completed"],
        "checkpoint_ms": None if last is None else last["sealed_ms"],
        "state_bytes": None if last is None else last["state_bytes"],
        "parallelism": document["parallelism"],
        "operators": sum(len(each["operators"]) for each in document["plan"]),
        "engine": document["cluster"]["engine"],
    }
