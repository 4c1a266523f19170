"""Rows of windows as columns, by slice: the columnar half of window aggregates.

A *slice* is what all windows have in common that share it: of TUMBLE the window, of HOP the time between two slides, of
CUMULATE a step. Where windows follow the clock of a time zone, rows are aggregated one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.runtime.field_columns import (
    FieldNumbers,
    Keys,
    NumberColumn,
    Numbers,
    fold,
    keys_of,
)
from penstock.runtime.operators.table.aggregate_columns import ColumnarCalls
from penstock.runtime.operators.table.window_clock import WindowClock
from penstock.vocabulary.field_aggregates import Measure
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.scalar import arrow_type
from penstock.vocabulary.sql.windows import WindowKind, WindowSpec

__all__ = [
    "FAR",
    "KeyColumns",
    "SlicedRows",
    "Slices",
    "columns_of_rows",
    "joined_keys",
    "slices_of",
    "slices_refusal",
    "zone_refusal",
]

FAR = 2**62
"""Later than any time of a row."""


@dataclass(frozen=True)
class Slices:
    """How time is cut into slices, and which windows a slice is part of.

    Slices have numbers: slice i begins at `i * unit + offset`. So have ends of windows: slice i ends at number i + 1.
    """

    unit: int
    offset: int
    in_window: int
    """How many slices the longest window has."""
    is_cumulate: bool = False

    def of(self, times: Any) -> Any:
        """The slices of times."""
        return (times - self.offset) // self.unit

    def last_ends(self, slices: Any) -> Any:
        """When the last windows of slices end."""
        firsts = slices - slices % self.in_window if self.is_cumulate else slices
        return firsts + self.in_window

    def first_slices(self, ends: Any) -> Any:
        """The first slices of windows."""
        return ends - 1 - (ends - 1) % self.in_window if self.is_cumulate else ends - self.in_window

    def times(self, numbers: Any) -> Any:
        """When slices begin, or windows end."""
        return numbers * self.unit + self.offset

    def over_at(self, watermark: int) -> int:
        """The last number at which slices and windows end that are over at a watermark."""
        return int(max(-FAR, min((watermark + 1 - self.offset) // self.unit, FAR)))


def slices_refusal(window: WindowSpec) -> str | None:
    """Return why the slices of windows cannot be told by arithmetic on columns."""
    if window.kind is WindowKind.SESSION:
        return "session windows have no slices"
    if window.size_ms % _slice_length(window):
        return "the size of the windows is no multiple of their slide"
    return zone_refusal(window)


def zone_refusal(window: WindowSpec) -> str | None:
    """Return why times of windows cannot be told by arithmetic: their clocks are put forward and back."""
    is_utc = WindowClock(window.zone).zone is None
    return None if is_utc else f"the windows follow the clocks of {window.zone}"


def slices_of(window: WindowSpec) -> Slices:
    """The slices of windows that have them, see `slices_refusal`."""
    unit = _slice_length(window)
    return Slices(unit, window.offset_ms, window.size_ms // unit, window.kind is WindowKind.CUMULATE)


def _slice_length(window: WindowSpec) -> int:
    return window.size_ms if window.kind is WindowKind.TUMBLE else window.slide_ms


class KeyColumns:
    """Reads keys from columns, and makes columns and keys of state of them. Without fields all rows have the key 0."""

    def __init__(self, types: Sequence[LogicalType]) -> None:
        self.types = [arrow_type(each) for each in types]

    def of(self, columns: Sequence[pa.Array], count: int) -> Keys:
        """The keys in columns of the types."""
        if not columns:
            return Keys([np.zeros(count, np.int64)], False)
        parts = [keys_of(column) for column in columns]
        return Keys([part.parts[0] for part in parts if part is not None], len(columns) > 1)

    def of_objects(self, keys: Sequence[Any]) -> Keys:
        """Keys of state as columns."""
        if not self.types:
            return Keys([np.zeros(len(keys), np.int64)], False)
        columns = [keys] if len(self.types) == 1 else list(zip(*keys, strict=True))
        arrays = [pa.array(each, kind) for each, kind in zip(columns, self.types, strict=True)]
        return self.of(arrays, len(keys))

    def arrays(self, keys: Keys) -> list[pa.Array]:
        """Keys as columns of a row."""
        if not self.types:
            return []
        pairs = zip(keys.parts, self.types, strict=True)
        return [(pa.array(part) if isinstance(part, np.ndarray) else part).cast(kind) for part, kind in pairs]


class SlicedRows(NamedTuple):
    """Rows side by side: their slices, their keys, and what they bring to each slot."""

    slices: Numbers
    keys: Keys
    numbers: FieldNumbers

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self.slices)

    def take(self, places: Numbers) -> SlicedRows:
        """The rows at some places."""
        numbers = {at: column.take(places) for at, column in self.numbers.items()}
        return SlicedRows(self.slices[places], self.keys.take(places), numbers)

    def split(self, is_first: Numbers) -> tuple[SlicedRows, SlicedRows]:
        """The rows for which a mask is true, and the others."""
        return self.take(np.flatnonzero(is_first)), self.take(np.flatnonzero(~is_first))

    @staticmethod
    def joined(pieces: Sequence[SlicedRows]) -> SlicedRows:
        """Rows of several pieces, one after the other."""
        if len(pieces) == 1:
            return pieces[0]
        keys = joined_keys([piece.keys for piece in pieces])
        numbers = {at: _joined([piece.numbers[at] for piece in pieces]) for at in pieces[0].numbers}
        return SlicedRows(np.concatenate([piece.slices for piece in pieces]), keys, numbers)

    def folded(self, measures: Sequence[Measure], calls: ColumnarCalls) -> SlicedRows:
        """One row for each slice and key, with its slots, in the order of slices; there must be some rows."""
        made = fold(Keys([self.slices, *self.keys.parts], True), self.numbers, measures)
        slices, *parts = made.keys.parts
        numbers: FieldNumbers = dict(enumerate(calls.wrapped(made.measures)))
        return SlicedRows(slices, Keys(parts, self.keys.is_tuple), numbers)

    def in_windows(self, slices: Slices, first: int, last: int) -> SlicedRows:
        """The rows once for each of their windows that ends from `first` to `last`, which ends stand for slices."""
        firsts = np.maximum(self.slices + 1, first)
        counts = np.maximum(np.minimum(slices.last_ends(self.slices), last) - firsts + 1, 0)
        places = np.repeat(np.arange(self.row_count), counts)
        steps = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.take(places)._replace(slices=firsts[places] + steps)


def joined_keys(pieces: list[Keys]) -> Keys:
    """Keys of several pieces, one after the other; whole numbers are Arrow's where one of a piece is NULL."""
    if any(each.kind() != pieces[0].kind() for each in pieces):
        pieces = [Keys([_as_arrow(part) for part in each.parts], each.is_tuple) for each in pieces]
    return Keys.joined(pieces)


def _as_arrow(part: Any) -> Any:
    return pa.array(part) if isinstance(part, np.ndarray) else part.cast(pa.int64()) if _is_whole(part) else part


def _is_whole(part: pa.Array) -> bool:
    return bool(pa.types.is_integer(part.type))


def _joined(columns: list[NumberColumn]) -> NumberColumn:
    values = np.concatenate([column.values for column in columns])
    if all(column.valid is None for column in columns):
        return NumberColumn(values, None)
    valid = [np.ones(len(each.values), np.bool_) if each.valid is None else each.valid for each in columns]
    return NumberColumn(values, np.concatenate(valid))


def columns_of_rows(rows: Sequence[tuple[Any, ...]], types: dict[int, pa.DataType]) -> dict[int, pa.Array]:
    """Some fields of rows as columns, by the numbers of the fields."""
    return {at: pa.array([row[at + 1] for row in rows], type_) for at, type_ in types.items()}
