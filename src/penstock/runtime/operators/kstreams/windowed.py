"""Aggregations in windows of time: tumbling, hopping, sliding. Late is what is late for the records seen before."""

from __future__ import annotations

from typing import Any

from penstock.runtime.operators.kstreams.aggregations import Aggregator, Initializer
from penstock.runtime.operators.kstreams.dsl_processor import Getter, TableProcessor
from penstock.runtime.operators.kstreams.stores import value_of
from penstock.runtime.operators.kstreams.task import NodeContext
from penstock.vocabulary.kstreams.records import NO_TIMESTAMP, Change, Record, ValueAndTimestamp, Window, Windowed
from penstock.vocabulary.kstreams.windows import EmitStrategy, SlidingWindows, TimeWindows, UnlimitedWindows


class WindowedAggregate(TableProcessor):
    """What aggregations in windows share: the store, observed stream time, and when results are forwarded."""

    def __init__(
        self, store_name: str, initializer: Initializer, aggregator: Aggregator, emit_strategy: EmitStrategy
    ) -> None:
        self.store_name = store_name
        self.queryable_name = store_name
        self._initializer = initializer
        self._aggregator = aggregator
        self._is_final = emit_strategy is EmitStrategy.ON_WINDOW_CLOSE

    def enable_sending_old_values(self, *, force: bool) -> bool:
        """The store has them."""
        self.sends_old_values = True
        return True

    def getter(self, context: NodeContext) -> Getter:
        """Look up the window of a windowed key."""
        store = context.get_state_store(self.store_name)
        return lambda windowed: store.fetch(windowed.key, windowed.window.start)

    def open(self) -> None:
        """Get the store."""
        self._store = self.context.get_state_store(self.store_name)
        self._store.forgets_on_put = not self._is_final  # what has not been emitted must stay
        self._memory = self.context.memory(f"{self.context.node.name} windows")

    def observe(self, timestamp: int) -> int:
        """The highest timestamp seen, this one included."""
        observed = self._memory.get("stream_time", NO_TIMESTAMP)
        if timestamp > observed:
            self._memory["stream_time"] = observed = timestamp
        return int(observed)

    def update(self, record: Record, window: Window, old: Any, new: Any, timestamp: int) -> None:
        """Store an aggregate, and forward it unless only final results are wanted."""
        self._store.put(record.key, None if new is None else ValueAndTimestamp(new, timestamp), window.start)
        self.forward_update(record, window, old, new, timestamp)

    def forward_update(self, record: Record, window: Window, old: Any, new: Any, timestamp: int) -> None:
        """Forward an aggregate, unless only final results are wanted."""
        if not self._is_final:
            change = Change(new, old if self.sends_old_values else None)
            self.emit(Record(Windowed(record.key, window), change, timestamp, record.headers))

    def forward_final(self, record: Record, close_time: int, size_ms: int, *, is_end_in: bool) -> None:
        """Forward the windows that have closed since the last time."""
        last = self._memory.get("emitted", NO_TIMESTAMP)
        if not self._is_final or last >= close_time:
            return
        upper = close_time - size_ms - (1 if is_end_in else 0)
        if upper < 0:
            return
        lower = 0
        if last != NO_TIMESTAMP:
            lower = max(0, last - size_ms) + (0 if is_end_in else 1)
        for windowed, held in self._store.closed(lower, upper):
            self.emit(Record(windowed, Change(held[0], None), held[1], record.headers))
        self._memory["emitted"] = close_time


class TimeWindowedAggregate(WindowedAggregate):
    """Folds values into each window that their timestamp belongs to and that has not closed."""

    def __init__(
        self,
        windows: TimeWindows | UnlimitedWindows,
        store_name: str,
        initializer: Initializer,
        aggregator: Aggregator,
        emit_strategy: EmitStrategy,
    ) -> None:
        super().__init__(store_name, initializer, aggregator, emit_strategy)
        self.windows = windows

    def process(self, record: Record) -> None:
        """Fold a record in."""
        if record.key is None:
            self.context.drop()
            return
        close_time = self.observe(record.timestamp) - self.windows.grace_period_ms()
        for window in self.windows.windows_for(record.timestamp):
            if window.end > close_time:
                self._fold(record, window)
            else:
                self.context.drop()
        if self._is_final:
            self.forward_final(record, close_time, self.windows.size(), is_end_in=False)

    def _fold(self, record: Record, window: Window) -> None:
        held = self._store.fetch(record.key, window.start)
        timestamp = record.timestamp
        if held is None:
            old = given = self._initializer()
        else:
            old = given = held[0]
            timestamp = max(timestamp, held[1])
            if self.sends_old_values:
                given = value_of(self._store.fetch(record.key, window.start))
        self.update(record, window, old, self._aggregator(record.key, record.value, given), timestamp)


