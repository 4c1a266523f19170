"""Events and conditions that nobody expects: the operator keeps its rules, or says what is wrong and where."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from penstock.cep import CEP, MalformedPatternError, Pattern, RichSimpleCondition, SimpleCondition
from penstock.common import Row, Types, WatermarkStrategy
from penstock.common.constants import MAX_WATERMARK
from penstock.common.typeinfo import TypeInformation
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.data_stream import DataStream
from penstock.errors import PenstockError
from penstock.runtime.failure import OperatorFailure
from penstock.testing import KeyedHarness
from tests.unit.cep.core import Core
from tests.unit.cep.test_operator import LATE, TIMEOUTS, harness_of, operator_of


def one_key(pattern: Pattern, **settings: Any) -> KeyedHarness:
    return KeyedHarness(operator_of(pattern, **settings), key=lambda _: "k7", side_outputs=[TIMEOUTS])


def played(pattern: Pattern, events: list[Any], **settings: Any) -> list[Any]:
    """The matches of events that come a millisecond apart; each is handled by another process."""
    found: list[Any] = []
    snapshot = None
    for time, event in enumerate(events):
        harness = one_key(pattern, **settings)
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            harness.process_element(event, time)
            harness.process_watermark(time)
            found += [match for match, _ in harness.output_values()]
            snapshot = harness.snapshot()
    return found


def a_then_b() -> Pattern:
    return Pattern.begin("a").where(lambda e: e == "a").followed_by("b").where(lambda e: e == "b")


# ---- conditions ----


def fails(event: Any) -> bool:
    return bool(event["amount"] > 5)


@pytest.mark.parametrize("is_processing_time", [False, True])
@pytest.mark.parametrize(
    ("pattern", "whose"),
    [
        (lambda: Pattern.begin("a").where(lambda e: "amount" in e).next("b").where(fails), "the condition of 'b'"),
        (lambda: Pattern.begin("a").one_or_more().until(fails), "the until condition of 'a'"),
        (lambda: Pattern.begin("a").not_next("b").where(fails).next("c"), "the condition of 'b'"),
        (lambda: Pattern.begin("a").where(lambda e: True).or_(fails).where(fails), "the condition of 'a'"),
        (lambda: Pattern.begin(Pattern.begin("a").where(fails)).times(2), "the condition of 'a'"),
    ],
)
def test_a_condition_that_raises_is_named_with_its_element_and_the_event(
    pattern: Any, whose: str, is_processing_time: bool
) -> None:
    harness = one_key(pattern(), is_processing_time=is_processing_time)
    with harness, pytest.raises(OperatorFailure) as failure:
        for time, event in enumerate([{"amount": 9}, {"price": 1}]):
            harness.process_element(event, time)
        harness.process_watermark(9)
    text = str(failure.value)
    assert "KeyError: 'amount'" in text
    assert f"in operator 'Show' (uid 'operator', subtask 0), asking {whose}, for key 'k7'" in text
    assert "record: {'price': 1}" in text


def test_a_condition_that_two_elements_share_is_named_with_both() -> None:
    with one_key(Pattern.begin("a").where(fails).next("b").where(fails)) as harness:
        harness.process_element({}, 1)
        with pytest.raises(OperatorFailure, match="asking the condition of 'a' and the condition of 'b'"):
            harness.process_watermark(1)


class Neither:
    def __bool__(self) -> bool:
        raise TypeError("has no truth value yet")


def test_what_is_neither_true_nor_false_is_named_too() -> None:
    with one_key(Pattern.begin("a").where(lambda e: Neither())) as harness:
        harness.process_element("x", 1)
        with pytest.raises(OperatorFailure, match=r"has no truth value yet(.|\n)*asking the condition of 'a'"):
            harness.process_watermark(1)


def test_what_counts_as_true_or_false_may_be_anything_else() -> None:
    for nothing in (None, 0, "", []):
        assert played(Pattern.begin("a").where(lambda e, result=nothing: result), ["x"]) == []
    for something in (1, "no", [0]):
        assert played(Pattern.begin("a").where(lambda e, result=something: result), ["x"]) == [{"a": ["x"]}]


def test_a_process_function_that_raises_is_not_taken_for_a_condition() -> None:
    operator = operator_of(Pattern.begin("a").where(lambda e: True))
    operator.function.process_match = lambda match, ctx: 1 / 0
    with KeyedHarness(operator, key=lambda _: "k7") as harness:
        harness.process_element("x", 1)
        with pytest.raises(OperatorFailure, match="matching events of key 'k7'"):
            harness.process_watermark(1)


async def later(event: Any) -> bool:
    return False


def many(event: Any) -> Any:
    yield False


class Later(SimpleCondition[Any]):
    async def filter(self, value: Any) -> bool:  # type: ignore[override]
        return False


@pytest.mark.parametrize("condition", [later, many, Later()])
def test_a_condition_that_could_never_be_false_is_refused(condition: Any) -> None:
    with pytest.raises(MalformedPatternError, match=r"'a': where: .* always true"):
        Pattern.begin("a").where(condition)


def test_a_condition_that_changes_events_it_is_shown_does_not_reach_the_buffer() -> None:
    def spoil(event: Any, ctx: Any) -> bool:
        for kept in ctx.get_events_for_pattern("a"):
            kept.append("spoilt")
        return bool(event == ["b"])

    pattern = Pattern.begin("a").where(lambda e: e == ["a"]).followed_by("b").where(spoil)
    with one_key(pattern) as harness:
        for time, event in enumerate((["a"], ["x"], ["b"])):
            harness.process_element(event, time)
        harness.process_watermark(9)
        assert [match for match, _ in harness.output_values()] == [{"a": [["a"]], "b": [["b"]]}]


def test_what_a_condition_closes_over_is_not_in_the_state() -> None:
    large = "x" * 1_000_000
    with one_key(Pattern.begin("a").where(lambda e: e not in large).followed_by("b").where(lambda e: False)) as harness:
        harness.process_element("a", 1)
        harness.process_watermark(1)
        rows = harness.snapshot().rows
    assert rows
    assert sum(len(key) + len(value) for key, value in rows.items()) < 10_000


# ---- events ----


@pytest.mark.parametrize("event", [None, {"a": [1]}, {1, 2}, [None], Row(x=1), b"", float("nan"), ()])
def test_an_event_may_be_anything_and_survives_in_the_state(event: Any) -> None:
    pattern = Pattern.begin("a").next("b").next("c")
    (match,) = played(pattern, [event, event, event])
    assert repr(match) == repr({"a": [event], "b": [event], "c": [event]})


def test_equal_events_are_different_events() -> None:
    found = played(Pattern.begin("a").one_or_more().allow_combinations().next("b"), ["x", "x", "x"])
    assert sorted(len(match["a"]) for match in found) == [1, 1, 2]


def test_events_of_one_time_begin_and_end_matches() -> None:
    with one_key(a_then_b().within(1)) as harness:
        for event in ("a", "b", "a", "b"):
            harness.process_element(event, 5)
        harness.process_watermark(MAX_WATERMARK)
        assert [time for _, time in harness.output_values()] == [5, 5]
        assert harness.side_output_values(TIMEOUTS) == []


def test_times_may_be_negative() -> None:
    with one_key(a_then_b().within(10)) as harness:
        for event, time in (("a", -20), ("b", -15), ("a", -14), ("b", 3)):
            harness.process_element(event, time)
        harness.process_watermark(-5)
        assert harness.side_output_values(TIMEOUTS) == []
        harness.process_watermark(MAX_WATERMARK)
        assert [time for _, time in harness.output_values()] == [-15]
        assert harness.side_output_values(TIMEOUTS) == [({"a": ["a"]}, -4)]
        assert (harness.num_keyed_state_entries(), harness.num_event_time_timers()) == (0, 0)


def test_a_time_that_does_not_fit_64_bits_is_refused() -> None:
    for build in (
        lambda: Pattern.begin("a").within(MAX_WATERMARK + 1),
        lambda: Pattern.begin("a").times(2, 3, 1 << 70),
        lambda: Pattern.begin("a").one_or_more(1 << 64),
    ):
        with pytest.raises(MalformedPatternError, match="must fit into 64 bits"):
            build()
    assert Pattern.begin("a").within(timedelta.max).elements()[0].within_first


def test_an_end_after_the_end_of_time_never_comes() -> None:
    with one_key(a_then_b().within(MAX_WATERMARK)) as harness:
        for time, event in enumerate(("a", "b", "a"), start=20):
            harness.process_element(event, time)
        harness.process_watermark(100)
        assert harness.num_event_time_timers() == 0
        harness.process_watermark(MAX_WATERMARK)
        assert [time for _, time in harness.output_values()] == [21]
        assert harness.side_output_values(TIMEOUTS) == []


# ---- loops that grow ----


def test_a_long_loop_without_a_window_costs_the_same_for_each_event() -> None:
    """Rows that are written for an event, at the beginning of a loop and after 2,000 events."""
    begun = Pattern.begin("a").where(lambda e: e == "a").next("b").where(lambda e: e == "b").one_or_more().consecutive()
    core = Core(begun.next("c").where(lambda e: e == "c"))
    core.offer("a", 0)
    written = []
    for time in range(1, 2_001):
        before = (core.run.next_link, core.rows)
        core.offer("b", time)
        written.append((core.run.next_link - before[0], core.rows - before[1]))
    assert set(written[5:]) == {written[-1]}
    assert max(written[-1]) <= 3
    core.offer("c", 2_001)
    assert [len(match["b"]) for match, _ in core.matches] == [2_000]
    core.offer("x", 2_002)
    assert core.rows == 0


# ---- streams ----


def events_of(
    environment: StreamExecutionEnvironment, events: list[Any], kind: TypeInformation | None = None
) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[1])
    return environment.from_collection(events, kind).assign_timestamps_and_watermarks(strategy)


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as results:
        return sorted(results, key=repr)


class Opened(RichSimpleCondition[Any]):
    """Takes a letter, and is only good for the one operator that opened it."""

    def __init__(self, letter: str) -> None:
        self.letter = letter
        self.opened = 0

    def open(self, runtime_context: Any) -> None:
        self.opened += 1

    def close(self) -> None:
        self.opened -= 1

    def filter(self, value: Any) -> bool:
        assert self.opened == 1
        return bool(value[0] == self.letter)


def test_one_pattern_may_be_looked_for_in_two_streams() -> None:
    pattern = Pattern.begin("a").where(Opened("a")).next("b").where(Opened("b"))
    environment = StreamExecutionEnvironment.in_process()
    one = events_of(environment, [("a", 1), ("b", 2)]).key_by(lambda e: 0)
    other = events_of(environment, [("a", 5), ("x", 6), ("a", 7), ("b", 8)])
    found = [CEP.pattern(stream, pattern).select(lambda match: match["b"][0][1]) for stream in (one, other)]
    assert collected(found[0].union(found[1])) == [2, 8]


def test_what_is_added_to_a_pattern_later_is_not_looked_for() -> None:
    pattern = Pattern.begin("a").where(lambda e: e[0] == "a")
    stream = events_of(StreamExecutionEnvironment.in_process(), [("a", 1), ("b", 2)])
    found = CEP.pattern(stream, pattern)
    pattern.where(lambda e: False).within(5)
    assert collected(found.select(lambda match: match["a"][0][1])) == [1]


def test_rows_of_a_declared_type_are_found_as_undeclared_ones_are() -> None:
    rows = [Row("a", 1), Row("b", 2)]
    pattern = Pattern.begin("a").where(lambda row: row[0] == "a").next("b").where(lambda row: row[0] == "b")
    for kind in (
        None,
        Types.ROW([Types.STRING(), Types.LONG()]),
        Types.ROW_NAMED(["f", "g"], [Types.STRING(), Types.LONG()]),
    ):
        stream = events_of(StreamExecutionEnvironment.in_process(), rows, kind).key_by(lambda row: 0)
        found = CEP.pattern(stream, pattern).select(lambda match: tuple(match["b"][0]))
        assert collected(found) == [("b", 2)]


def test_late_events_are_counted_or_sent_aside_whatever_they_would_have_matched() -> None:
    for tag, late, dropped in ((None, [], 1), (LATE, [("a", 5)], 0)):
        with harness_of("a followedBy b within(50)", late_tag=tag) as harness:
            harness.process_element(("a", 10), 10)
            harness.process_watermark(20)
            harness.process_element(("a", 5), 5)
            harness.process_element(("b", 30), 30)
            harness.process_watermark(30)
            assert [match["a"] for match, _ in harness.output_values()] == [[("a", 10)]]
            assert harness.late_records_dropped() == dropped
            assert harness.side_output_values(LATE) == late


def test_a_job_says_which_condition_failed() -> None:
    stream = events_of(StreamExecutionEnvironment.in_process(), [("a", 1)]).key_by(lambda e: "k7")
    found = CEP.pattern(stream, Pattern.begin("first").where(lambda e: e[2] > 0)).select(len)
    with pytest.raises(PenstockError, match=r"asking the condition of 'first', for key 'k7'\nrecord: \('a', 1\)"):
        collected(found)
