"""A program whose results must not depend on how its input is cut into batches, and the same results in plain Python.

It has two sources, disorder, side outputs, a union of edges of one vertex, rolling results, state and timers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from penstock.common import WatermarkStrategy
from penstock.common.time import Duration
from penstock.datastream import KeyedProcessFunction, OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.data_stream import DataStream
from penstock.datastream.functions import RuntimeContext
from penstock.datastream.state import MapStateDescriptor, ValueStateDescriptor

Trade = tuple[str, int, int]  # key, event time, amount

ODD = OutputTag("odd")
LATE = OutputTag("late")
WINDOW = 20
STEP = 10
DISORDER = 15


class SplitByAmount(ProcessFunction):
    def process_element(self, value: Trade, ctx: Any) -> Iterator[Any]:
        yield (ODD, value) if value[2] % 2 else value


class WindowSum(KeyedProcessFunction):
    """Sums per window by state and timers; what comes when its window has closed goes to the side."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums", None, None))

    def process_element(self, value: Trade, ctx: Any) -> Iterator[Any]:
        end = value[1] // WINDOW * WINDOW + WINDOW - 1
        if end <= ctx.timer_service().current_watermark():
            yield LATE, value
            return
        self.sums.put(end, (self.sums.get(end) or 0) + value[2])
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, self.sums.get(timestamp)
        self.sums.remove(timestamp)


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", None))

    def process_element(self, value: Trade, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value[0], self.count.value()


def key_of(trade: Trade) -> str:
    return trade[0]


def numbered(number: int) -> Trade:
    return "abc"[number % 3], number * STEP, number % 5


def add(first: Trade, second: Trade) -> Trade:
    return first[0], max(first[1], second[1]), first[2] + second[2]


def trades(jitter: list[tuple[str, int, int]]) -> list[Trade]:
    """Trades out of order by less than DISORDER, from a list of (key, delay, amount)."""
    return [(key, index * STEP + delay, amount) for index, (key, delay, amount) in enumerate(jitter)]


def build(environment: StreamExecutionEnvironment, values: list[Trade], size: int) -> dict[str, DataStream]:
    """The streams whose records are compared, by name."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(DISORDER))
    ordered = WatermarkStrategy.for_monotonous_timestamps()
    # One subtask up to the key exchange: rolling results depend on the order of a key's records.
    timed = (
        environment.from_collection(values)
        .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda value, _: value[1]))
        .set_parallelism(1)
    )
    more = (
        environment.from_sequence(0, size - 1)
        .map(numbered)
        .assign_timestamps_and_watermarks(ordered.with_timestamp_assigner(lambda value, _: value[1]))
    )
    split = timed.rebalance().process(SplitByAmount())
    everything = split.union(split.get_side_output(ODD), more)
    windows = everything.key_by(key_of).process(WindowSum())
    return {
        "windows": windows,
        "late": windows.get_side_output(LATE),
        "rolling": timed.key_by(key_of).reduce(add),
        "odd": split.get_side_output(ODD).key_by(key_of).process(Count()),
        "busiest": windows.key_by(lambda value: value[1]).reduce(lambda a, b: max(a, b, key=_by_total)),
    }


def _by_total(window: tuple[str, int, int]) -> tuple[int, str]:
    return window[2], window[0]


def expected(values: list[Trade], size: int) -> dict[str, Counter[Any]]:
    """What must come out, by name."""
    sums: dict[tuple[str, int], int] = defaultdict(int)
    for key, time, amount in [*values, *map(numbered, range(size))]:
        sums[key, time // WINDOW * WINDOW + WINDOW - 1] += amount
    rolling: list[Trade] = []
    so_far: dict[str, Trade] = {}
    for trade in values:
        so_far[trade[0]] = add(so_far[trade[0]], trade) if trade[0] in so_far else trade
        rolling.append(so_far[trade[0]])
    odd = Counter(key for key, _, amount in values if amount % 2)
    return {
        "windows": Counter((key, end, total) for (key, end), total in sums.items()),
        "late": Counter(),
        "rolling": Counter(rolling),
        "odd": Counter((key, number + 1) for key, count in odd.items() for number in range(count)),
    }
