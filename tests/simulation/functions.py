"""User functions of the random jobs. Their results do not depend on the order of arrival; what does is a bug elsewhere.

A record is (key, time, amount), and its timestamp is its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

Record = tuple[int, int, int]

LATE = OutputTag("late")
ASIDE = OutputTag("aside")
FAR = 1_000_000
"""Beyond all records: timers there fire when the input has ended."""


class Split(ProcessFunction):
    """Sends some amounts to the side, by both ways there are."""

    def __init__(self, modulus: int) -> None:
        self._modulus = modulus

    def process_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        yield value if value[2] % self._modulus else (ASIDE, value)


class SumOfParts(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        return [*accumulator, value]

    def get_result(self, accumulator: list[int]) -> int:
        return sum(accumulator)

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        return a + b


class TotalAtEnd(KeyedProcessFunction):
    """Keeps the amounts of a key in one of the kinds of state, and tells their sum when the input has ended."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def open(self, runtime_context: RuntimeContext) -> None:
        opened = {
            "value": lambda: runtime_context.get_state(ValueStateDescriptor("state")),
            "list": lambda: runtime_context.get_list_state(ListStateDescriptor("state")),
            "map": lambda: runtime_context.get_map_state(MapStateDescriptor("state")),
            "reducing": lambda: runtime_context.get_reducing_state(
                ReducingStateDescriptor("state", lambda a, b: a + b)
            ),
            "aggregating": lambda: runtime_context.get_aggregating_state(
                AggregatingStateDescriptor("state", SumOfParts())
            ),
        }
        self._state: Any = opened[self._kind]()

    def process_element(self, value: Record, ctx: Any) -> None:
        amount = value[2]
        if self._kind == "value":
            self._state.update((self._state.value() or 0) + amount)
        elif self._kind == "map":
            self._state.put(amount, (self._state.get(amount) or 0) + 1)
        else:
            self._state.add(amount)
        ctx.timer_service().register_event_time_timer(FAR)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Record]:
        yield ctx.get_current_key(), timestamp, self._total()
        self._state.clear()

    def _total(self) -> int:
        if self._kind == "value":
            return int(self._state.value())
        if self._kind == "map":
            return sum(amount * count for amount, count in self._state.items())
        return sum(self._state.get()) if self._kind == "list" else int(self._state.get())


class WindowSum(KeyedProcessFunction):
    """Sums per window; what comes too late goes to the side, where the oracle expects nothing."""

    def __init__(self, size: int) -> None:
        self._size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sums = runtime_context.get_map_state(MapStateDescriptor("sums"))

    def process_element(self, value: Record, ctx: Any) -> Iterator[Any]:
        end = (value[1] // self._size + 1) * self._size - 1
        if end <= ctx.timer_service().current_watermark():
            yield LATE, value
            return
        self._sums.put(end, (self._sums.get(end) or 0) + value[2])
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Record]:
        yield ctx.get_current_key(), timestamp, self._sums.get(timestamp)
        self._sums.remove(timestamp)


class Earliest(KeyedProcessFunction):
    """Tells the time of a key's first record, so much later; the timer moves back as earlier records come."""

    def __init__(self, delay: int) -> None:
        self._delay = delay

    def open(self, runtime_context: RuntimeContext) -> None:
        self._first = runtime_context.get_state(ValueStateDescriptor("first"))

    def process_element(self, value: Record, ctx: Any) -> None:
        known = self._first.value()
        if known is not None and known <= value[1]:
            return
        if known is not None:
            ctx.timer_service().delete_event_time_timer(known + self._delay)
        self._first.update(value[1])
        ctx.timer_service().register_event_time_timer(value[1] + self._delay)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Record]:
        yield ctx.get_current_key(), timestamp, self._first.value()


class Count(KeyedProcessFunction):
    """Numbers the records of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Record, ctx: Any) -> Iterator[tuple[int, int]]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield value[0], count
