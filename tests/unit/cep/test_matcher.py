"""The matching core against Flink's measured matches and against a matcher that tries everything."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from penstock.cep import AfterMatchSkipStrategy, MalformedPatternError, Pattern
from penstock.runtime.operators.cep.skipping import SkipFailure
from tests.conformance import cep
from tests.conformance.cep.notation import pattern_of
from tests.unit.cep import brute_force, drawn
from tests.unit.cep.core import Core, shown

MEASURED = Path(cep.__file__).with_name("measured")


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((MEASURED / f"{name}.json").read_text())["cases"]
    return found


def sorted_cases(found: list[Any]) -> list[str]:
    return sorted(json.dumps([sorted(names), time]) for names, time in found)


@pytest.mark.parametrize("name", ["chosen", "groups", "random"])
def test_matches_and_timeouts_are_those_that_flink_was_measured_to_give(name: str) -> None:
    for case in cases(name):
        if "raises" in case:
            with pytest.raises((MalformedPatternError, SkipFailure)):
                Core(pattern_of(case["pattern"], case["skip"])).play(case["events"])
            continue
        core = Core(pattern_of(case["pattern"], case["skip"])).play(case["events"])
        found = {"matches": shown(core.matches), "timeouts": shown(core.timeouts)}
        assert found == {kind: sorted_cases(case[kind]) for kind in ("matches", "timeouts")}, case


@settings(max_examples=400, deadline=None)
@given(drawn.parts(), drawn.events(), drawn.windows)
def test_matches_are_those_that_trying_everything_finds(
    parts: list[brute_force.Part], events: list[brute_force.Event], window: int | None
) -> None:
    core = Core(brute_force.pattern_of(parts, window, Pattern.begin)).play(events)
    found = sorted(tuple(event[0] for event in _in_order(match)) for match, _ in core.matches)
    assert found == brute_force.matches(parts, events, window)


def _in_order(match: dict[str, list[Any]]) -> list[Any]:
    return sorted((event for events in match.values() for event in events), key=lambda event: int(event[0][1:]))


@settings(max_examples=200, deadline=None)
@given(drawn.parts(), drawn.events(12))
def test_nothing_is_kept_that_no_partial_match_needs(
    parts: list[brute_force.Part], events: list[brute_force.Event]
) -> None:
    core = Core(brute_force.pattern_of(parts, 5, Pattern.begin)).play(events)
    assert core.run.is_idle
    assert core.rows == 0
    assert core.run.size == 0


def test_memory_stays_flat_with_a_window() -> None:
    core = Core(pattern_of("a followedByAny b+ allowCombinations followedBy c within(6)"))
    most = 0
    for time in range(600):
        core.advance(time)
        core.offer(("ab"[time % 2] + str(time), time), time)
        most = max(most, core.rows)
    assert core.rows <= most < 200


def test_a_simple_condition_is_asked_once_for_an_event() -> None:
    asked = []

    def is_b(event: Any) -> bool:
        asked.append(event)
        return str(event[0]).startswith("b")

    pattern = Pattern.begin("a").where(lambda e: e[0][0] == "a").followed_by_any("b").where(is_b).followed_by("c")
    core = Core(pattern.where(lambda e: e[0][0] == "c"))
    for number in range(5):
        core.offer((f"a{number}", number), number)
    asked.clear()
    core.offer(("b", 9), 9)
    assert asked == [("b", 9)]


def test_an_iterative_condition_sees_the_events_of_its_own_partial_match() -> None:
    def is_higher(value: int, ctx: Any) -> bool:
        return value > max(ctx.get_events_for_pattern("rise") or ctx.get_events_for_pattern("first"))

    pattern = Pattern.begin("first").next("rise").where(is_higher).times(2).consecutive()
    core = Core(pattern)
    for time, value in enumerate([5, 1, 2, 3, 9]):
        core.offer(value, time)
    assert [match for match, _ in core.matches] == [
        {"first": [1], "rise": [2, 3]},
        {"first": [2], "rise": [3, 9]},
    ]


def test_a_name_that_the_pattern_lacks_is_refused_in_a_condition() -> None:
    core = Core(Pattern.begin("a").where(lambda value, ctx: ctx.get_events_for_pattern("z")))
    with pytest.raises(ValueError, match="no element 'z'; it has a"):
        core.offer(1, 1)


def test_conditions_are_combined_in_the_order_of_the_calls() -> None:
    pattern = Pattern.begin("a").where(lambda v: v > 5).where(lambda v: v < 8).or_(lambda v: v == 1)
    core = Core(pattern)
    for value in (1, 5, 6, 7, 8):
        core.offer(value, value)
    assert [match["a"] for match, _ in core.matches] == [[1], [6], [7]]


def test_a_subtype_takes_objects_of_its_class() -> None:
    core = Core(Pattern.begin("text").subtype(str).where(lambda text: text.isupper()))
    for time, value in enumerate([1, "a", "B"]):
        core.offer(value, time)
    assert [match for match, _ in core.matches] == [{"text": ["B"]}]


def test_a_loop_whose_elements_may_all_be_left_out_comes_to_an_end() -> None:
    core = Core(pattern_of("group(a optional followedBy b optional)+ next c")).play([("a1", 1), ("b2", 2), ("c3", 3)])
    found = {"".join(name[0] for name, _ in chain(*match.values())) for match, _ in core.matches}
    assert {"abc", "bc", "c"} <= found


def test_a_long_pattern_is_no_problem() -> None:
    core = Core(Pattern.begin("a", AfterMatchSkipStrategy.skip_past_last_event()).times(1_000).consecutive())
    for time in range(20):
        core.offer(time, time)
    assert len(core.matcher.automaton.states) == 1_001
    assert len(core.run.partials) == 21
