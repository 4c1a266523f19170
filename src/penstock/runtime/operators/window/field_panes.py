"""Columns of records that wait, by pane of time, to be folded by key.

Many blocks are folded at once, so that what a key costs is shared by many records. What was folded can wait again, and
travel: as a block of *partials*, whose columns are the fields of the key, the measures and the number of records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

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
from penstock.runtime.operators.window.rest import ALL, NOTHING, Rest
from penstock.vocabulary.field_aggregates import Measure
from penstock.vocabulary.window.pane_grid import PaneGrid

__all__ = ["PaneColumns", "PartialOfKey", "PartialOfTuple", "merging_measures"]

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
        # In the order in which `block_of` puts the columns: start, count, measures.
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


def merging_measures(measures: tuple[Measure, ...]) -> tuple[Measure, ...]:
    """What merges the columns of partials: counts are added up; the last one is the number of records."""
    merged = [
        Measure("sum" if measure.kind == "count" else measure.kind, f"{_MARK}{at}")
        for at, measure in enumerate(measures)
    ]
    return *merged, Measure("sum", _COUNT)


class PaneColumns:
    """What measures need of the blocks that have come, records and partials, by start of pane."""

    def __init__(self, measures: tuple[Measure, ...], key_fields: KeyFields, grid: PaneGrid) -> None:
        self._key_fields = key_fields
        self._grid = grid
        self._measures = measures
        self._merging = merging_measures(measures)
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

    def take(self, block: ColumnBlock, timestamps: Stamps, is_open: Callable[[int], bool]) -> Rest:
        """Take what belongs to panes that are open; `ALL` is left if only objects will do."""
        is_partial = isinstance(block.form, type) and issubclass(block.form, PartialOfKey)
        piece = self._piece(block, self._merging if is_partial else self._measures)
        if piece is None or not (timestamps.min() > -TIME_LIMIT and timestamps.max() < TIME_LIMIT):
            return ALL
        panes = self._grid.panes_of_column(timestamps)
        target = self._partials if is_partial else self._records
        if panes[0] == panes[-1] and (panes == panes[0]).all():
            start = int(panes[0])
            if not is_open(start):
                return Rest(np.arange(piece.size))
            target.setdefault(start, []).append(piece)
            self.count += piece.size
            return NOTHING
        return self._deal_out(piece, panes, target, is_open)

    def _deal_out(
        self, piece: _Piece, panes: Numbers, target: dict[int, list[_Piece]], is_open: Callable[[int], bool]
    ) -> Rest:
        starts = np.unique(panes).tolist()
        if len(starts) * FEW_FOR_A_PANE > piece.size:
            return ALL
        is_left = np.zeros(piece.size, np.bool_)
        for start in starts:
            is_here = panes == start
            if not is_open(start):
                is_left |= is_here
                continue
            part = piece.take(np.flatnonzero(is_here))
            target.setdefault(start, []).append(part)
            self.count += part.size
        return Rest(np.flatnonzero(is_left))

    def _piece(self, block: ColumnBlock, measures: tuple[Measure, ...]) -> _Piece | None:
        array = key_array(block, self._key_fields) if len(block) else None
        keys = None if array is None else keys_of(array)
        numbers = numbers_of(block, measures)
        if keys is None or numbers is None or _may_overflow(numbers, measures):
            return None
        return _Piece(keys, numbers, len(block))

    # What comes out

    def pop(self, start: int) -> list[Folded]:
        """Take out a pane, folded: into one, unless there are columns of several kinds or numbers could get too big."""
        records, partials = self._records.pop(start, []), self._partials.pop(start, [])
        self.count -= sum(piece.size for piece in (*records, *partials))
        made = [fold(piece.keys, piece.numbers, self._measures) for piece in _together(records, self._measures)]
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
        names = [*map(str, fields), _START, _COUNT, *(f"{_MARK}{at}" for at in range(len(folded.measures)))]
        columns = [pa.array(each) if isinstance(each, np.ndarray) else each for each in arrays]
        columns += [pa.array(each.values, mask=None if each.valid is None else ~each.valid) for each in folded.measures]
        form = PartialOfTuple if folded.keys.is_tuple else PartialOfKey
        return ColumnBlock(pa.RecordBatch.from_arrays(columns, names=names), form)


def _piece_of(folded: Folded) -> _Piece:
    numbers: FieldNumbers = {f"{_MARK}{at}": column for at, column in enumerate(folded.measures)}
    numbers[_COUNT] = NumberColumn(folded.counts, None)
    return _Piece(folded.keys, numbers, len(folded.counts))


def _may_overflow(numbers: FieldNumbers, measures: tuple[Measure, ...]) -> bool:
    return any(
        measure.kind == "sum" and may_overflow(numbers[measure.field].values)
        for measure in measures
        if measure.field is not None
    )


def _together(pieces: list[_Piece], measures: tuple[Measure, ...]) -> Iterator[_Piece]:
    """Join pieces of one kind, as long as their sums fit; each by itself does."""
    for _, run in groupby(pieces, key=_Piece.kind):
        alike = list(run)
        if len(alike) == 1:
            yield alike[0]
            continue
        numbers = {field: _joined([piece.numbers[field] for piece in alike]) for field in alike[0].numbers}
        if _may_overflow(numbers, measures):
            yield from alike
            continue
        yield _Piece(Keys.joined([piece.keys for piece in alike]), numbers, sum(piece.size for piece in alike))


def _joined(columns: list[NumberColumn]) -> NumberColumn:
    values = np.concatenate([column.values for column in columns])
    if all(column.valid is None for column in columns):
        return NumberColumn(values, None)
    known = [np.ones(len(each.values), np.bool_) if each.valid is None else each.valid for each in columns]
    return NumberColumn(values, np.concatenate(known))
