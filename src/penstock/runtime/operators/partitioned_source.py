"""The head of a source vertex whose subtasks read several named partitions each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.source import (
    Counted,
    PartitionedSource,
    PartitionItem,
    PartitionRange,
    PartitionReader,
    SideRecords,
    Source,
)
from penstock.runtime.input_times import InputTime
from penstock.runtime.operators.source import SourceOperator
from penstock.runtime.partition_watermarks import PartitionWatermarks, dealt_out
from penstock.runtime.timestamps import split_time


class PartitionedSourceOperator(SourceOperator):
    """Brings records of partitions into the job, with a watermark for each partition."""

    kind = "partitioned source"
    state_identity = "PartitionedSourceOperator"
    source: PartitionedSource
    watermarks: PartitionWatermarks  # type: ignore[assignment]

    def __init__(self, source: PartitionedSource, strategy: WatermarkStrategy | None = None) -> None:
        super().__init__(source, strategy)
        self._reader: PartitionReader | None = None
        self._lags: dict[str, int] = {}

    @property
    def is_ephemeral(self) -> bool:
        """Partitions stay with their subtasks."""
        return False

    def split_count(self, parallelism: int) -> int:
        """A channel for each subtask, however many partitions there are."""
        return parallelism

    def open(self) -> None:
        """Make ready to emit."""
        self.watermarks = PartitionWatermarks(self.strategy or WatermarkStrategy.no_watermarks(), self)

    def read_partitions(self, ranges: Sequence[PartitionRange]) -> Iterator[None]:
        """Read ranges of partitions, yielding wherever rows may be given out; those without records begin or end."""
        for each in ranges:
            self.watermarks.add(each.name)
        wanted = [each for each in ranges if each.stop > each.start]
        name = ""
        try:
            if wanted:
                for name, item in self._partition_reader().read(wanted):
                    self._take(name, item)
                    yield
        except Exception as error:
            what = ", ".join(f"{each.name} {each.start}..{each.stop - 1}" for each in wanted[:5])
            raise self.failure(error, f"reading offsets of partition {what}{', ...' * (len(wanted) > 5)}") from None
        for each in ranges:
            if each.ends:
                self.watermarks.end(each.name)

    def arrived(self, positions: Mapping[str, int]) -> dict[str, int] | None:
        """Return how far each partition can be read without waiting, if its reader knows."""
        try:
            return self._partition_reader().arrived(positions)
        except Exception as error:
            raise self.failure(error, f"looking for records of {', '.join(list(positions)[:5])}") from None

    def pause(self, names: Collection[str]) -> None:
        """Take it that these partitions, and no others, are not read for now."""
        self.watermarks.pause(names)

    def note_lags(self, lags: Mapping[str, int], pending: int | None) -> None:
        """Show in the metrics how many records are left: in partitions, and in all of them where that is known."""
        for name in lags:
            if name not in self._lags:
                self.context.metrics.add_group("lag").gauge(name, lambda name=name: self._lags[name])  # type: ignore[misc]
        self._lags.update(lags)
        if pending is not None:
            self.context.metrics.gauge("pending_records", lambda: pending)

    def restored_states(self, snapshots: list[Any], partitions: Mapping[str, int], parallelism: int) -> list[Any]:
        """Snapshots of the old subtasks dealt out to the new ones."""
        owners = {name: self.source.owner(name, parallelism) for name in partitions}
        return dealt_out(snapshots, owners, parallelism)

    def input_time(self, name: str, uid: str, snapshot: Any) -> InputTime:
        """Return how far event time got in each partition of this subtask."""
        found = super().input_time(name, uid, None)
        if snapshot is None:
            return replace(found, splits=())
        watermark, is_idle, partitions = snapshot
        splits = tuple(split_time(each, state) for each, state in sorted(partitions.items()))
        return replace(found, watermark=watermark, is_idle=is_idle, splits=splits)

    def close(self) -> None:
        """Let go of the reader."""
        reader, self._reader = self._reader, None
        if reader is not None:
            self.guarded(reader.close, "closing the source's reader")

    def _partition_reader(self) -> PartitionReader:
        if self._reader is None:
            self._reader = self.source.create_reader(self.context.name, self.context.subtask)
        return self._reader

    def _take(self, name: str, item: PartitionItem) -> None:
        if isinstance(item, tuple):
            self.records_in += len(item[0])
            self.watermarks.of(name).process(*item)
        elif isinstance(item, SideRecords):
            self.output.emit_side(item.tag, item.values, item.timestamps)
        elif isinstance(item, Counted):
            self.context.metrics.counter(item.counter).inc(item.amount)
        else:
            self.watermarks.of(name).signal(item)


def source_on_engine(
    operator: SourceOperator, name: str, *, has_spark: bool, is_continuous: bool = False
) -> SourceOperator:
    """The head of a source vertex as the engine reads it; the same one where nothing is to be changed.

    One with watermark alignment is read as in continuous mode: splits that Spark reads cannot be paused.
    """
    is_aligned = operator.strategy is not None and operator.strategy.alignment is not None
    source = operator.source.on_engine(name, has_spark=has_spark, is_continuous=is_continuous or is_aligned)
    return operator if source is operator.source else create_source_operator(source, operator.strategy)


def create_source_operator(source: Source, strategy: WatermarkStrategy | None) -> SourceOperator:
    """The operator for a source of any kind."""
    if isinstance(source, PartitionedSource):
        return PartitionedSourceOperator(source, strategy)
    return SourceOperator(source, strategy)
