"""Who is busy and who is held back, in Flink's words: measured by subtask in continuous mode, of the job otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.checkpoint import Seal
from penstock.job.journal import JobJournal, VersionTimes
from penstock.runtime.report import Report, SubtaskEntry
from penstock.server.flink.figures import accumulated_ms, load_shares

SOURCE, OTHER = {"is_source": True}, {"is_source": False}


def document(**changes: Any) -> dict[str, Any]:
    version = {"began_ms": 9_000, "sealed_ms": 9_400, "work_ms": 300, "seal_ms": 50, "publish_ms": 50}
    made = {
        "status": "RUNNING",
        "now_ms": 10_000,
        "started_ms": 0,
        "progress": {"pace": {"backpressured": 0.25}},
        "checkpoints": {"history": [version]},
    }
    return {**made, **changes}


def test_what_a_subtask_measured_counts() -> None:
    load = {"busy": 0.2, "idle": 0.1, "backpressured": 0.7}
    figures = {"map": {"busy_ms": 20.0, "idle_ms": 10.0, "backpressured_ms": 70.0}}
    subtask = {"load": load, "figures": figures}
    assert load_shares(document(), OTHER, subtask) == (0.7, 0.2, 0.1)
    assert accumulated_ms(subtask, document()) == (70, 20, 10)
    assert load_shares(document(status="FINISHED"), OTHER, subtask) == (0.0, 0.0, 1.0)


def test_without_measurements_sources_are_held_back_as_a_whole() -> None:
    subtask = {"load": None, "figures": {}}
    assert load_shares(document(), SOURCE, subtask) == pytest.approx((0.25, 0.4, 0.35))
    assert load_shares(document(), OTHER, subtask) == pytest.approx((0.0, 0.4, 0.6))


def test_the_journal_has_the_shares_of_the_last_version_and_the_longest_wait_of_barriers() -> None:
    journal = JobJournal()
    for busy, version in ((900.0, 0), (100.0, 1)):
        metrics = {"map": {"busy_ms": busy, "idle_ms": 700.0, "backpressured_ms": 200.0, "records_in": 1.0}}
        report = Report("map", 0, SubtaskEntry(), {}, metrics)
        journal.on_version(_seal(version - 1), _seal(version), [report], 1, VersionTimes(0, 1, 1, 1, 30))
    record = journal.subtasks()["map", 0]
    assert record.load == {"busy": 0.1, "idle": 0.7, "backpressured": 0.2}
    assert record.figures["map"]["busy_ms"] == 1_000
    assert journal.versions()[-1].times.alignment_ms == 30


def _seal(version: int) -> Seal:
    return Seal(version=version)
