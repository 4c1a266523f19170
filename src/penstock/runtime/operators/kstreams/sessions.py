"""Aggregation in sessions: a record that joins sessions removes them and puts one in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.operators.kstreams.aggregations import Aggregator, Initializer
from penstock.runtime.operators.kstreams.dsl_processor import Getter, TableProcessor
from penstock.runtime.operators.kstreams.task import NodeContext
from penstock.vocabulary.kstreams.records import NO_TIMESTAMP, Change, Record, ValueAndTimestamp, Window, Windowed
from penstock.vocabulary.kstreams.windows import EmitStrategy, SessionWindows


class SessionAggregate(TableProcessor):
    """Folds values into sessions; the sessions that a record connects are merged."""

    def __init__(
        self,
        windows: SessionWindows,
        store_name: str,
        initializer: Initializer,
        aggregator: Aggregator,
        merger: Callable[[Any, Any, Any], Any],
        emit_strategy: EmitStrategy,
    ) -> None:
        self.windows = windows
        self.store_name = store_name
        self.queryable_name = store_name
        self._initializer = initializer
        self._aggregator = aggregator
        self._merger = merger
        self._is_final = emit_strategy is EmitStrategy.ON_WINDOW_CLOSE

    def enable_sending_old_values(self, *, force: bool) -> bool:
        """The store has them."""
        self.sends_old_values = True
        return True

    def getter(self, context: NodeContext) -> Getter:
        """Look up a session; its timestamp is its end."""
        store = context.get_state_store(self.store_name)

        def get(windowed: Any) -> ValueAndTimestamp | None:
            window = windowed.window
            held = store.fetch_session(windowed.key, window.start, window.end)
            return None if held is None else ValueAndTimestamp(held, window.end)

        return get

    def open(self) -> None:
        """Get the store."""
        self._store = self.context.get_state_store(self.store_name)
        self._store.forgets_on_put = not self._is_final  # what has not been emitted must stay
        self._memory = self.context.memory(f"{self.context.node.name} windows")

    def process(self, record: Record) -> None:
        """Find the sessions that the record joins, merge them, fold it in."""
        if record.key is None:
            self.context.drop()
            return
        key, timestamp, gap = record.key, record.timestamp, self.windows.gap_ms
        observed = self._memory["stream_time"] = max(self._memory.get("stream_time", NO_TIMESTAMP), timestamp)
        close_time = observed - self.windows.grace_ms - gap
        new = merged = Window(timestamp, timestamp)
        aggregate = self._initializer()
        found = list(self._store.find_sessions(key, timestamp - gap, timestamp + gap))
        for windowed, held in found:
            aggregate = self._merger(key, aggregate, held)
            merged = Window(min(merged.start, windowed.window.start), max(merged.end, windowed.window.end))
        if merged.end < close_time:
            self.context.drop()
        else:
            if merged != new:
                for windowed, held in found:
                    self._store.remove(windowed)
                    self._forward(record, windowed, held, None)
            aggregate = self._aggregator(key, record.value, aggregate)
            session = Windowed(key, merged)
            self._store.put(session, aggregate)
            self._forward(record, session, None, aggregate)
        self._forward_final(record, close_time)

    def _forward(self, record: Record, session: Windowed, old: Any, new: Any) -> None:
        if not self._is_final:
            change = Change(new, old if self.sends_old_values else None)
            self.emit(Record(session, change, session.window.end))

    def _forward_final(self, record: Record, close_time: int) -> None:
        last = self._memory.get("emitted", NO_TIMESTAMP)
        if not self._is_final or last >= close_time or close_time < 1:
            return
        for session, held in self._store.closed(max(0, last), close_time - 1):
            self.emit(Record(session, Change(held, None), session.window.end, record.headers))
        self._memory["emitted"] = close_time
