"""Patterns through the public API, in process: kinds of functions, conditions, and jobs that crash half-way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternFlatSelectFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    RichSimpleCondition,
    SimpleCondition,
)
from penstock.common import Row, Types, WatermarkStrategy
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.data_stream import DataStream
from penstock.datastream.expressions import col
from penstock.errors import GraphError, PenstockError
from penstock.testing import CollectSink
from tests.unit.cep.core import Core

EVENTS = [("k", "a", 1), ("l", "a", 2), ("k", "b", 3), ("l", "x", 4), ("l", "b", 20)]
TIMEOUTS = OutputTag("timeouts")


def is_letter(letter: str) -> SimpleCondition[Any]:
    return SimpleCondition.of(lambda event: event[1] == letter)


def a_then_b() -> Pattern:
    return Pattern.begin("a").where(is_letter("a")).followed_by("b").where(is_letter("b")).within(10)


def keyed(environment: StreamExecutionEnvironment, events: list[Any] = EVENTS) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[2])
    return environment.from_collection(events).assign_timestamps_and_watermarks(strategy).key_by(lambda event: event[0])


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:
        return sorted(results)


def test_select_makes_one_element_of_each_match() -> None:
    class Keys(PatternSelectFunction[Any, Any]):
        def select(self, match: dict[str, list[Any]]) -> Any:
            return match["a"][0][0]

    for function in (Keys(), lambda match: match["b"][0][0]):
        stream = CEP.pattern(keyed(StreamExecutionEnvironment.in_process()), a_then_b()).select(function)
        assert collected(stream) == ["k"]


def test_flat_select_makes_any_number() -> None:
    class Times(PatternFlatSelectFunction[Any, Any]):
        def flat_select(self, match: dict[str, list[Any]], out: Any) -> None:  # type: ignore[override]
            for events in match.values():
                out.collect(events[0][2])

    for function in (Times(), lambda match: [match["a"][0][2], match["b"][0][2]]):
        stream = CEP.pattern(keyed(StreamExecutionEnvironment.in_process()), a_then_b()).flat_select(function)
        assert collected(stream) == [1, 3]


@pytest.mark.parametrize("method", ["select", "flat_select"])
def test_partial_matches_that_time_out_go_to_their_side_output(method: str) -> None:
    is_flat = method == "flat_select"

    def timed_out(match: dict[str, list[Any]], timestamp: int) -> Any:
        return [(match["a"][0][0], timestamp)] if is_flat else (match["a"][0][0], timestamp)

    patterns = CEP.pattern(keyed(StreamExecutionEnvironment.in_process()), a_then_b())
    matched = getattr(patterns, method)(TIMEOUTS, timed_out, lambda match: ["k"] if is_flat else "k")
    assert collected(matched.get_side_output(TIMEOUTS)) == [("l", 12)]


def test_a_stream_without_keys_is_one_sequence() -> None:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(3)
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda event, _: event[2])
    stream = environment.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    pattern = Pattern.begin("a", skip).where(is_letter("a")).one_or_more().followed_by("b").where(is_letter("b"))
    found = CEP.pattern(stream, pattern).select(lambda match: [event[0] for event in match["a"]])
    assert collected(found) == [["k", "l"]]


def test_expressions_are_conditions() -> None:
    environment = StreamExecutionEnvironment.in_process()
    rows = [Row(card=1, amount=0.5, time=1), Row(card=1, amount=900.0, time=2), Row(card=2, amount=900.0, time=3)]
    kind = Types.ROW_NAMED(["card", "amount", "time"], [Types.INT(), Types.DOUBLE(), Types.LONG()])
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("time")
    stream = environment.from_collection(rows, kind).assign_timestamps_and_watermarks(strategy).key_by("card")
    pattern = Pattern.begin("small").where(col("amount") < 1).next("large").where(col("amount") > 500)
    assert collected(CEP.pattern(stream, pattern).select(lambda match: match["large"][0].card)) == [1]
    with pytest.raises(GraphError, match="price"):
        CEP.pattern(stream, Pattern.begin("small").where(col("price") < 1))


def test_a_rich_condition_is_opened_and_closed() -> None:
    class Known(RichSimpleCondition[Any]):
        def open(self, runtime_context: Any) -> None:
            self.letter = runtime_context.get_job_parameter("letter", "a")

        def filter(self, value: Any) -> bool:
            return bool(value[1] == self.letter)

    stream = CEP.pattern(keyed(StreamExecutionEnvironment.in_process()), Pattern.begin("a").where(Known()))
    assert collected(stream.select(lambda match: match["a"][0][0])) == ["k", "l"]


def test_wrong_arguments_are_refused() -> None:
    patterns = CEP.pattern(keyed(StreamExecutionEnvironment.in_process()), a_then_b())
    with pytest.raises(GraphError, match="select: expected a function, or a side output's tag"):
        patterns.select(TIMEOUTS, len)
    with pytest.raises(GraphError, match="flat_select: expected an OutputTag"):
        patterns.flat_select("late", len, len)
    with pytest.raises(GraphError, match="side_output_late_data: expected an OutputTag"):
        patterns.side_output_late_data("late")  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="process"):
        patterns.process(len)  # type: ignore[arg-type]


def test_throw_exception_on_miss_fails_the_job_and_names_the_element() -> None:
    skip = AfterMatchSkipStrategy.skip_to_first("a").throw_exception_on_miss()
    pattern = Pattern.begin("a", skip).where(is_letter("a"))
    stream = CEP.pattern(keyed(StreamExecutionEnvironment.in_process()), pattern).select(len)
    with pytest.raises(PenstockError, match="starts with that event"):
        collected(stream)


class Names(PatternProcessFunction[Any, Any]):
    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), [event[1] for events in match.values() for event in events], ctx.timestamp()


@pytest.mark.parametrize("state", ["memory", "lmdb"])
@pytest.mark.parametrize("skip", ["no_skip", "skip_past_last_event"])
def test_crashes_in_the_middle_of_matches_change_nothing(seed: int, state: str, skip: str) -> None:
    def pattern() -> Pattern:
        begun = Pattern.begin("a", getattr(AfterMatchSkipStrategy, skip)()).where(lambda event: event[1][0] == "a")
        begun = begun.followed_by("b").where(lambda event: event[1][0] == "b").one_or_more()
        return begun.followed_by("c").where(lambda event: event[1][0] == "c").within(40)

    events = [
        (f"k{number % 7}", "abbcx"[(number * 3 + number // 7) % 5] + str(number), number) for number in range(400)
    ]
    expected = []
    for key in sorted({event[0] for event in events}):
        core = Core(pattern())
        for event in events:
            if event[0] == key:
                core.advance(event[2])
                core.offer(event, event[2])
        expected += [[key, [e[1] for taken in match.values() for e in taken], time] for match, time in core.matches]
    environment = StreamExecutionEnvironment.in_process(seed, crash_rate=0.05, state=state)
    environment.set_parallelism(2)
    sink = CollectSink()
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda event, _: event[2])
    stream = environment.from_collection(events).assign_timestamps_and_watermarks(strategy)
    CEP.pattern(stream.key_by(lambda event: event[0]), pattern()).process(Names()).add_sink(sink)
    environment.execute()
    assert sorted(map(list, sink.results)) == sorted(expected)
    assert expected
