"""Aggregation in front of the exchange on one subtask: what is folded, what goes alone, and when it leaves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.datastream.functions import AggregateFunction, MapFunction
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import MapOperator
from penstock.runtime.operators.window import local
from penstock.runtime.operators.window.local import LocalWindowAggregation
from penstock.runtime.operators.window.partials import Partial
from penstock.vocabulary.window.pane_grid import PaneGrid
from tests.unit.runtime.rig import Rig


def grid_of(assigner: Any) -> PaneGrid:
    grid = assigner.pane_grid()
    assert isinstance(grid, PaneGrid)
    return grid


TEN = grid_of(TumblingEventTimeWindows.of(10))


def first(pair: Any) -> Any:
    return pair[0]


def add(left: tuple[Any, int], right: tuple[Any, int]) -> tuple[Any, int]:
    return left[0], left[1] + right[1]


def summing(grid: PaneGrid = TEN, **settings: Any) -> LocalWindowAggregation:
    return LocalWindowAggregation(first, grid, add, **settings)


def folded(key: Any, start: int, accumulator: Any, count: int) -> tuple[Partial, int]:
    """A group as it leaves, with its timestamp."""
    return Partial(key, start, accumulator, count), start


def alone(key: Any, value: Any, timestamp: int | None) -> tuple[Partial, int | None]:
    """A record as it leaves by itself."""
    return value, timestamp


class Gather(AggregateFunction):
    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b


class Keep(MapFunction):
    """Holds on to the records that pass, as another consumer in the same process would."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def map(self, value: Any) -> Any:
        self.kept.append(value)
        return value


# ---- panes ----


ASSIGNERS = st.one_of(
    st.builds(TumblingEventTimeWindows.of, st.integers(1, 20)),
    st.builds(TumblingEventTimeWindows.of, st.integers(8, 20), st.integers(-7, 7)),
    st.integers(1, 12).flatmap(
        lambda slide: st.builds(
            SlidingEventTimeWindows.of, st.integers(slide, 30), st.just(slide), st.integers(1 - slide, slide - 1)
        )
    ),
    st.builds(
        lambda step, steps, offset: CumulativeEventTimeWindows.of(step * steps, step, offset % (step * steps)),
        st.integers(1, 6),
        st.integers(1, 5),
        st.integers(0, 30),
    ),
)


@given(ASSIGNERS, st.integers(-100, 100), st.integers(-100, 100))
@settings(max_examples=100)
def test_a_pane_is_in_whole_windows_and_open_exactly_while_none_of_them_has_passed(
    assigner: Any, timestamp: int, watermark: int
) -> None:
    grid = grid_of(assigner)
    start = grid.pane_of(timestamp)
    windows = assigner.assign_windows(None, timestamp, None)
    for other in (start, start + grid.width - 1):
        assert assigner.assign_windows(None, other, None) == windows
    has_passed = any(window.max_timestamp() <= watermark for window in windows)
    assert (timestamp < grid.open_from(watermark)) == has_passed


# ---- when groups leave ----


def test_records_of_a_key_and_pane_leave_as_one_before_the_watermark_that_completes_it(tmp_path: Path) -> None:
    rig = Rig(tmp_path, summing())
    rig.process(("a", 1), ("b", 5), ("a", 2), ("a", 7), at=[0, 3, 9, 10])
    assert rig.take() == []
    rig.watermark(8)
    assert rig.take() == [("watermark", 8)]
    rig.watermark(9)
    assert rig.take() == [folded("a", 0, ("a", 3), 2), folded("b", 0, ("b", 5), 1), ("watermark", 9)]
    rig.watermark(MAX_WATERMARK)
    assert rig.take() == [folded("a", 10, ("a", 7), 1), ("watermark", MAX_WATERMARK)]


def test_sliding_windows_are_folded_by_panes_of_their_common_divisor(tmp_path: Path) -> None:
    rig = Rig(tmp_path, summing(grid_of(SlidingEventTimeWindows.of(10, 4))))
    rig.process(*[("a", 1)] * 5, at=[0, 1, 2, 3, 4])
    rig.watermark(3)
    assert rig.take() == [folded("a", 0, ("a", 2), 2), folded("a", 2, ("a", 2), 2), ("watermark", 3)]
    rig.watermark(5)  # the first window that holds 4 and 5 ends at 6
    rig.take()
    rig.process(("a", 1), ("a", 2), ("a", 3), at=[5, 6, 7])
    assert rig.take() == [alone("a", ("a", 1), 5)]


