"""The inner join of two inputs that are only inserted into, in columns.

Each pair is emitted once, by the later of its rows, so it does not matter which of the rows of a batch came first: they
wait, and are joined together, with each other and with the rows in state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.runtime.field_columns import KeyCodes, Keys, Numbers, encoded, packed
from penstock.runtime.operators.table.join_state import LEFT, RIGHT, HeldRows, KeptRows, SortedRows
from penstock.runtime.operators.table.operator import KeyedTableOperator
from penstock.runtime.operators.table.slice_columns import KeyColumns, joined_keys
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.row_kinds import INSERT, KIND_COLUMN
from penstock.vocabulary.sql.scalar import arrow_type
from penstock.vocabulary.sql.state_types import row_state_type

__all__ = ["ColumnJoin"]

_MOST_PAIRS = 500_000
"""Pairs that are emitted together."""


class ColumnJoin:
    """The rows of both inputs: those of this batch as columns, and state, as `KeptRows` has it."""

    def __init__(
        self,
        operator: KeyedTableOperator,
        types: tuple[tuple[LogicalType, ...], tuple[LogicalType, ...]],
        keys: tuple[tuple[int, ...], tuple[int, ...]],
        filter_nulls: Sequence[bool],
    ) -> None:
        self._types = [[arrow_type(each) for each in side] for side in types]
        self._key_fields = keys
        self._filtered = [at for at, is_filtered in enumerate(filter_nulls) if is_filtered]
        self._keys = [KeyColumns([side[at] for at in chosen]) for side, chosen in zip(types, keys, strict=True)]
        row_types = [row_state_type(side) for side in types]
        self._kept = KeptRows(operator, row_types[LEFT], row_types[RIGHT])
        self._waiting: tuple[list[_Fields], list[_Fields]] = ([], [])
        self.count = 0

    def begin_batch(self) -> None:
        """Nothing is left of a batch that failed."""
        self._waiting, self.count = ([], []), 0

    def add_columns(self, side: int, batch: pa.RecordBatch) -> None:
        """Let rows wait, that are columns with kinds first."""
        self._add(side, batch.columns[1:])

    def add(self, side: int, rows: Sequence[tuple[Any, ...]]) -> None:
        """Let rows wait."""
        if rows:
            self._add(side, columns_of([row[1:] for row in rows], self._types[side]))

    def _add(self, side: int, columns: list[pa.Array]) -> None:
        for at in self._filtered:
            key = columns[self._key_fields[side][at]]
            if key.null_count:  # a row whose key is NULL has no partner, and never will
                known = pa.array(np.flatnonzero(key.is_valid().to_numpy(zero_copy_only=False)))
                columns = [each.take(known) for each in columns]
        if len(columns[0]):
            self._waiting[side].append(columns)
            self.count += len(columns[0])

    def joined(self) -> Iterator[pa.RecordBatch]:
        """The pairs that the waiting rows make, kinds first; then the rows are state."""
        if not self.count:
            return
        waiting = [self._taken(side) for side in (LEFT, RIGHT)]
        self.begin_batch()
        keys = [
            self._keys[side].of([columns[at] for at in self._key_fields[side]], len(columns[0]))
            for side, columns in enumerate(waiting)
        ]
        codes = packed(encoded(joined_keys([each for each in keys if len(each.parts[0])])))
        new = _by_side(codes, len(waiting[LEFT][0]), waiting)
        distinct = Keys(codes.parts(np.arange(codes.size)), keys[LEFT].is_tuple)
        held = self._kept.of(distinct)
        old = [self._old_rows(side, distinct, held, new[1 - side]) for side in (LEFT, RIGHT)]
        yield from _pairs(new[LEFT], _together(old[RIGHT], new[RIGHT], self._types[RIGHT]), codes.size)
        yield from _pairs(old[LEFT], new[RIGHT], codes.size)
        self._kept.keep(distinct, held, [_sorted(each, codes.size) for each in new])

    def _taken(self, side: int) -> _Fields:
        pieces = self._waiting[side]
        if not pieces:
            return [pa.array([], kind) for kind in self._types[side]]
        return [pa.concat_arrays(each) for each in zip(*pieces, strict=True)]

    def _old_rows(self, side: int, distinct: Keys, held: HeldRows, partners: _SideRows) -> _SideRows:
        """Rows in state of the keys that partners have come for."""
        codes: list[int] = []
        rows: list[Any] = []
        is_asked = np.bincount(partners.codes, minlength=len(held.stored)) > 0
        for code, value in held.values.items():
            if is_asked[code]:
                found = self._kept.rows_of(side, distinct, code, value)
                rows += found
                codes += [code] * len(found)
        return _SideRows(np.array(codes, np.int64), columns_of(rows, self._types[side]))


_Fields = list[pa.Array]
"""Rows as the columns of their fields."""


class _SideRows(NamedTuple):
    """Rows of one side: the codes of their keys, and their fields."""

    codes: Numbers
    fields: _Fields


def columns_of(rows: Sequence[tuple[Any, ...]], types: Sequence[pa.DataType]) -> _Fields:
    """The columns of some rows."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in types)
    return [pa.array(values, kind) for values, kind in zip(columns, types, strict=True)]


