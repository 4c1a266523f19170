"""The pattern operator by itself: order of time, late events, clock, snapshots, other parallelism, changed patterns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cep import AfterMatchSkipStrategy, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.cep.compilation import compile_pattern
from penstock.cep.described import described_elements
from penstock.cep.pattern import check_pattern
from penstock.common.constants import MAX_WATERMARK
from penstock.datastream import OutputTag
from penstock.keys.codec import encode_key
from penstock.keys.groups import key_group, subtask_of
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators.cep.operator import PatternOperator, PatternSpec
from penstock.testing import HarnessSnapshot, KeyedHarness
from tests.conformance.cep.notation import pattern_of
from tests.unit.cep import brute_force, drawn
from tests.unit.cep.core import Core, shown

TIMEOUTS, LATE = OutputTag("timeouts"), OutputTag("late")
Event = tuple[Any, ...]


class Show(PatternProcessFunction[Any, Any], TimedOutPartialMatchHandler):
    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterator[Any]:
        yield match, ctx.timestamp()

    def process_timed_out_match(self, match: dict[str, list[Any]], ctx: Any) -> None:
        ctx.output(TIMEOUTS, (match, ctx.timestamp()))


def operator_of(pattern: Pattern, **settings: Any) -> PatternOperator:
    elements = check_pattern(pattern)
    skip = pattern.get_after_match_skip_strategy()
    spec = PatternSpec(compile_pattern(elements), skip, described_elements(elements), **settings)
    return PatternOperator(Show(), spec)


def harness_of(pattern: str | Pattern, skip: str = "noSkip", **settings: Any) -> KeyedHarness:
    built = pattern_of(pattern, skip) if isinstance(pattern, str) else pattern
    places = {name: settings.pop(name) for name in ("parallelism", "subtask") if name in settings}
    operator = operator_of(built, **settings)
    # The key is the third part of an event, if it has one.
    return KeyedHarness(operator, key=lambda e: e[2] if len(e) > 2 else 0, side_outputs=[TIMEOUTS, LATE], **places)


def names(found: list[Any]) -> list[str]:
    return ["".join(event[0] for events in match.values() for event in events) for match, _ in found]


def test_events_are_taken_in_order_of_their_time() -> None:
    with harness_of("a next b next c") as harness:
        for event in [("c", 3), ("a", 1), ("b", 2)]:
            harness.process_element(event, event[1])
        assert harness.output() == []
        harness.process_watermark(2)
        assert harness.output() == []
        harness.process_watermark(3)
        (record,) = harness.output()
        assert record.timestamp == 3
        assert names([record.value]) == ["abc"]


def test_events_of_one_time_are_taken_as_they_came_or_as_the_comparator_says() -> None:
    events = [("b", 5), ("a", 5)]
    for comparator, found in ((None, []), (lambda one, other: (one > other) - (one < other), ["ab"])):
        with harness_of("a next b", comparator=comparator) as harness:
            harness.process_elements([(event, 5) for event in events])
            harness.process_watermark(5)
            assert names(harness.output_values()) == found


def test_keys_have_matches_of_their_own() -> None:
    with harness_of("a next b") as harness:
        for event in [("a", 1, "k"), ("a", 2, "l"), ("b", 3, "k")]:
            harness.process_element(event, event[1])
        harness.process_watermark(9)
        assert [match["a"][0][2] for match, _ in harness.output_values()] == ["k"]


def test_a_late_event_is_dropped_and_counted_or_goes_to_its_side_output() -> None:
    for tag, dropped, late in ((None, 1, []), (LATE, 0, [("a", 5)])):
        with harness_of("a", late_tag=tag) as harness:
            harness.process_watermark(5)
            harness.process_element(("a", 5), 5)
            harness.process_element(("a", 6), 6)
            harness.process_watermark(6)
            assert names(harness.output_values()) == ["a"]
            assert harness.late_records_dropped() == dropped
            assert harness.side_output_values(LATE) == late


def test_an_event_without_a_time_is_refused() -> None:
    with harness_of("a") as harness, pytest.raises(OperatorFailure, match="assign_timestamps_and_watermarks"):
        harness.process_element(("a", 1), None)


def test_a_partial_match_times_out_when_the_watermark_says_so_and_leaves_nothing() -> None:
    with harness_of("a followedBy b within(10)") as harness:
        harness.process_element(("a", 5), 5)
        harness.process_watermark(14)
        assert harness.side_output_values(TIMEOUTS) == []
        assert harness.num_keyed_state_entries() > 0
        harness.process_watermark(15)
        assert harness.side_output_values(TIMEOUTS) == [({"a": [("a", 5)]}, 15)]
        assert harness.side_output(TIMEOUTS)[0].timestamp == 15
        assert harness.num_keyed_state_entries() == 0
        assert harness.num_event_time_timers() == 0


def test_in_processing_time_an_event_is_taken_at_once_and_the_clock_lets_matches_time_out() -> None:
    with harness_of("a followedBy b within(10)", is_processing_time=True) as harness:
        harness.process_element(("a1",))
        harness.process_element(("b1",))
        assert names(harness.output_values()) == ["a1b1"]
        assert harness.output()[0].timestamp is None
        harness.process_element(("a2",))
        harness.set_processing_time(10)
        assert names(harness.side_output_values(TIMEOUTS)) == ["a2"]
        assert harness.num_keyed_state_entries() == 0


def test_in_processing_time_a_comparator_orders_what_came_in_one_millisecond() -> None:
    def order(one: Event, other: Event) -> int:
        return (one > other) - (one < other)

    with harness_of("a next b", is_processing_time=True, comparator=order) as harness:
        harness.process_elements([(("b",), None), (("a",), None)])
        assert harness.output() == []
        harness.set_processing_time(1)
        assert names(harness.output_values()) == ["ab"]


def test_a_function_that_raises_is_named_with_the_key() -> None:
    def fails(event: Event) -> bool:
        raise ZeroDivisionError("no")

    with harness_of(Pattern.begin("a").where(fails)) as harness:
        harness.process_element(("a", 1, "k7"), 1)
        with pytest.raises(OperatorFailure, match="asking the condition of 'a', for key 'k7'"):
            harness.process_watermark(1)


def test_what_a_function_does_to_a_match_stays_out_of_the_buffer() -> None:
    class Spoil(Show):
        def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterator[Any]:
            yield len(match["a"][0])
            match["a"][0].append("spoilt")

    pattern = Pattern.begin("a").where(lambda e: e[0] == "a").followed_by_any("b").where(lambda e: e[0] == "b")
    operator = operator_of(pattern)
    operator.function = Spoil()
    with KeyedHarness(operator, key=lambda e: 0) as harness:
        for time, event in enumerate([["a"], ["b"], ["b"]]):
            harness.process_element(event, time)
        harness.process_watermark(9)
        assert harness.output_values() == [1, 1]


@settings(max_examples=25, deadline=None)
@given(
    drawn.parts(),
    drawn.events(),
    st.one_of(st.none(), st.integers(2, 12)),
    st.sampled_from(["no_skip", "skip_to_next", "skip_past_last_event"]),
    st.data(),
)
def test_matches_do_not_depend_on_watermarks_snapshots_or_parallelism(
    parts: list[brute_force.Part], events: list[Any], window: int | None, skip: str, data: st.DataObject
) -> None:
    def begin(name: str) -> Pattern:
        return Pattern.begin(name, getattr(AfterMatchSkipStrategy, skip)())

    pattern = brute_force.pattern_of(parts, window, begin)
    expected = Core(pattern).play(events)
    found: list[Any] = []
    timeouts: list[Any] = []
    snapshot: HarnessSnapshot | None = None
    for event in [*events, None]:
        # Each event may be handled by another process, of another number of subtasks.
        parallelism = data.draw(st.integers(1, 3))
        subtask = subtask_of(key_group(encode_key(0), 128), parallelism, 128)
        harness = harness_of(pattern, parallelism=parallelism, subtask=subtask)
        if snapshot is not None:
            harness.restore(HarnessSnapshot.rescaled([snapshot], parallelism)[subtask])
        with harness:
            if event is not None:
                harness.process_element(event, event[1])
                if data.draw(st.booleans()):
                    harness.process_watermark(event[1] - 1)
            else:
                harness.process_watermark(MAX_WATERMARK)
            found += harness.output_values()
            timeouts += harness.side_output_values(TIMEOUTS)
            snapshot = harness.snapshot()
    assert shown(timeouts) == shown(expected.timeouts)
    assert [text.split("]")[0] for text in shown(found)] == [text.split("]")[0] for text in shown(expected.matches)]


def changed(pattern: str, **settings: Any) -> KeyedHarness:
    """A harness of another pattern on the state of `a followedBy b` with a half-finished match."""
    with harness_of("a followedBy b") as harness:
        harness.process_element(("a", 1), 1)
        harness.process_watermark(2)
        harness.process_element(("b", 5), 5)
        snapshot = harness.snapshot()
    other = harness_of(pattern, **settings)
    other.restore(snapshot)
    return other


def test_a_changed_pattern_is_refused_with_the_difference() -> None:
    with pytest.raises(OperatorFailure, match=r"element 2 followed by 'b', but now has element 2 next 'b'.*uid"):
        changed("a next b").open()


def test_partial_matches_of_a_changed_pattern_are_dropped_and_counted_if_the_user_wants_so() -> None:
    with changed("a next b", allows_change=True) as harness:
        harness.process_element(("a", 4), 4)
        harness.process_watermark(9)
        # The event that was waiting is there; the partial match is not.
        assert [match["a"] for match, _ in harness.output_values()] == [[("a", 4)]]


def test_another_kind_of_time_is_refused_even_then() -> None:
    with pytest.raises(OperatorFailure, match="time event time, but now has time processing time"):
        changed("a followedBy b", allows_change=True, is_processing_time=True).open()


def test_changed_conditions_are_fine() -> None:
    pattern = Pattern.begin("a").where(lambda e: False).followed_by("b").where(lambda e: e[0] == "b")
    with changed(pattern) as harness:  # type: ignore[arg-type]
        harness.process_watermark(9)
        assert names(harness.output_values()) == ["ab"]


def test_only_what_has_changed_is_written() -> None:
    with harness_of("a followedBy b+ followedBy c") as harness:
        harness.process_element(("a", 1), 1)
        for time in range(2, 30):
            harness.process_element((f"b{time}", time), time)
        harness.process_watermark(40)
        before = harness.snapshot().rows
        harness.process_element(("x", 41), 41)
        harness.process_element(("b", 42), 42)
        harness.process_watermark(43)
        after = harness.snapshot().rows
    changed_rows = {row for row in {*before, *after} if before.get(row) != after.get(row)}
    assert len(changed_rows) < len(before) / 2


def figures(harness: KeyedHarness) -> dict[str, float]:
    return harness._running().head.context.metrics.values()


def test_matches_timeouts_partial_matches_and_the_largest_buffer_are_counted() -> None:
    with harness_of("a followedBy b within(10)") as harness:
        for event in [("a1", 1), ("a2", 2), ("b", 3), ("a3", 4)]:
            harness.process_element(event, event[1])
        harness.process_watermark(5)
        found = figures(harness)
        assert (found["numMatches"], found["partialMatches"], found["sharedBufferSize.max"]) == (2, 1, 2)
        harness.process_watermark(30)
        found = figures(harness)
        assert (found["numTimedOutMatches"], found["partialMatches"]) == (1, 0)


def test_dropped_partial_matches_are_counted() -> None:
    with changed("a next b", allows_change=True) as harness:
        assert figures(harness)["numPartialMatchesDropped"] == 1


def test_partial_matches_of_a_key_time_out_in_the_order_of_their_ends_wherever_their_rows_are() -> None:
    snapshot: HarnessSnapshot | None = None
    # The third one takes the row of the first, which is in front of the row of the second.
    for event, watermark in ((("a1", 1), 1), (("a2", 5), 5), (("a3", 12), 12), (("x", 99), 100)):
        harness = harness_of("a followedBy b within(10)")
        if snapshot is not None:
            harness.restore(snapshot)
        with harness:
            harness.process_element(event, event[1])
            harness.process_watermark(watermark)
            snapshot = harness.snapshot()
            found = harness.side_output_values(TIMEOUTS)
    assert [(match["a"][0][0], time) for match, time in found] == [("a2", 15), ("a3", 22)]
