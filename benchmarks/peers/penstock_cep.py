"""The pattern jobs in Penstock: conditions as Python functions, or as expressions on columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from benchmarks.peers import reporting
from benchmarks.peers.cep_patterns import COLUMNS, ValuePattern
from benchmarks.peers.drawn import PERIOD, VALUES, drawn_column, drawn_keys
from penstock.cep import CEP, Pattern, PatternProcessFunction
from penstock.common import Time, WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.expressions import col

KEY, VALUE, TIME = range(3)


class Ends(PatternProcessFunction):
    """Key, time of the first and time of the last event of a match."""

    def process_match(self, match: dict[str, list[Any]], ctx: PatternProcessFunction.Context) -> Iterable[Any]:
        """Emit one."""
        events = [event for found in match.values() for event in found]
        yield events[0][KEY], events[0][TIME], events[-1][TIME]


def of_objects(env: StreamExecutionEnvironment, task: reporting.Task, records: int) -> DataStream:
    """Key, value and event time as tuples."""
    keys, rate = drawn_keys(task.keys, task.zipf), task.rate

    def record(n: int) -> tuple[int, int, int]:
        return keys[n % PERIOD], n % VALUES, n * 1000 // rate

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[TIME])
    return env.from_source(DataGeneratorSource(record, records), strategy, "numbers").key_by(itemgetter(KEY))


def of_columns(env: StreamExecutionEnvironment, task: reporting.Task, records: int) -> DataStream:
    """The same as columns."""
    keys, zipf, rate = task.keys, task.zipf, task.rate

    def columns(numbers: np.ndarray) -> dict[str, np.ndarray]:
        drawn = drawn_column(keys, zipf)[numbers % PERIOD]
        return {"k": drawn, "v": numbers % VALUES, "t": numbers * 1000 // rate}

    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("t")
    return env.from_source(DataGeneratorSource.of_columns(columns, records), strategy, "numbers").key_by("k")


def is_between(low: int, high: int) -> Callable[[Any], bool]:
    """A condition in Python."""
    return lambda event: low <= event[VALUE] < high


def pattern(wanted: ValuePattern, condition: Callable[[int, int], Any]) -> Pattern:
    """The pattern, with conditions of one kind."""
    made = None
    for low, high in wanted.ranges:
        begin = Pattern.begin if made is None else partial(made.followed_by)
        made = begin(f"from {low}").where(condition(low, high))
    assert made is not None
    return made.within(Time.seconds(wanted.within_s))


def build(env: StreamExecutionEnvironment, task: reporting.Task, records: int, wanted: ValuePattern) -> DataStream:
    """The matches of a job."""
    if task.job.endswith(COLUMNS):
        made = pattern(wanted, lambda low, high: (col("v") >= low) & (col("v") < high))
        return CEP.pattern(of_columns(env, task, records), made).process(Ends())
    return CEP.pattern(of_objects(env, task, records), pattern(wanted, is_between)).process(Ends())
