"""The counting job as a program: `python -m tests.spark.jobs.counters '{"folder": ..., ...}'`.

Those of the others are in `branches`. What must come out is in `counting`, `sessions` and `rules`, ways to die are in
`deaths`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.checkpoint import CheckpointDirectory
from penstock.common import Configuration, Duration, RestartStrategies, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import BucketAssigner, RollingPolicy
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import EventTimeSessionWindows
from penstock.graph import JobSettings, compile_plan
from penstock.testing.leftovers import left_of_branch
from tests.spark.jobs import branches, counting, deaths, rules, sessions

MODULE = "tests.spark.jobs.counters"
MILESTONES = OutputTag("milestones")
JOB, EVENTS, RULES = "counters", "events", "rules"


@dataclass(frozen=True)
class Order:
    """How one process is to run the job. Everything but the folder may differ from start to start.

    `driver_death` is a moment of `deaths.DRIVER_MOMENTS` and how often it is let pass; `worker_deaths` gives the
    first batch for each moment of `deaths.DyingWriter`; `deadly` gives the numbers, for records, firings of sessions
    with such a record, and rules, that kill the worker that first meets them.
    """

    folder: str
    count: int
    records_per_second: float | None = None
    master: str = "local[2,4]"
    driver_death: tuple[str, int] = ("never", 0)
    worker_deaths: dict[str, int] = field(default_factory=dict)
    deadly: dict[str, list[int]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    restarts: int = 3
    rule_pause_seconds: float = 0.1

    def path(self, name: str) -> str:
        """A path in the job's folder."""
        return os.path.join(self.folder, name)

    def trap(self, kind: str) -> deaths.Trap:
        """What lets a worker die at the deadly numbers of a kind."""
        return deaths.Trap(kind, self.deadly.get(kind, ()), self.path("notes"))

    def arguments(self) -> list[str]:
        """What to start the program with."""
        return [sys.executable, "-m", MODULE, json.dumps(asdict(self))]


class EventTime(TimestampAssigner):
    """The time is in the record."""

    def extract_timestamp(self, value: counting.Event, record_timestamp: int) -> int:
        """Fourth field."""
        return value[3]


