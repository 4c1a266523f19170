"""Windows as values: arithmetic, merging, order, bytes."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastream.window import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    MergingWindowAssigner,
    TimeWindow,
    TimeWindowSerializer,
)

TIMES = st.integers(-(2**40), 2**40)
INTERVALS = st.builds(lambda start, size: TimeWindow(start, start + size), st.integers(-60, 60), st.integers(1, 15))


class Merges(MergingWindowAssigner.MergeCallback[TimeWindow]):
    def __init__(self) -> None:
        self.calls: list[tuple[list[TimeWindow], TimeWindow]] = []

    def merge(self, to_be_merged: Iterable[TimeWindow], merge_result: TimeWindow) -> None:
        self.calls.append((list(to_be_merged), merge_result))


def merges(*windows: TimeWindow) -> list[tuple[list[TimeWindow], TimeWindow]]:
    callback = Merges()
    TimeWindow.merge_windows(windows, callback)
    return callback.calls


def test_a_time_window_excludes_its_end() -> None:
    assert TimeWindow(10, 20).max_timestamp() == 19
    assert CountWindow(3).max_timestamp() == GlobalWindow().max_timestamp() == 2**63 - 1


@pytest.mark.parametrize(
    ("timestamp", "offset", "start"),
    [(0, 0, 0), (9, 0, 0), (10, 0, 10), (-1, 0, -10), (-10, 0, -10), (2, 3, -7), (3, 3, 3), (6, -3, -3), (7, -3, 7)],
)
def test_window_start(timestamp: int, offset: int, start: int) -> None:
    assert TimeWindow.get_window_start_with_offset(timestamp, offset, 10) == start


@given(TIMES, st.integers(-999, 999), st.integers(1, 1000))
@settings(max_examples=60, deadline=None)
def test_a_window_start_is_aligned_and_not_after_the_timestamp(timestamp: int, offset: int, size: int) -> None:
    start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)
    assert start <= timestamp < start + size
    assert (start - offset) % size == 0


@pytest.mark.parametrize(
    ("other", "expected"), [((20, 30), True), ((0, 10), True), ((12, 13), True), ((21, 30), False), ((0, 9), False)]
)
def test_windows_that_touch_intersect(other: tuple[int, int], expected: bool) -> None:
    assert TimeWindow(10, 20).intersects(TimeWindow(*other)) is expected
    assert TimeWindow(*other).intersects(TimeWindow(10, 20)) is expected


def test_cover_spans_both() -> None:
    assert TimeWindow(0, 5).cover(TimeWindow(-3, 2)) == TimeWindow(-3, 5)
    assert TimeWindow(0, 9).cover(TimeWindow(2, 3)) == TimeWindow(0, 9)


def test_windows_are_values() -> None:
    assert TimeWindow(1, 2) == TimeWindow(1, 2) != TimeWindow(1, 3)
    assert len({TimeWindow(1, 2), TimeWindow(1, 2), TimeWindow(0, 2)}) == 2
    assert CountWindow(1) == CountWindow(1) != CountWindow(2)
    assert len({CountWindow(1), CountWindow(1)}) == 1
    assert GlobalWindow() == GlobalWindow.get() != CountWindow(0)
    assert len({GlobalWindow(), GlobalWindow.get()}) == 1


def test_time_windows_sort_by_start_then_end() -> None:
    unsorted = [TimeWindow(1, 5), TimeWindow(0, 9), TimeWindow(1, 3)]
    assert sorted(unsorted) == [TimeWindow(0, 9), TimeWindow(1, 3), TimeWindow(1, 5)]
    assert TimeWindow(0, 1) <= TimeWindow(0, 1) and not TimeWindow(0, 1) < TimeWindow(0, 1)
    assert not TimeWindow(0, 2) <= TimeWindow(0, 1)


@pytest.mark.parametrize("window", [TimeWindow(-5, 7), CountWindow(4), GlobalWindow.get()])
def test_windows_pickle(window: Any) -> None:
    again = pickle.loads(pickle.dumps(window))
    assert again == window and type(again) is type(window)


def test_a_window_alone_or_twice_is_not_merged() -> None:
    assert merges(TimeWindow(0, 5), TimeWindow(6, 9)) == []
    assert merges(TimeWindow(0, 5), TimeWindow(0, 5)) == []


def test_a_bridge_merges_its_neighbours() -> None:
    left, bridge, right, far = TimeWindow(0, 5), TimeWindow(5, 8), TimeWindow(7, 12), TimeWindow(20, 21)
    assert merges(far, right, left, bridge) == [([left, bridge, right], TimeWindow(0, 12))]


def components(windows: Iterable[TimeWindow]) -> set[frozenset[TimeWindow]]:
    """The windows in groups that hang together, found by uniting any two groups that do until none are left."""
    groups = {frozenset({window}) for window in windows}
    while True:
        pairs = ((a, b) for a in groups for b in groups if a != b and any(x.intersects(y) for x in a for y in b))
        pair = next(pairs, None)
        if pair is None:
            return groups
        groups = groups - set(pair) | {pair[0] | pair[1]}


@given(st.lists(INTERVALS, max_size=12))
@settings(max_examples=60, deadline=None)
def test_merging_equals_the_connected_components(windows: list[TimeWindow]) -> None:
    found = merges(*windows)
    assert {frozenset(members) for members, _ in found} == {group for group in components(windows) if len(group) > 1}
    for members, span in found:
        assert span == TimeWindow(min(w.start for w in members), max(w.end for w in members))


@given(TIMES, TIMES, TIMES, TIMES)
@settings(max_examples=60, deadline=None)
def test_bytes_of_time_windows_sort_as_time(a: int, b: int, c: int, d: int) -> None:
    serializer = TimeWindowSerializer()
    first, second = TimeWindow(a, b), TimeWindow(c, d)
    assert (serializer.to_bytes(first) < serializer.to_bytes(second)) is (first < second)
    assert serializer.from_bytes(serializer.to_bytes(first)) == first
    assert len(serializer.to_bytes(first)) == 16


@pytest.mark.parametrize(
    ("serializer", "window", "length"),
    [
        (TimeWindowSerializer(), TimeWindow(-(2**63), 2**63 - 1), 16),
        (CountWindowSerializer(), CountWindow(7), 8),
        (GlobalWindowSerializer(), GlobalWindow.get(), 1),
    ],
)
def test_a_stream_gives_back_what_was_written(serializer: Any, window: Any, length: int) -> None:
    stream = io.BytesIO()
    serializer.serialize(window, stream)
    serializer.serialize(window, stream)
    assert len(stream.getvalue()) == 2 * length
    stream.seek(0)
    assert serializer.deserialize(stream) == serializer.deserialize(stream) == window
    assert serializer.from_bytes(serializer.to_bytes(window)) == window


def test_count_windows_sort_by_number() -> None:
    serializer = CountWindowSerializer()
    assert serializer.to_bytes(CountWindow(2)) < serializer.to_bytes(CountWindow(300))


def test_a_window_beyond_time_is_refused() -> None:
    with pytest.raises(ValueError, match="64-bit"):
        TimeWindowSerializer().to_bytes(TimeWindow(0, 2**63))
