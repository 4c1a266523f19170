"""The counting job as a program: `python -m tests.spark.jobs.counters '{"folder": ..., ...}'`.

Owns the wiring of state, timers, side output and sinks; what must come out is in `counting`, ways to die in `deaths`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.common import Configuration, Duration, RestartStrategies, Types, WatermarkStrategy
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import KeyedProcessFunction, OutputTag, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import BucketAssigner, RollingPolicy
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from tests.spark.jobs import counting, deaths

MODULE = "tests.spark.jobs.counters"
MILESTONES = OutputTag("milestones")


@dataclass(frozen=True)
class Order:
    """How one process is to run the job. Everything but the folder may differ from start to start.

    `driver_death` is a moment of `deaths.DRIVER_MOMENTS` and how often it is let pass; `worker_deaths` gives the
    first batch for each moment of `deaths.DyingWriter`; `deadly_records` kill the worker that first meets them.
    """

    folder: str
    count: int
    records_per_second: float | None = None
    master: str = "local[2,4]"
    driver_death: tuple[str, int] = ("never", 0)
    worker_deaths: dict[str, int] = field(default_factory=dict)
    deadly_records: tuple[int, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)

    def path(self, name: str) -> str:
        """A path in the job's folder."""
        return os.path.join(self.folder, name)

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

    def __init__(self, deadly: tuple[int, ...], notes: str) -> None:
        self._deadly = frozenset(deadly)
        self._notes = notes

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
        if number in self._deadly and deaths.claim(self._notes, f"died-record-{number}"):
            deaths.die()
        if count % counting.MILESTONE == 0:
            yield MILESTONES, counting.milestone(key, count, list(self._recent.get() or ()))
            self._recent.clear()
        start = time_ms // counting.PERIOD_MS * counting.PERIOD_MS
        self._totals.put(start, (self._totals.get(start) or 0) + amount)
        ctx.timer_service().register_event_time_timer(start + counting.PERIOD_MS - 1)
        yield counting.counted(number, key, count)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        """A period is over."""
        start = timestamp + 1 - counting.PERIOD_MS
        yield counting.period(ctx.get_current_key(), start, self._totals.get(start) or 0)
        self._totals.remove(start)


def build(order: Order) -> StreamExecutionEnvironment:
    """The program."""
    environment = StreamExecutionEnvironment.get_execution_environment(_configuration(order))
    environment.set_parallelism(counting.SPLITS)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(order.path("checkpoint"))
    # Restarts are allowed, so that a test can tell a task's retry from a restart of the query.
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 100))
    rate = RateLimiterStrategy(order.records_per_second)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(counting.DISORDER_MS))
    events = environment.from_source(
        DataGeneratorSource(counting.event, order.count, rate),
        strategy.with_timestamp_assigner(EventTime()),
        "events",
    )
    counts = events.key_by(lambda value: value[1]).process(Count(order.deadly_records, order.path("notes")))
    counts.sink_to(_main_sink(order))
    counts.get_side_output(MILESTONES).sink_to(_side_sink(order))
    return environment


def _configuration(order: Order) -> Configuration:
    configuration = Configuration()
    for key, value in {"spark.master": order.master, **order.settings}.items():
        configuration.set_string(key, value)
    return configuration


def _main_sink(order: Order) -> deaths.DyingFileSink:
    """A file for each kind, subtask and batch, so that publishing has a middle."""
    sink = deaths.DyingFileSink.json(
        order.path("main"),
        bucket_assigner=BucketAssigner.by(lambda value: value["kind"]),
        rolling_policy=RollingPolicy.on_checkpoint_rolling_policy(),
    )
    return _deadly(sink, order)


def _side_sink(order: Order) -> deaths.DyingFileSink:
    """Files that grow over several batches: their staged chunks must outlive the processes that wrote them."""
    policy = RollingPolicy.default_rolling_policy(part_size=10_000)
    sink = deaths.DyingFileSink.json(order.path("side"), rolling_policy=policy)
    return _deadly(sink, order)


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
    client: Any = build(order).execute_async("counters")
    client.wait()
    with open(order.path("result.json"), "w") as stream:
        json.dump({"restarts": client.restarts()}, stream)


if __name__ == "__main__":
    main()
