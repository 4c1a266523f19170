"""The inner join of rows whose times are near, in columns.

Rows of a batch wait and are joined together, with each other and with the rows in state. Each keeps its place in the
order of arrival and the watermark that it met, so that pairs are those of rows that are joined one by one: a row meets
an earlier one unless the watermark had passed that one's last partner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.typeinfo import Types
from penstock.runtime.field_columns import Keys, Numbers, encoded, objects_of, packed
from penstock.runtime.operators.table.join_columns import batch_of_pairs, columns_of
from penstock.runtime.operators.table.join_state import LEFT, RIGHT
from penstock.runtime.operators.table.operator import KeyedTableOperator
from penstock.runtime.operators.table.slice_columns import KeyColumns, joined_keys
from penstock.state.timers import EVENT
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.scalar import arrow_type
from penstock.vocabulary.sql.state_types import row_state_type

_MOST_PAIRS = 500_000
"""Pairs that are looked at together."""
_LONG_AGO = -(2**63)


@dataclass(frozen=True)
class NearSide:
    """One input: the types of its fields, those of its key, that of its time, and how far its partners' times are."""

    types: tuple[LogicalType, ...]
    keys: tuple[int, ...]
    time: int
    first_ms: int
    last_ms: int


class _Rows(NamedTuple):
    """Rows of one side: codes of their keys, times, order of arrival, the watermark that they met, and their fields."""

    codes: Numbers
    times: Numbers
    order: Numbers
    met: Numbers
    fields: list[pa.Array]


