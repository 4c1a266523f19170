"""The last row of each key by row time, on columns: the changes that a block makes, and the rows that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.typeinfo import TypeInformation
from penstock.runtime.field_columns import Numbers, encoded, keys_of, packed
from penstock.runtime.running_columns import Runs
from penstock.state.encoded_values import EncodedValues
from penstock.state.keyed import KeyedStateBackend
from penstock.state.serializers.row_columns import RowPacker
from penstock.state.value_states import KeyedValueState
from penstock.vocabulary.sql.row_kinds import INSERT, UPDATE_AFTER, UPDATE_BEFORE

__all__ = ["LastRowColumns"]

_MOST = 2**62


class LastRowColumns:
    """Gives what the loop over rows gives; state is asked once for each key of a block."""

    def __init__(
        self,
        backend: KeyedStateBackend,
        state: KeyedValueState,
        row_type: TypeInformation,
        time_field: int,
        *,
        with_update_before: bool,
        with_insert: bool,
    ) -> None:
        self._values = EncodedValues(backend, state)
        self._packer = RowPacker(row_type)
        self._time_field = time_field
        self._with_update_before = with_update_before
        self._first_kind = INSERT if with_insert else UPDATE_AFTER

    def changes(self, batch: pa.RecordBatch, keys: pa.Array) -> pa.RecordBatch | None:
        """The changes that rows make, kinds first; None where they have to be looked at one by one."""
        times, found = batch.column(self._time_field + 1), keys_of(keys)
        if times.null_count or found is None:
            return None
        codes = packed(encoded(found))
        runs = Runs.of(codes)
        stored = self._values.rows_of(codes.parts(np.arange(codes.size)), is_tuple=found.is_tuple)
        held = self._values.values_of(self._values.read(stored))
        run_of = np.repeat(np.arange(len(held)), runs.lengths)
        chosen = self._chosen(runs, run_of, times.to_numpy(), held)
        if chosen is None:
            return None
        rows, of_rows = runs.order[chosen], run_of[chosen]
        self._keep(batch, rows, of_rows, stored)
        return self._changelog(batch, rows, of_rows, held)

    def _chosen(self, runs: Runs, run_of: Numbers, times: Numbers, held: list[Any]) -> Numbers | None:
        """Where in the runs rows are that are not earlier than the one that is kept by then."""
        is_held = np.array([each is not None for each in held], np.bool_)
        kept = np.array([0 if each is None else each[self._time_field] for each in held], np.int64)
        ordered = times[runs.order]
        known = np.concatenate([ordered, kept[is_held]])
        lowest = int(known.min())
        span = int(known.max()) - lowest + 1
        if span * len(held) > _MOST:
            return None
        since = ordered - lowest
        # Numbers of later runs are higher, so that the highest so far is one of the same run.
        highest = np.maximum.accumulate(run_of * span + since) - run_of * span
        before = np.empty_like(since)
        before[1:] = highest[:-1]
        before[runs.starts] = -1
        before = np.maximum(before, np.where(is_held, kept - lowest, -1)[run_of])
        return np.flatnonzero(since >= before)

    def settle(self) -> None:
        """Write what is kept, so that rows can be looked at one by one."""
        self._values.settle()

    def _keep(self, batch: pa.RecordBatch, rows: Numbers, of_rows: Numbers, stored: list[bytes]) -> None:
        is_last = np.ones(len(rows), np.bool_)
        is_last[:-1] = of_rows[1:] != of_rows[:-1]
        places = pa.array(rows[is_last])
        packed_rows = self._packer.packed([column.take(places) for column in batch.columns[1:]], self._packer.head)
        self._values.hold([stored[at] for at in of_rows[is_last].tolist()], packed_rows.to_pylist())

    def _changelog(self, batch: pa.RecordBatch, rows: Numbers, of_rows: Numbers, held: list[Any]) -> pa.RecordBatch:
        """The changes in the order of arrival; rows that were in state come from behind those of the block."""
        is_first = np.ones(len(rows), np.bool_)
        is_first[1:] = of_rows[1:] != of_rows[:-1]
        from_state = [held[at] for at in of_rows[is_first].tolist()]
        has_former = np.ones(len(rows), np.bool_)
        has_former[is_first] = [each is not None for each in from_state]
        former = np.empty_like(rows)
        former[1:] = rows[:-1]
        former[is_first] = batch.num_rows + np.cumsum([each is not None for each in from_state]) - 1
        counts = np.where(has_former, 2, 1) if self._with_update_before else np.ones(len(rows), np.int64)
        arrival = np.argsort(rows)
        places = np.repeat(arrival, counts[arrival])
        is_second = np.zeros(len(places), np.bool_)
        is_second[1:] = places[1:] == places[:-1]
        is_before = (counts[places] == 2) & ~is_second
        after = np.where(has_former[places], UPDATE_AFTER, self._first_kind)
        kinds = np.where(is_before, UPDATE_BEFORE, after).astype(np.int8)
        taken = pa.array(np.where(is_before, former[places], rows[places]))
        columns = batch.columns[1:]
        if self._with_update_before:
            stored = list(zip(*[each for each in from_state if each is not None], strict=True))
            if stored:
                pairs = zip(columns, stored, strict=True)
                columns = [pa.concat_arrays([column, pa.array(each, column.type)]) for column, each in pairs]
        arrays = [pa.array(kinds), *[column.take(taken) for column in columns]]
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
