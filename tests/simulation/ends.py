"""The ends of random jobs: where records can be looked at, and what they must be, put so that order does not matter."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from penstock.connectors.files.rolling import DefaultRollingPolicy, OnCheckpointRollingPolicy
from penstock.datastream.connectors.file_system import FileSink
from penstock.datastream.data_stream import DataStream
from penstock.testing import CollectSink
from tests.simulation.functions import Count
from tests.simulation.steps import Records, key_of


class End(Protocol):
    def build(self, stream: DataStream, directory: Path) -> None: ...

    def found(self) -> Any: ...

    def expected(self, records: Records) -> Any: ...


@dataclass
class Collecting:
    """All records of a stream."""

    def build(self, stream: DataStream, directory: Path) -> None:
        self._sink = CollectSink()
        stream.add_sink(self._sink)

    def found(self) -> Counter[Any]:
        return Counter(self._sink.results)

    def expected(self, records: Records) -> Counter[Any]:
        return Counter(records)


@dataclass
class Filing:
    """All records of a stream, as lines of files; nothing may be left in the staging folder."""

    rolls_with_batches: bool
    parallelism: int

    def build(self, stream: DataStream, directory: Path) -> None:
        self._directory = directory
        # The other policy grows files over many batches: small enough that some get full on the way.
        policy = OnCheckpointRollingPolicy() if self.rolls_with_batches else DefaultRollingPolicy(60, 10_000, 10_000)
        stream.sink_to(FileSink.text(str(directory), rolling_policy=policy)).set_parallelism(self.parallelism)

    def found(self) -> Counter[Any]:
        files = [path for path in self._directory.rglob("*") if path.is_file()]
        return Counter(line for path in files for line in path.read_text().splitlines())

    def expected(self, records: Records) -> Counter[Any]:
        return Counter(map(str, records))


@dataclass
class Counting:
    """Each record of a key has a number of its own."""

    parallelism: int

    def build(self, stream: DataStream, directory: Path) -> None:
        self._sink = CollectSink()
        stream.key_by(key_of).process(Count()).set_parallelism(self.parallelism).add_sink(self._sink)

    def found(self) -> Counter[Any]:
        return Counter(self._sink.results)

    def expected(self, records: Records) -> Counter[Any]:
        counts = Counter(record[0] for record in records)
        return Counter((key, number) for key, count in counts.items() for number in range(1, count + 1))


@dataclass
class Rolling:
    """Rolling sums: as many as there are records; the last (largest) is the sum of all. Amounts are not negative."""

    parallelism: int

    def build(self, stream: DataStream, directory: Path) -> None:
        self._sink = CollectSink()
        pairs = stream.map(lambda record: (record[0], record[2])).key_by(key_of)
        added = pairs.reduce(lambda first, second: (first[0], first[1] + second[1]))
        added.set_parallelism(self.parallelism).add_sink(self._sink)

    def found(self) -> dict[int, tuple[int, int]]:
        values = self._sink.results
        keys = {key for key, _ in values}
        return {key: (sum(k == key for k, _ in values), max(s for k, s in values if k == key)) for key in keys}

    def expected(self, records: Records) -> dict[int, tuple[int, int]]:
        amounts: dict[int, list[int]] = {}
        for key, _, amount in records:
            amounts.setdefault(key, []).append(amount)
        return {key: (len(each), sum(each)) for key, each in amounts.items()}
