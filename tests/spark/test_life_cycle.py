"""The life of a job: handle, cancel and resume, drain, restart strategies, checkpoint directories."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.common import JobStatus
from penstock.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from penstock.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import CheckpointError, JobCancelledError, JobFailedError
from tests.spark.conftest import NewEnvironment
from tests.spark.waiting import wait_until

KEYS = 5


class Numbered(KeyedProcessFunction):
    """Numbers the records of each key, from state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield {"value": value, "count": self.count.value()}


class FailsAtFirst(MapFunction):
    """Raises on one record until it has done so a number of times, noted by files."""

    def __init__(self, directory: Path, times: int, at: int = 13) -> None:
        self.directory = str(directory)
        self.times = times
        self.at = at

    def open(self, runtime_context: RuntimeContext) -> None:
        self.attempt = runtime_context.get_attempt_number()

    def map(self, value: int) -> int:
        if value == self.at and self.failures() < self.times:
            Path(self.directory, f"failure-{self.failures()}").write_text(str(self.attempt))
            raise RuntimeError(f"failure {self.failures()} of {self.times}")
        return value

    def failures(self) -> int:
        return len(os.listdir(self.directory))


def numbering_job(
    environment: StreamExecutionEnvironment, output: Path, count: int | None, per_second: float | None = None
) -> Any:
    """Records 0, 1, 2, ... counted by key into JSON files, a file a batch."""
    limiter = None if per_second is None else RateLimiterStrategy.per_second(per_second)
    source = environment.from_source(DataGeneratorSource(lambda n: n, count, limiter), None, "numbers").uid("source")
    numbered = source.key_by(lambda value: value % KEYS).process(Numbered()).uid("numbered")
    sink = FileSink.json(output, rolling_policy=RollingPolicy.on_checkpoint_rolling_policy())
    numbered.sink_to(sink).uid("sink")
    return numbered


def published(output: Path) -> list[tuple[int, int]]:
    """Values with their counts; every key must have counted each of its records once, in whatever order they came."""
    lines = [line for path in output.rglob("*.json") for line in path.read_text().splitlines()]
    records = sorted((record["value"], record["count"]) for record in map(json.loads, lines))
    for key in range(KEYS):
        counts = [count for value, count in records if value % KEYS == key]
        assert sorted(counts) == list(range(1, len(counts) + 1))
    return records


def values(output: Path) -> list[int]:
    return [value for value, _ in published(output)]


def test_handle_tells_status_metrics_and_progress_and_waits(new_environment: NewEnvironment, tmp_path: Path) -> None:
    environment = new_environment(2, **{"penstock.batch.max-records": 10})
    numbering_job(environment, tmp_path / "out", 25)
    client: Any = environment.execute_async("handled")
    assert client.get_job_status().result() in (JobStatus.CREATED, JobStatus.RUNNING)
    result = client.wait(timeout=120)
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert result.get_job_id() == client.get_job_id()
    assert result.get_net_runtime() > 0
    assert client.metrics()["numbered"]["records_in"] == 25
    assert client.metrics()["sink"]["records_in"] == 25
    assert client.get_accumulators().result() == client.metrics()
    assert client.progress().records == 25
    assert client.progress().batch >= 2
    assert client.restarts() == 0
    assert "Level 1" in client.explain()
    assert values(tmp_path / "out") == list(range(25))


@pytest.mark.parametrize("backend", ["lmdb", "hashmap"])
def test_cancelled_job_goes_on_from_its_checkpoint_even_if_local_files_are_lost(
    new_environment: NewEnvironment, tmp_path: Path, spark: SparkSession, backend: str
) -> None:
    output = tmp_path / "out"

    def start(most_a_batch: int) -> Any:
        settings = {"state.backend.type": backend, "penstock.batch.max-records": most_a_batch}
        environment = new_environment(2, checkpoint="ck", **settings)
        numbering_job(environment, output, 200)
        return environment.execute_async("resumed")

    first = start(4)
    wait_until(lambda: first.progress().batch >= 2 and first.progress().records >= 10, "some batches are done")
    first.cancel().result()
    assert first.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError):
        first.wait()
    before = published(output)
    assert 10 <= len(before) < 200

    kept = local_state(spark, str(first.get_job_id()))
    assert bool(kept) == (backend == "lmdb")
    for place in kept:
        shutil.rmtree(place)
    second = start(1000)
    second.wait()
    assert second.get_job_id() == first.get_job_id()
    assert second.progress().records == 200 - len(before)
    assert values(output) == list(range(200))

    third = start(1000)  # the job has come to its end: nothing is left to do, and nothing is done twice
    third.wait()
    assert third.metrics() == {}
    assert values(output) == list(range(200))


def local_state(spark: SparkSession, job_id: str) -> list[Path]:
    """Where the workers of this session keep the state of a job: below Spark's own scratch directories."""
    scratch = spark.sparkContext.parallelize([0], 1).map(lambda _: os.environ["SPARK_LOCAL_DIRS"]).first()
    places = [Path(each, "penstock", job_id) for each in scratch.split(",")]
    return [place for place in places if place.is_dir()]


