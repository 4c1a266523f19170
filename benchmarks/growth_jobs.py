"""The jobs whose growth is measured: records with drawn keys, and what is made of them.

Not in the module that is run by name: what a program caches can then be found by Spark's workers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.workloads import Build, RunningCount, discard
from penstock.common import Types, WatermarkStrategy
from penstock.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.state import ValueStateDescriptor

DRAWN = 1_000_003
"""Keys are drawn beforehand, so that drawing is not what is measured."""
FEW_KEYS, SOME_KEYS = 2_000, 10_000


@cache
def drawn_keys(keys: int) -> list[int]:
    """Keys drawn at random, the same in every process."""
    drawn: list[int] = np.random.default_rng(keys).integers(0, keys, DRAWN).tolist()
    return drawn


def records(environment: StreamExecutionEnvironment, count: int, keys: int) -> DataStream:
    """Pairs of a drawn key and the record's number."""

    def record(number: int) -> tuple[int, int]:
        # Another shift in each pass over the table: no key is left out, and none comes back in a cycle.
        return (drawn_keys(keys)[number % DRAWN] + number // DRAWN * 7_919) % keys, number

    source = DataGeneratorSource(record, count)
    return environment.from_source(source, WatermarkStrategy.no_watermarks(), "drawn")


class KeptBytes(KeyedProcessFunction):
    """Keeps so many bytes for each key, and changes them with every record."""

    def __init__(self, size: int) -> None:
        self._padding = bytes(size - 8)

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self._kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.PRIMITIVE_ARRAY(Types.BYTE())))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        """Count in the first eight bytes."""
        before = self._kept.value()
        count = 1 if before is None else int.from_bytes(before[:8], "big") + 1
        self._kept.update(count.to_bytes(8, "big") + self._padding)
        yield value[0], count


def counted(keys: int) -> Build:
    """A running count of each key."""
    return levels(1, keys)


def kept_bytes(size: int) -> Build:
    """A state of so many bytes for each of some keys."""

    def build(environment: StreamExecutionEnvironment, count: int) -> None:
        keyed = records(environment, count, SOME_KEYS).key_by(lambda value: value[0])
        discard(keyed.process(KeptBytes(size)))

    return build


def maps(number: int) -> Build:
    """A chain of lambdas."""

    def build(environment: StreamExecutionEnvironment, count: int) -> None:
        stream = records(environment, count, FEW_KEYS)
        for _ in range(number):
            stream = stream.map(lambda value: (value[0], value[1] + 1))
        discard(stream)

    return build


def levels(number: int, keys: int = FEW_KEYS) -> Build:
    """Running counts in a row, each behind an exchange of its own."""

    def build(environment: StreamExecutionEnvironment, count: int) -> None:
        stream = records(environment, count, keys)
        for _ in range(number):
            stream = stream.key_by(lambda value: value[0]).process(RunningCount())
        discard(stream)

    return build
