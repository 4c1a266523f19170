"""The word and the reason that a list of jobs shows, and what pages ask for every second."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.server.health import health, summary
from penstock.server.page_routes import live_part

NOW = 1_800_000_000_000


def version(number: int, sealed_ms: int) -> dict[str, Any]:
    times = {"began_ms": sealed_ms - 10, "sealed_ms": sealed_ms, "work_ms": 8, "seal_ms": 1, "publish_ms": 1}
    return {"version": number, **times, "records": 5, "state_bytes": 100, "written": {"a": [[0, 1, 1]]}}


def document(status: str = "RUNNING", **changes: Any) -> dict[str, Any]:
    is_over = status in ("FINISHED", "FAILED", "CANCELED")
    progress = {"records": 5, "records_per_second": 1.0, "lag_ms": None, "watermark": None, "restarts": 0}
    return {
        "id": "1", "name": "job", "status": status, "type": "STREAMING", "parallelism": 1, "plan": [],
        "started_ms": NOW - 3_600_000, "ended_ms": NOW if is_over else None, "now_ms": NOW, "status_ms": {},
        "progress": {**progress, "pace": None}, "settings": {}, "exceptions": [], "cluster": {"engine": "in-process"},
        "checkpoints": {"completed": 2, "history": [version(1, NOW - 5), version(0, NOW - 20)]},
        "explanation": "", "metrics": {}, **changes,
    }  # fmt: skip


def failure(at_ms: int) -> dict[str, Any]:
    return {"at_ms": at_ms, "summary": "ValueError: no", "text": "..."}


def paced(**pace: Any) -> dict[str, Any]:
    told = {"limit": 1, "batch_ms": 1, "was_limited": False, "backpressured": 0.0, "backlog": None, **pace}
    return {**document()["progress"], "pace": told}


def held(*texts: str, is_quiet: bool = False) -> dict[str, Any]:
    """Progress with inputs that hold event time back."""
    return {**document()["progress"], "event_time_holders": [{"text": each, "is_quiet": is_quiet} for each in texts]}


OLD = {"completed": 1, "history": [version(0, NOW - 120_000)]}


@pytest.mark.parametrize(
    ("told", "word", "reason"),
    [
        (document(), "good", "running as it should"),
        (document("FINISHED"), "over", "finished"),
        (document("CANCELED"), "over", "cancelled"),
        (document("FAILED", exceptions=[failure(NOW)]), "bad", "failed: ValueError: no"),
        (document("RESTARTING", exceptions=[failure(NOW)]), "bad", "restarting after: ValueError: no"),
        (document(exceptions=[failure(NOW - 1), failure(NOW - 2)]), "warning", "failed 2 times in the last 10 minutes"),
        (document(exceptions=[failure(NOW - 3_600_000)]), "good", "running as it should"),
        (document(progress=paced(backpressured=0.9, backlog=7_000)), "warning", "(7,000 records wait)"),
        (document(progress=held("a waits for b")), "warning", "a waits for b"),
        (document(progress=held("a waits for b", "c for d")), "warning", "a waits for b, and 1 more"),
        (document(progress=held("a waits for b", is_quiet=True)), "good", "running as it should"),
        (document(checkpoints=OLD), "good", "running as it should"),  # it has nothing to read
        (document(checkpoints=OLD, progress=paced(backlog=3)), "warning", "no checkpoint for 120 s"),
        (document(checkpoints={"completed": 0, "history": []}), "warning", "no checkpoint for 3600 s"),
    ],
)
def test_health(told: dict[str, Any], word: str, reason: str) -> None:
    found = health(told)
    assert (found.word, reason in found.reason) == (word, True), found


def test_the_interval_of_checkpoints_is_waited_for() -> None:
    settings = {"execution.checkpointing.interval": "60000"}
    told = document(checkpoints=OLD, progress=paced(backlog=3), settings=settings)
    assert health(told).word == "good"


def test_a_summary_tells_the_last_checkpoint() -> None:
    assert summary(document())["checkpoint_ms"] == NOW - 5
    assert summary(document(checkpoints={"completed": 0, "history": []}))["checkpoint_ms"] is None


def test_live_parts_have_only_what_is_new() -> None:
    told = document(exceptions=[failure(NOW - 7)])
    first = live_part(told, -1, -1)
    assert [each["version"] for each in first["checkpoints"]["history"]] == [1, 0]
    assert "written" not in first["checkpoints"]["history"][0] and "settings" not in first
    assert first["exceptions"] == told["exceptions"]
    later = live_part(told, 0, NOW - 7)
    assert [each["version"] for each in later["checkpoints"]["history"]] == [1]
    assert later["exceptions"] is None
