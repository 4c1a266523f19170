"""Operators that start event time: timestamps and watermarks from a strategy."""

from __future__ import annotations

from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.input_times import InputTime
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps
from penstock.runtime.timestamps import WatermarkSource, assigner_refusal, split_time, takes_blocks


class TimingOperator(StreamOperator):
    """Gives records their timestamps and emits watermarks, by a strategy (None: no watermarks)."""

    makes_event_time = True

    def __init__(self, strategy: WatermarkStrategy | None) -> None:
        self.strategy = strategy

    def refusal(self) -> str | None:
        """Refuse timestamps by functions, and watermark generators that see each record."""
        if self.strategy is None:
            return None
        if not takes_blocks(self.strategy):
            return f"the watermark generator {type(self.strategy.create_generator()).__name__} sees each record"
        return assigner_refusal(self.strategy)

    def emits_columns(self) -> bool:
        """Return whether blocks leave as they came: they do unless a watermark generator sees each record."""
        return self.strategy is None or takes_blocks(self.strategy)

    counts_row_blocks = False  # `WatermarkSource` does, which sources feed too

    def open(self) -> None:
        """Make ready to emit."""
        self.watermarks = WatermarkSource(self.strategy or WatermarkStrategy.no_watermarks(), self)

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Go on where the generator was."""
        self.watermarks.begin_batch(state)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Emit a block with its timestamps."""
        self.watermarks.process(values, timestamps)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Emit a block of columns with its timestamps."""
        self.watermarks.process(block, timestamps)

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Emit the watermark that the batch has come to."""
        if not end_of_input:
            self.watermarks.end_batch(now_ms)

    def on_interval(self, now_ms: int) -> None:
        """Emit what the generator has come to, and notice idleness."""
        self.watermarks.end_batch(now_ms)

    def snapshot(self) -> Any:
        """The generator's state."""
        return self.watermarks.snapshot()

    def next_deadline(self) -> int | None:
        """When idleness will have to be noticed."""
        return self.watermarks.next_deadline()

    def input_time(self, name: str, uid: str, snapshot: Any) -> InputTime:
        """Return what the generator has come to."""
        split = split_time(None, snapshot)
        return InputTime(
            uid,
            name,
            watermark=split.watermark,
            is_idle=split.is_idle,
            splits=(split,),
            is_source=False,
            idle_timeout_ms=None if self.strategy is None else self.strategy.idle_timeout_ms,
        )


class WatermarkOperator(TimingOperator):
    """assign_timestamps_and_watermarks: event time starts anew; upstream watermarks end here, except the last."""

    kind = "timestamps and watermarks"
    state_identity = "WatermarkOperator"

    def on_watermark(self, watermark: int) -> None:
        """Only the end of time passes."""
        if watermark == MAX_WATERMARK:
            self.watermark = watermark
            self.output.emit_watermark(watermark)

    def on_status(self, is_idle: bool) -> None:
        """Idleness is this operator's own to notice."""
