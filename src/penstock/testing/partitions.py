"""Scripted partitions: a source of named partitions, each with a script; some may appear later.

The markers are those of `penstock.testing.script`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.common.watermark_strategy import Watermark
from penstock.connectors.source import (
    FoundPartition,
    PartitionedSource,
    PartitionEnumerator,
    PartitionItem,
    PartitionRange,
    PartitionReader,
    StatusSignal,
    WatermarkSignal,
)
from penstock.testing.script import Cut, Element, Idle, Script


class ScriptedPartitions(PartitionedSource):
    """A source of partitions that follow scripts.

    Items of a script are the offsets of its partition, so a marker is a gap. A `Cut` ends what one batch reads of the
    partition. `appears` says when a partition turns up that is not there from the start, in milliseconds since it was
    first asked for; only a source that does not end (`ends=False`) can have one.

    >>> source = ScriptedPartitions({"a": [Element("x", 1), Cut(), Element("y", 2)]})
    >>> source.create_enumerator("s").ends({"a": 0})
    {'a': 2}
    """

    def __init__(
        self, scripts: Mapping[str, Script], *, ends: bool = True, appears: Mapping[str, int] | None = None
    ) -> None:
        if ends and appears:
            raise ValueError("partitions can only be added to an unbounded source: pass ends=False")
        self.scripts = {name: list(script) for name, script in scripts.items()}
        self.appears = dict(appears or {})
        self._ends = ends

    def is_bounded(self) -> bool:
        """Whether the scripts are all there will be."""
        return self._ends

    def create_enumerator(self, name: str) -> PartitionEnumerator:
        """Make what finds the partitions."""
        return _ScriptEnumerator(self)

    def create_reader(self, name: str, subtask: int) -> PartitionReader:
        """Make what reads them."""
        return _ScriptReader(self)


class _ScriptEnumerator(PartitionEnumerator):
    def __init__(self, source: ScriptedPartitions) -> None:
        self._source = source
        self._first_ms: int | None = None

    def discover(self, known: Mapping[str, int] | None, now_ms: int) -> dict[str, FoundPartition]:
        if self._first_ms is None:
            self._first_ms = now_ms
        is_bounded = self._source.is_bounded()
        return {
            name: FoundPartition(0, len(script) if is_bounded else None)
            for name, script in self._source.scripts.items()
            if name not in (known or {}) and now_ms >= self._first_ms + self._source.appears.get(name, 0)
        }

    def ends(self, positions: Mapping[str, int]) -> dict[str, int]:
        return {name: self._end(self._source.scripts[name], at) for name, at in positions.items()}

    def _end(self, script: Script, position: int) -> int:
        cuts = (index + 1 for index in range(position, len(script)) if isinstance(script[index], Cut))
        return next(cuts, len(script))


class _ScriptReader(PartitionReader):
    def __init__(self, source: ScriptedPartitions) -> None:
        self._source = source

    def read(self, ranges: Sequence[PartitionRange]) -> Iterator[tuple[str, PartitionItem]]:
        longest = max(each.stop - each.start for each in ranges)
        for step in range(longest):
            for each in ranges:
                if each.start + step < each.stop:
                    yield from self._item(each.name, each.start + step)

    def _item(self, name: str, offset: int) -> Iterator[tuple[str, PartitionItem]]:
        item = self._source.scripts[name][offset]
        if isinstance(item, Watermark):
            yield name, WatermarkSignal(item.timestamp)
        elif isinstance(item, Idle):
            yield name, StatusSignal(True)
        elif not isinstance(item, Cut):
            element = item if isinstance(item, Element) else Element(item)
            yield name, ([element.value], None if element.timestamp is None else [element.timestamp])