def _by_side(codes: KeyCodes, left: int, fields: list[_Fields]) -> list[_SideRows]:
    return [_SideRows(codes.codes[:left], fields[LEFT]), _SideRows(codes.codes[left:], fields[RIGHT])]


def _together(old: _SideRows, new: _SideRows, types: Sequence[pa.DataType]) -> _SideRows:
    if not len(old.codes):
        return new
    fields = [
        pa.concat_arrays([a.cast(kind), b.cast(kind)]) for a, b, kind in zip(old.fields, new.fields, types, strict=True)
    ]
    return _SideRows(np.concatenate([old.codes, new.codes]), fields)


def _sorted(rows: _SideRows, size: int) -> SortedRows:
    """Rows in the order of their keys."""
    places = pa.array(np.argsort(rows.codes, kind="stable"))
    return SortedRows([each.take(places) for each in rows.fields], np.bincount(rows.codes, minlength=size))


def _pairs(left: _SideRows, right: _SideRows, size: int) -> Iterator[pa.RecordBatch]:
    """Batches of the pairs of rows with equal keys."""
    if not len(left.codes) or not len(right.codes):
        return
    order = np.argsort(right.codes, kind="stable")
    counts = np.bincount(right.codes, minlength=size)
    starts = (np.cumsum(counts) - counts)[left.codes]
    partners = counts[left.codes]
    made = np.cumsum(partners)
    first = 0
    while first < len(partners):
        before = int(made[first - 1]) if first else 0
        last = max(int(np.searchsorted(made, before + _MOST_PAIRS, side="right")), first + 1)
        chosen = slice(first, last)
        lefts = np.repeat(np.arange(first, min(last, len(partners))), partners[chosen])
        steps = np.arange(len(lefts)) - np.repeat(made[chosen] - partners[chosen] - before, partners[chosen])
        rights = order[np.repeat(starts[chosen], partners[chosen]) + steps]
        first = last
        if len(lefts):
            yield batch_of_pairs(left.fields, pa.array(lefts), right.fields, pa.array(rights))


def batch_of_pairs(left: _Fields, lefts: pa.Array, right: _Fields, rights: pa.Array) -> pa.RecordBatch:
    """The rows at some places of both sides, beside each other, kinds first."""
    kinds = pa.array(np.full(len(lefts), INSERT, np.int8))
    arrays = [kinds, *[each.take(lefts) for each in left], *[each.take(rights) for each in right]]
    return pa.RecordBatch.from_arrays(arrays, names=[KIND_COLUMN, *[f"f{at}" for at in range(len(arrays) - 1)]])
