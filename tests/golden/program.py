"""The program of the golden savepoint: every kind of state that a job can have.

Everything that could differ from run to run is fixed: the clock, the order of records, the identity of objects. It must
not change as long as its savepoint is read; what is new in a later format gets a savepoint and program of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.common import Configuration, Duration, Time, Types
from penstock.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from penstock.connectors.files.sink import STAGING
from penstock.connectors.generated.numbered import DataGenerator
from penstock.datastream import (
    AggregateFunction,
    CheckpointedFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    commutative,
)
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.datastream.time_domain import TimeDomain
from penstock.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.testing import InProcessJobClient, ManualClock

COUNT = 60
KEYS = ("ada", "bob", "cyd", "dan", "eve")
PERIOD_MS = 150
END_OF_TIME = 10**12
MADE_AT_MS = 1_700_000_000_000
MINUTE_MS = 60_000
# The job goes on an hour later: what lives for half an hour is gone by then, what lives for two is not.
RESUMED_AT_MS = MADE_AT_MS + 60 * MINUTE_MS
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())

Event = tuple[int, str, int]  # number, key, event time


@dataclass
class Trade:
    """A value that is kept as a pickle."""

    number: int
    tags: list[str]


def event(number: int) -> Event:
    return number, KEYS[(number * 3 + number // 4) % len(KEYS)], number * 10


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        return value[2]


class Total(AggregateFunction):
    is_commutative = True  # so that sliding windows are kept as panes

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + (value if isinstance(value, int) else value[0]), accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> list[int]:
        return list(accumulator)

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


def lives_for(minutes: int, descriptor: Any) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.minutes(minutes)).build())
    return descriptor


class Ledger(KeyedProcessFunction):
    """Keyed state of every kind, with and without time to live, and timers of both domains."""

    def open(self, runtime_context: RuntimeContext) -> None:
        get = runtime_context
        self.count = get.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.trade = get.get_state(ValueStateDescriptor("trade"))
        self.names = get.get_list_state(ListStateDescriptor("names", Types.STRING()))
        self.periods = get.get_map_state(MapStateDescriptor("periods", Types.LONG(), Types.LONG()))
        self.largest = get.get_reducing_state(ReducingStateDescriptor("largest", max, Types.LONG()))
        self.total = get.get_aggregating_state(AggregatingStateDescriptor("total", Total()))
        self.fleeting = get.get_state(lives_for(30, ValueStateDescriptor("fleeting", Types.LONG())))
        self.lasting = get.get_list_state(lives_for(120, ListStateDescriptor("lasting", Types.LONG())))
        self.mixed = get.get_map_state(lives_for(120, MapStateDescriptor("mixed", Types.STRING(), Types.LONG())))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        number, key, time_ms = value
        self.count.update((self.count.value() or 0) + 1)
        self.trade.update(Trade(number, [*(self.trade.value() or Trade(0, [])).tags, f"t{number}"][-3:]))
        self.names.add(f"n{number}")
        end = (time_ms // PERIOD_MS + 1) * PERIOD_MS
        self.periods.put(end, (self.periods.get(end) or 0) + 1)
        self.largest.add(number)
        self.total.add(number)
        yield ["fleeting", key, self.fleeting.value()]
        self.fleeting.update(number)
        self.lasting.add(number)
        self.mixed.put(f"m{number % 3}", number)
        timers = ctx.timer_service()
        timers.register_event_time_timer(end)
        timers.register_event_time_timer(END_OF_TIME)
        timers.register_processing_time_timer(MADE_AT_MS + 10 * MINUTE_MS)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        key = ctx.get_current_key()
        if ctx.time_domain() is TimeDomain.PROCESSING_TIME:
            yield ["clock", key, timestamp - MADE_AT_MS]
        elif timestamp == END_OF_TIME:
            trade = self.trade.value()
            told = [self.count.value(), trade.number, trade.tags, sorted(self.names.get() or ()), self.largest.get()]
            yield ["all", key, *told, self.total.get(), sorted(self.lasting.get() or ()), sorted(self.mixed.items())]
        else:
            yield ["period", key, timestamp, self.periods.get(timestamp)]
            self.periods.remove(timestamp)


class Remembering(MapFunction, CheckpointedFunction):
    """State of the subtask: a list that is dealt out, and one of which every subtask gets all."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.seen = store.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.union = store.get_union_list_state(ListStateDescriptor("union", Types.LONG()))
        self.began_with = [sorted(self.seen.get()), sorted(self.union.get())]

    def snapshot_state(self, context: Any) -> None:
        """The lists are state already."""

    def map(self, value: Event) -> Any:
        self.seen.add(value[0])
        if value[0] % 10 == 0:
            self.union.add(value[0])
        return ["began with", value[0], *self.began_with]


