"""The interval join against a nested loop: results in their order, and what is in state whenever somebody looks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.constants import MAX_WATERMARK
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import OutputTag, ProcessJoinFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.keys.codec import encode_key
from penstock.keys.groups import key_group
from penstock.runtime.operators import IntervalJoinOperator, interval_rows
from penstock.runtime.operators.interval_join import IntervalJoinSpec
from penstock.state.keyed import VOID_NAMESPACE
from penstock.testing.harness import StreamRecord
from penstock.testing.two_input_harness import KeyedTwoInputHarness

LEFT_LATE, RIGHT_LATE = OutputTag("left-late"), OutputTag("right-late")
TAGS = [LEFT_LATE, RIGHT_LATE]
JOIN_TYPES = [(False, False), (True, False), (False, True), (True, True)]
KEYS: dict[str, Any] = {"a": "a", "b": "b", "list": ["a"], "bytes": b"a", "one": 1, "true": True}
"""Keys by the names in values: some are looked up as their bytes, two are equal and yet not the same."""


class NumberedPairs(ProcessJoinFunction):
    """The pair, and how many the key has had: by keyed state, so that a wrong key shows."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield left, right, count


def key_of(value: Any) -> Any:
    return KEYS[value[0]]


def canonical(value: Any) -> bytes:
    return encode_key(key_of(value))


@dataclass(frozen=True)
class Row:
    """A row of a random stream, with the operator's time when it came and its place among all events."""

    is_left: bool
    value: tuple[str, int]
    time: int
    place: int

    @property
    def name(self) -> bytes:
        """What its timer is called."""
        return b"%s%d" % (b"l" if self.is_left else b"r", self.time)


