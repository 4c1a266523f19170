"""Which input a job names when its event time stands still: jobs in process, in both modes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cep import CEP, Pattern
from penstock.cli.commands import app
from penstock.common import Configuration, Duration, JobStatus, WatermarkStrategy
from penstock.common.job_progress import HeldBack
from penstock.common.restart_strategy import RestartStrategies
from penstock.connectors.source import Source
from penstock.datastream import DataStream, KeyedProcessFunction, ProcessJoinFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.window import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from penstock.engine.in_process.job import StalledJob
from penstock.job.event_time_watch import JobEventTime, longest_pause_ms, makers_of, waiting_operators
from penstock.job.journal import VersionTimes
from penstock.testing.partitions import ScriptedPartitions
from penstock.testing.script import Cut, Element
from tests.spark.waiting import wait_until

AT = 1_700_000_000_000
Build = Callable[[StreamExecutionEnvironment], Any]


@pytest.fixture(params=["micro-batch", "continuous"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def strategy(*, idle_seconds: int | None = None) -> WatermarkStrategy:
    found: WatermarkStrategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    found = found.with_timestamp_assigner(lambda value, _: value[1])
    return found if idle_seconds is None else found.with_idleness(Duration.of_seconds(idle_seconds))


def partitions(**scripts: list[Any]) -> ScriptedPartitions:
    """Partitions that are there, and never end."""
    return ScriptedPartitions({name.replace("_", "-"): script for name, script in scripts.items()}, ends=False)


def at(*seconds: int) -> list[Any]:
    """Records in one batch after the other."""
    found: list[Any] = []
    for each in seconds:
        found += [("a", AT + each * 1000), Cut()]
    return found


def windows(stream: DataStream, name: str = "totals") -> DataStream:
    return (
        stream.key_by(lambda value: value[0])
        .window(TumblingEventTimeWindows.of(1000))
        .reduce(lambda a, b: a)
        .name(name)
    )


def held_back(build: Build, mode: str, *, batches: int = 6, parallelism: int = 1) -> list[HeldBack]:
    """What is named 60 s after the last of some batches."""
    configuration = Configuration().set_string("penstock.execution.mode", mode)
    env = StreamExecutionEnvironment.in_process(configuration=configuration).set_parallelism(parallelism)
    build(env)
    client: Any = env.execute_async("job")
    job = client.job
    event_time = job.statistics.event_time = JobEventTime(job.plan, 10.0)
    try:
        for _ in range(batches):
            job.clock.advance(1_000)
            with suppress(StalledJob):
                job.run_batch()
        event_time.held_back(time.monotonic() + 4, AT)
        return list(event_time.held_back(time.monotonic() + 60, AT))
    finally:
        client.cancel()


def read(env: StreamExecutionEnvironment, source: Source[Any], name: str, **options: Any) -> DataStream:
    return env.from_source(source, strategy(**options), name).uid(name)


def to_nowhere(stream: DataStream) -> None:
    stream.print()


def test_a_partition_that_never_had_a_record(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        to_nowhere(windows(read(env, partitions(orders_0=at(1, 2, 3), orders_1=[]), "orders")))

    (held,) = held_back(build, mode)
    assert (held.operators, held.uid, held.name, held.split) == (("totals",), "orders", "orders", "orders-1")
    assert (held.reason, held.watermark, held.is_quiet) == ("never", None, False)


def test_a_partition_that_stopped(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        to_nowhere(windows(read(env, partitions(orders_0=at(1, 2, 3, 4, 5, 6), orders_1=at(1)), "orders")))

    (held,) = held_back(build, mode)
    assert (held.split, held.reason, held.watermark) == ("orders-1", "stopped", AT - 1)
    assert not held.is_quiet


class Refunded(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left, right


def test_one_of_two_inputs_of_a_join(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        left = read(env, partitions(orders_0=at(1, 2, 3, 4)), "orders").key_by(lambda value: value[0])
        right = read(env, partitions(refunds_0=at(1)), "refunds").key_by(lambda value: value[0])
        joined = left.interval_join(right).between(0, 1000)
        to_nowhere(joined.process(Refunded()).name("refunded"))

    (held,) = held_back(build, mode)
    assert (held.operators, held.uid, held.split, held.reason) == (("refunded",), "refunds", "refunds-0", "stopped")


def test_a_source_without_a_watermark_strategy(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        script = [Element("a", AT), Cut(), Element("b", AT + 1), Cut()]
        to_nowhere(windows(env.from_source(partitions(orders_0=script), None, "orders").uid("orders")))

    (held,) = held_back(build, mode)
    assert (held.uid, held.split, held.reason, held.is_quiet) == ("orders", None, "no strategy", False)


def test_an_idle_partition_is_not_named(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        source = partitions(orders_0=at(1, 2, 3, 4, 5, 6), orders_1=[])
        to_nowhere(windows(read(env, source, "orders", idle_seconds=2)))

    (held,) = held_back(build, mode, batches=5)
    assert (held.split, held.is_quiet) == ("orders-0", True)  # event time has moved with the last record


def test_a_split_that_has_ended_is_not_named(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        over = ScriptedPartitions({"past-0": at(1)})
        to_nowhere(windows(read(env, partitions(orders_0=at(1, 2, 3)), "orders").union(read(env, over, "past"))))

    (held,) = held_back(build, mode)
    assert (held.uid, held.is_quiet) == ("orders", True)


def test_a_split_that_ended_without_a_record_is_not_named(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        over = read(env, ScriptedPartitions({"past-0": []}), "past")
        to_nowhere(windows(over.union(read(env, partitions(orders_0=[]), "orders"))))

    (held,) = held_back(build, mode)
    assert (held.uid, held.others) == ("orders", 0)


def test_an_empty_subtask_in_front_of_an_assigner(mode: str) -> None:
    """A strategy behind the source sees no partitions, and those who read none wait for ever."""

    def build(env: StreamExecutionEnvironment) -> None:
        stream = env.from_source(partitions(orders_0=at(1, 2, 3)), None, "orders").uid("orders")
        timed = stream.assign_timestamps_and_watermarks(strategy()).name("times").uid("times")
        to_nowhere(windows(timed))

    (held,) = held_back(build, mode, parallelism=2)
    assert (held.uid, held.reason, held.split) == ("times", "never", None)
    assert f"subtask {held.subtask} of operator 'times' (uid 'times') has never had a record" in held.text


def test_patterns_wait_too(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        stream = read(env, partitions(orders_0=at(1, 2, 3), orders_1=[]), "orders")
        pattern = Pattern.begin("one").where(lambda value: True)
        found = CEP.pattern(stream.key_by(lambda value: value[0]), pattern).select(lambda match: match["one"])
        to_nowhere(found)

    (held,) = held_back(build, mode)
    assert held.split == "orders-1"


class AtEventTime(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(value[1])
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp


class AtProcessingTime(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_processing_time_timer(5)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield timestamp


class WithoutTimers(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


@pytest.mark.parametrize(
    ("function", "waits"), [(AtEventTime(), True), (AtProcessingTime(), False), (WithoutTimers(), False)]
)
def test_only_timers_of_event_time_wait(function: KeyedProcessFunction, waits: bool) -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        stream = read(env, partitions(orders_0=at(1, 2, 3), orders_1=[]), "orders")
        to_nowhere(stream.key_by(lambda value: value[0]).process(function))

    assert bool(held_back(build, "micro-batch")) is waits


def test_a_job_in_processing_time_names_nobody(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        stream = env.from_source(partitions(orders_0=at(1, 2, 3)), None, "orders").key_by(lambda value: value[0])
        to_nowhere(stream.window(TumblingProcessingTimeWindows.of(1000)).reduce(lambda a, b: a))

    assert held_back(build, mode) == []


def test_event_time_that_moves_with_every_batch_is_quiet_when_the_records_end(mode: str) -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        to_nowhere(windows(read(env, partitions(orders_0=at(1, 2, 3, 4, 5)), "orders")))

    (held,) = held_back(build, mode, batches=9)
    assert held.is_quiet


def test_where_event_time_begins_anew_what_is_before_it_is_not_to_blame() -> None:
    env = StreamExecutionEnvironment.in_process()
    first = read(env, partitions(orders_0=[]), "orders").key_by(lambda value: value[0]).map(lambda value: value)
    to_nowhere(windows(first.assign_timestamps_and_watermarks(strategy()).name("times").uid("times")))
    client: Any = env.execute_async("job")
    plan = client.job.plan
    (place,) = waiting_operators(plan)
    assert [vertex.operators[number].uid for vertex, number in makers_of(plan, place)] == ["times"]
    client.cancel()


def test_updates_of_patterns_have_no_event_time_that_anybody_waits_for() -> None:
    env = StreamExecutionEnvironment.in_process()
    stream = read(env, partitions(orders_0=[]), "orders").key_by(lambda value: value[0])
    updates = env.from_source(partitions(updates_0=[]), None, "updates").uid("updates")
    to_nowhere(CEP.dynamic_patterns(stream, updates).select(lambda match: match))
    client: Any = env.execute_async("job")
    plan = client.job.plan
    (place,) = waiting_operators(plan)
    assert [vertex.operators[number].uid for vertex, number in makers_of(plan, place)] == ["orders"]
    client.cancel()


# ---- a job that runs by itself: what the log, the progress and `penstock list` say ----


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path_factory.mktemp("h")))


def live(delay: str = "300 ms") -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("penstock.engine", "in-process")
    configuration.set_string("penstock.event-time.stall-warning", delay)
    return StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)


def ticks(env: StreamExecutionEnvironment, *, moves: bool) -> DataStream:
    source = DataGeneratorSource(
        lambda n: ("a", AT + (n * 1000 if moves else 0)), None, RateLimiterStrategy.per_second(50)
    )
    return read(env, source, "ticks")


def test_the_log_and_the_list_name_it(home: None, caplog: pytest.LogCaptureFixture) -> None:
    env = live()
    empty = read(env, partitions(orders_0=[]), "orders")
    to_nowhere(windows(ticks(env, moves=True).union(empty)))
    with caplog.at_level(logging.WARNING, "penstock"):
        client: Any = env.execute_async("shop")
        try:
            wait_until(lambda: caplog.messages, "the log names an input")
            wait_until(lambda: client.progress().event_time_holders, "the progress names an input")
            told = CliRunner().invoke(app, ["list"])
            document = client.document()
            before = client.progress().batch
            wait_until(lambda: client.progress().batch > before + 20, "more batches")
        finally:
            client.cancel().result(60)
    (line,) = caplog.messages
    said = "split orders-0 of source 'orders' (uid 'orders') has never had a record; if it may stay empty, add "
    assert line.startswith("job 'shop': event time of 'totals' has not begun after ") and said in line
    assert said in told.stderr and told.stderr.startswith("job 'shop': event time of 'totals' has not begun after ")
    (held,) = document["progress"]["event_time_holders"]
    assert held["split"] == "orders-0" and not held["is_quiet"]
    client._job.statistics.on_held_back([HeldBack(**held)])  # by a look that came late
    assert client.document()["progress"]["event_time_holders"] == ()  # it is over


@pytest.mark.parametrize("delay", ["0", "1 h"])
def test_it_can_be_turned_off_or_made_to_wait(delay: str, caplog: pytest.LogCaptureFixture) -> None:
    env = live(delay)
    to_nowhere(windows(ticks(env, moves=False)))
    client: Any = env.execute_async("shop")
    wait_until(lambda: client.progress().batch > 40, "batches")
    client.cancel().result(60)
    assert caplog.messages == [] and client.progress().event_time_holders == ()


def test_a_line_when_event_time_moves_again(caplog: pytest.LogCaptureFixture) -> None:
    env = live()

    def made(number: int) -> tuple[str, int]:
        return ("a", AT + max(0, number - 40) * 1000)

    source = DataGeneratorSource(made, None, RateLimiterStrategy.per_second(40))
    to_nowhere(windows(read(env, source, "ticks")))
    client: Any = env.execute_async("shop")
    wait_until(lambda: len(caplog.messages) == 2, "two lines")
    client.cancel().result(60)
    assert "source 'ticks' (uid 'ticks') gets records, but none is newer than its watermark" in caplog.messages[0]
    assert caplog.messages[1] == "job 'shop': event time of 'totals' moves again"


def test_a_job_that_is_being_restarted_waits_for_nobody(tmp_path: Path) -> None:
    env = live()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 3_600_000))

    def checked(value: Any) -> Any:
        assert not (tmp_path / "fail").exists()
        return value

    to_nowhere(windows(ticks(env, moves=False).map(checked)))
    client: Any = env.execute_async("shop")
    wait_until(lambda: client.progress().event_time_holders, "an input is named")
    (tmp_path / "fail").touch()
    wait_until(lambda: client.get_job_status().result() is JobStatus.RESTARTING, "the job fails")
    wait_until(lambda: not client.progress().event_time_holders, "nobody is named", 20)
    client.cancel().result(60)


@pytest.mark.parametrize(("interval_ms", "quiet_ms"), [(60_000, 120_000), (None, 50), (10, 50)])
def test_between_versions_that_are_far_apart_event_time_is_not_said_to_stand(
    interval_ms: int | None, quiet_ms: int
) -> None:
    times = VersionTimes(0, work_ms=20, seal_ms=4, publish_ms=1)
    journal = SimpleNamespace(versions=lambda: [SimpleNamespace(times=times)])
    settings = SimpleNamespace(batch_interval_ms=interval_ms)
    job: Any = SimpleNamespace(statistics=SimpleNamespace(journal=journal), settings=settings)
    assert longest_pause_ms(job) == quiet_ms
