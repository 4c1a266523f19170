"""The jobs that are measured. Each takes the number of records and builds a program that ends in a silent sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.state import ValueStateDescriptor

Build = Callable[[StreamExecutionEnvironment, int], None]

SPREAD = 2_654_435_761
"""Knuth's multiplicative hash: spreads record numbers over keys without the cost of a random number."""


class RunningCount(KeyedProcessFunction):
    """Counts the records of each key in a ValueState."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        """Count."""
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], count


class TimeoutPerKey(RunningCount):
    """The same with an event-time timer for every record."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        """Count and set a timer."""
        ctx.timer_service().register_event_time_timer((value[1] // 1000 + 1) * 1000)
        return super().process_element(value, ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        """Emit the count."""
        yield ctx.get_current_key(), self.count.value()


def _records(environment: StreamExecutionEnvironment, count: int, keys: int) -> DataStream:
    source = DataGeneratorSource(lambda n: (n * SPREAD % 4_294_967_296 % keys, n), count)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    return environment.from_source(source, strategy, "numbers")


def discard(stream: DataStream) -> None:
    """End a job without output."""
    stream.filter(lambda value: value is None).print()


def map_and_filter(environment: StreamExecutionEnvironment, count: int) -> None:
    """A stateless chain of two lambdas."""
    stream = _records(environment, count, 2_000)
    discard(stream.map(lambda value: (value[0], value[1] + 1)).filter(lambda value: value[1] % 2 == 0))


def keyed_count(keys: int) -> Build:
    """A running count per key."""

    def build(environment: StreamExecutionEnvironment, count: int) -> None:
        discard(_records(environment, count, keys).key_by(lambda value: value[0]).process(RunningCount()))

    return build


def keyed_timers(keys: int) -> Build:
    """A running count per key, with timers."""

    def build(environment: StreamExecutionEnvironment, count: int) -> None:
        discard(_records(environment, count, keys).key_by(lambda value: value[0]).process(TimeoutPerKey()))

    return build
