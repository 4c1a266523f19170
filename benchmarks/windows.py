"""The jobs with windows and joins on time. Each takes the number of records, whose number is their event time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.workloads import SPREAD, Build, discard
from penstock.common import Time, WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    KeyedStream,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)

FEW_KEYS, MANY_KEYS = 2_000, 200_000
RATES = {FEW_KEYS: 10_000, MANY_KEYS: 100_000}
"""Records in a second of event time, by number of keys."""
SESSION_S = 30
JOIN_RATE = 3_000
"""Records of one side in a second of event time: each row has three partners within a second before and after it."""
CAPTION = (
    f"{RATES[FEW_KEYS]:,} records in a second of event time for {FEW_KEYS:,} keys (5 for each), {RATES[MANY_KEYS]:,} "
    f"for {MANY_KEYS:,} (a record for each in 2 s). Sessions: one half of the keys pauses while the other half has a "
    f"session of {SESSION_S} s. Interval join: {JOIN_RATE:,} records in a second of event time on each side, 3 "
    "partners for each"
)


class Count(AggregateFunction):
    """Counts records."""

    is_commutative = True

    def create_accumulator(self) -> int:
        """Start with none."""
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        """Count one."""
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        """Return the count."""
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        """Add two counts."""
        return acc_a + acc_b


class Pairs(ProcessJoinFunction):
    """Emits pairs as they are."""

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
        """Emit the pair."""
        yield left, right


def tumbling(keys: int, *, two_phase: bool) -> Build:
    """Counts of 10 s."""

    def build(environment: StreamExecutionEnvironment, count: int) -> None:
        windows = _keyed(environment, count, keys).window(TumblingEventTimeWindows.of(Time.seconds(10)))
        discard(windows.two_phase(two_phase).aggregate(Count()))

    return build


def sliding(environment: StreamExecutionEnvironment, count: int) -> None:
    """Counts of a minute, each second."""
    _counted(_keyed(environment, count, FEW_KEYS), SlidingEventTimeWindows.of(Time.seconds(60), Time.seconds(1)))


def sessions(environment: StreamExecutionEnvironment, count: int) -> None:
    """Counts of sessions with a gap of 10 s."""
    rate, half = RATES[FEW_KEYS], FEW_KEYS // 2
    source = DataGeneratorSource(
        lambda n: (n * SPREAD % 4_294_967_296 % half + n // (rate * SESSION_S) % 2 * half, n * 1000 // rate), count
    )
    keyed = _timed(environment, source, "sessions").key_by(lambda value: value[0])
    _counted(keyed, EventTimeSessionWindows.with_gap(Time.seconds(10)))


def interval_join(environment: StreamExecutionEnvironment, count: int) -> None:
    """Pairs of two streams that are at most a second apart; both together have `count` records."""
    left, right = (_keyed(environment, count // 2, FEW_KEYS, JOIN_RATE, shift) for shift in (0, 1))
    pairs = left.interval_join(right).between(Time.seconds(-1), Time.seconds(1))
    discard(pairs.process(Pairs()))


WINDOWS: dict[str, Build] = {
    **{
        f"tumbling 10 s, {keys:,} keys, {phases}": tumbling(keys, two_phase=phases == "two phases")
        for keys in RATES
        for phases in ("one phase", "two phases")
    },
    f"sliding 60 s by 1 s, {FEW_KEYS:,} keys": sliding,
    f"session, gap of 10 s, {FEW_KEYS:,} keys": sessions,
    f"interval join of ± 1 s, {FEW_KEYS:,} keys": interval_join,
}


def _counted(keyed: KeyedStream, assigner: WindowAssigner[Any, Any]) -> None:
    discard(keyed.window(assigner).two_phase(False).aggregate(Count()))


def _keyed(
    environment: StreamExecutionEnvironment, count: int, keys: int, rate: int = 0, shift: int = 0
) -> KeyedStream:
    """Records spread over keys; `shift` makes a second stream whose keys come at other times."""
    rate = rate or RATES[keys]
    source = DataGeneratorSource(
        lambda n: ((n * SPREAD + shift * 12_345) % 4_294_967_296 % keys, n * 1000 // rate), count
    )
    return _timed(environment, source, "numbers").key_by(lambda value: value[0])


def _timed(environment: StreamExecutionEnvironment, source: DataGeneratorSource, name: str) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    return environment.from_source(source, strategy, name)
