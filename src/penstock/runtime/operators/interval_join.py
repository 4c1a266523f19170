"""The interval join operator: pairs of two keyed inputs close in time, and unmatched rows of outer joins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.runtime.callables import Collector, method_or_callable, with_collector
from penstock.runtime.layouts import Layout, difference
from penstock.runtime.operators.interval_rows import IntervalSide
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps
from penstock.state.hashable_keys import PLAIN_TYPES, hashable_of
from penstock.state.keyed import GoTo
from penstock.state.timers import EVENT
from penstock.vocabulary.join_functions import ProcessJoinFunction
from penstock.vocabulary.output_tag import OutputTag

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
        spec = self.spec
        self._left = self._side(is_left=True, is_outer=spec.left_outer)
        self._right = self._side(is_left=False, is_outer=spec.right_outer)
        self._sides = {self._left.mark: self._left, self._right.mark: self._right}
        self._delay = max((side.retention for side in self._sides.values() if side.is_outer), default=0)
        self._late = self.context.metrics.counter(LATE_RECORDS)
        self._collector = Collector(self.output, self.context.own)
        self._own = self.context.own
        self._ctx = _Context(self._collector)
        self.open_function(self.function)
        self._process = with_collector(method_or_callable(self.function, "process_element"), 3, self._collector)

    def _side(self, *, is_left: bool, is_outer: bool) -> IntervalSide:
        backend, timers, bounds = self.context.backend, self.context.timers, (self.spec.lower, self.spec.upper)
        assert backend is not None and timers is not None
        return IntervalSide(backend, timers, bounds, is_left=is_left, is_outer=is_outer)

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
        self, own: IntervalSide, other: IntervalSide, values: list[Any], timestamps: Timestamps, keys: list[Any] | None
    ) -> None:
        """Join a block, row by row, with what is kept of the other side, and keep it."""
        assert self.context.backend is not None and keys is not None
        for side in (own, other):
            side.begin_block(len(values))
        self.context.backend.make_room()
        consumed = iter(values)
        try:
            with self.context.backend.other_keys() as go_to:
                self._join(own, other, zip(consumed, timestamps or repeat(None), keys, strict=False), go_to)
        except Exception as error:
            self._collector.discard()
            raise self.record_failure(error, values, consumed) from None
        self._collector.flush()

    def _join(
        self, own: IntervalSide, other: IntervalSide, records: Iterable[tuple[Any, int | None, Any]], go_to: GoTo
    ) -> None:
        watermark, first, last, pairs = self.watermark, own.first, own.last, 0
        for value, timestamp, key in records:
            if timestamp is None:
                raise ValueError(_NO_TIMESTAMP)
            if timestamp < watermark:
                self._refuse(own, value, timestamp)
                continue
            hashable = key if type(key) in PLAIN_TYPES else hashable_of(key)
            go_to(hashable, key)
            partners, begin, end = other.near(hashable, key, timestamp + first, timestamp + last)
            if begin < end:
                other.mark_matched(partners, begin, end)
                self._emit_pairs(own.is_left, value, timestamp, partners.times[begin:end], partners.rows[begin:end])
                pairs += end - begin
                if pairs > _PAIRS_AT_ONCE:
                    self._collector.flush()
                    pairs = 0
            own.take(hashable, key, timestamp, value, has_partner=begin < end)

    def _refuse(self, side: IntervalSide, value: Any, timestamp: int) -> None:
        tag = self.spec.left_late_tag if side.is_left else self.spec.right_late_tag
        if tag is None:
            self._late.inc()
            return
        self._collector.timestamp = timestamp
        self._collector.side(tag, value)

    def _emit_pairs(self, is_left: bool, value: Any, timestamp: int, times: list[int], rows: list[Any]) -> None:
        """Emit the pairs of a row of the current key with rows of the other side."""
        ctx, collector, process, own = self._ctx, self._collector, self._process, self._own
        for time, row in zip(times, rows, strict=True):
            # Both stay, for other partners.
            mine, other = own(value), own(row)
            left, right = (mine, other) if is_left else (other, mine)
            ctx.left, ctx.right = (timestamp, time) if is_left else (time, timestamp)
            collector.timestamp = timestamp if timestamp > time else time
            if mine is value and other is row:
                collector.take_joined(process(left, right, ctx), left, right, "process_element")
            else:
                collector.take_joined(process(left, right, ctx), None, None, "process_element")

    def on_watermark(self, watermark: int) -> None:
        """Remove rows that no partner can reach any more, then pass the watermark on, held back in an outer join."""
        self.watermark = watermark
        for side in self._sides.values():
            side.advance(watermark)
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

    def _emit_alone(self, side: IntervalSide, timestamp: int, rows: tuple[Any, ...]) -> None:
        ctx, collector = self._ctx, self._collector
        ctx.left, ctx.right = (timestamp, None) if side.is_left else (None, timestamp)
        collector.timestamp = timestamp
        for row in rows:
            try:
                results = self._process(row, None, ctx) if side.is_left else self._process(None, row, ctx)
                collector.take_joined(results, None, None, "process_element")
            except Exception as error:
                collector.discard()
                raise self.failure(error, "emitting a row without a partner", row) from None
