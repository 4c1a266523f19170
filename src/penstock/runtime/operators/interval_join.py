"""The interval join operator: pairs of two keyed inputs close in time, and unmatched rows of outer joins."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.typeinfo import Types
from penstock.runtime.callables import Collector, checked_results, method_or_callable, with_collector
from penstock.runtime.layouts import Layout, difference
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps
from penstock.state.keyed import VOID_NAMESPACE, KeyedStateBackend
from penstock.state.map_state import KeyedMapState
from penstock.state.timers import EVENT
from penstock.vocabulary.join_functions import ProcessJoinFunction
from penstock.vocabulary.output_tag import OutputTag
from penstock.vocabulary.state import MapStateDescriptor

LATE_RECORDS = "numLateRecordsDropped"
_NO_TIMESTAMP = (
    "the record has no timestamp, but an interval join compares timestamps: call assign_timestamps_and_watermarks(...) "
    "on both streams before interval_join(...)"
)
# A key with many rows can make a block of pairs far larger than the block that came in: they go on in pieces.
_PAIRS_AT_ONCE = 8_192


@dataclass(frozen=True)
class IntervalJoinSpec:
    """Which rows are pairs (lower <= right time - left time <= upper, in ms) and what happens to the others."""

    lower: int
    upper: int
    left_outer: bool = False
    right_outer: bool = False
    left_late_tag: OutputTag | None = None
    right_late_tag: OutputTag | None = None


class _Context(ProcessJoinFunction.Context):
    """The `ctx` of process_element; one object serves all pairs of an operator."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self.left: int | None = None
        self.right: int | None = None

    def get_left_timestamp(self) -> int | None:
        """Time of the left row; None in an outer join where there is none."""
        return self.left

    def get_right_timestamp(self) -> int | None:
        """Time of the right row; None in an outer join where there is none."""
        return self.right

    def get_timestamp(self) -> int:
        """Time of the results."""
        assert self._collector.timestamp is not None
        return self._collector.timestamp

    def output(self, output_tag: OutputTag, value: Any) -> None:
        """Emit to a side output."""
        self._collector.side(output_tag, value)


class _Slice:
    """Rows of one side, key and bucket as a block of the other side sees them: in order of time."""

    __slots__ = ("rows", "times", "unmatched")

    def __init__(self, side: _Side) -> None:
        self.times: list[int] = []
        self.rows: list[tuple[Any, ...]] = []
        for time, rows in side.rows.held_items():
            self.times.append(time)
            self.rows.append(rows)
        self.unmatched = set() if side.unmatched is None else set(side.unmatched.keys())


class _Arrivals:
    """Rows of one key and time that came in one block."""

    __slots__ = ("has_partner", "key", "values")

    def __init__(self, key: Any) -> None:
        self.key = key
        self.values: list[Any] = []
        self.has_partner = False


