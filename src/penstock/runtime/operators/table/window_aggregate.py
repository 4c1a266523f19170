"""Aggregates of windows: of window table functions, and of the legacy GROUP BY windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.table.aggregate_code import (
    folding_lines,
    memory_views,
    merging_lines,
    valuing_lines,
    with_row_count,
)
from penstock.runtime.operators.table.aggregate_columns import columnar_calls
from penstock.runtime.operators.table.attached_columns import AttachedColumns
from penstock.runtime.operators.table.local_window_aggregate import slicing_refusal
from penstock.runtime.operators.table.operator import (
    ROW_FORM,
    KeyedTableOperator,
    Row,
    defined,
    described_calls,
    type_texts,
)
from penstock.runtime.operators.table.session_columns import SessionColumns
from penstock.runtime.operators.table.sessions import Sessions
from penstock.runtime.operators.table.slice_columns import slices_of
from penstock.runtime.operators.table.window_columns import ColumnWindows
from penstock.runtime.operators.table.window_panes import WindowPanes
from penstock.runtime.rows import Timestamps
from penstock.state.timers import EVENT, Timer
from penstock.vocabulary.sql.aggregates.compilation import AggregateCode
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.refusals import RETRACTED
from penstock.vocabulary.sql.row_kinds import INSERT
from penstock.vocabulary.sql.state_types import row_state_type
from penstock.vocabulary.sql.typed_expressions import AggregateCall
from penstock.vocabulary.sql.windows import WindowKind, WindowSpec

WINDOW_START = "start"
WINDOW_END = "end"
WINDOW_TIME = "time"


class WindowAggregateOperator(KeyedTableOperator):
    """Aggregates rows by key and window, and emits each window once, when it is over.

    A result is +I of the key's fields, the results of the aggregates, then `properties` (of WINDOW_START, WINDOW_END,
    WINDOW_TIME, in any order and number).

    The window of a row is that of its time (`time_field`, None: processing time), or, where a window function ran
    before (*attached*), that of fields `window_fields`: start (or None) and end. Rows of windows that are over are
    dropped, and counted in `numLateRecordsDropped`. `is_event_time` only matters to attached windows. `is_partial`: the
    input is that of a LocalWindowAggregateOperator with the same settings, and `input_types` are those of its input.
    """

    kind = "window aggregate"
    state_identity = "WindowAggregateOperator"

    def __init__(
        self,
        *,
        key_fields: tuple[int, ...],
        aggregates: tuple[AggregateCall, ...],
        input_types: tuple[LogicalType, ...],
        window: WindowSpec,
        time_field: int | None = None,
        window_fields: tuple[int | None, int] | None = None,
        is_event_time: bool = True,
        properties: tuple[str, ...] = (WINDOW_START, WINDOW_END),
        needs_retraction: bool = False,
        is_partial: bool = False,
    ) -> None:
        self.key_fields = key_fields
        self.aggregates = aggregates
        self.input_types = input_types
        self.window = window
        self.is_partial = is_partial
        self.time_field = time_field
        self.window_fields = window_fields
        self.is_event_time = is_event_time
        self.properties = properties
        self.needs_retraction = needs_retraction

    def waits_for_event_time(self) -> bool:
        """Windows of event time do."""
        return self.is_event_time if self.window_fields is not None else self.time_field is not None

    def layout(self) -> Layout:
        """What the keys and windows are, and what the accumulators hold."""
        window = self.window
        return {
            "operator": self.kind,
            "keys": type_texts([self.input_types[at] for at in self.key_fields]),
            "aggregates": described_calls(self.aggregates),
            "window": f"{window.kind.value} {window.size_ms} {window.slide_ms} {window.offset_ms} {window.zone or ''}",
            "attached": self.window_fields is not None,
            "retraction": self.needs_retraction,
        }

    def refusal(self) -> str | None:
        """Refuse rows that are taken back, and what the windows of its kind cannot fold as columns."""
        if self.needs_retraction:
            return RETRACTED
        if self.window_fields is not None:
            return AttachedColumns.refusal(self)
        if self._is_session:
            return SessionColumns.refusal(self)
        if "proctime" in self.properties:
            return "a processing time is asked for with each window"
        return slicing_refusal(self.key_fields, self.aggregates, self.input_types, self.window, self.column_names)

    def makes_columns(self) -> bool:
        """Return whether the windows have slices: those are columns, whatever the rows come as."""
        return self.window_fields is None and not self._is_session and self.refusal() is None

    def emits_columns(self) -> bool:
        """Return whether the windows have slices: others leave as rows."""
        return self.makes_columns()

    @property
    def _is_session(self) -> bool:
        return self.window.kind is WindowKind.SESSION and self.window_fields is None

    def open(self) -> None:
        """Get the windows and make the code of the aggregates."""
        code = with_row_count(self.aggregates, self.input_types, retracts=self.needs_retraction)
        self._columns = self._column_windows(code)
        if self._columns is not None:
            self.counts_row_blocks = False
            return
        self._windows: SessionAggregates | WindowPanes = (
            SessionAggregates(self, code) if self._is_session else WindowPanes(self, code)
        )

    def _column_windows(self, code: AggregateCode) -> ColumnWindows | None:
        """The windows in columns of slices, where they can be."""
        if not self.makes_columns():
            return None
        calls, slices = columnar_calls(self.aggregates, self.input_types), slices_of(self.window)
        return ColumnWindows(self, code, calls, slices)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Fold a block into windows."""
        assert keys is not None
        if self._columns is None:
            self._windows.add(values, keys)
        else:
            self._columns.add(values)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Fold a block of columns into windows."""
        if self._columns is not None:
            self._columns.add_columns(block.batch)
        elif not self._windows.add_columns(block.batch):
            super().process_columns(block, timestamps, keys)

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Nothing is left of a batch that failed."""
        (self._columns or self._windows).begin_batch()

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Put everything into the state."""
        (self._columns or self._windows).write()

    def on_watermark(self, watermark: int) -> None:
        """Emit the windows that are over, then pass the watermark on."""
        before = self.watermark
        super().on_watermark(watermark) if self._columns is None else self._close(self._columns, before, watermark)

    def _close(self, windows: ColumnWindows, before: int, watermark: int) -> None:
        self.watermark = watermark
        self._fire(EVENT, watermark)
        for batch in windows.closed(before, watermark):
            self.output.emit(ColumnBlock(batch, ROW_FORM), None)
        self.output.emit_watermark(watermark)

    def on_processing_time(self, now_ms: int) -> None:
        """Emit the windows by the clock that are over."""
        self._now_ms = now_ms
        super().on_processing_time(now_ms)

    def fire_due(self, domain: int, due: Iterator[Timer]) -> None:
        """Emit the windows that are over; those in columns by event time follow their watermark."""
        if self._columns is not None:
            if self._columns.is_by_clock:
                for batch in self._columns.closed_by_clock(due, self._now_ms):
                    self.output.emit(ColumnBlock(batch, ROW_FORM), None)
            else:
                self._columns.lift(due)
            return
        results: list[Row] = []
        clock = self._windows.clock
        for key, start, end, values in self._windows.closed(due):
            leading = (key,) if len(self.key_fields) == 1 else (key if self.key_fields else ())
            found = []
            for each in self.properties:
                if each == WINDOW_START:
                    found.append(start)
                elif each == WINDOW_END:
                    found.append(end)
                elif each == "proctime":
                    found.append(self.context.clock())
                else:
                    found.append(clock.window_time(end))
            results.append((INSERT, *leading, *values, *found))
        self.output.emit(results, None)


class GroupWindowAggregateOperator(WindowAggregateOperator):
    """The legacy GROUP BY TUMBLE / HOP / SESSION(time, ...): as WindowAggregateOperator, by Flink's older rules.

    A window without rows left (all retracted) emits nothing. `properties` may have `"rowtime"` (the last millisecond of
    the window, as a time attribute) and `"proctime"` too.
    """

    kind = "group window aggregate"
    state_identity = "GroupWindowAggregateOperator"

    def __init__(
        self,
        *,
        key_fields: tuple[int, ...],
        aggregates: tuple[AggregateCall, ...],
        input_types: tuple[LogicalType, ...],
        window: WindowSpec,
        time_field: int | None,
        properties: tuple[str, ...] = (),
        needs_retraction: bool = False,
    ) -> None:
        super().__init__(
            key_fields=key_fields,
            aggregates=aggregates,
            input_types=input_types,
            window=window,
            time_field=time_field,
            properties=properties,
            needs_retraction=needs_retraction,
        )


class SessionAggregates:
    """Accumulators of sessions; where these cannot be merged, the rows are kept and aggregated in the end."""

    def __init__(self, operator: WindowAggregateOperator, code: AggregateCode) -> None:
        self._keeps_rows = code.merge is None
        self._views = memory_views(code.views, code.scope)
        types = (LogicalType(Kind.TINYINT), *operator.input_types)
        content = FrozenListTypeInfo(row_state_type(types)) if self._keeps_rows else code.state_type()
        merge = self._joined if self._keeps_rows else defined(merging_lines(code), "merge", code.scope)
        self._sessions = Sessions(operator, operator.window, operator.time_field, content, merge)
        self.clock = self._sessions.clock
        self._fold = defined(folding_lines(code, operator.needs_retraction), "fold", code.scope)
        self._values = defined(valuing_lines(code), "values", code.scope)
        self._row_count = len(code.slots) - 1 if operator.needs_retraction else None
        self._columns = SessionColumns(operator, self._sessions) if operator.refusal() is None else None

    def add_columns(self, batch: pa.RecordBatch) -> bool:
        """Fold columns into sessions; False where rows have to be looked at one by one."""
        return self._columns is not None and self._columns.add(batch)

    @staticmethod
    def _joined(contents: list[Any]) -> Any:
        return tuple([row for rows in contents for row in rows])

    def add(self, rows: list[Row], keys: list[Any]) -> None:
        """Fold rows into sessions."""
        self._sessions.add(rows, keys, (lambda held, row: (*(held or ()), row)) if self._keeps_rows else self._fold)

    def begin_batch(self) -> None:
        """Sessions are in state only."""

    def write(self) -> None:
        """Sessions are in state only."""

    def closed(self, due: Iterator[Timer]) -> Iterator[tuple[Any, int, int, Row]]:
        """Key, start, end and results of the sessions that are over."""
        for key, start, end, content in self._sessions.closed(due):
            accumulator = content
            if self._keeps_rows:
                accumulator = None
                for view in self._views:
                    view.clear()
                for row in content:
                    accumulator = self._fold(accumulator, row)
            if self._row_count is None or accumulator[self._row_count] > 0:
                yield key, start, end, self._values(accumulator)