def test_cumulative_windows_are_folded_by_their_step(tmp_path: Path) -> None:
    rig = Rig(tmp_path, summing(grid_of(CumulativeEventTimeWindows.of(30, 10, 5))))
    rig.process(("a", 1), ("a", 2), ("a", 3), at=[5, 14, 15])
    rig.watermark(14)
    assert rig.take() == [folded("a", 5, ("a", 3), 2), ("watermark", 14)]


def test_nothing_stays_behind_at_the_end_of_a_batch(tmp_path: Path) -> None:
    rig = Rig(tmp_path, summing())
    rig.process(("a", 1), at=5)
    rig.next_batch()
    assert rig.take() == [folded("a", 0, ("a", 1), 1)]
    rig.process(("a", 2), at=6)
    rig.watermark(9)
    assert rig.take() == [folded("a", 0, ("a", 2), 1), ("watermark", 9)]


@pytest.mark.parametrize(("signal", "event"), [("idle", ("idle",)), ("end", ("end",))])
def test_groups_leave_before_the_input_falls_silent(tmp_path: Path, signal: str, event: Any) -> None:
    rig = Rig(tmp_path, summing())
    rig.process(("a", 1), at=5)
    getattr(rig, signal)()
    events = rig.take()
    assert events[0] == folded("a", 0, ("a", 1), 1)
    assert events[-1] == event


def test_no_more_than_a_bounded_number_of_groups_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "GROUP_LIMIT", 2)
    rig = Rig(tmp_path, summing())
    rig.process(("a", 1), ("b", 2), ("a", 3), at=5)
    assert rig.take() == []
    rig.process(("c", 4), at=5)
    assert rig.take() == [folded("a", 0, ("a", 4), 2), folded("b", 0, ("b", 2), 1), folded("c", 0, ("c", 4), 1)]
    rig.process(("a", 5), ("b", 6), at=5)
    assert rig.take() == [], "what has left does not count"


# ---- what goes alone ----


def test_a_record_that_may_be_late_goes_alone_with_its_timestamp(tmp_path: Path) -> None:
    rig = Rig(tmp_path, summing())
    rig.watermark(9)
    rig.take()
    rig.process(("a", 1), ("a", 2), ("b", 3), ("a", 4), at=[10, 9, 0, 11])
    assert rig.take() == [alone("a", ("a", 2), 9), alone("b", ("b", 3), 0)]
    rig.next_batch()
    assert rig.take() == [folded("a", 10, ("a", 5), 2)]
    rig.process(("a", 6), at=9)
    assert rig.take() == [alone("a", ("a", 6), 9)], "the watermark lasts over batches"


@pytest.mark.parametrize("stamps", [None, [5, None], [5, MIN_WATERMARK]], ids=["none", "one", "lowest"])
def test_records_without_timestamp_are_left_to_be_refused_where_windows_are_assigned(
    tmp_path: Path, stamps: Any
) -> None:
    rig = Rig(tmp_path, summing())
    rig.process(("a", 1), ("a", 2), at=stamps)
    assert alone("a", ("a", 2), None if stamps is None else stamps[1]) in rig.take()


def test_where_keys_hardly_repeat_records_go_alone_in_this_batch_and_some_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "TRIAL_RECORDS", 4)
    monkeypatch.setattr(local, "BATCHES_ALONE", 1)
    rig = Rig(tmp_path, summing())
    rig.process(("a", 1), ("b", 2), ("c", 3), at=5)
    rig.process(("d", 4), at=5)
    assert rig.take() == []
    rig.process(("a", 5), at=5)
    *groups, last = rig.take()
    assert [partial[0] for partial, _ in groups] == ["a", "b", "c", "d"], "nobody is overtaken by a later record"
    assert last == alone("a", ("a", 5), 5)
    rig.finish()
    rig.process(("a", 6), at=5)
    assert rig.take() == [alone("a", ("a", 6), 5)]
    rig.finish()
    rig.process(("a", 7), at=5)
    assert rig.take() == [], "once more it is tried"


def test_where_keys_repeat_folding_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "TRIAL_RECORDS", 4)
    rig = Rig(tmp_path, summing())
    rig.process(("a", 1), ("b", 1), ("a", 1), ("b", 1), at=5)
    rig.process(("a", 1), at=5)
    assert rig.take() == []


