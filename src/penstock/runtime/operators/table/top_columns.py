"""Top-N on columns, of rows that only come: the changes that a block makes, and the rows that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.runtime.field_columns import Numbers, encoded, keys_of, packed
from penstock.runtime.operators.table.refusals import types_refusal
from penstock.runtime.operators.table.top_changes import Changes, Placing
from penstock.runtime.running_columns import Runs
from penstock.state.encoded_values import EncodedValues
from penstock.state.keyed import KeyedStateBackend
from penstock.state.serializers.encoding import TYPED
from penstock.state.serializers.row_columns import RowPacker, array_head
from penstock.state.serializers.schemas import number_of, schema_of
from penstock.state.value_states import KeyedValueState
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.refusals import Names, column_text, kind_text
from penstock.vocabulary.sql.row_kinds import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.vocabulary.sql.scalar.kinds import INTEGERS
from penstock.vocabulary.sql.state_types import row_state_type

__all__ = ["TopColumns"]

_ORDERED = frozenset([*INTEGERS, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ])


class TopColumns:
    """Gives what the loop over rows gives; state is read once for each key of a block."""

    def __init__(
        self,
        backend: KeyedStateBackend,
        state: KeyedValueState,
        types: Sequence[LogicalType],
        sort_fields: Sequence[SortField],
        *,
        start: int,
        end: int,
        emits_rank: bool,
        with_update_before: bool,
    ) -> None:
        row_type = row_state_type(types)
        self._values = EncodedValues(backend, state)
        self._packer = RowPacker(row_type)
        self._head = TYPED + number_of(schema_of(FrozenListTypeInfo(row_type)))
        self._sort_fields = sort_fields
        self._start, self._end = start, end
        self._emits_rank = emits_rank
        self._by_rank = emits_rank or start > 1 or end == 1
        self._with_before = with_update_before or not self._by_rank

    @staticmethod
    def refusal(types: Sequence[LogicalType], sort_fields: Sequence[SortField], names: Names = ()) -> str | None:
        """Return why rows of these types cannot be put in order, and compared, as columns."""
        for each in sort_fields:
            if types[each.index].kind not in _ORDERED:
                return f"the order is by {column_text(each.index, names)}, which is {kind_text(types[each.index])}"
        return types_refusal(types, names) if sort_fields else "there is no ORDER BY"

    def changes(self, batch: pa.RecordBatch, keys: pa.Array) -> pa.RecordBatch | None:
        """The changes that rows make, kinds first; None where they have to be looked at one by one."""
        found = keys_of(keys)
        if found is None or any(batch.column(each.index + 1).null_count for each in self._sort_fields):
            return None
        codes = packed(encoded(found))
        stored = self._values.rows_of(codes.parts(np.arange(codes.size)), is_tuple=found.is_tuple)
        held = self._values.values_of(self._values.read(stored))
        columns = _with_rows(batch.columns[1:], [row for each in held if each is not None for row in each])
        if any(columns[each.index].null_count for each in self._sort_fields):
            return None
        placing = Placing(self._places(columns), self._end, by_rank=self._by_rank)
        self._keep(columns, stored, self._placed(placing, Runs.of(codes), held, batch.num_rows))
        return self._changelog(batch, columns, placing)

    def settle(self) -> None:
        """Write what is kept, so that rows can be looked at one by one."""
        self._values.settle()

    def _places(self, columns: list[pa.Array]) -> list[int]:
        """Numbers of rows that are in the order of the rows, equal where they are."""
        fields = []
        for each in self._sort_fields:
            values = columns[each.index].to_numpy().astype(np.int64)
            # The complement turns the order around, and has no number without a counterpart.
            fields.append(~values if each.descending else values)
        if len(fields) == 1:
            only: list[int] = fields[0].tolist()
            return only
        order = np.lexsort(fields[::-1])
        is_other = np.zeros(len(order), np.bool_)
        for values in fields:
            is_other[1:] |= values[order[1:]] != values[order[:-1]]
        places = np.empty(len(order), np.int64)
        places[order] = np.cumsum(is_other)
        found: list[int] = places.tolist()
        return found

    def _placed(self, placing: Placing, runs: Runs, held: list[Any], first: int) -> dict[int, list[int]]:
        """The rows of the keys that change; rows in state have numbers from `first` on."""
        changed: dict[int, list[int]] = {}
        order = runs.order.tolist()
        pairs = zip(runs.starts.tolist(), runs.lengths.tolist(), strict=True)
        for run, ((start, length), rows) in enumerate(zip(pairs, held, strict=True)):
            count = 0 if rows is None else len(rows)
            kept = list(range(first, first + count))
            first += count
            if placing.put(kept, order[start : start + length]):
                changed[run] = kept
        return changed

    def _keep(self, columns: list[pa.Array], stored: list[bytes], changed: dict[int, list[int]]) -> None:
        counts = [len(kept) for kept in changed.values()]
        places = pa.array(list(chain.from_iterable(changed.values())), pa.int64())
        data = self._packer.packed_groups([column.take(places) for column in columns], np.array(counts, np.int64))
        values = [self._head + array_head(count) + each for count, each in zip(counts, data, strict=True)]
        self._values.hold([stored[run] for run in changed], values)

    def _changelog(self, batch: pa.RecordBatch, columns: list[pa.Array], placing: Placing) -> pa.RecordBatch:
        made = placing.changes(partial(_are_equal, columns), self._start)
        rows, of_change, is_before = made.told(with_before=self._with_before)
        chosen = pa.array(rows)
        arrays = [self._kinds(made, of_change, is_before), *[column.take(chosen) for column in columns]]
        names = [*batch.schema.names]
        if self._emits_rank:
            arrays.append(pa.array(made.ranks[of_change]))
            names.append("rank")
        return pa.RecordBatch.from_arrays(arrays, names=names)

    def _kinds(self, made: Changes, of_change: Numbers, is_before: Numbers) -> pa.Array:
        before, after = (UPDATE_BEFORE, UPDATE_AFTER) if self._by_rank else (DELETE, INSERT)
        now = np.where(made.was[of_change] < 0, INSERT, after)
        return pa.array(np.where(is_before, before, now).astype(np.int8))


def _are_equal(columns: list[pa.Array], left: Numbers, right: Numbers) -> Numbers:
    """Whether rows are equal to others, NULL being equal to NULL."""
    equal = np.ones(len(left), np.bool_)
    for column in columns:
        one, other = column.take(pa.array(left)), column.take(pa.array(right))
        are_null = pc.and_(one.is_null(), other.is_null())
        same = pc.or_(pc.equal(one, other).fill_null(False), are_null)
        equal &= same.to_numpy(zero_copy_only=False)
    return equal


def _with_rows(columns: list[pa.Array], rows: list[tuple[Any, ...]]) -> list[pa.Array]:
    """Columns with further rows behind them."""
    if not rows:
        return columns
    pairs = zip(columns, zip(*rows, strict=True), strict=True)
    return [pa.concat_arrays([column, pa.array(each, column.type)]) for column, each in pairs]