class NestedLoop:
    """The same join, said as simply as can be: each row meets all rows of the other side that are still kept."""

    def __init__(self, spec: IntervalJoinSpec) -> None:
        self.spec = spec
        self.width = max(spec.upper - spec.lower + 1, 1)
        self.kept: list[Row] = []
        self.matched: set[Row] = set()
        self.late: list[StreamRecord] = []
        self.results: list[StreamRecord] = []
        self._counts: dict[bytes, int] = {}

    def take(self, row: Row, watermark: int) -> None:
        if row.time < watermark:
            self.late.append(StreamRecord(row.value, row.time))
            return
        partners = [other for other in self.kept if self.are_pair(row, other)]
        for other in sorted(partners, key=lambda other: (other.time, other.place)):
            left, right = (row, other) if row.is_left else (other, row)
            self.matched |= {left, right}
            self._tell(row, (left.value, right.value), max(left.time, right.time))
        self.kept.append(row)

    def _tell(self, row: Row, pair: tuple[Any, Any], time: int) -> None:
        count = self._counts[canonical(row.value)] = self._counts.get(canonical(row.value), 0) + 1
        self.results.append(StreamRecord((*pair, count), time))

    def are_pair(self, row: Row, other: Row) -> bool:
        left, right = (row, other) if row.is_left else (other, row)
        is_near = self.spec.lower <= right.time - left.time <= self.spec.upper
        return row.is_left != other.is_left and canonical(row.value) == canonical(other.value) and is_near

    def removed_at(self, row: Row) -> int:
        return row.time + max(self.spec.upper if row.is_left else -self.spec.lower, 0)

    def advance(self, watermark: int) -> None:
        gone = [row for row in self.kept if self.removed_at(row) <= watermark]
        self.kept = [row for row in self.kept if row not in gone]
        for row in sorted(gone, key=self._order_of_timers):
            if self.is_alone(row):
                self._tell(row, (row.value, None) if row.is_left else (None, row.value), row.time)

    def _order_of_timers(self, row: Row) -> tuple[Any, ...]:
        key = canonical(row.value)
        return self.removed_at(row), key_group(key, 128), key, encode_key(row.name), row.place

    def is_alone(self, row: Row) -> bool:
        return (self.spec.left_outer if row.is_left else self.spec.right_outer) and row not in self.matched

    def timers(self) -> set[tuple[int, bytes, bytes]]:
        return {(self.removed_at(row), canonical(row.value), row.name) for row in self.kept}

    def state(self, is_left: bool) -> dict[tuple[bytes, bytes, int], tuple[tuple[Any, ...], int | None]]:
        """Rows, and the first without a partner, by key, bucket and time."""
        found: dict[tuple[bytes, bytes, int], list[Row]] = {}
        for row in self.kept:
            if row.is_left == is_left:
                bucket = b"%d" % (row.time // self.width)
                found.setdefault((canonical(row.value), bucket, row.time), []).append(row)
        return {
            place: (
                tuple(row.value for row in rows),
                next((index for index, row in enumerate(rows) if self.is_alone(row)), None),
            )
            for place, rows in found.items()
        }


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["left", "right"]), st.sampled_from("aab"), st.integers(-4, 12)),
        st.tuples(st.sampled_from(["left", "right"]), st.sampled_from(list(KEYS)), st.integers(-4, 12)),
        st.tuples(st.just("watermark"), st.just(""), st.integers(1, 4)),
        st.tuples(st.sampled_from(["restore", "look", "turn", "crowd"]), st.just(""), st.just(0)),
    ),
    max_size=40,
)
BOUNDS = st.tuples(st.integers(-6, 6), st.integers(-2, 6)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@pytest.mark.parametrize("join_type", JOIN_TYPES, ids=["inner", "left", "right", "full"])
@given(bounds=BOUNDS, events=EVENTS, block_size=st.integers(1, 6), fewest_at_once=st.sampled_from([1, 4, 1_000]))
@settings(max_examples=150, deadline=None)
def test_any_streams_join_as_a_nested_loop_would(
    join_type: tuple[bool, bool], bounds: tuple[int, int], events: list[Any], block_size: int, fewest_at_once: int
) -> None:
    tags = {"left_late_tag": LEFT_LATE, "right_late_tag": RIGHT_LATE}
    spec = IntervalJoinSpec(*bounds, left_outer=join_type[0], right_outer=join_type[1], **tags)
    with mock.patch.object(interval_rows, "FEWEST_AT_ONCE", fewest_at_once):
        play = Play(spec, block_size)
        for place, event in enumerate(events):
            play.take(place, *event)
        play.end()
    assert play.heard == play.expected.results
    assert sorted(play.heard_late, key=repr) == sorted(play.expected.late, key=repr)


@pytest.mark.parametrize("key", list(KEYS))
def test_a_key_that_was_read_with_all_others_is_itself_again(key: str) -> None:
    with mock.patch.object(interval_rows, "FEWEST_AT_ONCE", 1):
        play = Play(IntervalJoinSpec(0, 5, left_outer=True, right_outer=True), 5)
        stored = [("left", key, 1), ("left", "b", 1), ("restore", "", 0)]
        came = [
            *[("right", "b", 7)] * 3,
            ("left", key, 8),
            ("watermark", "", 13),
            ("right", key, 9),
            ("restore", "", 0),
        ]
        for place, event in enumerate([*stored, *came, ("left", key, 20)]):
            play.take(place, *event)
        play.end()
    assert play.heard == play.expected.results


class Play:
    """A random stream on the operator and the nested loop side by side; rows of one side wait to fill a block."""

    def __init__(self, spec: IntervalJoinSpec, block_size: int) -> None:
        self.expected = NestedLoop(spec)
        self.heard: list[StreamRecord] = []
        self.heard_late: list[StreamRecord] = []
        self._spec = spec
        self._block_size = block_size
        self._block: list[tuple[Any, int]] = []
        self._side = ""
        self._watermark = -(2**63)
        self._harness = self._create().open()
        self._others = {"restore": self._restore, "look": self._look, "turn": self._turn, "crowd": self._crowd}

    def _create(self) -> KeyedTwoInputHarness:
        operator = IntervalJoinOperator(NumberedPairs(), self._spec)
        return KeyedTwoInputHarness(operator, key1=key_of, key2=key_of, side_outputs=TAGS)

    def take(self, place: int, kind: str, key: str, number: int) -> None:
        if kind != self._side or len(self._block) >= self._block_size:
            self._send()
        if kind in ("left", "right"):
            self._side = kind
            row = Row(kind == "left", (key, place), number + max(self._watermark, 0), place)
            self._block.append((row.value, row.time))
            self.expected.take(row, self._watermark)
        elif kind == "watermark":
            self._advance(max(self._watermark, 0) + number)
        else:
            self._others[kind]()

    def _send(self) -> None:
        if self._block:
            (self._harness.process_elements1 if self._side == "left" else self._harness.process_elements2)(self._block)
        self._block = []

    def _advance(self, watermark: int) -> None:
        self._watermark = watermark
        self.expected.advance(watermark)
        self._harness.process_watermark(watermark)

    def _restore(self) -> None:
        """Go on in another process."""
        self._look()
        snapshot = self._harness.snapshot()
        self._listen()
        self._harness.close()
        self._harness = self._create()
        self._harness.restore(snapshot)
        self._harness.open()

    def _turn(self) -> None:
        """End the batch and begin the next one in the same process."""
        self._harness.snapshot()

    def _crowd(self) -> None:
        """Let the cache be full: the next key finds it empty."""
        self._backend().cached += 1_000_000

    def _look(self) -> None:
        """Compare what is in state with what the nested loop keeps."""
        backend, timers = self._backend(), self._harness._running().head.context.timers
        backend.write()
        found = {(due, encode_key(key), name) for due, key, name in timers.every(0)}
        assert found == self.expected.timers()
        for is_left, name in ((True, "left"), (False, "right")):
            expected = self.expected.state(is_left)
            places = backend.places(f"_{name}_rows")
            assert dict(stored(backend, f"_{name}_rows", places)) == {
                place: rows for place, (rows, _) in expected.items()
            }
            if self._spec.left_outer if is_left else self._spec.right_outer:
                assert dict(stored(backend, f"_{name}_unmatched", places)) == {
                    place: first for place, (_, first) in expected.items() if first is not None
                }

    def _backend(self) -> Any:
        return self._harness._running().head.context.backend

    def _listen(self) -> None:
        mark = -(2**63)
        for item in self._harness.output_with_watermarks():
            if isinstance(item, Watermark):
                mark = item.timestamp
            else:
                assert item.timestamp >= mark
                self.heard.append(item)
        self.heard_late += self._harness.side_output(LEFT_LATE) + self._harness.side_output(RIGHT_LATE)

    def end(self) -> None:
        self._send()
        self._look()
        self.expected.advance(MAX_WATERMARK)
        self._harness.end_input()
        assert self._harness.num_event_time_timers() == 0
        assert not self._backend().places("_left_rows")
        assert not self._backend().places("_right_rows")
        self._listen()
        self._harness.close()


def stored(backend: Any, name: str, places: Iterable[tuple[Any, bytes]]) -> Iterator[tuple[Any, Any]]:
    """Pairs of key, bucket and time, and what a map state has there."""
    for key, namespace in places:
        backend.set_key(key)
        backend.set_namespace(namespace)
        for time, held in list(backend.state(name).items()):
            yield (encode_key(key), namespace, time), held
    backend.set_namespace(VOID_NAMESPACE)