def test_after_idleness_records_go_alone_where_late_ones_are_told_apart(tmp_path: Path) -> None:
    rig = Rig(tmp_path, summing(minds_late=True))
    rig.idle()
    rig.idle(is_idle=False)
    rig.take()
    rig.process(("a", 1), at=5)
    assert rig.take() == [alone("a", ("a", 1), 5)]
    rig.next_batch()
    rig.process(("a", 2), at=5)
    assert rig.take() == [alone("a", ("a", 2), 5)]


def test_after_idleness_folding_goes_on_where_late_records_are_only_dropped(tmp_path: Path) -> None:
    rig = Rig(tmp_path, summing())
    rig.idle()
    rig.idle(is_idle=False)
    rig.take()
    rig.process(("a", 1), at=5)
    assert rig.take() == []


# ---- whose objects are folded ----


def into_first(left: list[Any], right: list[Any]) -> list[Any]:
    left[1] += right[1]
    return left


def into_second(left: list[Any], right: list[Any]) -> list[Any]:
    right[1] += left[1]
    return right


def inside(left: tuple[Any, list[Any]], right: tuple[Any, list[Any]]) -> tuple[Any, list[Any]]:
    left[1].extend(right[1])
    return left


def deep_inside(left: Any, right: Any) -> Any:
    left[1][0].extend(right[1][0])
    return left


@pytest.mark.parametrize(
    ("reduce", "records", "result"),
    [
        (into_first, [["a", 1], ["a", 2], ["a", 3]], ["a", 6]),
        (into_second, [["a", 1], ["a", 2], ["a", 3]], ["a", 6]),
        (inside, [("a", [1]), ("a", [2]), ("a", [3])], ("a", [1, 2, 3])),
        (deep_inside, [("a", ([1],)), ("a", ([2],))], ("a", ([1, 2],))),
    ],
    ids=["first", "second", "inside", "deep inside"],
)
def test_a_function_that_changes_its_arguments_changes_no_record_of_others(
    tmp_path: Path, reduce: Any, records: list[Any], result: Any
) -> None:
    rig = Rig(tmp_path, MapOperator(Keep()), LocalWindowAggregation(first, TEN, reduce))
    rig.process(*records, at=5)
    kept = rig.subtask.vertex.operators[0].operator.function.kept
    assert kept == records
    rig.watermark(9)
    assert rig.take()[0] == folded("a", 0, result, len(records))
    assert kept == records


def test_an_accumulator_that_has_left_is_not_touched_again(tmp_path: Path) -> None:
    rig = Rig(tmp_path, LocalWindowAggregation(first, TEN, Gather()))
    rig.process(("a", 1), ("a", 2), at=5)
    rig.idle()
    rig.process(("a", 3), at=5)
    rig.end()
    assert [partial[2] for partial, _ in rig.records()[:2]] == [[1, 2], [3]]


# ---- keys ----


def test_keys_that_cannot_be_hashed_are_grouped_by_what_they_are_equal_to(tmp_path: Path) -> None:
    rig = Rig(tmp_path, summing())
    rig.process(([1], 1), ([2], 2), ([1], 3), (b"x", 4), at=5)
    rig.process((b"x", 5), at=5)  # a block of its own, where all keys can be hashed
    rig.watermark(9)
    groups = [partial for partial in rig.values() if isinstance(partial, Partial)]
    assert sorted((str(group[0]), group[2][1]) for group in groups) == [
        ("[1]", 4),
        ("[2]", 2),
        ("b'x'", 4),
        ("b'x'", 5),
    ]


def test_not_a_number_as_key_loses_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, summing())
    rig.process((math.nan, 1), (float("nan"), 2), at=5)
    rig.watermark(9)
    assert sum(partial[3] for partial in rig.values() if isinstance(partial, tuple)) == 2


# ---- failures ----


@pytest.mark.parametrize(
    ("operator", "records", "texts"),
    [
        (summing(), [("a", 1), ("a", "x")], ["operator-0", "processing a record", "('a', 'x')", "TypeError"]),
        (summing(), [("a", 1), 5], ["operator-0", "selecting the key", "record: 5"]),
        (summing(), [([object()], 1)], ["operator-0", "encoding the key", "KeyEncodingError"]),
    ],
    ids=["fold", "select", "encode"],
)
def test_a_failure_names_the_operator_and_the_record(
    tmp_path: Path, operator: LocalWindowAggregation, records: list[Any], texts: list[str]
) -> None:
    rig = Rig(tmp_path, operator)
    with pytest.raises(OperatorFailure) as caught:
        rig.process(*records, at=5)
    for text in texts:
        assert text in str(caught.value)
