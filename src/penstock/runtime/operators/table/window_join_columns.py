"""The inner join of rows of the same window in columns, where a window began and is over within a batch.

Gives the pairs of rows that are joined one by one, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.runtime.columns import ColumnBlock, key_objects
from penstock.runtime.field_columns import Numbers, encoded, packed
from penstock.runtime.operators.table.join import JoinSide
from penstock.runtime.operators.table.join_columns import batch_of_pairs, columns_of
from penstock.runtime.operators.table.operator import ROW_FORM
from penstock.runtime.operators.table.slice_columns import KeyColumns, joined_keys
from penstock.runtime.running_columns import stable_order
from penstock.vocabulary.sql.scalar import arrow_type

__all__ = ["ColumnWindowJoin", "Piece", "pieces_by_window"]

_MOST_PAIRS = 500_000
"""Pairs that are looked at together."""
Condition = Callable[[ColumnBlock], ColumnBlock]


class Piece(NamedTuple):
    """Rows of one side and window that came together: their fields, and their keys."""

    side: int
    fields: list[pa.Array]
    keys: Any
    """As Arrow has them, or a list."""

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self.keys)

    def rows(self) -> tuple[list[Any], list[tuple[Any, ...]]]:
        """The keys and the fields of each row."""
        keys = self.keys if isinstance(self.keys, list) else key_objects(self.keys)
        return keys, list(zip(*[each.to_pylist() for each in self.fields], strict=True))


def pieces_by_window(side: int, batch: pa.RecordBatch, keys: pa.Array, place: int) -> Iterator[tuple[Any, Piece]]:
    """The rows of a batch by the end of their window, which is at a place; ends in the order of their first rows."""
    coded = batch.column(place).dictionary_encode(null_encoding="encode")
    ends = coded.dictionary.to_pylist()
    columns = [*batch.columns[1:], keys]
    if len(ends) > 1:
        codes = coded.indices.to_numpy()
        order = pa.array(stable_order(codes))
        columns = [each.take(order) for each in columns]
        stops = np.cumsum(np.bincount(codes)).tolist()
    else:
        stops = [len(keys)]
    for end, start, stop in zip(ends, [0, *stops], stops, strict=False):
        *fields, key = [each.slice(start, stop - start) for each in columns]
        yield end, Piece(side, fields, key)


class ColumnWindowJoin:
    """Joins the pieces of a window; `condition` is one on the fields of both sides, if there is one."""

    def __init__(
        self, left: JoinSide, right: JoinSide, filter_nulls: Sequence[bool], condition: Condition | None
    ) -> None:
        self._sides = (left, right)
        self._keys = [KeyColumns([side.types[at] for at in side.keys]) for side in self._sides]
        self._filtered = [at for at, is_filtered in enumerate(filter_nulls) if is_filtered]
        self._condition = condition

    def piece(self, side: int, keys: list[Any], rows: Sequence[tuple[Any, ...]]) -> Piece:
        """Fields of rows as columns."""
        return Piece(side, columns_of(rows, [arrow_type(each) for each in self._sides[side].types]), keys)

    def joined(self, pieces: Sequence[Piece]) -> list[ColumnBlock]:
        """The pairs of rows with equal keys, kinds first."""
        if len({piece.side for piece in pieces}) < 2:
            return []
        codes = np.split(self._codes(pieces), np.cumsum([piece.row_count for piece in pieces])[:-1])
        sides = [self._side(number, pieces, codes) for number in (0, 1)]
        made = []
        for lefts, rights in _pairs(sides[0][0], sides[1][0]):
            block = ColumnBlock(batch_of_pairs(sides[0][1], pa.array(lefts), sides[1][1], pa.array(rights)), ROW_FORM)
            block = block if self._condition is None else self._condition(block)
            if len(block):
                made.append(block)
        return made

    def _codes(self, pieces: Sequence[Piece]) -> Numbers:
        """Numbers of the keys of all pieces, in the order in which keys came."""
        keys = [
            self._keys[each.side].of([each.fields[at] for at in self._sides[each.side].keys], each.row_count)
            for each in pieces
        ]
        coded = packed(encoded(joined_keys(keys)))
        count = len(coded.codes)
        first = np.empty(coded.size, np.int64)
        first[coded.codes[::-1]] = np.arange(count)[::-1]  # of several rows the last one that is written stays
        ranks = np.empty_like(first)
        ranks[np.argsort(first)] = np.arange(coded.size)
        found: Numbers = ranks[coded.codes]
        return found

    def _side(self, side: int, pieces: Sequence[Piece], codes: list[Numbers]) -> tuple[Numbers, list[pa.Array]]:
        """The rows of a side sorted by key, in their order within each: codes and fields."""
        own = [at for at, piece in enumerate(pieces) if piece.side == side]
        of_side = np.concatenate([codes[at] for at in own])
        fields = [pa.concat_arrays(each) for each in zip(*[pieces[at].fields for at in own], strict=True)]
        order = stable_order(of_side)
        for at in self._filtered:
            key = fields[self._sides[side].keys[at]]
            if key.null_count:  # a NULL that equals nothing
                order = order[key.is_valid().to_numpy(zero_copy_only=False)[order]]
        if len(order) == len(of_side) and not of_side.any():  # one key: as they came
            return of_side, fields
        return of_side[order], [each.take(pa.array(order)) for each in fields]


def _pairs(left: Numbers, right: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Places of rows of both sides with equal codes, which are sorted."""
    starts = np.searchsorted(right, left)
    partners = np.searchsorted(right, left, side="right") - starts
    made = np.cumsum(partners)
    first = 0
    while first < len(left):
        before = int(made[first - 1]) if first else 0
        last = max(int(np.searchsorted(made, before + _MOST_PAIRS, side="right")), first + 1)
        chosen = slice(first, last)
        lefts = np.repeat(np.arange(first, min(last, len(left))), partners[chosen])
        steps = np.arange(len(lefts)) - np.repeat(made[chosen] - partners[chosen] - before, partners[chosen])
        yield lefts, np.repeat(starts[chosen], partners[chosen]) + steps
        first = last
