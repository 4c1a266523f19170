"""The head of a source vertex: reads splits, or takes the values of a frame that Spark reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import OfferedWatermarks, WatermarkStrategy
from penstock.connectors.source import Source, SplitSource
from penstock.runtime.input_times import InputTime
from penstock.runtime.operators.watermark import TimingOperator


class SourceOperator(TimingOperator):
    """Brings records into the job with their timestamps and the source's watermarks."""

    kind = "source"
    state_identity = "SourceOperator"

    def __init__(self, source: Source, strategy: WatermarkStrategy | None = None) -> None:
        super().__init__(strategy)
        self.source = source

    @property
    def is_ephemeral(self) -> bool:
        """Whether the tasks that read it are not the same from batch to batch (Spark cuts the frame anew)."""
        return not isinstance(self.source, SplitSource)

    @property
    def takes_offers(self) -> bool:
        """Whether an operator of the same vertex makes the watermarks, see `offer`."""
        return self.strategy is not None and isinstance(self.strategy.create_generator(), OfferedWatermarks)

    def offer(self, watermark: int) -> None:
        """Take the watermark of the records that are being emitted, to be emitted when their split is due."""
        self.watermarks.offer(watermark)

    def pause(self, names: Collection[str]) -> None:
        """Take it that these splits, and no others, are not read for now: they are ahead of others, and not idle."""
        self.watermarks.is_paused = bool(names)

    def split_times(self, state: Any, subtask: int) -> dict[str, tuple[int, bool]]:
        """The watermark of each split in a snapshot of a subtask, and whether it was idle."""
        splits = self.input_time("", "", state).splits
        return {each.name or str(subtask): (each.watermark, each.is_idle) for each in splits}

    def split_count(self, parallelism: int) -> int:
        """How many channels the source has."""
        return self.source.split_count(parallelism) if isinstance(self.source, SplitSource) else parallelism

    def read_split(self, split: int, split_count: int, start: int, stop: int) -> None:
        """Read positions start..stop-1 of a split."""
        assert isinstance(self.source, SplitSource)
        try:
            for item in self.source.read(split, split_count, start, stop):
                if isinstance(item, tuple):
                    self.receive(item[0], item[1], None)
                else:
                    self.watermarks.signal(item)
        except Exception as error:
            raise self.failure(error, f"reading positions {start}..{stop - 1} of split {split}") from None

    def input_time(self, name: str, uid: str, snapshot: Any) -> InputTime:
        """Return how far event time got in what this subtask reads."""
        found = super().input_time(name, uid, snapshot)
        return replace(found, is_source=True, is_bounded=self.source.is_bounded())

    def on_end(self) -> None:
        """Bounded input ends with the maximum watermark."""
        self.watermark = MAX_WATERMARK
        self.output.emit_watermark(MAX_WATERMARK)
        self.output.emit_end()
