"""A job that is left in the middle and gone on with, as a program: `python -m tests.spark.jobs.resuming '{...}'`.

Which runs make a cell of the matrix is in `resume_matrix`. No line of the output depends on how the input is cut, and
none is there twice in a right run.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from penstock.common import Configuration, Duration, Types
from penstock.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from penstock.connectors.files.sink import STAGING
from penstock.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.savepoint.writing import SavepointDraft
from penstock.testing import InProcessJobClient
from tests.spark.jobs import deaths
from tests.spark.waiting import wait_until

MODULE = "tests.spark.jobs.resuming"
COUNT = 400
KEYS = 24
PERIOD_MS = 400
GAP_MS = 100
END_OF_TIME = 10**12
PATIENCE_SECONDS = 240.0

Event = tuple[int, int, int]  # number, key, event time


def event(number: int) -> Event:
    return number, random.Random(number).randrange(KEYS), number * 7


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Ledger(KeyedProcessFunction):
    """Counts records, sums up periods of event time, and tells all it knows at the end of time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.numbers = runtime_context.get_list_state(ListStateDescriptor("numbers", Types.LONG()))
        self.periods = runtime_context.get_map_state(MapStateDescriptor("periods", Types.LONG(), Types.LONG()))
        self.largest = runtime_context.get_reducing_state(ReducingStateDescriptor("largest", max, Types.LONG()))
        total_and_count = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean(), total_and_count))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        number, key, time_ms = value
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.numbers.add(number)
        end = (time_ms // PERIOD_MS + 1) * PERIOD_MS
        self.periods.put(end, (self.periods.get(end) or 0) + 1)
        self.largest.add(number)
        self.mean.add(number)
        ctx.timer_service().register_event_time_timer(end)
        ctx.timer_service().register_event_time_timer(END_OF_TIME)
        yield ["counted", key, count]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        key = ctx.get_current_key()
        if timestamp == END_OF_TIME:
            numbers = sorted(self.numbers.get() or ())
            yield ["all", key, numbers, self.count.value(), self.largest.get(), self.mean.get()]
        else:
            yield ["period", key, timestamp, self.periods.get(timestamp)]
            self.periods.remove(timestamp)


class NameWindow(ProcessWindowFunction):
    """Says of a window what is in it."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def process(self, key: int, context: ProcessWindowFunction.Context, elements: Any) -> Iterator[Any]:
        window = context.window()
        yield [self._kind, key, window.start, window.end, sum(number for number, _, _ in elements)]


def expected() -> list[str]:
    """The output of a whole run."""
    counts: dict[int, int] = defaultdict(int)
    numbers: dict[int, list[int]] = defaultdict(list)
    periods: dict[tuple[int, int], list[int]] = defaultdict(list)
    sessions: dict[int, list[list[int]]] = defaultdict(list)
    lines: list[Any] = []
    for number, key, time_ms in map(event, range(COUNT)):
        counts[key] += 1
        lines.append(["counted", key, counts[key]])
        numbers[key].append(number)
        periods[key, (time_ms // PERIOD_MS + 1) * PERIOD_MS].append(number)
        if not sessions[key] or time_ms > sessions[key][-1][-1] * 7 + GAP_MS:
            sessions[key].append([])
        sessions[key][-1].append(number)
    lines += [["period", key, end, len(found)] for (key, end), found in periods.items()]
    lines += [["tumbling", key, end - PERIOD_MS, end, sum(found)] for (key, end), found in periods.items()]
    for key, found in sessions.items():
        lines += [["session", key, each[0] * 7, each[-1] * 7 + GAP_MS, sum(each)] for each in found]
    lines += [["all", key, each, len(each), max(each), sum(each) / len(each)] for key, each in numbers.items()]
    return sorted(map(json.dumps, lines))


@dataclass(frozen=True)
class Order:
    """One run of the job. `leaves`: "at the end", "with savepoint", "cancelled", "killed", "killed after savepoint".

    `batches` are run before it is left; `death` is the moment, and how many further seals with output are let pass.
    """

    folder: str
    backend: str
    parallelism: int
    checkpoint: str
    engine: str = "in-process"
    recovery: str | None = None
    leaves: str = "at the end"
    batches: int = 4
    death: tuple[str, int] = (deaths.BEFORE_SEAL, 3)
    max_records: int = 40
    rate: float | None = None
    settings: dict[str, str] = field(default_factory=dict)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def arguments(self) -> list[str]:
        return [sys.executable, "-m", MODULE, json.dumps(asdict(self))]


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        return value[2]


def build(order: Order) -> StreamExecutionEnvironment:
    """The program."""
    environment = _environment(order)
    environment.set_parallelism(order.parallelism)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(order.path(order.checkpoint))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    source = DataGeneratorSource(event, COUNT, RateLimiterStrategy(order.rate))
    events = environment.from_source(source, strategy, "events").uid("events")
    keyed = events.key_by(lambda each: each[1])
    ledger = keyed.process(Ledger()).uid("ledger")
    tumbling = keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(PERIOD_MS)))
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Duration.of_millis(GAP_MS)))
    lines = ledger.union(
        tumbling.process(NameWindow("tumbling")).uid("tumbling"),
        sessions.process(NameWindow("session")).uid("sessions"),
    )
    # So small that some files are published on the way, and large enough that others are not.
    sink = FileSink.json(order.path("out"), rolling_policy=RollingPolicy.default_rolling_policy(part_size=600))
    lines.map(list).uid("copy").sink_to(sink).uid("sink")
    return environment


def _environment(order: Order) -> StreamExecutionEnvironment:
    settings = {"penstock.batch.max-records": str(order.max_records), **order.settings}
    if order.recovery is not None:
        settings["execution.state-recovery.path"] = order.recovery
    if order.engine == "spark":
        settings["state.backend.type"] = "hashmap" if order.backend == "heap" else order.backend
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    if order.engine == "spark":
        return StreamExecutionEnvironment.get_execution_environment(configuration)
    return StreamExecutionEnvironment.in_process(state=order.backend, configuration=configuration)


def output_files(folder: str | Path) -> set[str]:
    """The files that readers of the output see."""
    return {str(path) for path in Path(folder, "out").rglob("*.json") if STAGING not in path.parts}


def lines_of(files: set[str]) -> list[str]:
    return sorted(json.dumps(json.loads(line)) for path in files for line in Path(path).read_text().splitlines())


def run(order: Order) -> None:
    """Run the job until it is to be left, and leave it; returns only where a process would live on."""
    if order.leaves == "killed":
        _arm(order)
    client: Any = build(order).execute_async("resuming")
    if isinstance(client, InProcessJobClient):
        # In memory, and nobody's after a kill: whoever started this process removes it.
        Path(order.path("scratch-path")).write_text(client.job.scratch)
    if order.leaves in ("at the end", "killed"):
        client.wait()
        return
    _advance(client, order)
    if order.leaves == "cancelled":
        client.cancel().result(PATIENCE_SECONDS)
        return
    if order.leaves == "with savepoint":
        path = client.stop_with_savepoint(False, order.path("savepoints")).result(PATIENCE_SECONDS)
        Path(order.path("savepoint-path")).write_text(path)
        return
    _note_output_at_savepoint(order)
    path = client.trigger_savepoint(order.path("savepoints")).result(PATIENCE_SECONDS)
    Path(order.path("savepoint-path")).write_text(path)
    _arm(order)
    client.wait()


def _advance(client: Any, order: Order) -> None:
    if isinstance(client, InProcessJobClient):
        for _ in range(order.batches):
            assert client.run_batch()
        return
    seals = Path(order.path(order.checkpoint), "penstock", "seals")
    enough = range(order.batches, 1_000_000)
    wait_until(
        lambda: any(int(path.stem) in enough for path in seals.glob("*.seal")), "batches are final", PATIENCE_SECONDS
    )


def _note_output_at_savepoint(order: Order) -> None:
    """Note what is published at the moment that the savepoint is of: nothing runs then."""
    copy_outside_files = SavepointDraft.copy_outside_files

    def note_and_copy(draft: SavepointDraft) -> None:
        Path(order.path("published-at-savepoint")).write_text(json.dumps(sorted(output_files(order.folder))))
        copy_outside_files(draft)

    SavepointDraft.copy_outside_files = note_and_copy  # type: ignore[method-assign]


def _arm(order: Order) -> None:
    deaths.let_seals_die(*order.death)
    deaths.let_publication_die(*order.death)


def main() -> None:
    """Run what the command line orders."""
    run(Order(**json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
