"""The head of a source vertex: reads splits, or takes the values of a frame that Spark reads."""

from __future__ import annotations

from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.source import Source, SplitSource
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps
from penstock.runtime.timestamps import WatermarkSource


class SourceOperator(StreamOperator):
    """Brings records into the job with their timestamps and the source's watermarks."""

    def __init__(self, source: Source, strategy: WatermarkStrategy | None = None) -> None:
        self.source = source
        self.strategy = strategy

    @property
    def is_ephemeral(self) -> bool:
        """Whether the tasks that read it are not the same from batch to batch (Spark cuts the frame anew)."""
        return not isinstance(self.source, SplitSource)

    def split_count(self, parallelism: int) -> int:
        """How many channels the source has."""
        return self.source.split_count(parallelism) if isinstance(self.source, SplitSource) else parallelism

    def open(self) -> None:
        """Make ready to emit."""
        strategy = self.strategy or WatermarkStrategy.no_watermarks()
        self._watermarks = WatermarkSource(strategy, self)

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Go on where the source's generator was."""
        self._watermarks.begin_batch(state)

    def read_split(self, split: int, split_count: int, start: int, stop: int) -> None:
        """Read positions start..stop-1 of a split."""
        assert isinstance(self.source, SplitSource)
        try:
            for item in self.source.read(split, split_count, start, stop):
                if isinstance(item, tuple):
                    self.receive(item[0], item[1], None)
                else:
                    self._watermarks.signal(item)
        except Exception as error:
            raise self.failure(error, f"reading positions {start}..{stop - 1} of split {split}") from None

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Emit a block."""
        self._watermarks.process(values, timestamps)

    def on_end(self) -> None:
        """Bounded input ends with the maximum watermark."""
        self.watermark = MAX_WATERMARK
        self.output.emit_watermark(MAX_WATERMARK)
        self.output.emit_end()

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Emit the watermark that the batch has come to."""
        if not end_of_input:
            self._watermarks.end_batch(now_ms)

    def snapshot(self) -> Any:
        """The generator's state."""
        return self._watermarks.snapshot()

    def next_deadline(self) -> int | None:
        """When idleness will have to be noticed."""
        return self._watermarks.next_deadline()
