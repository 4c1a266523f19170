"""Small jobs that together have every operator, sink and source that keeps something on disk.

Each case builds a part of a job from a stream of `Event`s. A new operator or connector needs a case here, or
`test_plain_on_disk.py` fails.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternUpdate, SimpleCondition
from penstock.common import Duration, Row, Time, Types
from penstock.common.time import Instant
from penstock.common.watermark_strategy import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    WatermarkGenerator,
    WatermarkStrategy,
)
from penstock.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CheckpointedFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ListCheckpointed,
    MapFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    commutative,
    count,
    sum_of,
)
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.connectors.file_system import FileSource
from penstock.datastream.connectors.hybrid_source import HybridSource
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSource
from penstock.datastream.expressions import col
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.datastream.window import (
    CountEvictor,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

COUNT = 60
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
LOOSE_RULES = MapStateDescriptor("loose rules")
PAIR = Types.ROW_NAMED(["n", "name"], [Types.LONG(), Types.STRING()])

Event = tuple[int, str, int]  # number, key, event time


@dataclass(frozen=True)
class Bench:
    """What a case is built with."""

    environment: StreamExecutionEnvironment
    folder: Path

    def events(self, strategy: WatermarkStrategy | None = None) -> DataStream:
        return self.environment.from_source(DataGeneratorSource(event, COUNT), strategy or BY_TIME, "events")

    def rows(self) -> DataStream:
        return self.events().map(as_row, Types.ROW_NAMED(["n", "name"], [Types.LONG(), Types.STRING()]))


def event(number: int) -> Event:
    return number, "abc"[number % 3], number * 10


def as_row(value: Event) -> Row:
    return Row(n=value[0], name=value[1])


def time_of(value: Event, record_timestamp: int) -> int:
    return value[2]


def key_of(value: Any) -> str:
    return str(value[1])


BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(time_of)


@dataclass
class Note:
    """A user's value without a type, with values of Penstock's API in it."""

    row: Row
    instant: Instant


class Total(AggregateFunction):
    is_commutative = True

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + value[0]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class Keeping(KeyedProcessFunction):
    """State with and without types, timers, keys that are not text."""

    def open(self, runtime_context: Any) -> None:
        self.typed = runtime_context.get_state(
            ValueStateDescriptor("typed", Types.TUPLE([Types.LONG(), Types.STRING()]))
        )
        self.rows = runtime_context.get_list_state(ListStateDescriptor("rows", PAIR))
        self.times = runtime_context.get_map_state(MapStateDescriptor("times", Types.LONG(), Types.INSTANT()))
        self.loose = runtime_context.get_state(ValueStateDescriptor("loose"))
        self.any = runtime_context.get_map_state(MapStateDescriptor("any"))

    def process_element(self, value: Event, ctx: Any) -> Iterator[Any]:
        self.typed.update((value[0], value[1]))
        self.rows.add(Row(n=value[0], name=value[1]))
        self.times.put(value[0], Instant(value[0], 0))
        self.loose.update(Note(Row(value[0]), Instant(value[0], 1)))
        self.any.put(Row(k=value[1]), Note(Row(a=1), Instant(1, 1)))
        ctx.timer_service().register_event_time_timer(10**9)
        ctx.timer_service().register_processing_time_timer(10**15)
        yield value


class Plain(ProcessFunction):
    def process_element(self, value: Event, ctx: Any) -> Iterator[Any]:
        yield value


class Seen(MapFunction, CheckpointedFunction):
    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.seen = store.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.notes = store.get_union_list_state(ListStateDescriptor("notes"))

    def snapshot_state(self, context: Any) -> None:
        """The lists are state already."""

    def map(self, value: Event) -> Event:
        self.seen.add(value[0])
        self.notes.add(Note(Row(1), Instant(1, 2)))
        return value


class Listed(MapFunction, ListCheckpointed):
    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        return [Row(checkpoint_id), Instant(1, 2)]

    def restore_state(self, state: list[Any]) -> None:
        """Nothing is kept in fields."""

    def map(self, value: Event) -> Event:
        return value


class Twofold(CoMapFunction, CoFlatMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    map2 = map1

    def flat_map1(self, value: Any) -> Iterator[Any]:
        yield value

    flat_map2 = flat_map1


class Both(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    process_element2 = process_element1


class KeyedBoth(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.last.update(value)
        yield value

    process_element2 = process_element1


class Ruled(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(value[1], value[0])
        ctx.get_broadcast_state(LOOSE_RULES).put(value[1], Row(value[0]))
        yield from ()


class KeyedRuled(KeyedBroadcastProcessFunction):
    process_element = Ruled.process_element
    process_broadcast_element = Ruled.process_broadcast_element


class Joined(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left


class Whole(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        context.global_state().get_state(ValueStateDescriptor("per key")).update(context.window())
        yield key, len(list(elements))


class WholeWithState(Whole):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        context.window_state().get_state(ValueStateDescriptor("per window")).update(context.window())
        yield from super().process(key, context, elements)

    def clear(self, context: Any) -> None:
        context.window_state().get_state(ValueStateDescriptor("per window")).clear()


class Asked(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


# ---- operators ----


def stateless(bench: Bench) -> DataStream:
    mapped = bench.events().map(Seen()).map(Listed()).filter(lambda value: True).flat_map(lambda value: [value])
    return mapped.process(Plain())


def processing(bench: Bench) -> DataStream:
    keyed = bench.events().key_by(lambda value: (value[1], 1.5, date(2024, 1, 2))).process(Keeping())
    return keyed.union(bench.events().key_by(lambda value: Row(a=value[1])).process(Keeping()))


def expressions(bench: Bench) -> DataStream:
    return bench.rows().filter(col("n") >= 0).select(col("n"), col("name"))


def rolling(bench: Bench) -> DataStream:
    reduced = bench.events().key_by(key_of).reduce(lambda a, b: b)
    fields = bench.rows().key_by("name").aggregate_fields(count(), sum_of("n"))
    summed = bench.events().key_by(key_of).sum(0)
    return reduced.union(summed, fields.map(tuple))


def two_inputs(bench: Bench) -> DataStream:
    one, other = bench.events(), bench.events()
    connected = one.connect(other)
    keyed = one.key_by(key_of).connect(other.key_by(key_of)).process(KeyedBoth())
    results = [connected.map(Twofold()), connected.flat_map(Twofold()), connected.process(Both())]
    return keyed.union(*results)


def broadcast(bench: Bench) -> DataStream:
    rules = bench.events().broadcast(RULES, LOOSE_RULES)
    return (
        bench.events()
        .connect(rules)
        .process(Ruled())
        .union(bench.events().key_by(key_of).connect(rules).process(KeyedRuled()))
    )


def joins(bench: Bench) -> DataStream:
    one, other = bench.events().key_by(key_of), bench.events().key_by(key_of)
    interval = one.interval_join(other).between(Duration.of_millis(-90), Duration.of_millis(90)).process(Joined())
    windows = (
        bench.events()
        .join(bench.events())
        .where(key_of)
        .equal_to(key_of)
        .window(TumblingEventTimeWindows.of(Duration.of_millis(400)))
        .apply(lambda a, b: a)
    )
    grouped = (
        bench.events()
        .co_group(bench.events())
        .where(key_of)
        .equal_to(key_of)
        .window(TumblingEventTimeWindows.of(Duration.of_millis(400)))
        .apply(lambda a, b: [("grouped", "x", 0)])
    )
    return interval.union(windows, grouped)


def windows(bench: Bench) -> DataStream:
    keyed = bench.events().key_by(key_of)
    length, slide = Duration.of_millis(1000), Duration.of_millis(250)
    tumbling, sliding = TumblingEventTimeWindows.of(length), SlidingEventTimeWindows.of(length, slide)
    gap = EventTimeSessionWindows.with_gap(Duration.of_millis(45))
    results = [
        keyed.window(tumbling).process(WholeWithState()),
        keyed.window(tumbling).two_phase().reduce(commutative(max)),
        keyed.window(sliding).aggregate(Total()),
        keyed.window(sliding).process(Whole()),
        keyed.window(gap).process(Whole()),
        keyed.window(gap).reduce(lambda a, b: b),
        keyed.window(tumbling).evictor(CountEvictor.of(2)).process(Whole()),
        keyed.count_window(7).reduce(lambda a, b: b),
        keyed.count_window(7, 2).process(Whole()),
        bench.events().window_all(tumbling).reduce(lambda a, b: b),
        bench.rows().key_by("name").window(tumbling).process(Whole()),
    ]
    return results[0].union(*results[1:])


def windows_of_fields(bench: Bench) -> DataStream:
    rows = bench.rows().key_by("name")
    length, slide = Duration.of_millis(1000), Duration.of_millis(250)
    tumbling = rows.window(TumblingEventTimeWindows.of(length)).aggregate_fields(count(), sum_of("n"))
    return tumbling.union(rows.window(SlidingEventTimeWindows.of(length, slide)).aggregate_fields(count(), sum_of("n")))


def salted(bench: Bench) -> DataStream:
    keyed = bench.events().key_by(key_of)
    return keyed.salted(2).window(TumblingEventTimeWindows.of(Duration.of_millis(1000))).aggregate(Total())


def asynchronous(bench: Bench) -> DataStream:
    return AsyncDataStream.ordered_wait(bench.events(), Asked(), Time.seconds(1))


# ---- event time ----


class Periodic(AssignerWithPeriodicWatermarks):
    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        return value[2]

    def get_current_watermark(self) -> int:
        return 5


class Punctuated(AssignerWithPunctuatedWatermarks):
    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        return value[2]

    def check_and_get_next_watermark(self, last_element: Event, extracted_timestamp: int) -> int:
        return extracted_timestamp


class OwnGenerator(WatermarkGenerator):
    def __init__(self) -> None:
        self.last = Instant(0, 0)

    def on_event(self, event: Event, event_timestamp: int, output: Any) -> None:
        self.last = Instant.of_epoch_milli(event_timestamp)

    def on_periodic_emit(self, output: Any) -> None:
        output.emit_watermark(self.last.to_epoch_milli())


def strategies(bench: Bench) -> DataStream:
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)).with_timestamp_assigner(time_of)
    own = WatermarkStrategy.for_generator(OwnGenerator).with_timestamp_assigner(time_of)
    streams = [
        bench.events(each)
        for each in (bounded.with_idleness(Duration.of_seconds(1)), own, WatermarkStrategy.no_watermarks())
    ]
    for assigner in (Periodic(), Punctuated()):
        streams.append(bench.events().assign_timestamps_and_watermarks(assigner))
    streams.append(bench.events().assign_timestamps_and_watermarks(own))
    return streams[0].union(*streams[1:])


# ---- sources ----


def generated(bench: Bench) -> DataStream:
    numbers = bench.environment.from_sequence(1, COUNT).map(event)
    collected = bench.environment.from_collection([event(n) for n in range(COUNT)])
    source = DataGeneratorSource.of_columns(lambda n: {"n": n}, COUNT, Types.ROW_NAMED(["n"], [Types.LONG()]))
    columns = bench.environment.from_source(source, WatermarkStrategy.no_watermarks(), "columns")
    return numbers.union(collected, columns.map(lambda row: event(row[0])))


def read_files(bench: Bench) -> DataStream:
    folder = bench.folder / "in"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}").write_text("".join(f"{line}\n" for line in range(30)))
    lines = bench.environment.from_source(
        FileSource.text(folder), WatermarkStrategy.for_monotonous_timestamps(), "lines"
    )
    both = HybridSource.builder(FileSource.text(folder)).add_source(DataGeneratorSource(str, COUNT)).build()
    return lines.union(bench.environment.from_source(both, None, "both")).map(lambda line: event(int(line)))


def read_database(bench: Bench) -> DataStream:
    path = bench.folder / "source.db"
    run_sql(path, "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
    run_sql(path, *(f"INSERT INTO orders VALUES ({n})" for n in range(1, COUNT)))
    source = JdbcSource.by_column("orders", "id", options(path), rows_per_batch=7)
    return bench.environment.from_source(source, None, "orders").map(lambda row: event(row[0]))


def run_sql(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def options(path: Path) -> JdbcConnectionOptions:
    return JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(f"jdbc:sqlite:{path}").build()


def patterns(bench: Bench) -> DataStream:
    even, odd = (lambda event: event[0] % 2 == 0), (lambda event: event[0] % 2 == 1)
    begun = Pattern.begin("even", AfterMatchSkipStrategy.skip_past_last_event()).where(even).one_or_more()
    pattern = begun.followed_by("odd").where(odd).within(Duration.of_seconds(1))
    return CEP.pattern(bench.events().key_by(key_of), pattern).select(lambda match: len(match["even"]))


class IsEven(SimpleCondition[Any]):
    def filter(self, value: Any) -> bool:
        return bool(value[0] % 2 == 0)


def dynamic_patterns(bench: Bench) -> DataStream:
    of_functions = Pattern.begin("even").where(IsEven()).followed_by("odd").where(lambda event: event[0] % 2 == 1)
    of_data = {"elements": [{"name": "any"}, {"name": "one", "follows": "next", "where": {"field": 0}, "times": 2}]}
    updates = [PatternUpdate.put("functions", of_functions), {"put": "data", "pattern": of_data}, {"remove": "no"}]
    stream = CEP.dynamic_patterns(bench.events().key_by(key_of), bench.environment.from_collection(updates))
    return stream.select(lambda match, name: (name, len(match)))


def filtered_patterns(bench: Bench) -> DataStream:
    pattern = Pattern.begin("low").where(col(0) < 2).followed_by("high").where(col(0) > 3)
    return CEP.pattern(bench.events().key_by(key_of), pattern).select(len)


CASES: list[Callable[[Bench], DataStream | None]] = [
    stateless, processing, expressions, rolling, two_inputs, broadcast, joins, windows, windows_of_fields, salted,
    asynchronous, strategies, generated, read_files, read_database, patterns, dynamic_patterns, filtered_patterns,
]  # fmt: skip
