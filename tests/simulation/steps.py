"""The steps that random jobs are made of: how each is built on the fluent API, and what plain Python makes of it.

`build` takes streams and returns streams; `expected` takes lists of records and returns lists, one for each stream.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.common import WatermarkStrategy
from penstock.common.time import Duration
from penstock.connectors.generated.numbered import DataGenerator
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.data_stream import DataStream
from penstock.testing import Element, ScriptedSource
from tests.simulation.functions import ASIDE, FAR, LATE, Earliest, Record, Split, TotalAtEnd, WindowSum

Records = list[Record]


class Step(Protocol):
    def build(self, streams: list[DataStream]) -> list[DataStream]: ...

    def expected(self, inputs: list[Records]) -> list[Records]: ...


def key_of(record: Record) -> int:
    return record[0]


# ---- sources ----


@dataclass(frozen=True)
class Scripted:
    """A scripted source with a split for each script."""

    scripts: tuple[tuple[Any, ...], ...]

    def build(self, environment: StreamExecutionEnvironment) -> DataStream:
        source = ScriptedSource(*self.scripts)
        return environment.from_source(source, WatermarkStrategy.no_watermarks(), "script")

    def expected(self) -> Records:
        return [item.value for script in self.scripts for item in script if isinstance(item, Element)]


@dataclass(frozen=True)
class Generated:
    """Records made by number, out of order by less than `disorder`."""

    count: int
    keys: int
    disorder: int
    parallelism: int

    def record(self, number: int) -> Record:
        return number * 7 % self.keys, number * 3 + number * 5 % self.disorder, number * 11 % 23

    def build(self, environment: StreamExecutionEnvironment) -> DataStream:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(self.disorder))
        timed = strategy.with_timestamp_assigner(lambda record, _: record[1])
        generator = DataGenerator(self.record, self.count)
        return environment.from_source(generator, timed, "generator").set_parallelism(self.parallelism)

    def expected(self) -> Records:
        return [self.record(number) for number in range(self.count)]


@dataclass(frozen=True)
class Collected:
    """A collection in the order of time, its watermarks made by an operator behind it."""

    records: tuple[Record, ...]
    parallelism: int

    def build(self, environment: StreamExecutionEnvironment) -> DataStream:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: record[1])
        # One subtask up to the watermarks: dealt out, the order of time would hold in each channel all the same.
        stream = environment.from_collection(self.records).rebalance()
        return stream.assign_timestamps_and_watermarks(strategy).set_parallelism(self.parallelism)

    def expected(self) -> Records:
        return list(self.records)


# ---- steps without state ----

DEALINGS: dict[str, Callable[[DataStream], DataStream]] = {
    "as it comes": lambda stream: stream,
    "rebalance": lambda stream: stream.rebalance(),
    "rescale": lambda stream: stream.rescale(),
    "shuffle": lambda stream: stream.shuffle(),
    "global": lambda stream: stream.global_(),
    "custom": lambda stream: stream.partition_custom(lambda key, count: key % count, key_of),
    "broadcast": lambda stream: stream.broadcast(),
}


@dataclass(frozen=True)
class Mapped:
    """Changes keys and amounts; with a broadcast before it, once in every subtask."""

    factor: int
    keys: int
    dealing: str
    parallelism: int

    def change(self, record: Record) -> Record:
        return record[0] % self.keys, record[1], record[2] * self.factor % 97

    def build(self, streams: list[DataStream]) -> list[DataStream]:
        return [DEALINGS[self.dealing](streams[0]).map(self.change).set_parallelism(self.parallelism)]

    def expected(self, inputs: list[Records]) -> list[Records]:
        copies = self.parallelism if self.dealing == "broadcast" else 1
        return [[(k % self.keys, t, a * self.factor % 97) for k, t, a in inputs[0]] * copies]


@dataclass(frozen=True)
class Filtered:
    """Leaves some records out."""

    modulus: int
    dealing: str
    parallelism: int

    def build(self, streams: list[DataStream]) -> list[DataStream]:
        modulus = self.modulus
        kept = DEALINGS[self.dealing](streams[0]).filter(lambda record: record[2] % modulus != 1)
        return [kept.set_parallelism(self.parallelism)]

    def expected(self, inputs: list[Records]) -> list[Records]:
        return [[record for record in inputs[0] if record[2] % self.modulus != 1]]


@dataclass(frozen=True)
class Doubled:
    """Makes two records of one, in a chain of its own."""

    parallelism: int

    def build(self, streams: list[DataStream]) -> list[DataStream]:
        doubled = streams[0].flat_map(lambda record: [record, (record[0] + 1, record[1], record[2])])
        return [doubled.set_parallelism(self.parallelism).start_new_chain()]

    def expected(self, inputs: list[Records]) -> list[Records]:
        return [inputs[0] + [(k + 1, t, a) for k, t, a in inputs[0]]]


@dataclass(frozen=True)
class Parted:
    """A main and a side output."""

    modulus: int
    dealing: str
    parallelism: int

    def build(self, streams: list[DataStream]) -> list[DataStream]:
        main = DEALINGS[self.dealing](streams[0]).process(Split(self.modulus)).set_parallelism(self.parallelism)
        return [main, main.get_side_output(ASIDE)]

    def expected(self, inputs: list[Records]) -> list[Records]:
        return [
            [record for record in inputs[0] if record[2] % self.modulus],
            [record for record in inputs[0] if not record[2] % self.modulus],
        ]


@dataclass(frozen=True)
class United:
    """Several streams in one, perhaps the same one twice."""

    def build(self, streams: list[DataStream]) -> list[DataStream]:
        return [streams[0].union(*streams[1:])]

    def expected(self, inputs: list[Records]) -> list[Records]:
        return [[record for records in inputs for record in records]]


# ---- keyed steps ----


def _by_key(records: Records) -> dict[int, Records]:
    found: dict[int, Records] = defaultdict(list)
    for record in records:
        found[record[0]].append(record)
    return found


@dataclass(frozen=True)
class Totalled:
    """The sum of each key when the input has ended, kept in one kind of state."""

    kind: str
    parallelism: int

    def build(self, streams: list[DataStream]) -> list[DataStream]:
        return [streams[0].key_by(key_of).process(TotalAtEnd(self.kind)).set_parallelism(self.parallelism)]

    def expected(self, inputs: list[Records]) -> list[Records]:
        return [[(key, FAR, sum(r[2] for r in records)) for key, records in _by_key(inputs[0]).items()]]


@dataclass(frozen=True)
class Windowed:
    """The sum of each key and window as the window closes, and nothing late."""

    size: int
    parallelism: int

    def build(self, streams: list[DataStream]) -> list[DataStream]:
        windows = streams[0].key_by(key_of).process(WindowSum(self.size)).set_parallelism(self.parallelism)
        return [windows, windows.get_side_output(LATE)]

    def expected(self, inputs: list[Records]) -> list[Records]:
        sums: dict[tuple[int, int], int] = defaultdict(int)
        for key, time, amount in inputs[0]:
            sums[key, time - time % self.size + self.size - 1] += amount
        return [[(key, end, total) for (key, end), total in sums.items()], []]


@dataclass(frozen=True)
class First:
    """The time of the first record of each key, told some time later."""

    delay: int
    parallelism: int

    def build(self, streams: list[DataStream]) -> list[DataStream]:
        return [streams[0].key_by(key_of).process(Earliest(self.delay)).set_parallelism(self.parallelism)]

    def expected(self, inputs: list[Records]) -> list[Records]:
        firsts = {key: min(r[1] for r in records) for key, records in _by_key(inputs[0]).items()}
        return [[(key, first + self.delay, first) for key, first in firsts.items()]]