def test_stop_with_drain_fires_everything_and_finishes(new_environment: NewEnvironment, tmp_path: Path) -> None:
    environment = new_environment(2)
    numbering_job(environment, tmp_path / "out", None, 40)
    client: Any = environment.execute_async()
    wait_until(lambda: client.progress().records >= 5, "records were read")
    client.stop(drain=True).result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    done = published(tmp_path / "out")
    assert len(done) == client.metrics()["numbered"]["records_in"] >= 5


def test_stop_without_drain_is_a_cancel(new_environment: NewEnvironment, tmp_path: Path) -> None:
    environment = new_environment(1)
    numbering_job(environment, tmp_path / "out", None, 40)
    client: Any = environment.execute_async()
    wait_until(lambda: client.progress().records >= 1, "records were read")
    client.stop(drain=False).result()
    assert client.get_job_status().result() is JobStatus.CANCELED


@pytest.mark.parametrize(
    ("strategy", "failures", "succeeds"),
    [
        (RestartStrategies.fixed_delay_restart(3, 10), 3, True),
        (RestartStrategies.fixed_delay_restart(1, 10), 2, False),
        (RestartStrategies.failure_rate_restart(2, 600_000, 10), 2, True),
        (RestartStrategies.failure_rate_restart(1, 600_000, 10), 3, False),
        (RestartStrategies.no_restart(), 1, False),
    ],
    ids=["fixed delay", "fixed delay gives up", "failure rate", "failure rate gives up", "none"],
)
def test_restart_strategy_decides_and_results_are_exactly_once(
    new_environment: NewEnvironment,
    tmp_path: Path,
    strategy: RestartStrategyConfiguration,
    failures: int,
    succeeds: bool,
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    environment = new_environment(2, checkpoint="ck", **{"penstock.batch.max-records": 8})
    environment.set_restart_strategy(strategy)
    stream = environment.from_sequence(0, 29).map(FailsAtFirst(marks, failures))
    numbered = stream.key_by(lambda value: value % KEYS).process(Numbered()).uid("numbered")
    numbered.sink_to(FileSink.json(tmp_path / "out")).uid("sink")
    client: Any = environment.execute_async("restarted")
    if succeeds:
        client.wait()
        assert client.restarts() == failures
        assert values(tmp_path / "out") == list(range(30))
        assert [path.read_text() for path in sorted(marks.iterdir())] == [str(n) for n in range(failures)]
    else:
        with pytest.raises(JobFailedError, match=r"RuntimeError: failure \d of"):
            client.wait()
        assert client.get_job_status().result() is JobStatus.FAILED
        with pytest.raises(JobFailedError):
            client.get_job_execution_result().result()


def test_checkpoint_of_another_job_is_refused(new_environment: NewEnvironment, tmp_path: Path) -> None:
    first = new_environment(1, checkpoint="ck")
    numbering_job(first, tmp_path / "out", 5)
    first.execute("the first")
    other = new_environment(1, checkpoint="ck")
    other.from_collection([1]).print()
    with pytest.raises(CheckpointError, match=r"belongs to another job \('the first'\)"):
        other.execute()
    wider = new_environment(2, checkpoint="ck")
    numbering_job(wider, tmp_path / "out", 5)
    with pytest.raises(CheckpointError, match="parallelism"):
        wider.execute()


def test_directory_that_cannot_be_a_checkpoint_is_refused(new_environment: NewEnvironment, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("somebody's")
    for name, complaint in [("file", "file"), ("file/below", "cannot be used"), ("full", "letter.txt")]:
        environment = new_environment(1, checkpoint=name)
        environment.from_collection([1]).print()
        with pytest.raises(CheckpointError, match=complaint):
            environment.execute()
    assert os.listdir(tmp_path / "full") == ["letter.txt"]


def test_damaged_seal_is_refused_in_a_sentence(new_environment: NewEnvironment, tmp_path: Path) -> None:
    def start() -> Any:
        environment = new_environment(1, checkpoint="ck", **{"penstock.batch.max-records": 2})
        numbering_job(environment, tmp_path / "out", 200)
        return environment.execute_async()

    client = start()
    wait_until(lambda: client.progress().batch >= 1, "a batch is done")
    client.cancel().result()
    for seal in (tmp_path / "ck" / "penstock" / "seals").iterdir():
        seal.write_bytes(seal.read_bytes()[:-3])
    with pytest.raises(JobFailedError, match="seal is damaged or truncated"):
        start().wait()


def test_second_start_takes_over_and_the_first_fails_clearly(new_environment: NewEnvironment, tmp_path: Path) -> None:
    def start(count: int, per_second: float) -> Any:
        environment = new_environment(1, checkpoint="ck")
        environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(5, 10))
        numbering_job(environment, tmp_path / "out", count, per_second)
        return environment.execute_async("contested")

    first = start(400, 10)
    wait_until(lambda: first.progress().batch >= 1, "the first has done a batch")
    second = start(400, 200)
    with pytest.raises(JobFailedError, match=r"taken over by another process|stopped from outside"):
        first.wait(timeout=120)
    assert first.restarts() == 0  # two drivers that restart would take the directory from each other for ever
    second.wait(timeout=120)
    assert values(tmp_path / "out") == list(range(400))
