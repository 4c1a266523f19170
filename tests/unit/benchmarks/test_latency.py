"""Latency: the source of due records, and that the measured job is one that runs and gives what it should."""

from __future__ import annotations

import time
from itertools import chain

import pytest

from benchmarks import latency
from benchmarks.delays.marks import KEYS
from benchmarks.delays.penstock_job import DueRecords
from benchmarks.latency import CountAndPass
from benchmarks.pages.latency import latency_section
from penstock.datastream import StreamExecutionEnvironment
from penstock.testing import CollectSink
from tests.unit.benchmarks import made_up


def due(source: DueRecords, split: int, start: int, stop: int) -> list[float]:
    return [record[1] for values, _ in source.read(split, 2, start, stop) for record in values]


def test_records_are_due_one_after_the_other_whatever_split_they_are_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 5_000 * 1_000_000)
    source = DueRecords(100, KEYS)
    assert sorted(chain(due(source, 0, 0, 3), due(source, 1, 0, 3))) == [5_000 + 10 * n for n in range(6)]
    assert due(source, 1, 2, 3) == due(source, 1, 0, 3)[2:], "a range that is read again gives the same"


def test_only_what_is_due_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ms = 5_000
    monkeypatch.setattr(time, "time_ns", lambda: now_ms * 1_000_000)
    source = DueRecords(100, KEYS)
    assert source.available(0, 2, 0, 0, 1_000) == 0
    now_ms = 6_000
    assert source.available(0, 2, 0, 0, 1_000) == 50
    assert source.available(0, 2, 0, 0, 7) == 7, "the limit of the batch"
    assert source.available(0, 2, 60, 0, 7) == 60, "a position never goes back"
    assert DueRecords(0, KEYS).available(0, 2, 0, 0, 7) == 0


def test_the_job_hands_on_when_records_were_due() -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(2)
    records = [(key, 10.0 * key) for key in (1, 2, 1)]
    stream = environment.from_collection(records)
    sink = CollectSink()
    stream.key_by(lambda record: record[0]).process(CountAndPass()).add_sink(sink)
    environment.execute()
    assert sorted(sink.results) == [(1, 1, 10.0), (1, 2, 10.0), (2, 1, 20.0)]


def test_batches_without_work_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = [
        {"batchId": 1, "durationMs": {"addBatch": 5, "triggerExecution": 9}},
        {"batchId": 1, "durationMs": {"latestOffset": 1, "triggerExecution": 1}},
    ]
    query = type("Query", (), {"recentProgress": progress})
    streams = type("Streams", (), {"active": [query]})
    session = type("Session", (), {"active": staticmethod(lambda: type("Active", (), {"streams": streams}))})
    monkeypatch.setattr(latency, "SparkSession", session)
    assert latency._batches() == {1: {"addBatch": 5, "triggerExecution": 9}}


def test_the_page_tells_the_parts_of_a_tiny_batch_and_what_idleness_takes() -> None:
    text = latency_section(made_up.latency()).text()
    assert "| addBatch | 217 |" in text
    assert "takes 7% of one core" in text
    assert "takes 21% of one core, 8 processes and 912 MB" in text
