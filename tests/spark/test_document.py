"""What a job on Spark tells about itself: executors and Spark's own pages are in its document."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.common import Duration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import FileSource
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.job.client import RunningJobClient
from penstock.server.flink import jobs, workers
from tests.spark.waiting import wait_until


def test_the_document_of_a_job_on_spark(new_environment: Callable[..., StreamExecutionEnvironment]) -> None:
    env = new_environment()
    env.from_sequence(1, 1000).key_by(lambda value: value % 3).reduce(lambda one, other: one + other).print()
    client = env.execute_async("told")
    client.wait()
    assert isinstance(client, RunningJobClient)
    document = json.loads(json.dumps({**client.document(), "process": {"host": "here", "pid": 1}}))
    cluster = document["cluster"]
    assert cluster["engine"] == "spark" and cluster["master"].startswith("local")
    [worker] = cluster["workers"]
    assert worker["id"] == "driver" and worker["cores"] > 0 and worker["completed_tasks"] > 0
    [entry] = workers.workers_of(document)
    assert entry["slotsNumber"] == worker["cores"] and entry["hardware"]["physicalMemory"] > 0
    read = [each["metrics"]["read-records"] for each in jobs.job_details(document)["vertices"]]
    assert read == [1000, 1000, 1000]
    [version, *_] = [each for each in document["checkpoints"]["history"] if each["records"] > 0]
    assert version["work_ms"] > 0 and version["state_bytes"] > 0


def test_files_that_spark_reads_and_that_hold_event_time_back(
    new_environment: Callable[..., StreamExecutionEnvironment], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "one.txt").write_text("1700000000000\n")
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    strategy = strategy.with_timestamp_assigner(lambda value, _: int(value))
    env = new_environment(1, **{"penstock.event-time.stall-warning": "1 s"})
    files = FileSource.text(tmp_path / "lines", monitor_interval=Duration.of_millis(200))
    ticks = DataGeneratorSource(lambda n: str(1_700_000_000_000 + n * 1_000), None, RateLimiterStrategy.per_second(100))
    lines = env.from_source(files, strategy, "lines").uid("lines")
    both = lines.union(env.from_source(ticks, strategy, "ticks").uid("ticks"))
    windows = both.key_by(lambda value: 0).window(TumblingEventTimeWindows.of(1000)).reduce(lambda one, other: other)
    windows.name("last").print()
    client = env.execute_async("held back")
    assert isinstance(client, RunningJobClient)
    try:
        wait_until(lambda: caplog.messages, "the log names an input")
        [held] = json.loads(json.dumps(client.document()))["progress"]["event_time_holders"]
    finally:
        client.cancel().result(60)
    said = "source 'lines' (uid 'lines') has had no record since"
    assert [said in line for line in caplog.messages] == [True]
    assert (held["uid"], held["reason"], held["split"]) == ("lines", "stopped", None)
