"""Columns of records that wait, by pane of time, to be folded by key; owns no windows and no time.

Many blocks are folded at once, so that what a key costs is shared by many records. What was folded can wait again, and
travel: as a block of *partials*, whose columns are the fields of the key, the slots and the number of records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.datastream.field_aggregates import Slot
from penstock.runtime.columns import ColumnBlock, KeyFields, Stamps, key_array
from penstock.runtime.field_columns import (
    FieldNumbers,
    Folded,
    Keys,
    NumberColumn,
    Numbers,
    fold,
    keys_of,
    may_overflow,
    numbers_of,
)
from penstock.runtime.operators.window.partials import Partial

__all__ = ["PaneColumns", "PartialOfKey", "PartialOfTuple", "merging_slots"]

TIME_LIMIT = 2**62
"""Times beyond are left to Python's numbers: the start of their pane may need more than 64 bits."""

FEW_FOR_A_PANE = 16
"""Records of a pane in a block below which columns cost more than objects."""

WAITING_LIMIT = 131_072
"""Records that may wait before they are folded, or twice as many as are left when that gains little."""

_MARK = "partial:"
_START, _COUNT = f"{_MARK}start", f"{_MARK}count"


class PartialOfKey(tuple[Any, ...]):
    """The form of a block of partials: makes a `Partial` of a row. There are no objects of this class itself."""

    def __new__(cls, **columns: Any) -> Partial:  # type: ignore[misc]
        """Make the partial of a row."""
        key = [value for name, value in columns.items() if not name.startswith(_MARK)]
        held = tuple([value for name, value in columns.items() if name.startswith(_MARK)])
        # In the order in which `block_of` puts the columns: start, count, slots.
        return Partial(cls.key_of(key), held[0], held[2:], held[1])

    @staticmethod
    def key_of(parts: list[Any]) -> Any:
        """The key of its parts."""
        return parts[0]


class PartialOfTuple(PartialOfKey):
    """The same for keys that are tuples."""

    key_of = staticmethod(tuple)  # type: ignore[assignment]


class _Piece(NamedTuple):
    keys: Keys
    numbers: FieldNumbers
    size: int

    def take(self, places: Numbers) -> _Piece:
        numbers = {field: column.take(places) for field, column in self.numbers.items()}
        return _Piece(self.keys.take(places), numbers, len(places))

    def kind(self) -> Any:
        return self.keys.kind(), *((field, column.values.dtype) for field, column in self.numbers.items())


