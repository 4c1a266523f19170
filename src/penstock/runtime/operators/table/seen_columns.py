"""DISTINCT on columns: which rows have a value that their key has not seen yet, and the views that remember it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.runtime.field_columns import KeyCodes, Numbers, encoded, keys_of, packed
from penstock.runtime.operators.table.small_views import Entries, SmallView
from penstock.runtime.running_columns import stable_order
from penstock.state.keyed import KeyedStateBackend

__all__ = ["SeenValues", "ViewOfField"]


_Keys = tuple[list[Any], list[Hashable]]
"""Keys that codes stand for, and their addresses."""


class ViewOfField(NamedTuple):
    """The view of a field: a map of bits by value, one for each filter of the calls; `slots` are (slot, filter)."""

    view: SmallView
    field: int
    slots: tuple[tuple[int, int | None], ...]
    filters: tuple[int | None, ...]


class SeenValues:
    """The views of an operator, asked and changed for the rows of a block together."""

    def __init__(self, backend: KeyedStateBackend, views: Sequence[ViewOfField]) -> None:
        self._backend = backend
        self._views = views
        self._changes: list[tuple[SmallView, Entries, list[int]]] = []

    def firsts(self, columns: dict[int, pa.Array], codes: Numbers, keys: list[Any]) -> dict[int, Numbers]:
        """For each slot, whether a row is the first of its key with its value; `keep` makes it known."""
        self._changes = []
        addresses = self._backend.addresses_of(keys)
        found: dict[int, Numbers] = {}
        for each in self._views:
            found |= self._firsts(each, columns, codes, (keys, addresses))
        return found

    def keep(self) -> None:
        """Write what has been seen."""
        for view, entries, bits in self._changes:
            view.hold_all(entries, bits)
        self._changes = []

    def _firsts(
        self, view: ViewOfField, columns: dict[int, pa.Array], codes: Numbers, keys: _Keys
    ) -> dict[int, Numbers]:
        pairs = _Pairs.of(codes, columns[view.field])
        made = {slot: np.zeros(len(codes), np.bool_) for slot, _ in view.slots}
        if not len(pairs.rows):
            return made
        entries = pairs.entries(None, keys)
        before = np.array([each or 0 for each in view.view.held_of_all(entries)], np.int64)
        after = before.copy()
        for bit, chosen in enumerate(view.filters):
            asked, rows = pairs.met(None if chosen is None else _true(columns[chosen]))
            is_new = before[asked] & (1 << bit) == 0
            after[asked] |= 1 << bit
            for slot, of in view.slots:
                if of == chosen:
                    made[slot][rows[is_new]] = True
        changed = np.flatnonzero(after != before)
        self._changes.append((view.view, pairs.entries(changed, keys), after[changed].tolist()))
        return made


class _Pairs(NamedTuple):
    """The pairs of a key and a value that rows have, sorted by keys; rows without a value are left out."""

    keys: Numbers
    values: list[Any]
    rows: Numbers
    """The rows, sorted by their pairs, in their order within each."""
    places: Numbers
    """The pair of each of these rows."""

    @staticmethod
    def of(codes: Numbers, column: pa.Array) -> _Pairs:
        valid = np.flatnonzero(column.is_valid()) if column.null_count else None
        part = keys_of(column if valid is None else column.drop_null())
        assert part is not None, "such values are not counted in columns"
        if not len(part.parts[0]):
            return _Pairs(codes[:0], [], codes[:0], codes[:0])
        value_codes = packed(encoded(part))
        pairs = (codes if valid is None else codes[valid]) * value_codes.size + value_codes.codes
        order = stable_order(pairs)
        in_order = pairs[order]
        begins = np.diff(in_order, prepend=-1) != 0
        of_keys, of_values = np.divmod(in_order[begins], value_codes.size)
        return _Pairs(
            of_keys, _objects(value_codes, of_values), order if valid is None else valid[order], np.cumsum(begins) - 1
        )

    def met(self, mask: Numbers | None) -> tuple[Numbers, Numbers]:
        """The pairs of the rows that a mask is true for, each with its first row."""
        rows, places = self.rows, self.places
        if mask is not None:
            is_chosen = mask[rows]
            rows, places = rows[is_chosen], places[is_chosen]
        begins = np.diff(places, prepend=-1) != 0
        return places[begins], rows[begins]

    def entries(self, chosen: Numbers | None, keys: _Keys) -> Entries:
        """Some pairs or all, in order, as entries of a view."""
        of_keys = self.keys if chosen is None else self.keys[chosen]
        starts = np.flatnonzero(np.diff(of_keys, prepend=-1))
        present = of_keys[starts].tolist()
        objects, addresses = ([each[at] for at in present] for each in keys)
        names = self.values if chosen is None else [self.values[at] for at in chosen.tolist()]
        return Entries(objects, addresses, [*starts.tolist(), len(of_keys)], names)


def _objects(values: KeyCodes, codes: Numbers) -> list[Any]:
    """The values that codes stand for."""
    (part,) = values.parts(np.arange(values.size))
    if isinstance(part, np.ndarray):
        numbers: list[Any] = part[codes].tolist()
        return numbers
    texts = part.to_pylist()  # each is made once
    return [texts[at] for at in codes.tolist()]


def _true(column: pa.Array) -> Any:
    return column.fill_null(False).to_numpy(zero_copy_only=False)
