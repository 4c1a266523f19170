"""The functions of the session branch and of the branch with rules; what must come out is in `sessions` and `rules`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.common import Types
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.datastream import KeyedBroadcastProcessFunction, ProcessWindowFunction, RuntimeContext
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.state import MapStateDescriptor, ValueState, ValueStateDescriptor
from penstock.datastream.window import TimeWindow
from tests.spark.jobs import rules, sessions
from tests.spark.jobs.counting import END_MS, Event
from tests.spark.jobs.deaths import Trap

RULES = MapStateDescriptor("rules", Types.LONG(), Types.LONG())
UNSETTLED = ValueStateDescriptor("unsettled", Types.LONG())


class SessionTime(TimestampAssigner):
    """A time of its own, with records that are late."""

    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        """Ignore the time the record has."""
        return sessions.time_of(value)


class ListSession(ProcessWindowFunction):
    """Lists the records of a session, and may die before it is done."""

    def __init__(self, trap: Trap) -> None:
        self._trap = trap

    def process(
        self, key: int, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Event]
    ) -> Iterator[Any]:
        """Emit, then perhaps die."""
        window = context.window()
        numbers = sorted(value[0] for value in elements)
        yield sessions.firing(key, window.start, window.end, numbers)
        for number in numbers:
            self._trap.step_on(number)


class SlowRules(DataGeneratorSource):
    """The rules, one in a batch: the same whether batches are long or short, and however often the job is started.

    In continuous mode a source is asked every millisecond, so there is a pause between two rules. In process there must
    be none: a job whose source has nothing at any time of its clock is told that it stalls.
    """

    def __init__(self, count: int, pause_seconds: float) -> None:
        super().__init__(rules.rule, count)
        self._given = 0.0
        self._pause_seconds = pause_seconds

    def available(self, split: int, split_count: int, position: int, elapsed_ms: int, limit: int) -> int:
        """One more, after the pause."""
        now = time.monotonic()
        if now - self._given < self._pause_seconds:
            return position
        self._given = now
        return super().available(split, split_count, position, elapsed_ms, 1)


class ApplyRules(KeyedBroadcastProcessFunction):
    """Counts the records of each key that meet a rule, and settles the counts of all keys when the next rule comes."""

    def __init__(self, trap: Trap) -> None:
        self._trap = trap

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self._unsettled = runtime_context.get_state(UNSETTLED)
        self._subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Event, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        """Apply the newest rule."""
        newest = max(ctx.get_broadcast_state(RULES).keys(), default=rules.NO_RULE)
        nth = (self._unsettled.value() or 0) + 1
        self._unsettled.update(nth)
        ctx.timer_service().register_event_time_timer(END_MS)
        yield rules.ruled(value[0], value[1], newest, nth)

    def process_broadcast_element(
        self, value: tuple[int, int], ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterator[Any]:
        """Settle what met the last rule, and take the new one; may die between the two."""
        number, factor = value
        state = ctx.get_broadcast_state(RULES)
        seen = len(list(state.keys()))
        settled = 0

        def settle(key: int, unsettled: ValueState[int]) -> None:
            nonlocal settled
            settled += unsettled.value() or 0
            unsettled.clear()

        ctx.apply_to_keyed_state(UNSETTLED, settle)
        self._trap.step_on(number)
        state.put(number, factor)
        yield rules.taken(number, self._subtask, seen, settled)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[Any]:
        """All input has ended."""
        known = sorted(ctx.get_broadcast_state(RULES).items())
        yield rules.final(ctx.get_current_key(), self._subtask, self._unsettled.value() or 0, known)
        self._unsettled.clear()
