"""Window table functions: rows with the start, end and time of the windows they belong to."""

from __future__ import annotations

from typing import Any

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row, TableOperator, type_texts
from penstock.runtime.operators.table.sessions import Sessions
from penstock.runtime.operators.table.window_clock import WindowClock
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.state_types import row_state_type
from penstock.vocabulary.sql.windows import WindowSpec

_KIND = LogicalType(Kind.TINYINT)
NULL_TIMES = "numNullRowTimeRecordsDropped"
"""The metric of rows without a time."""


class WindowFunctionOperator(TableOperator):
    """TUMBLE, HOP, CUMULATE: each row once for each of its windows, with window_start, window_end, window_time.

    `time_field` has the row time; None: processing time. Rows without a time are dropped, and counted.
    """

    kind = "window table function"
    state_identity = "WindowFunctionOperator"

    def __init__(self, *, window: WindowSpec, time_field: int | None) -> None:
        self.window = window
        self.time_field = time_field

    def open(self) -> None:
        """Get the clock of the windows."""
        self._clock = WindowClock(self.window.zone)
        self._nulls = self.context.metrics.counter(NULL_TIMES)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Append windows to the rows of a block."""
        place = None if self.time_field is None else self.time_field + 1
        now = self.context.clock() if place is None else 0
        results: list[Row] = []
        for row in values:
            time = now if place is None else row[place]
            if time is None:
                self._nulls.inc()
                continue
            results += [(*row, *columns) for columns in self._columns(time)]
        self.output.emit(results, None)

    def _columns(self, time: int) -> list[tuple[int, int, int]]:
        clock = self._clock
        windows = self.window.windows_of(clock.to_local(time))
        return [(start, end, clock.window_time(end)) for start, end in windows]


class SessionFunctionOperator(KeyedTableOperator):
    """SESSION: keeps rows until the watermark (or the clock) has passed their session, then emits them with it.

    The input is keyed by the PARTITION BY fields. `time_field` has the row time; None: processing time.
    """

    kind = "session table function"
    state_identity = "SessionFunctionOperator"

    def __init__(self, *, window: WindowSpec, time_field: int | None, types: tuple[LogicalType, ...]) -> None:
        self.window = window
        self.time_field = time_field
        self.types = types

    def waits_for_event_time(self) -> bool:
        """Sessions of event time do."""
        return self.time_field is not None

    def layout(self) -> Layout:
        """What is kept of a session."""
        return {"operator": self.kind, "types": type_texts(self.types), "zone": self.window.zone or ""}

    def open(self) -> None:
        """Get the sessions."""
        rows = FrozenListTypeInfo(row_state_type((_KIND, *self.types)))
        self._sessions = Sessions(self, self.window, self.time_field, rows, self._joined)

    @staticmethod
    def _joined(contents: list[Any]) -> Any:
        return tuple([row for rows in contents for row in rows])

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Put rows into sessions."""
        assert keys is not None
        self._sessions.add(values, keys, lambda rows, row: (*(rows or ()), row))

    def fire_due(self, domain: int, due: Any) -> None:
        """Emit the rows of sessions that are over."""
        results: list[Row] = []
        clock = self._sessions.clock
        for _, start, end, rows in self._sessions.closed(due):
            window = (start, end, clock.window_time(end))
            results += [(*row, *window) for row in rows]
        self.output.emit(results, None)
