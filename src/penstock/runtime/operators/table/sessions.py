"""Sessions of each key in state: what they hold is merged when a row brings two of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.typeinfo import TypeInformation, Types
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row
from penstock.runtime.operators.table.window_clock import WindowClock
from penstock.state.timers import EVENT, PROCESSING, Timer
from penstock.vocabulary.sql.windows import WindowSpec

LATE_RECORDS = "numLateRecordsDropped"
"""The metric of rows that came too late for their windows."""

Session = tuple[int, int, Any]
"""Start, end and what is held."""


class Sessions:
    """The open sessions of the keys of an operator: one value of state for each key, in order of time.

    `content` is the type of what a session holds, `merge` makes one content of several, in order of time.
    """

    def __init__(
        self,
        operator: KeyedTableOperator,
        window: WindowSpec,
        time_field: int | None,
        content: TypeInformation,
        merge: Callable[[list[Any]], Any],
    ) -> None:
        self._operator = operator
        self._gap = window.size_ms
        self._place = None if time_field is None else time_field + 1
        self._domain = PROCESSING if time_field is None else EVENT
        self._merge = merge
        self.clock = WindowClock(window.zone)
        held = FrozenListTypeInfo(Types.TUPLE([Types.LONG(), Types.LONG(), content]))
        self._state = operator.value_state("_sessions", held)
        self._late = operator.context.metrics.counter(LATE_RECORDS)

    def add(self, rows: list[Row], keys: list[Any], fold: Callable[[Any, Row], Any]) -> None:
        """Fold rows into their sessions; `fold` gets the content so far, None in the beginning."""
        now = self._operator.context.clock() if self._place is None else 0
        consumed = iter(rows)
        try:
            for _, row in zip(self._operator.backend.walk(keys), consumed, strict=False):
                time = now if self._place is None else row[self._place]
                if time is not None:
                    self._add_one(self.clock.to_local(time), row, fold)
        except Exception as error:
            raise self._operator.record_failure(error, rows, consumed) from None

    def add_made(self, sessions: Iterable[tuple[Any, int, int, Any]]) -> None:
        """Take sessions with their keys, none of which is late: key, start, end and content."""
        for key, start, end, content in sessions:
            self._operator.backend.set_key(key)
            held: tuple[Session, ...] = self._state.held() or ()
            touched, start, end = _touched(held, start, end)
            if touched:
                content = self._merge([*[each[2] for each in touched], content])
            self._put(held, touched, (start, end, content))

    def _add_one(self, time: int, row: Row, fold: Callable[[Any, Row], Any]) -> None:
        held: tuple[Session, ...] = self._state.held() or ()
        touched, start, end = _touched(held, time, time + self._gap)
        if self._domain == EVENT and self.clock.due_at(end) <= self._operator.watermark:
            self._late.inc()
            return
        content = touched[0][2] if len(touched) == 1 else None
        if len(touched) > 1:
            content = self._merge([each[2] for each in touched])
        self._put(held, touched, (start, end, fold(content, row)))

    def _put(self, held: tuple[Session, ...], touched: list[Session], made: Session) -> None:
        start, end, _ = made
        self._set_timers(touched, end)
        before, after = [each for each in held if each[1] < start], [each for each in held if each[0] > end]
        self._state.hold((*before, made, *after))

    def _set_timers(self, touched: list[Session], end: int) -> None:
        timers, due = self._operator.timers, self.clock.due_at(end)
        for _, former, _ in touched:
            if former != end:
                timers.delete(self._domain, self.clock.due_at(former))
        timers.register(self._domain, due)

    def closed(self, due: Iterable[Timer]) -> Iterator[tuple[Any, int, int, Any]]:
        """Take out the sessions that timers are due for: key, start, end and content."""
        for timestamp, key, _ in due:
            self._operator.backend.set_key(key)
            held: tuple[Session, ...] = self._state.held() or ()
            over = [each for each in held if self.clock.due_at(each[1]) <= timestamp]
            if over:
                self._state.hold(held[len(over) :] or None)
            for start, end, content in over:
                yield key, start, end, content


def _touched(held: tuple[Session, ...], start: int, end: int) -> tuple[list[Session], int, int]:
    """The sessions that one meets, and from when to when it goes with them."""
    touched = [each for each in held if each[0] <= end and each[1] >= start]
    if touched:
        start, end = min(start, touched[0][0]), max(end, touched[-1][1])
    return touched, start, end
