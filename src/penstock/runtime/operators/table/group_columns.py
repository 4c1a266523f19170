"""GROUP BY in columns: the changelog of a block of inserted rows, and the accumulators behind it.

Gives what the loop over rows gives, row for row: for each record the result before it and the result with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.field_columns import Keys, NumberColumn, Numbers, accumulators_of, encoded, objects_of, packed
from penstock.runtime.operators.table.aggregate_columns import ColumnarCalls
from penstock.runtime.operators.table.ranked_texts import RankedTexts
from penstock.runtime.operators.table.seen_columns import SeenValues
from penstock.runtime.operators.table.slice_columns import KeyColumns
from penstock.runtime.running_columns import Runs, running
from penstock.state.keyed import KeyedStateBackend
from penstock.state.value_states import KeyedValueState
from penstock.vocabulary.sql.row_kinds import INSERT, KIND_COLUMN, UPDATE_AFTER, UPDATE_BEFORE

__all__ = ["GroupColumns"]


class GroupColumns:
    """The groups of an operator, worked on a block at a time."""

    def __init__(
        self,
        key_fields: Sequence[int],
        keys: KeyColumns,
        calls: ColumnarCalls,
        backend: KeyedStateBackend,
        state: KeyedValueState,
        *,
        with_update_before: bool,
        seen: SeenValues | None = None,
    ) -> None:
        self._key_fields = key_fields
        self._keys = keys
        self._calls = calls
        self._text_fields = calls.text_fields
        self._backend = backend
        self._state = state
        state.trust()
        self._with_update_before = with_update_before
        self._seen = seen

    def changes(self, batch: pa.RecordBatch) -> pa.RecordBatch | None:
        """The changes that rows make, kinds first; None where they have to be folded one by one."""
        count = batch.num_rows
        columns = {at: batch.column(at + 1) for at in {*self._key_fields, *self._calls.fields}}
        key_columns = [columns[at] for at in self._key_fields]
        keys = self._keys.of(key_columns, count)
        codes = packed(encoded(keys))
        runs = Runs.of(codes)
        distinct = objects_of(Keys(codes.parts(np.arange(codes.size)), keys.is_tuple))
        addresses = self._backend.addresses_of(distinct)
        held = self._state.held_of_all(addresses)
        empty = self._calls.initial()
        before = [empty if each is None else each for each in held]
        texts = RankedTexts(self._text_fields, columns, before) if self._text_fields else None
        before = before if texts is None else texts.ranked(before)
        firsts = None if self._seen is None else self._seen.firsts(columns, codes.codes, distinct)
        made = running(runs, self._calls.numbers(columns, count, firsts, texts), self._calls.measures, before)
        if made is None:
            return None
        if self._seen is not None:
            self._seen.keep()
        slots = self._calls.wrapped(made)
        last = runs.starts + runs.lengths - 1
        accumulators = accumulators_of([column.take(last) for column in slots]) if slots else [()] * len(distinct)
        self._state.hold_of_all(addresses, accumulators if texts is None else texts.restored(accumulators))
        is_new = np.array([each is None for each in held], np.bool_)
        return self._changelog(runs, key_columns, slots, before, is_new, texts)

    def _changelog(
        self,
        runs: Runs,
        key_columns: list[pa.Array],
        slots: list[NumberColumn],
        before: list[tuple[Any, ...]],
        is_new: Numbers,
        texts: RankedTexts | None,
    ) -> pa.RecordBatch:
        """The changes in the order of arrival; slots are in the order of the runs."""
        results = self._calls.result_columns(slots)
        begins = np.zeros(len(runs.order), np.bool_)
        begins[runs.starts] = is_new
        if self._calls.counts_all and not self._with_update_before:
            return self._upserts(runs, key_columns, results, begins, texts)
        first = self._first_results(before)
        earlier = [_shifted(column, runs.starts, start) for column, start in zip(results, first, strict=True)]
        is_changed = np.full(len(begins), self._calls.counts_all)
        for old, new in zip(earlier, results, strict=True) if not self._calls.counts_all else ():
            is_changed |= _differs(old, new)
        width = 2 if self._with_update_before else 1
        emitted = np.where(begins, 1, np.where(is_changed, width, 0))
        arrival = runs.arrival()
        places = np.repeat(arrival, emitted[arrival])  # in the order of arrival, where in the runs each change is
        is_second = np.zeros(len(places), np.bool_)
        is_second[1:] = places[1:] == places[:-1]
        is_before = (emitted[places] == 2) & ~is_second
        kinds = np.where(begins[places], INSERT, np.where(is_before, UPDATE_BEFORE, UPDATE_AFTER)).astype(np.int8)
        chosen = [_chosen(old, new, places, is_before) for old, new in zip(earlier, results, strict=True)]
        rows = pa.array(runs.order[places])
        return _batch(kinds, [each.take(rows) for each in key_columns], self._calls.arrays(chosen, texts))

    def _upserts(
        self,
        runs: Runs,
        key_columns: list[pa.Array],
        results: list[NumberColumn],
        begins: Numbers,
        texts: RankedTexts | None,
    ) -> pa.RecordBatch:
        """The changes where each row makes just one: its key and the results with it."""
        if not runs.is_one:
            arrival = runs.arrival()
            begins, results = begins[arrival], [column.take(arrival) for column in results]
        kinds = np.where(begins, np.int8(INSERT), np.int8(UPDATE_AFTER))
        return _batch(kinds, key_columns, self._calls.arrays(results, texts))

    def _first_results(self, before: list[tuple[Any, ...]]) -> list[NumberColumn]:
        """The results of each run before its first record."""
        numbers = self._calls.slots_of_accumulators(before)
        return self._calls.result_columns([numbers[at] for at in range(self._calls.slot_count)])


def _batch(kinds: Numbers, keys: list[pa.Array], results: list[pa.Array]) -> pa.RecordBatch:
    arrays = [pa.array(kinds), *keys, *results]
    return pa.RecordBatch.from_arrays(arrays, names=[KIND_COLUMN, *[f"f{at}" for at in range(len(arrays) - 1)]])


def _shifted(column: NumberColumn, starts: Numbers, first: NumberColumn) -> NumberColumn:
    """For each record what was before it: the record before in its run, or what the run begins with."""
    values = np.empty_like(column.values)
    values[1:] = column.values[:-1]
    values[starts] = first.values
    if column.valid is None and first.valid is None:
        return NumberColumn(values, None)
    valid = np.ones(len(values), np.bool_)
    if column.valid is not None:
        valid[1:] = column.valid[:-1]
    valid[starts] = True if first.valid is None else first.valid
    return NumberColumn(values, valid)


def _differs(old: NumberColumn, new: NumberColumn) -> Numbers:
    differs: Numbers = old.values != new.values
    if old.valid is None and new.valid is None:
        return differs
    was, is_now = (True if each.valid is None else each.valid for each in (old, new))
    return np.where(np.logical_and(was, is_now), differs, np.not_equal(was, is_now))


def _chosen(old: NumberColumn, new: NumberColumn, places: Numbers, is_before: Numbers) -> NumberColumn:
    values = np.where(is_before, old.values[places], new.values[places])
    if old.valid is None and new.valid is None:
        return NumberColumn(values, None)
    was, is_now = (np.ones(len(each.values), np.bool_) if each.valid is None else each.valid for each in (old, new))
    return NumberColumn(values, np.where(is_before, was[places], is_now[places]))