class NearRows:
    """State of an inner interval join in event time, for joins in columns and row by row.

    State of a key is one value: the rows of the left and those of the right that may still have partners.
    """

    def __init__(self, operator: KeyedTableOperator, sides: tuple[NearSide, NearSide]) -> None:
        self._backend, self._timers = operator.backend, operator.timers
        self._sides = sides
        rows = [FrozenListTypeInfo(row_state_type(side.types)) for side in sides]
        self.state = operator.value_state("_near_rows", Types.TUPLE(rows))
        self.state.trust()

    def alive(self, value: Any, watermark: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Return the rows of a value that may still have partners."""
        if value is None:
            return (), ()
        left, right = [
            tuple([row for row in rows if row[side.time] + side.last_ms >= watermark])
            for rows, side in zip(value, self._sides, strict=True)
        ]
        return left, right

    def end(self, value: tuple[tuple[Any, ...], tuple[Any, ...]]) -> int:
        """Return when the last of the rows can have no partner any more."""
        ends = [row[side.time] + side.last_ms for rows, side in zip(value, self._sides, strict=True) for row in rows]
        return int(max(ends)) + 1

    def forget(self, key: Any, watermark: int) -> None:
        """Drop rows of a key that can have no partner any more; those that may have one have a timer of their own."""
        self._backend.set_key(key)
        value = self.state.held()
        if value is None:
            return
        left, right = self.alive(value, watermark)
        if not left and not right:
            self.state.clear()
        elif (left, right) != tuple(value):
            self.state.hold((left, right))

    def partners(self, side: int, time: int, watermark: int) -> list[Any]:
        """Return the rows of the other side that a row of the current key meets, in the order of their times."""
        own, other = self._sides[side], self._sides[1 - side]
        first, last, place = time + own.first_ms, time + own.last_ms, other.time
        oldest = watermark - other.last_ms
        rows = (self.state.held() or ((), ()))[1 - side]
        return sorted(
            [row for row in rows if first <= row[place] <= last and row[place] >= oldest], key=itemgetter(place)
        )

    def keep(self, side: int, fields: Any, watermark: int) -> None:
        """Keep a row of the current key for as long as it may have partners."""
        own = self._sides[side]
        end = fields[own.time] + own.last_ms
        if end >= watermark:
            kept = list(self.state.held() or ((), ()))
            kept[side] = (*kept[side], fields)
            self.state.hold(tuple(kept))
            self._timers.register(EVENT, end + 1)


class ColumnIntervalJoin:
    """The rows of both inputs: those of this batch as columns, and state.

    What has come and gone within a batch is never written.
    """

    def __init__(self, operator: KeyedTableOperator, sides: tuple[NearSide, NearSide], filters: Sequence[bool]) -> None:
        self._backend, self._timers = operator.backend, operator.timers
        self._sides = sides
        self._types = [[arrow_type(each) for each in side.types] for side in sides]
        self._filtered = [at for at, is_filtered in enumerate(filters) if is_filtered]
        self._keys = [KeyColumns([side.types[at] for at in side.keys]) for side in sides]
        self._kept = NearRows(operator, sides)
        self.begin_batch()

    def begin_batch(self) -> None:
        """Nothing is left of a batch that failed."""
        self._waiting: tuple[list[Any], list[Any]] = ([], [])
        self.count = 0

    def add(self, side: int, rows: Sequence[tuple[Any, ...]], watermark: int) -> None:
        """Let rows wait."""
        if rows:
            self.add_columns(side, columns_of([row[1:] for row in rows], self._types[side]), watermark)

    def add_columns(self, side: int, columns: list[pa.Array], watermark: int) -> None:
        """Let rows wait, that are columns; those without a time, or whose key equals nothing, never have partners."""
        own = self._sides[side]
        for at in [own.time, *[own.keys[each] for each in self._filtered]]:
            if columns[at].null_count:
                known = pa.array(np.flatnonzero(columns[at].is_valid().to_numpy(zero_copy_only=False)))
                columns = [each.take(known) for each in columns]
        count = len(columns[0])
        if count:
            order = np.arange(self.count, self.count + count)
            self._waiting[side].append((columns, order, np.full(count, watermark)))
            self.count += count

    def joined(self, watermark: int) -> Iterator[pa.RecordBatch]:
        """The pairs that the waiting rows make, kinds first; then rows that may have partners yet are state."""
        if not self.count:
            return
        waiting = [self._taken(side) for side in (LEFT, RIGHT)]
        self.begin_batch()
        keys = [
            self._keys[side].of([columns[at] for at in self._sides[side].keys], len(columns[0]))
            for side, (columns, _, _) in enumerate(waiting)
        ]
        codes = packed(encoded(joined_keys([each for each in keys if len(each.parts[0])])))
        left = len(waiting[LEFT][0][0])
        new = [
            self._rows(side, codes.codes[:left] if side == LEFT else codes.codes[left:], waiting[side])
            for side in (0, 1)
        ]
        distinct = objects_of(Keys(codes.parts(np.arange(codes.size)), keys[LEFT].is_tuple))
        addresses = self._backend.addresses_of(distinct)
        held = self._kept.state.held_of_all(addresses)
        old = [self._old(side, held, new[1 - side].codes) for side in (LEFT, RIGHT)]
        for mine, theirs in ((new[LEFT], new[RIGHT]), (new[LEFT], old[RIGHT]), (old[LEFT], new[RIGHT])):
            yield from self._pairs(mine, theirs)
        self._keep(distinct, addresses, held, new, watermark)

    def _taken(self, side: int) -> tuple[list[pa.Array], Numbers, Numbers]:
        pieces = self._waiting[side]
        if not pieces:
            none = np.empty(0, np.int64)
            return [pa.array([], kind) for kind in self._types[side]], none, none
        columns, orders, watermarks = zip(*pieces, strict=True)
        together = [pa.concat_arrays(each) for each in zip(*columns, strict=True)]
        return together, np.concatenate(orders), np.concatenate(watermarks)

    def _rows(self, side: int, codes: Numbers, waiting: tuple[list[pa.Array], Numbers, Numbers]) -> _Rows:
        columns, order, met = waiting
        return _Rows(codes, columns[self._sides[side].time].to_numpy(), order, met, columns)

    def _old(self, side: int, held: list[Any], partners: Numbers) -> _Rows:
        """Rows in state of the keys that partners have come for."""
        is_asked = np.bincount(partners, minlength=len(held)).astype(np.bool_).tolist()
        codes: list[int] = []
        rows: list[Any] = []
        for code, (value, is_needed) in enumerate(zip(held, is_asked, strict=True)):
            if value is not None and is_needed and value[side]:
                rows += value[side]
                codes += [code] * len(value[side])
        columns = columns_of(rows, self._types[side])
        times = columns[self._sides[side].time].to_numpy()
        earlier = np.full(len(rows), -1)
        return _Rows(np.array(codes, np.int64), times, earlier, np.full(len(rows), _LONG_AGO), columns)

    def _pairs(self, left: _Rows, right: _Rows) -> Iterator[pa.RecordBatch]:
        """Batches of pairs; the longer side is looked up in the shorter one, which is sorted."""
        sides = self._sides
        if not len(left.codes) or not len(right.codes):
            return
        is_turned = len(left.codes) < len(right.codes)
        many, few = (right, left) if is_turned else (left, right)
        side = sides[RIGHT if is_turned else LEFT]
        for ones, others in _near(many, few, side.first_ms, side.last_ms):
            lefts, rights = (others, ones) if is_turned else (ones, others)
            met = _have_met(left, lefts, right, rights, sides)
            if met.any():
                yield batch_of_pairs(left.fields, pa.array(lefts[met]), right.fields, pa.array(rights[met]))

    def _keep(
        self, distinct: list[Any], addresses: list[Any], held: list[Any], new: list[_Rows], watermark: int
    ) -> None:
        """Write what is left of the keys that rows have come for."""
        added: dict[int, tuple[list[Any], list[Any]]] = {}
        for side, rows in enumerate(new):
            alive = np.flatnonzero(rows.times + self._sides[side].last_ms >= np.maximum(rows.met, watermark))
            places = pa.array(alive)
            values = zip(*[each.take(places).to_pylist() for each in rows.fields], strict=True)
            for code, row in zip(rows.codes[alive].tolist(), values, strict=True):
                added.setdefault(code, ([], []))[side].append(row)
        codes = list(added)
        kept = [self._kept.alive(held[code], watermark) for code in codes]
        values_of_keys = [
            ((*before[LEFT], *added[code][LEFT]), (*before[RIGHT], *added[code][RIGHT]))
            for code, before in zip(codes, kept, strict=True)
        ]
        self._kept.state.hold_of_all([addresses[code] for code in codes], values_of_keys)
        for code, value in zip(codes, values_of_keys, strict=True):
            self._backend.set_key(distinct[code])
            self._timers.register(EVENT, self._kept.end(value))

    def forget(self, key: Any, watermark: int) -> None:
        """Drop rows of a key that can have no partner any more."""
        self._kept.forget(key, watermark)


def _near(many: _Rows, few: _Rows, first_ms: int, last_ms: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Places of rows with equal keys whose times are near: `first <= time of few - time of many <= last`."""
    known = np.unique(few.times)
    width = len(known) + 1
    places = few.codes * width + np.searchsorted(known, few.times)
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    lows = many.codes * width + np.searchsorted(known, many.times + first_ms, side="left")
    highs = many.codes * width + np.searchsorted(known, many.times + last_ms, side="right")
    starts = np.searchsorted(ordered, lows, side="left")
    counts = np.maximum(np.searchsorted(ordered, highs, side="left") - starts, 0)
    having = np.flatnonzero(counts)
    made = np.cumsum(counts[having])
    first = 0
    while first < len(having):
        before = int(made[first - 1]) if first else 0
        last = max(int(np.searchsorted(made, before + _MOST_PAIRS, side="right")), first + 1)
        chosen = having[first:last]
        ones = np.repeat(chosen, counts[chosen])
        steps = np.arange(len(ones)) - np.repeat(np.cumsum(counts[chosen]) - counts[chosen], counts[chosen])
        yield ones, order[starts[ones] + steps]
        first = last


def _have_met(left: _Rows, lefts: Numbers, right: _Rows, rights: Numbers, sides: Sequence[NearSide]) -> Any:
    """For each pair, whether the earlier row was still kept when the later one came."""
    is_left_later = left.order[lefts] > right.order[rights]
    left_end, right_end = left.times[lefts] + sides[LEFT].last_ms, right.times[rights] + sides[RIGHT].last_ms
    left_met, right_met = left.met[lefts], right.met[rights]
    later = np.maximum(left_met, right_met)
    return np.where(is_left_later, later <= right_end, later <= left_end)
