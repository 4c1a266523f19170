"""Reading what Spark and py-spy have written of a job, and its place on a page."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pages.marks import fill
from benchmarks.spark_profile import BEGIN, END, Profile, Stage, stages_of, worker_functions


def _job(stages: list[int], query: str | None) -> str:
    properties = {} if query is None else {"sql.streaming.queryId": query}
    return json.dumps({"Event": "SparkListenerJobStart", "Stage IDs": stages, "Properties": properties})


def _ended(stage: int, seconds: float, **measures: Any) -> str:
    names = {"run": "internal.metrics.executorRunTime", "python": "time to run Python workers", "other": "other"}
    told = [{"Name": names[name], "Value": value} for name, value in measures.items()]
    info = {"Stage ID": stage, "Submission Time": 1000, "Completion Time": 1000 + seconds * 1000, "Accumulables": told}
    return json.dumps({"Event": "SparkListenerStageCompleted", "Stage Info": info})


def test_stages_of_the_last_query_are_added_up_by_their_place() -> None:
    log = [
        json.dumps({"Event": "SparkListenerLogStart"}),
        _job([7], "warm-up"),
        _ended(7, 9.0, run=9000),
        _job([1, 0], "job"),
        _ended(0, 2.0, run=3000, python="2500", other=7),
        _ended(1, 1.0, run=500),
        _job([2], None),
        _ended(2, 50.0, run=50_000),
        _job([3, 4], "job"),
        _ended(3, 1.0, run=1000),
    ]
    assert stages_of(log) == (2, [Stage(3.0, {"tasks": 4.0, "python": 2.5}), Stage(1.0, {"tasks": 0.5})])


def test_a_log_without_batches_has_no_stages() -> None:
    assert stages_of([_job([0], None)]) == (0, [])


def test_samples_are_counted_by_the_function_a_worker_was_in() -> None:
    samples = [
        'process 1:"python -m worker_daemon pyspark.worker";main (w.py:3);add (a/src/penstock/x.py:7) 5',
        'process 2:"python -m worker_daemon pyspark.worker";add (a/src/penstock/x.py:9) 2',
        'process 2:"python -m worker_daemon pyspark.worker";read (v/site-packages/pyspark/s.py:1) 1',
        'process 3:"python -m benchmarks.peers.penstock_jobs";wait (threading.py:1) 100',
    ]
    assert worker_functions(samples) == Counter({"add (penstock/x.py)": 7, "read (pyspark/s.py)": 1})


def test_tables_replace_what_stood_between_the_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    stages = [Stage(2.0, {"tasks": 4.0, "python": 3.0, "shuffled": 8_000_000.0})]
    found = Profile("count", 1_000_000, 3, stages, Counter({"add (x.py)": 3, "get (x.py)": 1}))
    fill(page, BEGIN, END, found.text())
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n### count on Spark\n")
    assert "| 0 | 2.00 | 4.00 | 3.00 | 0.00 | 0.00 | 8.0 |" in text
    assert "| `add (x.py)` | 75% |" in text
    assert "old" not in text
    assert text.endswith(f"{END}\nafter\n")


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(BEGIN)
    with pytest.raises(SystemExit, match=r"page\.md needs the lines"):
        fill(page, BEGIN, END, "text")
    assert page.read_text() == BEGIN
