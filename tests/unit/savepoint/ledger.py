"""A job that keeps every kind of state, and the oracle of its output; it can be left anywhere and gone on with.

Two sources, keyed value, list and map state, event-time timers, and a file sink that carries unfinished files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.common import Configuration
from penstock.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from penstock.connectors.generated.numbered import DataGenerator
from penstock.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.testing import InProcessJobClient

COUNT = 60
KEYS = 5
PERIOD_MS = 100
END_OF_TIME = 10**12
EXTRA = [(f"x{n}", n * 17) for n in range(20)]

Event = tuple[str, int]


def event(number: int) -> Event:
    return f"n{number}", number * 7


def key_of(event: Event) -> int:
    return event[1] % KEYS


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        return value[1]


BY_EVENT_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())


class Ledger(KeyedProcessFunction):
    """Counts records, sums up periods of event time, and tells all at the end of time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.names = runtime_context.get_list_state(ListStateDescriptor("names"))
        self.periods = runtime_context.get_map_state(MapStateDescriptor("periods"))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        name, time_ms = value
        self.count.update((self.count.value() or 0) + 1)
        self.names.add(name)
        end = (time_ms // PERIOD_MS + 1) * PERIOD_MS
        self.periods.put(end, (self.periods.get(end) or 0) + 1)
        ctx.timer_service().register_event_time_timer(end)
        ctx.timer_service().register_event_time_timer(END_OF_TIME)
        yield ["counted", ctx.get_current_key(), self.count.value()]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        if timestamp == END_OF_TIME:
            yield ["all", ctx.get_current_key(), sorted(self.names.get()), self.count.value()]
        else:
            yield ["period", ctx.get_current_key(), timestamp, self.periods.get(timestamp)]
            self.periods.remove(timestamp)


def oracle() -> list[str]:
    """The output of a whole run."""
    events = [*map(event, range(COUNT)), *EXTRA]
    counts: Counter[int] = Counter()
    lines: list[Any] = []
    for each in events:
        counts[key_of(each)] += 1
        lines.append(["counted", key_of(each), counts[key_of(each)]])
    periods = Counter((key_of(each), (each[1] // PERIOD_MS + 1) * PERIOD_MS) for each in events)
    lines += [["period", key, end, count] for (key, end), count in periods.items()]
    lines += [["all", key, sorted(n for n, t in events if t % KEYS == key), count] for key, count in counts.items()]
    return sorted(map(json.dumps, lines))


def published(folder: Path) -> list[str]:
    """What readers of the output see."""
    files = [path for path in folder.rglob("*.json") if ".penstock-staging" not in path.parts]
    return sorted(json.dumps(json.loads(line)) for path in files for line in path.read_text().splitlines())


@dataclass
class Start:
    """How the job is started once."""

    output: Path
    parallelism: int = 2
    checkpoint: Path | None = None
    recovery: str | None = None
    seed: int | None = 1
    batch: int = 20
    chaining: bool = True
    settings: dict[str, Any] = field(default_factory=dict)

    def environment(self) -> StreamExecutionEnvironment:
        settings = {"penstock.batch.max-records": self.batch, **self.settings}
        if self.recovery is not None:
            settings["execution.state-recovery.path"] = self.recovery
        configuration = Configuration()
        for key, value in settings.items():
            configuration.set_string(key, str(value))
        environment = StreamExecutionEnvironment.in_process(self.seed, configuration=configuration)
        environment.set_parallelism(self.parallelism)
        if self.checkpoint is not None:
            environment.get_checkpoint_config().set_checkpoint_storage_dir(str(self.checkpoint))
        if not self.chaining:
            environment.disable_operator_chaining()
        return environment

    def client(self) -> InProcessJobClient:
        return started(ledger(self.environment(), self.output))


def events_of(environment: StreamExecutionEnvironment) -> DataStream:
    numbers = environment.from_source(DataGenerator(event, COUNT), BY_EVENT_TIME, "numbers").uid("numbers")
    extra = environment.from_collection(EXTRA).uid("extra")
    return numbers.union(extra.assign_timestamps_and_watermarks(BY_EVENT_TIME).uid("extra time"))


def ledger(environment: StreamExecutionEnvironment, output: Path) -> StreamExecutionEnvironment:
    """The whole program."""
    entries = events_of(environment).key_by(key_of).process(Ledger()).uid("ledger").name("Ledger")
    # So small that some files are published on the way, and large enough that others are not.
    sink = FileSink.json(output, rolling_policy=RollingPolicy.default_rolling_policy(part_size=300))
    entries.map(lambda entry: list(entry)).uid("copy").sink_to(sink).uid("sink").name("Files")
    return environment


def started(environment: StreamExecutionEnvironment) -> InProcessJobClient:
    client = environment.execute_async("ledger")
    assert isinstance(client, InProcessJobClient)
    return client


def run_some(client: InProcessJobClient, batches: int = 4) -> None:
    """Run so many batches; the job is left in the middle."""
    for _ in range(batches):
        assert client.run_batch()