class Count(KeyedProcessFunction):
    """Counts records, collects values up to the next milestone, and sums up periods of event time."""

    def __init__(self, trap: deaths.Trap) -> None:
        self._trap = trap

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the states."""
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self._recent = runtime_context.get_list_state(ListStateDescriptor("recent", Types.LONG()))
        self._totals = runtime_context.get_map_state(MapStateDescriptor("totals", Types.LONG(), Types.LONG()))

    def process_element(self, value: counting.Event, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        """Count one record."""
        number, key, amount, time_ms = value
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        self._recent.add(amount)
        self._trap.step_on(number)
        if count % counting.MILESTONE == 0:
            yield MILESTONES, counting.milestone(key, count, list(self._recent.get() or ()))
            self._recent.clear()
        start = time_ms // counting.PERIOD_MS * counting.PERIOD_MS
        self._totals.put(start, (self._totals.get(start) or 0) + amount)
        ctx.timer_service().register_event_time_timer(start + counting.PERIOD_MS - 1)
        if count == 1:
            ctx.timer_service().register_event_time_timer(counting.END_MS)
        yield counting.counted(number, key, count)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        """A period is over, or all of them are: then nothing may be left."""
        if timestamp == counting.END_MS:
            self._count.clear()
            self._recent.clear()
            return
        start = timestamp + 1 - counting.PERIOD_MS
        yield counting.period(ctx.get_current_key(), start, self._totals.get(start) or 0)
        self._totals.remove(start)


def build(order: Order) -> StreamExecutionEnvironment:
    """The program."""
    environment = StreamExecutionEnvironment.get_execution_environment(configuration_of(order))
    environment.set_parallelism(counting.SPLITS)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(order.path("checkpoint"))
    # Restarts are allowed, so that a test can tell a task's retry from a restart of the query.
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(order.restarts, 100))
    events = source_of(environment, order)
    counts = events.key_by(_key).process(Count(order.trap("record")))
    counts.sink_to(main_sink(order))
    counts.get_side_output(MILESTONES).sink_to(_growing_sink(order, "side"))
    session_firings(events, order).sink_to(_session_sink(order))
    rule_output(events, order).sink_to(_growing_sink(order, "rules"))
    return environment


def source_of(environment: StreamExecutionEnvironment, order: Order) -> DataStream:
    """The records."""
    source = DataGeneratorSource(counting.event, order.count, RateLimiterStrategy(order.records_per_second))
    return environment.from_source(source, _a_little_disorder().with_timestamp_assigner(EventTime()), EVENTS)


def _a_little_disorder() -> WatermarkStrategy:
    return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(counting.DISORDER_MS))


def _key(value: counting.Event) -> int:
    return value[1]


def session_firings(events: DataStream, order: Order) -> DataStream:
    """Sessions that records are too late for, but not by more than is allowed."""
    strategy = _a_little_disorder().with_timestamp_assigner(branches.SessionTime())
    timed = events.assign_timestamps_and_watermarks(strategy)
    windows = timed.key_by(_key).window(EventTimeSessionWindows.with_gap(Duration.of_millis(sessions.GAP_MS)))
    return windows.allowed_lateness(sessions.LATENESS_MS).process(branches.ListSession(order.trap("firing")))


def rule_output(events: DataStream, order: Order) -> DataStream:
    """Records that meet rules of another source."""
    source = branches.SlowRules(rules.rule_count(order.count), order.rule_pause_seconds)
    slow = events.get_execution_environment().from_source(source, WatermarkStrategy.no_watermarks(), RULES)
    known = slow.set_parallelism(1).broadcast(branches.RULES)
    return events.key_by(_key).connect(known).process(branches.ApplyRules(order.trap("rule")))


def configuration_of(order: Order) -> Configuration:
    """The settings of the run."""
    configuration = Configuration()
    for key, value in {"spark.master": order.master, **order.settings}.items():
        configuration.set_string(key, value)
    return configuration


def main_sink(order: Order) -> deaths.DyingFileSink:
    """A file for each kind, subtask and batch, so that publishing has a middle."""
    sink = deaths.DyingFileSink.json(
        order.path("main"),
        bucket_assigner=BucketAssigner.by(lambda value: value["kind"]),
        rolling_policy=RollingPolicy.on_checkpoint_rolling_policy(),
    )
    return _deadly(sink, order)


def _session_sink(order: Order) -> deaths.DyingFileSink:
    """A file for each subtask and batch."""
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    return _deadly(deaths.DyingFileSink.json(order.path("sessions"), rolling_policy=policy), order)


def _growing_sink(order: Order, name: str) -> deaths.DyingFileSink:
    """Files that grow over several batches: their staged chunks must outlive the processes that wrote them."""
    policy = RollingPolicy.default_rolling_policy(part_size=10_000)
    return _deadly(deaths.DyingFileSink.json(order.path(name), rolling_policy=policy), order)


def _deadly(sink: Any, order: Order) -> deaths.DyingFileSink:
    sink.notes = order.path("notes")
    sink.worker_deaths = order.worker_deaths
    sink.driver_death = order.driver_death
    return sink


def main() -> None:
    """Run the job that the command line orders, and leave its figures in `result.json`."""
    order = Order(**json.loads(sys.argv[1]))
    os.makedirs(order.path("notes"), exist_ok=True)
    deaths.let_seals_die(*order.driver_death)
    environment = build(order)
    plan = compile_plan(environment.graph, JobSettings(job_name=JOB, parallelism=counting.SPLITS))
    client: Any = environment.execute_async(JOB)
    client.wait()
    left = left_of_branch(CheckpointDirectory(order.path("checkpoint")), plan, [EVENTS, RULES])
    with open(order.path("result.json"), "w") as stream:
        json.dump({"restarts": client.restarts(), "left": asdict(left)}, stream)


if __name__ == "__main__":
    main()
