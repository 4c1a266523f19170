"""An interval join that goes on with other bounds: rows that are kept find the partners that the new bounds give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators.interval_join import IntervalJoinOperator, IntervalJoinSpec
from penstock.testing.two_input_harness import KeyedTwoInputHarness
from penstock.vocabulary.join_functions import ProcessJoinFunction

END = 2**63 - 1


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left and left[1], right and right[1]


def harness_of(lower: int, upper: int, **more: Any) -> KeyedTwoInputHarness:
    operator = IntervalJoinOperator(Pairs(), IntervalJoinSpec(lower, upper, **more))
    return KeyedTwoInputHarness(operator, key1=lambda row: row[0], key2=lambda row: row[0])


def change(harness: KeyedTwoInputHarness, lower: int, upper: int, **more: Any) -> KeyedTwoInputHarness:
    taken = harness.snapshot()
    harness.close()
    again = harness_of(lower, upper, **more)
    again.restore(taken)
    return again.open()


BOUNDS = st.tuples(st.integers(-8, 8), st.integers(0, 9)).map(lambda pair: (pair[0], pair[0] + pair[1]))
TIMES = st.lists(st.integers(0, 40), max_size=6)


@settings(max_examples=60)
@given(before=BOUNDS, after=BOUNDS, left=TIMES, right=TIMES, watermark=st.integers(0, 20))
def test_rows_that_are_kept_find_their_partners(
    before: tuple[int, int], after: tuple[int, int], left: list[int], right: list[int], watermark: int
) -> None:
    harness = harness_of(*before).open()
    harness.process_elements1([(("a", time), time) for time in left])
    harness.process_watermark(watermark)
    harness = change(harness, *after)
    # The former bounds had to keep a row this long, and have.
    kept = [time for time in left if time + max(before[1], 0) > watermark]
    on_time = [time for time in right if time >= watermark]
    harness.process_elements2([(("a", time), time) for time in on_time])
    wanted = [(a, b) for a in kept for b in on_time if after[0] <= b - a <= after[1]]
    assert sorted(harness.output_values()) == sorted(wanted)
    harness.process_watermark(END)
    assert harness.num_keyed_state_entries() == harness.num_event_time_timers() == 0


@pytest.mark.parametrize("is_written_down", [True, False])
def test_twelve_pairs_are_twelve_with_wider_bounds(is_written_down: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    # Was: none, for rows were looked for in buckets of another width. Former versions wrote no bounds down.
    harness = harness_of(-1, 1).open()
    if not is_written_down:
        monkeypatch.setattr(IntervalJoinOperator, "layout", lambda self: None)
    harness.process_elements1([(("a", time), time) for time in (100, 101, 102, 103)])
    taken = harness.snapshot()
    monkeypatch.undo()
    harness = harness_of(-50, 50)
    harness.restore(taken)
    harness.open()
    harness.process_elements2([(("a", time), time) for time in (90, 100, 150)])
    assert len(harness.output_values()) == 12


def test_rows_of_an_outer_join_know_whether_they_had_a_partner() -> None:
    harness = harness_of(0, 5, left_outer=True).open()
    harness.process_elements1([(("a", 10), 10), (("a", 20), 20), (("a", 30), 30)])
    harness.process_element2(("a", 12), 12)
    harness.clear_output()
    harness = change(harness, 0, 9, left_outer=True)
    harness.process_element2(("a", 28), 28)
    assert harness.output_values() == [(20, 28)]
    harness.process_watermark(END)
    assert harness.output_values() == [(20, 28), (30, None)]
    assert harness.num_keyed_state_entries() == 0


def test_a_join_that_becomes_outer_is_refused() -> None:
    harness = harness_of(0, 5).open()
    harness.process_element1(("a", 10), 10)
    with pytest.raises(OperatorFailure, match=r"it was written with left_outer False, but now has left_outer True"):
        change(harness, 0, 5, left_outer=True)