class SlidingWindowedAggregate(WindowedAggregate):
    """Keeps a window for each set of records that are close enough: one ending and one starting right after each."""

    def __init__(
        self,
        windows: SlidingWindows,
        store_name: str,
        initializer: Initializer,
        aggregator: Aggregator,
        emit_strategy: EmitStrategy,
    ) -> None:
        super().__init__(store_name, initializer, aggregator, emit_strategy)
        self.windows = windows
        self._difference = windows.time_difference_ms

    def process(self, record: Record) -> None:
        """Update the windows that the record falls into, and make those that it begins."""
        timestamp = record.timestamp
        if record.key is None or record.value is None:
            self.context.drop()
            return
        close_time = self.observe(timestamp) - self.windows.grace_ms
        if timestamp + self._difference < close_time:
            self.context.drop()
            return
        if timestamp < self._difference:
            self._process_early(record, close_time)
            return
        self._process_usual(record, close_time)
        if self._is_final:
            self.forward_final(record, close_time, self._difference, is_end_in=True)

    def _process_usual(self, record: Record, close_time: int) -> None:
        timestamp = record.timestamp
        starts: set[int] = set()
        left: ValueAndTimestamp | None = None
        right: ValueAndTimestamp | None = None
        has_left = has_right = False
        previous: int | None = None
        first = max(0, timestamp - 2 * self._difference)
        for start, held in self._store.backward_fetch(record.key, first, timestamp + 1):
            starts.add(start)
            end = start + self._difference
            if start == timestamp + 1:
                has_right = True
            elif end > timestamp:
                right = held if right is None else right
                self._update(record, Window(start, end), held, close_time)
            elif end == timestamp:
                has_left = True
                self._update(record, Window(start, end), held, close_time)
                if held[1] >= timestamp:
                    return
                previous = held[1]
            else:
                left, previous = held, held[1]
                break
        self._make_windows(
            record, close_time, starts, right=right, left=left, previous=previous, has=(has_left, has_right)
        )

    def _make_windows(
        self,
        record: Record,
        close_time: int,
        starts: set[int],
        *,
        right: ValueAndTimestamp | None,
        left: ValueAndTimestamp | None,
        previous: int | None,
        has: tuple[bool, bool],
    ) -> None:
        timestamp, difference = record.timestamp, self._difference
        has_left, has_right = has
        if previous is not None and previous + 1 not in starts and previous + 1 + difference >= timestamp:
            self._begin(record, Window(previous + 1, previous + 1 + difference), close_time)
        if not has_left:
            window = Window(timestamp - difference, timestamp)
            if left is not None and previous is not None and timestamp - difference <= previous:
                self._update(record, window, ValueAndTimestamp(left[0], timestamp), close_time)
            else:
                self._begin(record, window, close_time)
        if not has_right and right is not None and right[1] > timestamp:
            self._begin_after(record, right)

    def _process_early(self, record: Record, close_time: int) -> None:
        """Windows must not start before 0: records up to the difference share the window that starts there."""
        timestamp, difference = record.timestamp, self._difference
        starts: set[int] = set()
        combined: ValueAndTimestamp | None = None
        right: ValueAndTimestamp | None = None
        has_right = False
        previous: int | None = None
        for start, held in list(self._store.fetch(record.key, 0, timestamp + 1)):
            starts.add(start)
            if start == 0:
                combined = held
                previous = held[1] if held[1] < timestamp else previous
            elif start <= timestamp:
                right = held
                self._update(record, Window(start, start + difference), held, close_time)
            else:
                has_right = True
        if right is None and combined is not None and combined[1] > timestamp:
            right = combined
        if not has_right and right is not None and right[1] > timestamp:
            self._begin_after(record, right)
        if previous is not None and previous + 1 not in starts:
            self._begin(record, Window(previous + 1, previous + 1 + difference), close_time)
        if combined is None:
            self._begin(record, Window(0, difference), close_time)
        else:
            self._update(record, Window(0, difference), combined, close_time)

    def _begin(self, record: Record, window: Window, close_time: int) -> None:
        self._update(record, window, ValueAndTimestamp(self._initializer(), record.timestamp), close_time)

    def _begin_after(self, record: Record, held: ValueAndTimestamp) -> None:
        """The window right after the record has what is in windows that reach beyond it."""
        start = record.timestamp + 1
        self._store.put(record.key, held, start)
        self.forward_update(record, Window(start, start + self._difference), None, held[0], held[1])

    def _update(self, record: Record, window: Window, held: ValueAndTimestamp, close_time: int) -> None:
        if window.end < close_time:
            self.context.drop()
            return
        old, held_at = held
        given = self.context.own(old) if self.sends_old_values else old
        new = self._aggregator(record.key, record.value, given)
        timestamp = record.timestamp if old is None else max(record.timestamp, held_at)
        self.update(record, window, old, new, timestamp)
