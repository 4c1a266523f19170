"""Savepoints and checkpoints of other jobs, on Spark: written beside a running job, gone on from with another shape."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.common import JobStatus, WatermarkStrategy
from penstock.connectors.files.sink import STAGING
from penstock.connectors.files.source import FileReading, FileSource
from penstock.datastream import StreamExecutionEnvironment, commutative
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.datastream.window import SlidingEventTimeWindows
from penstock.errors import CheckpointError
from penstock.savepoint import open_origin
from tests.spark.conftest import NewEnvironment
from tests.spark.jobs import counters, counting, outcome
from tests.spark.jobs.deaths import AFTER_SEAL
from tests.spark.processes import PATIENCE_SECONDS, process_group, spark_settings
from tests.spark.test_life_cycle import KEYS, Numbered, published
from tests.spark.waiting import wait_until

COUNT = 400
HOUR_MS = 3_600_000
A_FEW = {"penstock.batch.max-records": 6}  # so few that the job lasts long enough on any machine
SIGKILLED = -9


def build(environment: StreamExecutionEnvironment, folder: Path, output: str) -> None:
    """Numbers of a generator and numbers in files, counted by key into files that grow over many batches."""
    made = environment.from_source(DataGeneratorSource(lambda number: number, COUNT), None, "made").uid("made")
    lines = FileSource([str(folder / "in-1"), str(folder / "in-2")], FileReading("text"))
    read = environment.from_source(lines, None, "read").uid("read").map(int).uid("parsed")
    numbered = made.union(read).key_by(lambda value: value % KEYS).process(Numbered()).uid("numbered").name("Numbered")
    policy = RollingPolicy.default_rolling_policy(rollover_interval=HOUR_MS, inactivity_interval=HOUR_MS)
    numbered.sink_to(FileSink.json(folder / output, rolling_policy=policy)).uid("sink").name("Files")


def add_file(folder: Path, place: str, name: str, numbers: range) -> None:
    (folder / place).mkdir(exist_ok=True)
    (folder / place / name).write_text("".join(f"{number}\n" for number in numbers))


def test_savepoints_of_a_running_and_of_a_drained_job(
    new_environment: NewEnvironment, tmp_path: Path, spark: SparkSession
) -> None:
    add_file(tmp_path, "in-1", "first", range(1_000, 1_010))
    add_file(tmp_path, "in-2", "first", range(2_000, 2_010))
    environment = new_environment(2, **A_FEW, **{"execution.checkpointing.savepoint-dir": tmp_path / "savepoints"})
    build(environment, tmp_path, "out")
    client: Any = environment.execute_async("first")
    wait_until(lambda: client.progress().records >= 35, "some records were read", PATIENCE_SECONDS)
    running = client.trigger_savepoint().result(PATIENCE_SECONDS)
    with pytest.raises(CheckpointError, match="cannot be used"):
        client.trigger_savepoint("/proc/nowhere").result(PATIENCE_SECONDS)
    # A savepoint that cannot be written is no failure of the job.
    assert client.get_job_status().result() is JobStatus.RUNNING
    drained = client.stop_with_savepoint(True).result(PATIENCE_SECONDS)
    assert client.get_job_status().result() is JobStatus.FINISHED
    before = {value for value, _ in published(tmp_path / "out")}
    assert before < {*range(COUNT), *range(1_000, 1_010), *range(2_000, 2_010)}

    rows = spark.read.parquet(f"{running}/operators/numbered").where("key_group is not null").collect()
    assert {(row["state"], row["kind"]) for row in rows} == {("count", "value")}
    assert len({row["key"] for row in rows}) == KEYS

    add_file(tmp_path, "in-2", "second", range(3_000, 3_010))
    for path, parallelism, output in ((drained, 3, "out"), (running, 1, "other")):
        changed = new_environment(parallelism, checkpoint=output + "-ck", **{"execution.state-recovery.path": path})
        build(changed, tmp_path, output)
        changed.execute("changed")
    whole = sorted([*range(COUNT), *range(1_000, 1_010), *range(2_000, 2_010), *range(3_000, 3_010)])
    assert [value for value, _ in published(tmp_path / "out")] == whole
    # The job from the earlier savepoint published what was not published then, and counted on from there.
    files = (tmp_path / "other").glob("*.json")
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert {record["value"] for record in lines} <= set(whole)
    last = {key: max(each["count"] for each in lines if each["value"] % KEYS == key) for key in range(KEYS)}
    assert last == Counter(value % KEYS for value in whole)


def test_stop_without_drain_keeps_what_is_open_and_mistakes_are_refused_before_anything_runs(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    add_file(tmp_path, "in-1", "first", range(1_000, 1_010))
    add_file(tmp_path, "in-2", "first", range(2_000, 2_010))
    environment = new_environment(2, checkpoint="first", **A_FEW)
    build(environment, tmp_path, "out")
    client: Any = environment.execute_async("first")
    wait_until(lambda: client.progress().records >= 35, "some records were read", PATIENCE_SECONDS)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(PATIENCE_SECONDS)
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert published(tmp_path / "out") == []  # no file was old enough, and none was finished early

    without = new_environment(2, checkpoint="without", **{"execution.state-recovery.path": path})
    without.from_sequence(1, 3).print()
    with pytest.raises(CheckpointError, match=r"state 'count' of operator 'Numbered' \(uid 'numbered'\)"):
        without.execute()
    again = new_environment(4, checkpoint="again", **{"execution.state-recovery.path": path})
    build(again, tmp_path, "out")
    again.execute("again")
    assert [value for value, _ in published(tmp_path / "out")] == [
        *range(COUNT),
        *range(1_000, 1_010),
        *range(2_000, 2_010),
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_the_checkpoint_of_a_killed_job_serves_another_one(tmp_path: Path) -> None:
    count = 4_000
    with process_group(tmp_path) as group:
        settings = {**spark_settings(group), "penstock.batch.max-records": "400"}
        order = counters.Order(str(tmp_path), count, driver_death=(AFTER_SEAL, 3), settings=settings)
        program = group.start(order.arguments(), "killed")
        assert program.process.wait(PATIENCE_SECONDS) == SIGKILLED, program.tail()
    outcome.assert_nothing_wrong_so_far(tmp_path, count)
    settings = {"execution.state-recovery.path": str(tmp_path / "checkpoint")}
    environment = counters.build(counters.Order(str(tmp_path), count, settings=settings))
    environment.set_parallelism(3)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path / "another"))
    environment.execute("another")
    outcome.assert_nothing_wrong_so_far(tmp_path, count)
    for sink, expected in zip(outcome.EXACT_SINKS, counting.expected(count), strict=True):
        files = [file for file in (tmp_path / sink).rglob("*.json") if STAGING not in file.parts]
        lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        assert sorted(map(as_text, lines)) == sorted(map(as_text, expected))


def as_text(record: dict[str, Any]) -> str:
    return json.dumps(record, sort_keys=True)


def _sliding(environment: StreamExecutionEnvironment, slide: int, output: Path) -> None:
    """Sums of sliding windows, kept as panes; event time is the number itself."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda number, _: number)
    made = environment.from_source(DataGeneratorSource(lambda number: number, COUNT), strategy, "made").uid("made")
    windows = made.key_by(lambda number: number % KEYS).window(SlidingEventTimeWindows.of(60, slide))
    windows.reduce(commutative(lambda a, b: a + b)).uid("sums").sink_to(FileSink.json(output)).uid("sink")


def test_sliding_windows_go_on_with_another_slide(new_environment: NewEnvironment, tmp_path: Path) -> None:
    output = tmp_path / "out"
    environment = new_environment(2, checkpoint="first", **A_FEW)
    _sliding(environment, 20, output)
    client: Any = environment.execute_async("first")
    wait_until(lambda: client.progress().records >= 35, "some records were read", PATIENCE_SECONDS)
    path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(PATIENCE_SECONDS)
    (taken,) = open_origin(path).manifest.positions.values()
    changed = new_environment(2, checkpoint="second", **{"execution.state-recovery.path": path})
    _sliding(changed, 12, output)
    changed.execute("changed")
    before = {number for split, read in enumerate(taken) for number in range(split, COUNT, len(taken))[:read]}
    lines = [line for file in output.glob("*.json") for line in file.read_text().splitlines()]
    # Each number is in three windows before the change and in five after it, and lost or doubled in none.
    assert sum(map(int, lines)) == sum(number * (3 if number in before else 5) for number in range(COUNT))
