"""`HybridSource`: sources read one after another, such as history from files, then Kafka.

Positions are those of the sources, with the number of the source before the name.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.common.type_variables import T_co
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.source import (
    FoundPartition,
    PartitionedSource,
    PartitionEnumerator,
    PartitionItem,
    PartitionRange,
    PartitionReader,
    PositionListener,
    Source,
    SplitSource,
)
from penstock.errors import ConfigurationError

_ENDLESS = 1 << 62


class HybridSource(PartitionedSource[T_co]):
    """Sources in their order; all but the last must end."""

    def __init__(self, sources: Sequence[Source]) -> None:
        """Take the sources; those that do not end, other than the last, are refused."""
        if not sources:
            raise ConfigurationError("HybridSource needs at least one source.")
        for number, source in enumerate(sources, 1):
            if number < len(sources) and not source.is_bounded():
                raise ConfigurationError(
                    f"HybridSource: source {number} of {len(sources)} never ends, so the next one would never begin; "
                    "make it bounded, or put it last."
                )
        self.sources = list(sources)

    def on_engine(self, name: str, *, has_spark: bool, is_continuous: bool = False) -> Source:
        """Penstock reads the sources itself on every engine: Spark cannot switch between them."""
        return HybridSource([_partitioned(each.on_engine(name, has_spark=False)) for each in self.sources])

    def is_bounded(self) -> bool:
        """Whether the last source ends."""
        return self.sources[-1].is_bounded()

    def produced_type(self) -> TypeInformation | None:
        """The type of the records, if all sources have the same."""
        types = [source.produced_type() for source in self.sources]
        return types[0] if all(each == types[0] for each in types) else None

    def validate(self, name: str) -> None:
        """Refuse what one of the sources refuses."""
        for source in self.sources:
            source.validate(name)

    def side_outputs(self) -> frozenset[str]:
        """Those of all sources."""
        return frozenset().union(*(source.side_outputs() for source in self.sources))

    def has_stops(self) -> bool:
        """Whether the last source has."""
        return self._partitioned()[-1].has_stops()

    def finds_later(self) -> bool:
        """Always: the next source is looked into when the one before has ended."""
        return True

    def needs_overview(self) -> bool:
        """The next source begins when all of the one before has been read."""
        return True

    def ends_partitions(self) -> bool:
        """Always: those of the first sources do."""
        return True

    def begins_when_read(self) -> bool:
        """As the sources that are files have it."""
        return all(source.begins_when_read() for source in self._partitioned())

    def owner(self, partition: str, parallelism: int) -> int:
        """As the source of the partition has it."""
        number, name = _split_name(partition)
        return self._partitioned()[number].owner(name, parallelism)

    def create_enumerator(self, name: str) -> PartitionEnumerator:
        """Make what knows which source is read."""
        return _HybridEnumerator(self._partitioned(), name)

    def create_reader(self, name: str, subtask: int) -> PartitionReader:
        """Make what reads them."""
        return _HybridReader(self._partitioned(), name, subtask)

    def create_listener(self, name: str) -> PositionListener | None:
        """Let the sources know of final positions."""
        listeners = [source.create_listener(name) for source in self._partitioned()]
        return _HybridListener(listeners) if any(listeners) else None

    def _partitioned(self) -> list[PartitionedSource]:
        return [_partitioned(source) for source in self.sources]


def _partitioned(source: Source) -> PartitionedSource:
    if isinstance(source, PartitionedSource):
        return source
    if isinstance(source, SplitSource):
        return SplitAsPartition(source)
    raise ConfigurationError(f"HybridSource cannot read {source!r}: give a source that Penstock reads itself.")


def _name(number: int, partition: str) -> str:
    return f"{number}:{partition}"


def _split_name(name: str) -> tuple[int, str]:
    number, _, partition = name.partition(":")
    return int(number), partition


class _HybridEnumerator(PartitionEnumerator):
    def __init__(self, sources: list[PartitionedSource], name: str) -> None:
        self._sources = sources
        self._name = name
        self._enumerators: dict[int, PartitionEnumerator] = {}
        self._asked: set[int] = set()

    def discover(self, known: Mapping[str, int] | None, now_ms: int) -> dict[str, FoundPartition]:
        """Only used where stops do not matter: at the very first start."""
        return self.discover_more(known, {}, now_ms)

    def discover_more(
        self, known: Mapping[str, int] | None, stops: Mapping[str, int], now_ms: int
    ) -> dict[str, FoundPartition]:
        """Partitions of the source that is being read, or of the next ones if that has been read to its end."""
        number = max((_split_name(name)[0] for name in known or ()), default=0)
        is_at_end = all(known is not None and at >= stops.get(name, _ENDLESS) for name, at in (known or {}).items())
        while True:
            found = self._found(number, known, stops, now_ms)
            if found or not is_at_end or number == len(self._sources) - 1:
                return found
            number += 1

    def _found(
        self, number: int, known: Mapping[str, int] | None, stops: Mapping[str, int], now_ms: int
    ) -> dict[str, FoundPartition]:
        mine = _of(number, known or {})
        begun = bool(mine) or number in self._asked
        if begun and not self._sources[number].finds_later():
            return {}
        self._asked.add(number)
        found = self._enumerator(number).discover_more(mine if begun else None, _of(number, stops), now_ms)
        return {_name(number, name): each for name, each in found.items()}

    def has_found_all(self, known: Mapping[str, int], stops: Mapping[str, int]) -> bool:
        """Whether the last source has been looked into."""
        last = len(self._sources) - 1
        return last in self._asked or bool(_of(last, known))

    def ends(self, positions: Mapping[str, int]) -> dict[str, int]:
        found: dict[str, int] = {}
        for number in {_split_name(name)[0] for name in positions}:
            ends = self._enumerator(number).ends(_of(number, positions))
            found |= {_name(number, name): end for name, end in ends.items()}
        return found

    def stops(self, names: Collection[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for number in {_split_name(name)[0] for name in names}:
            mine = list(_of(number, dict.fromkeys(names, 0)))
            found |= {_name(number, name): stop for name, stop in self._enumerator(number).stops(mine).items()}
        return found

    def close(self) -> None:
        for enumerator in self._enumerators.values():
            enumerator.close()

    def _enumerator(self, number: int) -> PartitionEnumerator:
        if number not in self._enumerators:
            self._enumerators[number] = self._sources[number].create_enumerator(self._name)
        return self._enumerators[number]


def _of(number: int, positions: Mapping[str, int]) -> dict[str, int]:
    """The positions of one source, by its own names."""
    split = {_split_name(name): at for name, at in positions.items()}
    return {name: at for (of, name), at in split.items() if of == number}


class _HybridReader(PartitionReader):
    def __init__(self, sources: list[PartitionedSource], name: str, subtask: int) -> None:
        self._sources = sources
        self._made_for = name, subtask
        self._readers: dict[int, PartitionReader] = {}

    def read(self, ranges: Sequence[PartitionRange]) -> Iterator[tuple[str, PartitionItem]]:
        by_source: dict[int, list[PartitionRange]] = {}
        for each in ranges:
            number, name = _split_name(each.name)
            by_source.setdefault(number, []).append(replace(each, name=name))
        for number in sorted(by_source):
            for name, item in self._reader(number).read(by_source[number]):
                yield _name(number, name), item

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()

    def _reader(self, number: int) -> PartitionReader:
        if number not in self._readers:
            self._readers[number] = self._sources[number].create_reader(*self._made_for)
        return self._readers[number]


class _HybridListener(PositionListener):
    def __init__(self, listeners: list[PositionListener | None]) -> None:
        self._listeners = listeners

    def on_final(self, positions: Mapping[str, int]) -> None:
        for number, listener in enumerate(self._listeners):
            mine = _of(number, positions)
            if listener is not None and mine:
                listener.on_final(mine)

    def close(self) -> None:
        for listener in self._listeners:
            if listener is not None:
                listener.close()


class SplitAsPartition(PartitionedSource):
    """A source of splits as one of a single partition."""

    def __init__(self, source: SplitSource) -> None:
        self._source = source

    def is_bounded(self) -> bool:
        """As the source."""
        return self._source.is_bounded()

    def produced_type(self) -> TypeInformation | None:
        """As the source."""
        return self._source.produced_type()

    def create_enumerator(self, name: str) -> PartitionEnumerator:
        """Make what knows the one partition."""
        return _SplitEnumerator(self._source)

    def create_reader(self, name: str, subtask: int) -> PartitionReader:
        """Make what reads it."""
        return _SplitReader(self._source)


class _SplitEnumerator(PartitionEnumerator):
    def __init__(self, source: SplitSource) -> None:
        self._source = source
        self._started = time.monotonic()

    def discover(self, known: Mapping[str, int] | None, now_ms: int) -> dict[str, FoundPartition]:
        return {} if known else {"0": FoundPartition(0, self._source.split_end(0, 1))}

    def ends(self, positions: Mapping[str, int]) -> dict[str, int]:
        elapsed_ms = int((time.monotonic() - self._started) * 1000)
        return {name: self._source.available(0, 1, at, elapsed_ms, _ENDLESS - at) for name, at in positions.items()}


class _SplitReader(PartitionReader):
    def __init__(self, source: SplitSource) -> None:
        self._source = source

    def read(self, ranges: Sequence[PartitionRange]) -> Iterator[tuple[str, PartitionItem]]:
        for each in ranges:
            for item in self._source.read(0, 1, each.start, each.stop):
                yield each.name, item
