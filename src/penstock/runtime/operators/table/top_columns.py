"""Top-N on columns: rows that are behind N others of their own block are left out before they become objects."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import pyarrow as pa

from penstock.runtime.field_columns import Numbers, encoded, keys_of, packed
from penstock.runtime.running_columns import Runs
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.scalar.kinds import INTEGERS

__all__ = ["leading_rows"]

_ORDERED = frozenset([*INTEGERS, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ])


def leading_rows(
    batch: pa.RecordBatch,
    keys: pa.Array,
    types: tuple[LogicalType, ...],
    sort_fields: tuple[SortField, ...],
    count: int,
) -> Numbers | None:
    """The places of rows that were among the first `count` of their key when they came; None if that cannot be told.

    Of rows that only come, others change nothing: what is in state can only put them further behind.
    """
    if len(sort_fields) != 1 or types[sort_fields[0].index].kind not in _ORDERED:
        return None
    column, found = batch.column(sort_fields[0].index + 1), keys_of(keys)
    if column.null_count or found is None:
        return None
    runs = Runs.of(packed(encoded(found)))
    is_long = runs.lengths > count
    if not is_long.any():
        return None
    values = column.to_numpy().astype(np.int64)[runs.order]
    is_leading = np.ones(len(values), np.bool_)
    for start, length in zip(runs.starts[is_long].tolist(), runs.lengths[is_long].tolist(), strict=True):
        of_key = values[start : start + length]
        # The complement turns the order around, and has no number without a counterpart.
        is_leading[start : start + length] = _leading((~of_key if sort_fields[0].descending else of_key), count)
    return np.sort(runs.order[is_leading])


def _leading(values: Numbers, count: int) -> list[bool]:
    best: list[int] = []
    found = []
    for value in values.tolist():
        is_leading = len(best) < count or value < best[-1]
        found.append(is_leading)
        if is_leading:
            best.insert(bisect_right(best, value), value)
            del best[count:]
    return found
