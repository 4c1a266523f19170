"""ORDER BY and LIMIT on streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.constants import MAX_WATERMARK
from penstock.common.typeinfo import Types
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.operator import KeyedTableOperator, Row, type_texts
from penstock.runtime.operators.table.ordering import sort_key
from penstock.runtime.operators.table.sessions import LATE_RECORDS
from penstock.runtime.rows import Timestamps
from penstock.state.timers import EVENT, PROCESSING, Timer
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.row_kinds import INSERT
from penstock.vocabulary.sql.state_types import row_state_type


class TemporalSortOperator(KeyedTableOperator):
    """ORDER BY a time attribute, ascending, and perhaps further fields: rows of a time leave when it is over.

    `time_field` has the row time (None: processing time); `sort_fields` come after it. Late rows are dropped. The
    input is keyed by nothing.
    """

    kind = "temporal sort"
    state_identity = "TemporalSortOperator"

    def __init__(
        self, *, types: tuple[LogicalType, ...], time_field: int | None, sort_fields: tuple[SortField, ...] = ()
    ) -> None:
        self.types = types
        self.time_field = time_field
        self.sort_fields = sort_fields

    def waits_for_event_time(self) -> bool:
        """Rows of event time do."""
        return self.time_field is not None

    def layout(self) -> Layout:
        """What rows wait."""
        return {"operator": self.kind, "types": type_texts(self.types), "event_time": self.time_field is not None}

    def open(self) -> None:
        """Get the state."""
        rows = FrozenListTypeInfo(row_state_type(self.types))
        self._waiting = self.map_state("_waiting_rows", Types.LONG(), rows)
        self._last = self.value_state("_last_time", Types.LONG())
        self._sort_key = sort_key(self.sort_fields)
        self._late = self.context.metrics.counter(LATE_RECORDS)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Keep rows until their time is over."""
        assert keys is not None
        now = self.context.clock() if self.time_field is None else 0
        domain = PROCESSING if self.time_field is None else EVENT
        for _, row in zip(self.backend.walk(keys), values, strict=True):
            time = now if self.time_field is None else row[self.time_field + 1]
            if self.time_field is not None and self._is_late(time):
                self._late.inc()
                continue
            held = self._waiting.held(time)
            if held is None:
                self.timers.register(domain, time if self.time_field is not None else time + 1)
            self._waiting.hold(time, (*(held or ()), row[1:]))

    def _is_late(self, time: int | None) -> bool:
        """As in Flink, a row behind the watermark is in time as long as no row after it is out."""
        last = self._last.held()
        return time is None or (last is not None and time <= last)

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Emit rows of a time in order."""
        results: list[Row] = []
        for timestamp, key, _ in due:
            self.backend.set_key(key)
            time = timestamp if domain == EVENT else timestamp - 1
            rows = self._waiting.held(time) or ()
            self._waiting.remove(time)
            if domain == EVENT:
                self._last.hold(time)
            ordered = sorted(rows, key=self._sort_key) if self.sort_fields else rows
            results += [(INSERT, *fields) for fields in ordered]
        self.output.emit(results, None)


class BoundedSortOperator(KeyedTableOperator):
    """ORDER BY anything, of an input that ends and only inserts: all rows leave in order at the end of the input."""

    kind = "bounded sort"
    state_identity = "BoundedSortOperator"

    def __init__(self, *, types: tuple[LogicalType, ...], sort_fields: tuple[SortField, ...]) -> None:
        self.types = types
        self.sort_fields = sort_fields

    def layout(self) -> Layout:
        """What rows wait."""
        return {"operator": self.kind, "types": type_texts(self.types)}

    def open(self) -> None:
        """Get the state."""
        self._rows = self.list_state("_rows", row_state_type(self.types))
        self._sort_key = sort_key(self.sort_fields)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Keep the rows."""
        assert keys is not None
        for key, row in zip(keys, values, strict=True):
            self.backend.set_key(key)
            self.timers.register(EVENT, MAX_WATERMARK)
            self._rows.hold(row[1:])

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Emit all rows."""
        for _, key, _ in due:
            self.backend.set_key(key)
            rows = sorted(self._rows.take(), key=self._sort_key)
            self.output.emit([(INSERT, *fields) for fields in rows], None)


class LimitOperator(KeyedTableOperator):
    """LIMIT and OFFSET without an order, of rows that are only inserted: rows `start` to `end` from 0, end excluded."""

    kind = "limit"
    state_identity = "LimitOperator"

    def __init__(self, *, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def layout(self) -> Layout:
        """Rows are counted."""
        return {"operator": self.kind}

    def open(self) -> None:
        """Get the state."""
        self._count = self.value_state("_row_count", Types.LONG())

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Let the rows through that are in the range."""
        assert keys is not None
        if not values:
            return
        self.backend.set_key(keys[0])
        seen = self._count.held() or 0
        if seen < self.end:
            self._count.hold(min(seen + len(values), self.end))
            self.output.emit(values[max(self.start - seen, 0) : self.end - seen], None)
