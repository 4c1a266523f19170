"""Programs that run, but hardly do what they are meant to: a warning says so once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Duration
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.checkpointed_function import CheckpointedFunction
from penstock.datastream.functions import MapFunction, ProcessFunction, SinkFunction
from penstock.datastream.output_tag import OutputTag
from penstock.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from penstock.errors import LikelyMistakeWarning

TOTAL = 0


class Numbered(MapFunction):
    """Counts in a field."""

    def __init__(self) -> None:
        self.count = 0
        self.of_key: dict[str, int] = {}

    def map(self, value: Any) -> Any:
        self.count += 1
        self.of_key[value] += 1
        return self.count, value


class Innocent(MapFunction):
    """Sets fields once, counts in a local name, and in what a checkpoint contains."""

    def open(self, runtime_context: Any) -> None:
        self.opened = 0
        self.opened += 1

    def map(self, value: Any) -> Any:
        length = 0
        for _ in str(value):
            length += 1
        return length


class Saved(Numbered, CheckpointedFunction):
    """Counts in a field, and saves it."""

    def snapshot_state(self, context: Any) -> None: ...

    def initialize_state(self, context: Any) -> None: ...


class Counting(SinkFunction):
    """A sink that counts in a field."""

    def __init__(self) -> None:
        self.written = 0

    def invoke(self, value: Any, context: Any) -> None:
        self.written += 1


def numbered(value: Any) -> Any:
    global TOTAL
    TOTAL += 1
    return TOTAL


def quiet(value: Any) -> Any:
    total = 0
    total += value
    return total


@pytest.fixture
def stream() -> DataStream:
    return StreamExecutionEnvironment.in_process().set_parallelism(1).from_collection([1_700_000_000, 1_700_000_060])


@pytest.fixture
def told() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", LikelyMistakeWarning)
        yield found


def texts(told: list[warnings.WarningMessage]) -> list[str]:
    return [str(each.message) for each in told if each.category is LikelyMistakeWarning]


def test_counters_that_no_checkpoint_contains(stream: DataStream, told: list[warnings.WarningMessage]) -> None:
    stream.map(Numbered())
    assert [text.partition(",")[0] for text in texts(told)] == [
        "map: Numbered.map() counts in self.count",
        "map: Numbered.map() counts in self.of_key",
    ]
    assert "a restart loses it" in texts(told)[0]
    assert {each.filename for each in told} == {__file__}


def test_globals_and_sinks(stream: DataStream, told: list[warnings.WarningMessage]) -> None:
    stream.map(numbered).add_sink(Counting())
    assert [text.partition(",")[0] for text in texts(told)] == [
        "map: numbered() counts in the global TOTAL",
        "add_sink: Counting.invoke() counts in self.written",
    ]


def test_what_is_saved_or_forgotten_on_purpose(stream: DataStream, told: list[warnings.WarningMessage]) -> None:
    stream.map(Saved()).map(quiet).map(Innocent()).map(lambda value: value)
    assert texts(told) == []


@pytest.mark.parametrize("factor", [1, 1000])
def test_event_times_that_look_like_seconds(
    stream: DataStream, told: list[warnings.WarningMessage], factor: int
) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    timed = strategy.with_timestamp_assigner(lambda value, _: value * factor)
    stream.assign_timestamps_and_watermarks(timed).print()
    stream.environment.execute()
    found = [text for text in texts(told) if "looks like seconds: multiply by 1000" in text]
    assert len(found) == (1 if factor == 1 else 0), "told once, by the first block"
    assert all("Timestamps/Watermarks" in text and "1700000000" in text for text in found)


def test_a_bare_number_of_a_few_milliseconds(told: list[warnings.WarningMessage]) -> None:
    EventTimeSessionWindows.with_gap(30)
    TumblingEventTimeWindows.of(1000)
    EventTimeSessionWindows.with_gap(Duration.of_millis(30))
    (text,) = texts(told)
    assert text.startswith("EventTimeSessionWindows: the session gap 30 is taken as milliseconds")
    assert told[0].filename == __file__


class Split(ProcessFunction):
    """Sends everything to a side output."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield OutputTag("late"), value


@pytest.mark.parametrize(("asked", "count"), [(["lates"], 1), (["lates", "late"], 0), ([], 0)])
def test_a_side_output_that_is_read_under_another_name(
    stream: DataStream, told: list[warnings.WarningMessage], asked: list[str], count: int
) -> None:
    split = stream.process(Split())
    for name in asked:
        split.get_side_output(OutputTag(name)).print()
    split.print()
    stream.environment.execute()
    found = [text for text in texts(told) if "side output" in text]
    assert len(found) == count
    for text in found:
        assert "records go to the side output 'late', which nobody reads; get_side_output() asks for 'lates'" in text