class ApplyRules(KeyedBroadcastProcessFunction):
    """Broadcast state beside keyed state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.met = runtime_context.get_state(ValueStateDescriptor("met", Types.LONG()))

    def process_element(self, value: Event, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        self.met.update((self.met.value() or 0) + 1)
        yield ["ruled", value[0], ctx.get_broadcast_state(RULES).get(value[1]), self.met.value()]

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        yield from ()


class NameWindow(ProcessWindowFunction):
    def process(self, key: str, context: ProcessWindowFunction.Context, elements: Any) -> Iterator[Any]:
        yield ["session", key, context.window().start, context.window().end, sorted(each[0] for each in elements)]


class Pair(ProcessJoinFunction):
    def process_element(self, left: Event, right: Event, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield ["joined", left[0], right[0]]


def build(environment: StreamExecutionEnvironment, output: Path) -> StreamExecutionEnvironment:
    """The whole program."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    events = environment.from_source(DataGenerator(event, COUNT), strategy, "events").uid("events")
    keyed = events.key_by(_key)
    rules = environment.from_collection([(key, len(key) + n) for n, key in enumerate(KEYS)]).uid("rules")
    results = [
        keyed.process(Ledger()).uid("ledger"),
        events.map(Remembering()).uid("remembering"),
        keyed.connect(rules.broadcast(RULES)).process(ApplyRules()).uid("apply rules"),
        keyed.interval_join(keyed).between(Duration.of_millis(1), Duration.of_millis(90)).process(Pair()).uid("join"),
        *_windows(keyed),
    ]
    policy = RollingPolicy.default_rolling_policy(part_size=700, rollover_interval=10**12, inactivity_interval=10**12)
    lines = results[0].union(*results[1:]).map(_as_list).uid("copy")
    lines.sink_to(FileSink.json(output, rolling_policy=policy)).uid("sink").name("Files")
    return environment


def _windows(keyed: Any) -> list[DataStream]:
    period = Duration.of_millis(PERIOD_MS)
    tumbling = keyed.window(TumblingEventTimeWindows.of(period)).reduce(commutative(_larger)).uid("tumbling")
    sliding = keyed.window(SlidingEventTimeWindows.of(period, Duration.of_millis(PERIOD_MS // 3)))
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Duration.of_millis(45)))
    return [
        tumbling.map(Named("tumbling")).uid("name tumbling"),
        sliding.aggregate(Total()).uid("sliding").map(Named("sliding")).uid("name sliding"),
        sessions.process(NameWindow()).uid("sessions"),
        keyed.count_window(4).reduce(_larger).uid("counts").map(Named("counts")).uid("name counts"),
    ]


def _key(value: Event) -> str:
    return value[1]


def _larger(a: Event, b: Event) -> Event:
    return max(a, b)


def _as_list(value: Any) -> list[Any]:
    return list(value)


class Named(MapFunction):
    """Puts a name in front of a result."""

    def __init__(self, name: str) -> None:
        self._name = name

    def map(self, value: Any) -> list[Any]:
        return [self._name, *value]


def started(
    output: Path,
    *,
    parallelism: int,
    now_ms: int,
    batch: int,
    checkpoint: Path | None = None,
    recovery: Path | None = None,
) -> InProcessJobClient:
    """A job of the program, in process, at a time."""
    configuration = Configuration().set_string("penstock.batch.max-records", str(batch))
    if recovery is not None:
        configuration.set_string("execution.state-recovery.path", str(recovery))
    if checkpoint is not None:
        configuration.set_string("execution.checkpointing.dir", str(checkpoint))
        configuration.set_string("execution.checkpointing.num-retained", "1")
    environment = StreamExecutionEnvironment.in_process(clock=ManualClock(now_ms), configuration=configuration)
    client = build(environment.set_parallelism(parallelism), output).execute_async("golden")
    assert isinstance(client, InProcessJobClient)
    return client


def published(output: Path) -> list[str]:
    """What readers of the output see, in a fixed order."""
    files = [path for path in output.rglob("*.json") if STAGING not in path.parts]
    return sorted(json.dumps(json.loads(line)) for path in files for line in path.read_text().splitlines())
