"""Where event time begins in a table: times of rows and watermarks by the expression of a WATERMARK clause."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.errors import PenstockError
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.input_times import InputTime, SplitTime
from penstock.runtime.operators.table.expressions import block_function, column_function, column_refusal
from penstock.runtime.operators.table.operator import TableOperator
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.typed_expressions import TypedExpression


class MissingTimeError(PenstockError, ValueError):
    """A row has no time where event time needs one."""


class WatermarkAssignerOperator(TableOperator):
    """Emits watermarks by an expression over rows whose time is field `rowtime`.

    `watermark` gives the watermark of a row in milliseconds (NULL: none). `after_each_row` emits it after every row
    that raises it, otherwise at the pace of the job. A row without a time is refused. `idle_timeout_ms`: after so long
    without rows the input is idle.

    In the vertex of a table's source it emits none itself: it hands them to the source, which knows of which partition
    the rows are, and passes on what the source makes of them.
    """

    kind = "table watermarks"
    makes_event_time = True
    state_identity = "WatermarkAssignerOperator"

    def __init__(
        self,
        *,
        rowtime: int,
        watermark: TypedExpression,
        after_each_row: bool = False,
        idle_timeout_ms: int | None = None,
        zone: str = "UTC",
    ) -> None:
        self.rowtime = rowtime
        self.watermark_expression = watermark
        self.after_each_row = after_each_row
        self.idle_timeout_ms = idle_timeout_ms
        self.zone = zone

    def refusal(self) -> str | None:
        """Refuse watermarks after each row, and expressions that have no column form."""
        if self.after_each_row:
            return "each row makes a watermark (scan.watermark.emit.strategy)"
        return column_refusal(None, (self.watermark_expression,), self.column_names)

    def open(self) -> None:
        """Make the code."""
        self._watermarks = block_function(self, None, (self.watermark_expression,), self.zone)
        self._watermark_columns = None
        if not self.after_each_row:
            self._watermark_columns = column_function(None, (self.watermark_expression,))

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Go on where event time was."""
        if state is None:
            self._reached, self._emitted, self._active_at = MIN_WATERMARK, MIN_WATERMARK, self.context.clock()
            self._is_idle = False
        else:
            self._reached, self._emitted, active_at, self._is_idle = state
            # The time a job was down is nobody's idleness.
            self._active_at = max(active_at, self.context.started_ms)
        self._pending = 0
        self._offer = self.context.offer_watermark

    def snapshot(self) -> Any:
        """How far event time has got."""
        return (self._reached, self._emitted, self._active_at, self._is_idle)

    def input_time(self, name: str, uid: str, snapshot: Any) -> InputTime:
        """Return how far event time got in the rows of this subtask."""
        split = SplitTime()
        if snapshot is not None:
            _, watermark, active_at, is_idle = snapshot
            split = SplitTime(None, watermark, is_idle, active_at)
        whole = InputTime(uid, name, watermark=split.watermark, is_idle=split.is_idle, splits=(split,), is_source=False)
        return replace(whole, idle_timeout_ms=self.idle_timeout_ms)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Emit a block with its times, and watermarks."""
        self._note_rows()
        place = self.rowtime + 1
        stamps = [row[place] for row in values]
        if None in stamps:
            error = MissingTimeError(
                "RowTime field should not be null, please convert it to a non-null long value: filter such rows out."
            )
            raise self.failure(error, "assigning watermarks", values[stamps.index(None)])
        marks = [made[1] for made in self._watermarks(values)]
        if self.after_each_row and self._offer is None:
            self._emit_one_by_one(values, stamps, marks)
        else:
            self._emit_in_pieces(values, stamps, marks)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Do the same with columns, unless each row has its own watermark or a time is missing."""
        times = block.batch.column(self.rowtime + 1)
        if self._watermark_columns is None or times.null_count:
            super().process_columns(block, timestamps, keys)
            return
        self._note_rows()
        marks = self._watermark_columns(block).batch.column(1)
        lowest = pa.scalar(MIN_WATERMARK, pa.int64())
        known = pc.fill_null(marks, lowest).to_numpy() if marks.null_count else marks.to_numpy()
        stamps = times.to_numpy()
        pace = self.context.watermark_every_records
        for start in range(0, len(block), pace):
            stop = min(start + pace, len(block))
            self.output.emit(block.slice(start, stop), stamps[start:stop])
            self._reach(int(known[start:stop].max()), stop - start)

    def _note_rows(self) -> None:
        if self._offer is None:
            self._active_at = self.context.clock()
            self._mark(False)

    def _reach(self, watermark: int, rows: int) -> None:
        """Note the highest watermark of rows that were emitted."""
        if self._offer is not None:
            self._offer(watermark)
            return
        self._reached = max(self._reached, watermark)
        self._count(rows)

    def _count(self, rows: int) -> None:
        """So many rows more; the watermark goes on at the pace of the job."""
        self._pending += rows
        if self._pending >= self.context.watermark_every_records:
            self._advance()

    def _emit_in_pieces(self, values: list[Any], stamps: list[int], marks: list[int | None]) -> None:
        pace = self.context.watermark_every_records
        for start in range(0, len(values), pace):
            stop = start + pace
            self.output.emit(values[start:stop], stamps[start:stop])
            known = [mark for mark in marks[start:stop] if mark is not None]
            self._reach(max(known, default=MIN_WATERMARK), min(stop, len(values)) - start)

    def _emit_one_by_one(self, values: list[Any], stamps: list[int], marks: list[int | None]) -> None:
        sent = 0
        for index, mark in enumerate(marks):
            if mark is not None and mark > self._reached:
                self._reached = mark
                self.output.emit(values[sent : index + 1], stamps[sent : index + 1])
                sent = index + 1
                self._advance()
        self.output.emit(values[sent:], stamps[sent:])

    def _advance(self) -> None:
        self._pending = 0
        if self._reached > self._emitted:
            self._mark(False)
            self._emitted = self.watermark = self._reached
            self.output.emit_watermark(self._reached)

    def _mark(self, is_idle: bool) -> None:
        if is_idle != self._is_idle:
            self._is_idle = is_idle
            self.output.emit_status(is_idle)

    def on_watermark(self, watermark: int) -> None:
        """Pass on what the source has made of the offers; elsewhere event time starts anew, but for its end."""
        if watermark == MAX_WATERMARK or (self._offer is not None and watermark > self._emitted):
            self._emitted = self.watermark = watermark
            self.output.emit_watermark(watermark)

    def on_status(self, is_idle: bool) -> None:
        """Pass on the source's idleness; elsewhere that of an input which has sent no rows yet."""
        if self._offer is not None or (self._reached == MIN_WATERMARK and not self._pending):
            self._mark(is_idle)

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Emit the watermark that the batch has come to, and notice idleness."""
        if not end_of_input:
            self.on_interval(now_ms)

    def on_interval(self, now_ms: int) -> None:
        """Emit the watermark so far, and notice idleness."""
        if self._offer is not None:
            return
        self._advance()
        timeout = self.idle_timeout_ms
        if timeout is not None and not self._is_idle and now_ms >= self._active_at + timeout:
            self._mark(True)

    def next_deadline(self) -> int | None:
        """When idleness will have to be noticed."""
        if self._offer is not None or self.idle_timeout_ms is None or self._is_idle:
            return None
        return self._active_at + self.idle_timeout_ms
