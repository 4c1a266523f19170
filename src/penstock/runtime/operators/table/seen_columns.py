"""DISTINCT on columns: which rows have a value that their key has not seen yet, and the views that remember it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.field_columns import Numbers
from penstock.runtime.operators.table.small_views import SmallView
from penstock.state.keyed import KeyedStateBackend

__all__ = ["SeenValues", "ViewOfField"]


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
        self._changes: list[tuple[SmallView, Any, dict[Any, int]]] = []

    def firsts(self, columns: dict[int, pa.Array], codes: Numbers, keys: list[Any]) -> dict[int, Numbers]:
        """For each slot, whether a row is the first of its key with its value; `keep` makes it known."""
        self._changes = []
        found: dict[int, Numbers] = {}
        for each in self._views:
            found |= self._firsts(each, columns, codes, keys)
        return found

    def keep(self) -> None:
        """Write what has been seen."""
        for view, key, entries in self._changes:
            self._backend.set_key(key)
            view.hold_all(entries)
        self._changes = []

    def _firsts(
        self, view: ViewOfField, columns: dict[int, pa.Array], codes: Numbers, keys: list[Any]
    ) -> dict[int, Numbers]:
        encoded = pc.dictionary_encode(columns[view.field])
        values = encoded.dictionary.to_pylist()
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        is_known = places >= 0
        # Rows without a value get the pair of another one, which nobody asks for.
        pairs, inverse = np.unique(codes * len(values) + places, return_inverse=True)
        before = self._bits(view, pairs, values, keys, np.unique(inverse[is_known]))
        after = before.copy()
        made = {}
        for bit, chosen in enumerate(view.filters):
            mask = is_known if chosen is None else is_known & _true(columns[chosen])
            rows = np.flatnonzero(mask)
            asked, first = np.unique(inverse[rows], return_index=True)
            is_new = before[asked] & (1 << bit) == 0
            flags = np.zeros(len(codes), np.bool_)
            flags[rows[first[is_new]]] = True
            after[asked] |= 1 << bit
            made.update({slot: flags for slot, of in view.slots if of == chosen})
        changed = np.flatnonzero(after != before)
        of_keys, of_values = np.divmod(pairs[changed], max(len(values), 1))
        bits = after[changed].tolist()
        for key, start, stop in _runs(of_keys):
            of_key = [values[at] for at in of_values[start:stop].tolist()]
            self._changes.append((view.view, keys[key], dict(zip(of_key, bits[start:stop], strict=True))))
        return made

    def _bits(self, view: ViewOfField, pairs: Numbers, values: list[Any], keys: list[Any], asked: Numbers) -> Numbers:
        """What the view has of pairs of key and value."""
        bits = np.zeros(len(pairs), np.int64)
        of_keys, of_values = np.divmod(pairs[asked], max(len(values), 1))
        found: list[Any] = []
        for key, start, stop in _runs(of_keys):
            self._backend.set_key(keys[key])
            found += view.view.held_of([values[at] for at in of_values[start:stop].tolist()])
        bits[asked] = [each or 0 for each in found]
        return bits


def _runs(sorted_codes: Numbers) -> Iterator[tuple[int, int, int]]:
    """The codes that occur, each with where it begins and where it ends."""
    starts = np.flatnonzero(np.diff(sorted_codes, prepend=-1))
    bounds = [*starts.tolist(), len(sorted_codes)]
    return zip(sorted_codes[starts].tolist(), bounds, bounds[1:], strict=False)


def _true(column: pa.Array) -> Any:
    return column.fill_null(False).to_numpy(zero_copy_only=False)
