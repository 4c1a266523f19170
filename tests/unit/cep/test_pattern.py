"""Patterns that have no meaning are refused when they are built, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock.cep import CEP, AfterMatchSkipStrategy, MalformedPatternError, Pattern, WithinType
from penstock.cep.pattern import check_pattern
from penstock.common.time import Duration
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import GraphError

begin = Pattern.begin

REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: begin(""), "expected a name"),
    (lambda: begin("a", "skip"), "expected an AfterMatchSkipStrategy"),
    (lambda: begin("a").where(3), "'a': where: expected a function"),
    (lambda: begin("a").where(lambda x, y, z: True), "takes 3"),
    (lambda: begin("a").subtype("text"), "expected a class"),
    (lambda: begin("a").until(lambda x: True), "'a' is not a loop"),
    (lambda: begin("a").one_or_more().until(lambda x: True).until(lambda x: True), "already has an until condition"),
    (lambda: begin("a").one_or_more().times(2), "already has a quantifier"),
    (lambda: begin("a").times(0), "1 or more, got 0"),
    (lambda: begin("a").times(0, 0), "1 or more, got 0"),
    (lambda: begin("a").times(3, 2), "must not be below the first"),
    (lambda: begin("a").times_or_more(0), "1 or more"),
    (lambda: begin("a").times(True), "1 or more, got True"),
    (lambda: begin("a").optional().optional(), "already optional"),
    (lambda: begin("a").greedy(), "is taken once"),
    (lambda: begin("a").consecutive(), "is taken once"),
    (lambda: begin("a").one_or_more().consecutive().allow_combinations(), "not both"),
    (lambda: begin("a").one_or_more().consecutive().consecutive(), "called for 'a' before"),
    (lambda: begin("a").one_or_more().allow_combinations().greedy(), "cannot be greedy"),
    (lambda: begin("a").one_or_more().greedy().next("b").optional(), "after a greedy one"),
    (lambda: begin("a").not_next("b").one_or_more(), "is negated"),
    (lambda: begin("a").not_next("b").optional(), "is negated"),
    (lambda: begin("a").optional().not_followed_by("b"), "'a', which may be left out"),
    (lambda: begin("a").not_next(begin("b")), "a group cannot be negated"),
    (lambda: begin(begin("a")).where(lambda x: True), "not possible for a group"),
    (lambda: begin(begin("a")).one_or_more().greedy(), "not possible for a group"),
    (lambda: begin("a").within(0), "above 0 ms"),
    (lambda: begin("a").within("soon"), "expected milliseconds"),
    (lambda: begin("a").within(5, "FIRST_AND_LAST"), "expected a WithinType"),
]
REFUSED_AS_A_WHOLE: list[tuple[Callable[[], Pattern], str]] = [
    (lambda: begin("a").next("a"), "two elements with the name 'a'"),
    (lambda: begin("a").next(begin("b").next("a")), "two elements with the name 'a'"),
    (lambda: begin("a").not_followed_by("b"), "needs a time limit"),
    (lambda: begin("a", AfterMatchSkipStrategy.skip_to_first("z")), "no element 'z' outside groups; it has a"),
    (
        lambda: begin("a").next("b").within(9, WithinType.PREVIOUS_AND_CURRENT).next("c").within(5),
        "9 ms between two events is more than the 5 ms",
    ),
]


@pytest.mark.parametrize(("build", "reason"), REFUSED)
def test_a_call_without_meaning_is_refused(build: Callable[[], Any], reason: str) -> None:
    with pytest.raises(MalformedPatternError, match=reason):
        build()


@pytest.mark.parametrize(("build", "reason"), REFUSED_AS_A_WHOLE)
def test_a_pattern_without_meaning_is_refused_before_the_job(build: Callable[[], Pattern], reason: str) -> None:
    stream = StreamExecutionEnvironment.in_process().from_collection([1])
    with pytest.raises(MalformedPatternError, match=reason):
        CEP.pattern(stream, build())


def test_what_is_no_stream_pattern_or_comparator_is_refused() -> None:
    stream = StreamExecutionEnvironment.in_process().from_collection([1])
    for given in ((1, begin("a")), (stream, "a"), (stream, begin("a"), 5)):
        with pytest.raises(GraphError, match=r"CEP\.pattern: expected"):
            CEP.pattern(*given)  # type: ignore[arg-type]


def test_skipping_to_no_element_cannot_miss() -> None:
    with pytest.raises(ValueError, match="which skips to no element"):
        AfterMatchSkipStrategy.skip_to_next().throw_exception_on_miss()


def test_lengths_of_time_may_be_given_in_several_ways() -> None:
    for length in (600_000, Duration.of_minutes(10), timedelta(minutes=10)):
        (element,) = begin("a").within(length).elements()
        assert element.within_first == 600_000
    (element,) = begin("a").times(2, Duration.of_millis(5)).elements()
    assert (element.least, element.most, element.gap) == (2, 2, 5)


def test_a_pattern_knows_what_it_is_made_of() -> None:
    skip = AfterMatchSkipStrategy.skip_to_last("b").throw_exception_on_miss()
    pattern = begin("a", skip).next("b")
    previous = pattern.get_previous()
    assert previous is not None
    assert (previous.get_name(), pattern.get_name()) == ("a", "b")
    assert [element.name for element in check_pattern(pattern)] == ["a", "b"]
    assert str(pattern.get_after_match_skip_strategy()) == "skip_to_last('b').throw_exception_on_miss()"


def test_a_pattern_tells_what_was_set() -> None:
    def is_a(event: Any) -> bool:
        return bool(event == "a")

    pattern = begin("a").next("b").where(is_a).one_or_more().until(is_a).within(5)
    assert repr(pattern) == "Pattern(begin 'a' any event, next 'b' 1 or more times  until a condition within 5 ms)"
    assert (pattern.get_condition(), pattern.get_until_condition()) == (is_a, is_a)
    assert pattern.get_window_size() == Duration.of_millis(5)
    assert pattern.get_window_size(WithinType.PREVIOUS_AND_CURRENT) is None
    previous = pattern.get_previous()
    assert previous is not None
    assert (previous.get_name(), previous.get_condition()) == ("a", None)
