"""The in-process runner: options, batches by hand, drain, restarts, failures, printing, and what it refuses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, JobStatus, RestartStrategies, WatermarkStrategy
from penstock.common.watermark_strategy import Watermark
from penstock.connectors.function_sink import TwoPhaseCommitSink
from penstock.connectors.generated.numbered import DataGenerator
from penstock.datastream import (
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.data_stream import DataStream
from penstock.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from penstock.datastream.state import ValueStateDescriptor
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.job import StalledJob
from penstock.errors import ConfigurationError, GraphError, JobCancelledError, JobFailedError, SinkError
from penstock.testing import (
    CollectSink,
    Cut,
    InProcessOptions,
    ManualClock,
    ScriptedSource,
)
from penstock.testing.crashes import trace_of


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self._count.update((self._count.value() or 0) + 1)
        yield value, self._count.value()


def scripted(environment: StreamExecutionEnvironment, *scripts: list[Any], ends: bool = True) -> DataStream:
    source = ScriptedSource(*scripts, ends=ends)
    return environment.from_source(source, WatermarkStrategy.no_watermarks(), "script")


def started(environment: StreamExecutionEnvironment) -> InProcessJobClient:
    client = environment.execute_async()
    assert isinstance(client, InProcessJobClient)
    return client


# ---- options ----


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"crash_rate": 0.1}, "needs a seed"),
        ({"seed": 1, "crash_rate": 1.0}, "below 1"),
        ({"seed": 1, "crash_rate": -0.1}, "at least 0"),
        ({"crash_at": (0,)}, "counted from 1"),
        ({"state": "paper"}, "one of memory, heap, lmdb, rocksdb"),
    ],
)
def test_options_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        InProcessOptions(**settings)
    with pytest.raises(ConfigurationError, match=message):
        StreamExecutionEnvironment.in_process(**settings)


def test_the_engine_can_be_chosen_by_configuration() -> None:
    configuration = Configuration()
    configuration.set_string("penstock.engine", "in-process").set_string("penstock.in-process.seed", "3")
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.from_sequence(1, 30).add_sink(CollectSink())
    client = started(environment)
    client.wait()
    assert client.job.batches > 1, "a seed cuts"


def test_without_a_seed_one_batch_takes_everything() -> None:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(3).from_sequence(1, 1000).add_sink(CollectSink())
    client = started(environment)
    client.wait()
    assert client.job.batches == 1


def test_a_seed_cuts_from_the_first_batch_on_and_reads_everything_once() -> None:
    sizes = set()
    for seed in range(10):
        environment = StreamExecutionEnvironment.in_process(seed)
        sink = CollectSink()
        environment.set_parallelism(1).from_collection(range(30)).add_sink(sink)
        client = started(environment)
        client.run_batch()
        sizes.add(len(sink.results))
        client.wait()
        assert sink.results == list(range(30))
    assert len(sizes) > 3 and max(sizes) < 30


def test_every_state_backend_gives_the_same_results() -> None:
    found = []
    for state in ("memory", "heap", "lmdb", "rocksdb"):
        environment = StreamExecutionEnvironment.in_process(5, state=state, crash_rate=0.05)
        sink = CollectSink()
        environment.set_parallelism(1).from_collection("abcab" * 8).key_by(lambda v: v).process(Count()).add_sink(sink)
        client = started(environment)
        client.run_batch()
        # Where it is kept is the point of the option.
        files = {file for _, _, files in os.walk(client.job.scratch) for file in files}
        assert ("data.mdb" in files, "CURRENT" in files) == (state == "lmdb", state == "rocksdb")
        client.wait()
        found.append(sink.results)
    assert all(results == found[0] for results in found)
    assert ("a", 16) in found[0]


# ---- batches by hand, life ----


def test_batches_run_when_they_are_asked_for() -> None:
    environment = StreamExecutionEnvironment.in_process()
    sink = CollectSink()
    scripted(environment, ["a", Cut(), "b", Cut(), "c"]).add_sink(sink)
    client = started(environment)
    assert client.get_job_status().result() is JobStatus.CREATED
    assert client.run_batch()
    assert sink.results == ["a"]
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert client.run_batch() and client.run_batch()
    assert sink.results == ["a", "b", "c"]
    assert not client.run_batch()
    assert client.get_job_status().result() is JobStatus.FINISHED
    assert client.wait().get_job_id() == client.get_job_id()
    assert not os.path.exists(client.job.scratch)


def test_drain_ends_an_open_source_where_it_is() -> None:
    environment = StreamExecutionEnvironment.in_process()
    sink = CollectSink()
    scripted(environment, ["a", Cut(), "b"], ends=False).key_by(lambda v: v).process(AtEnd()).add_sink(sink)
    client = started(environment)
    client.run_batch()
    client.stop(drain=True)
    assert sink.results == ["end of a"]
    assert client.get_job_status().result() is JobStatus.FINISHED


class AtEnd(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield f"end of {ctx.get_current_key()}"


@pytest.mark.parametrize("source", [DataGenerator(lambda n: n, None), ScriptedSource(["a"], ends=False)])
def test_waiting_for_an_endless_source_is_refused(source: Any) -> None:
    environment = StreamExecutionEnvironment.in_process()
    environment.from_source(source, WatermarkStrategy.no_watermarks(), "endless").add_sink(CollectSink())
    with pytest.raises(GraphError, match=r"'Source: endless' never ends.*run_batch"):
        environment.execute()


def test_a_job_with_nothing_to_read_says_so_and_can_still_be_stopped() -> None:
    clock = ManualClock(7)
    environment = StreamExecutionEnvironment.in_process(clock=clock)
    sink = CollectSink()
    scripted(environment, ["a"], ends=False).add_sink(sink)
    client = started(environment)
    client.run_batch()
    with pytest.raises(StalledJob, match="waits for data that will never arrive"):
        client.run_batch()
    assert clock() == 7
    client.stop()
    assert client.get_job_status().result() is JobStatus.FINISHED


@pytest.mark.parametrize("due", [5, 1_500, 10_000_000])
def test_time_passes_exactly_to_where_something_is_due(due: int) -> None:
    clock = ManualClock()
    environment = StreamExecutionEnvironment.in_process(clock=clock)
    sink = CollectSink()
    scripted(environment, ["a"], ends=False).key_by(lambda v: v).process(Alarm(due)).add_sink(sink)
    client = started(environment)
    client.run_batch()
    client.run_batch()
    assert sink.results == [due]
    assert clock() == due


class Alarm(KeyedProcessFunction):
    def __init__(self, due: int) -> None:
        self._due = due

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(self._due)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.timer_service().current_processing_time()


def test_a_cancelled_job_runs_no_more_and_closes_its_functions() -> None:
    CLOSED.clear()
    environment = StreamExecutionEnvironment.in_process()
    sink = CollectSink()
    scripted(environment, ["a", Cut(), "b"]).map(Closing()).add_sink(sink)
    client = started(environment)
    client.run_batch()
    client.cancel()
    assert CLOSED == ["closed"]
    assert not client.run_batch()
    assert sink.results == ["a"]
    with pytest.raises(JobCancelledError):
        client.wait()
    client.cancel()
    assert CLOSED == ["closed"]


def test_functions_are_closed_where_a_batch_fails() -> None:
    CLOSED.clear()
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    scripted(environment, ["a", 0]).map(Closing()).add_sink(CollectSink())
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        environment.execute()
    assert CLOSED == ["closed"]


def test_a_function_that_fails_in_close_is_not_closed_again() -> None:
    CLOSED.clear()
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    scripted(environment, ["a"]).map(FailingInClose()).map(Closing()).add_sink(CollectSink())
    with pytest.raises(JobFailedError, match=r"(?s)ValueError.*in close\(\)"):
        environment.execute()
    assert CLOSED == ["failing", "closed"]


def test_what_fails_while_a_batch_is_given_up_hides_nothing_and_stops_nothing() -> None:
    CLOSED.clear()
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    records = scripted(environment, ["a", Watermark(1), 0]).rebalance()  # in two blocks: the sink has had the first
    records.map(FailingInClose()).map(Closing()).sink_to(FailingInAbort())
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        environment.execute()
    assert sorted(CLOSED) == ["aborted", "closed", "failing"]


CLOSED: list[str] = []


class FailingInAbort(TwoPhaseCommitSink):
    def begin_transaction(self, context: Any) -> list[Any]:
        return []

    def invoke(self, transaction: list[Any], value: Any, context: Any) -> None:
        transaction.append(value)

    def pre_commit(self, transaction: list[Any]) -> None:
        raise AssertionError("nothing is to be committed")

    def commit(self, transaction: Any) -> None:
        raise AssertionError("nothing is to be committed")

    def abort(self, transaction: Any) -> None:
        CLOSED.append("aborted")
        raise ValueError


class Closing(MapFunction):
    def map(self, value: Any) -> Any:
        return 1 // value if isinstance(value, int) else value

    def close(self) -> None:
        CLOSED.append("closed")


class FailingInClose(Closing):
    def close(self) -> None:
        CLOSED.append("failing")
        raise ValueError


def test_a_job_goes_on_from_its_checkpoint_directory(tmp_path: Path) -> None:
    results = []
    for batches in (2, 99):
        environment = StreamExecutionEnvironment.in_process()
        environment.set_parallelism(1).get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path / "kept"))
        sink = CollectSink()
        scripted(environment, ["a", Cut(), "a", Cut(), "a", "b"]).key_by(lambda v: v).process(Count()).add_sink(sink)
        client = started(environment)
        for _ in range(batches):
            if not client.run_batch():
                break
        results.append(sink.results)
    assert results == [[("a", 1), ("a", 2)], [("a", 3), ("b", 1)]]
    assert (tmp_path / "kept").exists()


@pytest.mark.parametrize("seed", range(5))
def test_a_batch_that_crashed_is_run_again_with_the_same_positions(seed: int) -> None:
    environment = StreamExecutionEnvironment.in_process(seed, crash_at=[2])
    environment.set_parallelism(1).from_collection(range(30)).add_sink(CollectSink())
    client = started(environment)
    client.run_batch()
    begun = [line.split(" ", 1)[1].removesuffix(" crash") for line in trace_of(client.job) if " begin " in line]
    assert client.job.crashes == 1
    assert len(begun) == 2 and begun[0] == begun[1]


def test_results_can_be_collected_by_iterating() -> None:
    environment = StreamExecutionEnvironment.in_process(2, crash_rate=0.05)
    with environment.set_parallelism(2).from_sequence(1, 20).execute_and_collect() as values:
        assert sorted(values) == list(range(1, 21))


# ---- failures ----


def test_a_failure_ends_the_job_and_every_wait_tells_it() -> None:
    CLOSED.clear()
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(1).from_collection([1, 0]).map(Closing()).add_sink(CollectSink())
    client = started(environment)
    for _ in range(2):
        with pytest.raises(JobFailedError, match=r"(?s)ZeroDivisionError.*record: 0.*failed"):
            client.wait()
    assert client.get_job_status().result() is JobStatus.FAILED
    assert not client.run_batch()
    assert not os.path.exists(client.job.scratch)


class FailsOnce(MapFunction):
    """Fails at a record as often as it is told; counted in a file, because the failing copy is thrown away."""

    def __init__(self, notes: Path, times: int) -> None:
        self._notes = notes
        self._times = times

    def map(self, value: Any) -> Any:
        failures = self._notes.stat().st_size if self._notes.exists() else 0
        if value == "bad" and failures < self._times:
            with self._notes.open("a") as stream:
                stream.write("x")
            raise ValueError("bad luck")
        return value


@pytest.mark.parametrize(
    ("strategy", "failures", "ends_well"),
    [
        (RestartStrategies.no_restart(), 0, True),
        (RestartStrategies.no_restart(), 1, False),
        (RestartStrategies.fixed_delay_restart(2, 1_000), 2, True),
        (RestartStrategies.fixed_delay_restart(2, 1_000), 3, False),
        (RestartStrategies.failure_rate_restart(2, 500, 1_000), 9, True),
        (RestartStrategies.failure_rate_restart(2, 60_000, 1_000), 3, False),
    ],
)
def test_restarts_follow_the_strategy(tmp_path: Path, strategy: Any, failures: int, ends_well: bool) -> None:
    clock = ManualClock()
    environment = StreamExecutionEnvironment.in_process(clock=clock)
    environment.set_parallelism(1).set_restart_strategy(strategy)
    sink = CollectSink()
    stream = scripted(environment, ["a", Cut(), "a", "bad"]).map(FailsOnce(tmp_path / "notes", failures))
    stream.key_by(lambda v: v).process(Count()).add_sink(sink)
    client = started(environment)
    if ends_well:
        client.wait()
        assert sink.results == [("a", 1), ("a", 2), ("bad", 1)], "nothing twice, nothing lost"
        assert client.job.restarts == failures
        assert clock() == 1_000 * failures
    else:
        with pytest.raises(JobFailedError, match="bad luck"):
            client.wait()
        assert sink.results == [("a", 1)]


def test_open_is_told_the_attempt() -> None:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    sink = CollectSink()
    environment.set_parallelism(1).from_collection(["x"]).map(UntilThird()).add_sink(sink)
    environment.execute()
    assert sink.results == [2]


class UntilThird(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._attempt = runtime_context.get_attempt_number()

    def map(self, value: Any) -> int:
        if self._attempt < 2:
            raise ValueError("not yet")
        return self._attempt


# ---- sinks on the program's side, sources and sinks of Spark ----


def test_print_writes_to_the_stream_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    environment = StreamExecutionEnvironment.in_process()
    numbers = environment.set_parallelism(1).from_collection([1, 2])
    numbers.print()
    numbers.print("named")
    numbers.print_to_err()
    environment.execute()
    out, err = capsys.readouterr()
    assert sorted(out.splitlines()) == ["1", "2", "named> 1", "named> 2"]
    assert err.splitlines() == ["1", "2"]


def test_what_spark_reads_is_refused() -> None:
    environment = StreamExecutionEnvironment.in_process()
    environment.from_spark(lambda spark: None, name="table").add_sink(CollectSink())
    with pytest.raises(GraphError, match="'Source: table' is read by Spark: it cannot run in process"):
        environment.execute()


@pytest.mark.parametrize(("mode", "expected"), [("STREAMING", [1, 3, 6]), ("AUTOMATIC", [6]), ("BATCH", [6])])
def test_batch_mode_is_for_jobs_whose_sources_all_end(mode: str, expected: list[int]) -> None:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_runtime_mode(RuntimeExecutionMode[mode])
    sums = environment.from_collection([1, 2, 3]).key_by(lambda value: "all").reduce(lambda a, b: a + b)
    assert list(sums.execute_and_collect()) == expected


def test_a_source_without_end_is_refused_in_batch_mode_and_streams_in_automatic() -> None:
    environment = StreamExecutionEnvironment.in_process()
    sink = CollectSink()
    sums = scripted(environment, [1, 2], ends=False).key_by(lambda value: "all").reduce(lambda a, b: a + b)
    sums.add_sink(sink)
    environment.set_runtime_mode(RuntimeExecutionMode.BATCH)
    with pytest.raises(GraphError, match="'Source: script' does not end, but the runtime mode is BATCH"):
        environment.execute()
    environment.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    client = environment.execute_async()
    assert isinstance(client, InProcessJobClient)
    client.run_batch()
    client.stop().result()
    assert sink.get_results(stringify=False) == [1, 3]


def test_sinks_are_checked_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file, not a folder")
    environment = StreamExecutionEnvironment.in_process()
    environment.from_collection([1]).sink_to(FileSink.text(tmp_path / "out"))
    with pytest.raises(SinkError, match="cannot write to"):
        environment.execute_async()


@pytest.mark.parametrize("retention", ExternalizedCheckpointRetention)
def test_the_checkpoint_of_a_cancelled_job_goes_only_if_it_is_to(
    tmp_path: Path, retention: ExternalizedCheckpointRetention
) -> None:
    environment = StreamExecutionEnvironment.in_process()
    config = environment.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path / "checkpoint"))
    config.set_externalized_checkpoint_retention(retention)
    environment.from_collection([1, 2]).print()
    client: Any = environment.execute_async()
    client.run_batch()
    client.cancel()
    is_deleted = retention is ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION
    assert (list((tmp_path / "checkpoint").iterdir()) == []) == is_deleted