def merging_slots(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
    """What merges the columns of partials: counts are added up; the last one is the number of records."""
    merged = [Slot("sum" if slot.kind == "count" else slot.kind, f"{_MARK}{at}") for at, slot in enumerate(slots)]
    return *merged, Slot("sum", _COUNT)


class PaneColumns:
    """What slots need of the blocks that have come, records and partials, by start of pane."""

    def __init__(self, slots: tuple[Slot, ...], key_fields: KeyFields, width: int, offset: int) -> None:
        """Panes are `width` wide, counted from `offset`."""
        self._key_fields = key_fields
        self._width = width
        self._offset = offset
        self._slots = slots
        self._merging = merging_slots(slots)
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._records: dict[int, list[_Piece]] = {}
        self._partials: dict[int, list[_Piece]] = {}
        self.count = 0
        self._limit = WAITING_LIMIT

    def starts(self) -> list[int]:
        """The panes that something waits for."""
        return list(dict.fromkeys((*self._partials, *self._records)))

    # What comes in

    def take(self, block: ColumnBlock, timestamps: Stamps, is_open: Callable[[int], bool]) -> Numbers | None:
        """Take what belongs to panes that are open; returns the places of the rest, or None if only objects will do."""
        is_partial = isinstance(block.form, type) and issubclass(block.form, PartialOfKey)
        piece = self._piece(block, self._merging if is_partial else self._slots)
        if piece is None or not (timestamps.min() > -TIME_LIMIT and timestamps.max() < TIME_LIMIT):
            return None
        panes = timestamps - (timestamps - self._offset) % self._width
        target = self._partials if is_partial else self._records
        if panes[0] == panes[-1] and (panes == panes[0]).all():
            start = int(panes[0])
            if not is_open(start):
                return np.arange(piece.size)
            target.setdefault(start, []).append(piece)
            self.count += piece.size
            return np.empty(0, np.int64)
        return self._deal_out(piece, panes, target, is_open)

    def _deal_out(
        self, piece: _Piece, panes: Numbers, target: dict[int, list[_Piece]], is_open: Callable[[int], bool]
    ) -> Numbers | None:
        starts = np.unique(panes).tolist()
        if len(starts) * FEW_FOR_A_PANE > piece.size:
            return None
        is_left = np.zeros(piece.size, np.bool_)
        for start in starts:
            is_here = panes == start
            if not is_open(start):
                is_left |= is_here
                continue
            part = piece.take(np.flatnonzero(is_here))
            target.setdefault(start, []).append(part)
            self.count += part.size
        return np.flatnonzero(is_left)

    def _piece(self, block: ColumnBlock, slots: tuple[Slot, ...]) -> _Piece | None:
        array = key_array(block, self._key_fields) if len(block) else None
        keys = None if array is None else keys_of(array)
        numbers = numbers_of(block, slots)
        if keys is None or numbers is None or _may_overflow(numbers, slots):
            return None
        return _Piece(keys, numbers, len(block))

    # What comes out

    def pop(self, start: int) -> list[Folded]:
        """Take out a pane, folded: into one, unless there are columns of several kinds or numbers could get too big."""
        records, partials = self._records.pop(start, []), self._partials.pop(start, [])
        self.count -= sum(piece.size for piece in (*records, *partials))
        made = [fold(piece.keys, piece.numbers, self._slots) for piece in _together(records, self._slots)]
        if len(made) + len(partials) < 2:
            return made or [self._merged(piece) for piece in partials]
        waiting = [*partials, *map(_piece_of, made)]
        return [self._merged(piece) for piece in _together(waiting, self._merging)]

    def _merged(self, piece: _Piece) -> Folded:
        keys, columns, _ = fold(piece.keys, piece.numbers, self._merging)
        return Folded(keys, columns[:-1], columns[-1].values)

    def compact(self) -> bool:
        """Fold what waits, if it is much: it goes on waiting, as partials. Returns whether that was done."""
        if self.count <= self._limit:
            return False
        for start in self.starts():
            pieces = [_piece_of(folded) for folded in self.pop(start)]
            self._partials[start] = pieces
            self.count += sum(piece.size for piece in pieces)
        self._limit = max(WAITING_LIMIT, 2 * self.count)
        return True

    def block_of(self, folded: Folded, start: int) -> ColumnBlock | None:
        """The partials of a pane as columns; None if the fields of the key have positions only."""
        fields = self._key_fields if isinstance(self._key_fields, tuple) else (self._key_fields,)
        if not all(isinstance(field, str) for field in fields):
            return None
        size = len(folded.counts)
        arrays = [*folded.keys.parts, np.full(size, start), folded.counts]
        names = [*map(str, fields), _START, _COUNT, *(f"{_MARK}{at}" for at in range(len(folded.slots)))]
        columns = [pa.array(each) if isinstance(each, np.ndarray) else each for each in arrays]
        columns += [pa.array(each.values, mask=None if each.valid is None else ~each.valid) for each in folded.slots]
        form = PartialOfTuple if folded.keys.is_tuple else PartialOfKey
        return ColumnBlock(pa.RecordBatch.from_arrays(columns, names=names), form)


def _piece_of(folded: Folded) -> _Piece:
    numbers: FieldNumbers = {f"{_MARK}{at}": column for at, column in enumerate(folded.slots)}
    numbers[_COUNT] = NumberColumn(folded.counts, None)
    return _Piece(folded.keys, numbers, len(folded.counts))


def _may_overflow(numbers: FieldNumbers, slots: tuple[Slot, ...]) -> bool:
    return any(
        slot.kind == "sum" and may_overflow(numbers[slot.field].values) for slot in slots if slot.field is not None
    )


def _together(pieces: list[_Piece], slots: tuple[Slot, ...]) -> Iterator[_Piece]:
    """Join pieces of one kind, as long as their sums fit; each by itself does."""
    for _, run in groupby(pieces, key=_Piece.kind):
        alike = list(run)
        if len(alike) == 1:
            yield alike[0]
            continue
        numbers = {field: _joined([piece.numbers[field] for piece in alike]) for field in alike[0].numbers}
        if _may_overflow(numbers, slots):
            yield from alike
            continue
        yield _Piece(Keys.joined([piece.keys for piece in alike]), numbers, sum(piece.size for piece in alike))


def _joined(columns: list[NumberColumn]) -> NumberColumn:
    values = np.concatenate([column.values for column in columns])
    if all(column.valid is None for column in columns):
        return NumberColumn(values, None)
    known = [np.ones(len(each.values), np.bool_) if each.valid is None else each.valid for each in columns]
    return NumberColumn(values, np.concatenate(known))