class _Side:
    """One input: its rows by time, and where in time their partners are.

    Rows are kept in map state by timestamp, in namespaces that are buckets of time as wide as the interval: whatever
    the time of a row, its partners are in at most two buckets, and a row is removed without reading its bucket. In an
    outer join `unmatched` has, by timestamp, the position of the first row without a partner. Partners are found by
    time, so rows of one time that have one come before those that have none.
    """

    def __init__(
        self, backend: KeyedStateBackend, spec: IntervalJoinSpec, *, is_left: bool, late_tag: OutputTag | None
    ) -> None:
        name = "left" if is_left else "right"
        is_outer = spec.left_outer if is_left else spec.right_outer
        self.is_left = is_left
        self.late_tag = late_tag
        self.mark = name[:1].encode()
        self.first, self.last = (spec.lower, spec.upper) if is_left else (-spec.upper, -spec.lower)
        self.retention = max(self.last, 0)
        self.width = max(spec.upper - spec.lower + 1, 1)
        self.rows_name = f"_{name}_rows"
        self.rows: KeyedMapState = backend.get_map_state(_descriptor(self.rows_name))
        self.unmatched = backend.get_map_state(_descriptor(f"_{name}_unmatched")) if is_outer else None
        self._backend = backend

    def enter(self, bucket: int) -> None:
        """Let the states mean a bucket of the current key; to be left for the void namespace before user code runs."""
        self._backend.set_namespace(b"%d" % bucket)

    def slice(self, bucket: int) -> _Slice:
        """The rows of a bucket of the current key."""
        self.enter(bucket)
        found = _Slice(self)
        self._backend.set_namespace(VOID_NAMESPACE)
        return found

    def keep(self, timestamp: int, arrived: _Arrivals) -> None:
        """Add rows of the current key."""
        self.enter(timestamp // self.width)
        held = self.rows.held(timestamp) or ()
        self.rows.hold(timestamp, (*held, *arrived.values))
        if self.unmatched is not None and not arrived.has_partner and not self.unmatched.contains(timestamp):
            self.unmatched.put(timestamp, len(held))

    def settle(self) -> None:
        """Put all rows into the buckets that they belong to, wherever another width has put them."""
        for key, namespace in self._backend.places(self.rows_name):
            self._backend.set_key(key)
            self._backend.set_namespace(namespace)
            held = [(time, rows) for time, rows in self.rows.items() if b"%d" % (time // self.width) != namespace]
            for time, rows in held:
                self._backend.set_namespace(namespace)
                self._move(time, rows)
        self._backend.set_namespace(VOID_NAMESPACE)

    def _move(self, time: int, rows: tuple[Any, ...]) -> None:
        unmatched = self.unmatched
        alone_from = None if unmatched is None else unmatched.get(time)
        self.rows.remove(time)
        if unmatched is not None and alone_from is not None:
            unmatched.remove(time)
        self.enter(time // self.width)
        self.rows.put(time, rows)
        if unmatched is not None and alone_from is not None:
            unmatched.put(time, alone_from)

    def mark_matched(self, bucket: int, found: _Slice, times: Iterable[int]) -> None:
        """Rows of these times of the current key have found a partner."""
        assert self.unmatched is not None
        self.enter(bucket)
        for time in times:
            if time in found.unmatched:
                found.unmatched.remove(time)
                self.unmatched.remove(time)
        self._backend.set_namespace(VOID_NAMESPACE)

    def release(self, timestamp: int) -> tuple[Any, ...]:
        """Remove the rows of a time of the current key; those that stayed without a partner, in an outer join."""
        self.enter(timestamp // self.width)
        alone: tuple[Any, ...] = ()
        if self.unmatched is not None and self.unmatched.contains(timestamp):
            alone = self.rows.held(timestamp)[self.unmatched.get(timestamp) :]
            self.unmatched.remove(timestamp)
        self.rows.remove(timestamp)
        self._backend.set_namespace(VOID_NAMESPACE)
        return alone


def _descriptor(name: str) -> MapStateDescriptor:
    return MapStateDescriptor(name, Types.LONG(), Types.PICKLED_BYTE_ARRAY())


class IntervalJoinOperator(StreamOperator):
    """Joins two keyed inputs on lower <= right time - left time <= upper.

    As in Flink, a row is late if its time is before the watermark, results carry the later time of the pair, and a
    row is kept until the watermark has reached the last time a partner could have. Partners of a row come in order
    of time. An outer join emits a row that stayed without a partner when it is removed, with the row's own time; that
    is behind the watermark by then, so the operator passes on watermarks that are as much behind as such rows can be,
    as Flink SQL does: nothing it emits is late downstream.
    """

    kind = "interval join"
    state_identity = "IntervalJoinOperator"
    is_keyed = True

    def __init__(self, function: Any, spec: IntervalJoinSpec) -> None:
        self.function = function
        self.spec = spec

    def waits_for_event_time(self) -> bool:
        """Rows are kept until the watermark has passed them."""
        return True

    def layout(self) -> Layout:
        """The bounds, which give the width of the buckets and when rows go, and of which side rows may stay alone."""
        spec = self.spec
        return {
            "operator": "interval join",
            "lower": spec.lower,
            "upper": spec.upper,
            "left_outer": spec.left_outer,
            "right_outer": spec.right_outer,
        }

    def layout_refusal(self, written: Layout) -> str | None:
        """Bounds may change. Which rows had a partner is known only where it was asked for."""
        now = self.layout()
        may_differ = {"lower": 0, "upper": 0}
        return None if {**written, **may_differ} == {**now, **may_differ} else difference(written, now)

    def adopt_layout(self, written: Layout | None) -> None:
        """Put rows that were kept with other bounds into the present buckets, to be kept as long as the bounds say.

        What the former bounds have removed is gone.
        """
        backend, timers = self.context.backend, self.context.timers
        assert backend is not None and timers is not None
        for side in self._sides.values():
            side.settle()
        for due, key, name in timers.every(EVENT):
            timestamp = int(name[1:])
            until = min(timestamp + self._sides[name[:1]].retention, MAX_WATERMARK)
            if due != until:
                backend.set_key(key)
                timers.delete(EVENT, due, name)
                timers.register(EVENT, until, name)

    def open(self) -> None:
        """Open the function and the buffers."""
        spec, backend = self.spec, self.context.backend
        assert backend is not None
        self._left = _Side(backend, spec, is_left=True, late_tag=spec.left_late_tag)
        self._right = _Side(backend, spec, is_left=False, late_tag=spec.right_late_tag)
        self._sides = {self._left.mark: self._left, self._right.mark: self._right}
        self._delay = max((side.retention for side in self._sides.values() if side.unmatched is not None), default=0)
        self._late = self.context.metrics.counter(LATE_RECORDS)
        self._collector = Collector(self.output, self.context.own)
        self._ctx = _Context(self._collector)
        self.open_function(self.function)
        self._process = with_collector(method_or_callable(self.function, "process_element"), 3, self._collector)

    def close(self) -> None:
        """Close the function."""
        self.close_function(self.function)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Join a block of left rows."""
        self._take(self._left, self._right, values, timestamps, keys)

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Join a block of right rows."""
        self._take(self._right, self._left, values, timestamps, keys)

    def _take(
        self, own: _Side, other: _Side, values: list[Any], timestamps: Timestamps, keys: list[Any] | None
    ) -> None:
        """Join a block with what is kept of the other side, then keep it.

        Rows of one side do not meet each other, so the other side is read once for a block, and rows of one key and
        time are kept in one go.
        """
        assert self.context.backend is not None and keys is not None
        backend, watermark, pairs = self.context.backend, self.watermark, 0
        arrived: dict[tuple[Hashable, int], _Arrivals] = {}
        slices: dict[tuple[Hashable, int], _Slice] = {}
        consumed = iter(values)
        try:
            for value, timestamp, key in zip(consumed, timestamps or repeat(None), keys, strict=False):
                if timestamp is None:
                    raise ValueError(_NO_TIMESTAMP)
                if timestamp < watermark:
                    self._refuse(own, value, timestamp)
                    continue
                backend.set_key(key)
                place = (backend.hashable_key, timestamp)
                group = arrived.get(place)
                if group is None:
                    group = arrived[place] = _Arrivals(key)
                group.values.append(value)
                found = self._join(own, other, value, timestamp, slices)
                if found:
                    group.has_partner = True
                    pairs += found
                    if pairs > _PAIRS_AT_ONCE:
                        self._collector.flush()
                        pairs = 0
        except Exception as error:
            self._collector.discard()
            raise self.record_failure(error, values, consumed) from None
        self._keep(own, arrived)
        self._collector.flush()

    def _refuse(self, side: _Side, value: Any, timestamp: int) -> None:
        if side.late_tag is None:
            self._late.inc()
            return
        self._collector.timestamp = timestamp
        self._collector.side(side.late_tag, value)

    def _join(
        self, own: _Side, other: _Side, value: Any, timestamp: int, slices: dict[tuple[Hashable, int], _Slice]
    ) -> int:
        """Emit the pairs of a row of the current key; how many there were."""
        assert self.context.backend is not None
        hashable = self.context.backend.hashable_key
        first, last = timestamp + own.first, timestamp + own.last
        count = 0
        for bucket in range(first // other.width, last // other.width + 1):
            found = slices.get((hashable, bucket))
            if found is None:
                found = slices[hashable, bucket] = other.slice(bucket)
            times = found.times
            if not times:
                continue
            begin, end = bisect_left(times, first), bisect_right(times, last)
            if begin < end:
                if found.unmatched:
                    other.mark_matched(bucket, found, times[begin:end])
                count += self._emit_pairs(own.is_left, value, timestamp, _entries(found, begin, end))
        return count

    def _emit_pairs(
        self, is_left: bool, value: Any, timestamp: int, partners: Iterator[tuple[int, tuple[Any, ...]]]
    ) -> int:
        ctx, collector, process, own = self._ctx, self._collector, self._process, self.context.own
        count = 0
        for time, rows in partners:
            ctx.left, ctx.right = (timestamp, time) if is_left else (time, timestamp)
            collector.timestamp = max(timestamp, time)
            count += len(rows)
            for row in rows:
                # Both stay, for other partners.
                results = process(own(value), own(row), ctx) if is_left else process(own(row), own(value), ctx)
                if results is not None:
                    collector.take(checked_results(results, "process_element"))
        return count

    def _keep(self, side: _Side, arrived: dict[tuple[Hashable, int], _Arrivals]) -> None:
        backend, timers = self.context.backend, self.context.timers
        assert backend is not None and timers is not None
        for (_, timestamp), group in arrived.items():
            backend.set_key(group.key)
            side.keep(timestamp, group)
            # The row's time is part of the name: it could not be told from a timer cut to the end of time.
            timers.register(EVENT, min(timestamp + side.retention, MAX_WATERMARK), side.mark + b"%d" % timestamp)
        backend.set_namespace(VOID_NAMESPACE)

    def on_watermark(self, watermark: int) -> None:
        """Remove rows that no partner can reach any more, then pass the watermark on, held back in an outer join."""
        self.watermark = watermark
        self._release(watermark)
        passed_on = watermark if watermark == MAX_WATERMARK else watermark - self._delay
        if passed_on > MIN_WATERMARK:
            self.output.emit_watermark(passed_on)

    def _release(self, watermark: int) -> None:
        backend, timers = self.context.backend, self.context.timers
        assert backend is not None and timers is not None
        for _, key, name in timers.pop_due(EVENT, watermark):
            backend.set_key(key)
            side, timestamp = self._sides[name[:1]], int(name[1:])
            alone = side.release(timestamp)
            if alone:
                self._emit_alone(side, timestamp, alone)
        self._collector.flush()

    def _emit_alone(self, side: _Side, timestamp: int, rows: tuple[Any, ...]) -> None:
        ctx, collector = self._ctx, self._collector
        ctx.left, ctx.right = (timestamp, None) if side.is_left else (None, timestamp)
        collector.timestamp = timestamp
        for row in rows:
            try:
                results = self._process(row, None, ctx) if side.is_left else self._process(None, row, ctx)
                if results is not None:
                    collector.take(checked_results(results, "process_element"))
            except Exception as error:
                collector.discard()
                raise self.failure(error, "emitting a row without a partner", row) from None


def _entries(found: _Slice, begin: int, end: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
    return zip(found.times[begin:end], found.rows[begin:end], strict=True)
