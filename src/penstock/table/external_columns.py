"""Columns of elements as columns of internal values: what `external_values` does, for whole blocks.

Only where every value of an Arrow type becomes what the object that it stands for would become; else there is None, and
the objects are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from penstock.common.column_block import ColumnBlock
from penstock.vocabulary.sql.external_values import per_second
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.refusals import column_text, kind_text
from penstock.vocabulary.sql.row_kinds import INSERT, KIND_COLUMN
from penstock.vocabulary.sql.scalar import arrow_type

__all__ = ["internal_columns", "internal_refusal"]

_PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000}
"""Units of Arrow's timestamps that Python's objects have too."""


def internal_columns(block: ColumnBlock, row_type: LogicalType) -> ColumnBlock | None:
    """The rows of elements, all of them insertions, as columns with kinds first."""
    columns = _fields(block, row_type.names)
    if columns is None:
        return None
    arrays = [pa.array(np.full(len(block), INSERT, np.int8))]
    for column, declared in zip(columns, row_type.parts, strict=True):
        convert = _CONVERTERS.get(declared.kind)
        made = None if convert is None else convert(column, declared)
        if made is None:
            return None
        arrays.append(made)
    names = [KIND_COLUMN, *[f"f{at}" for at in range(len(columns))]]
    return ColumnBlock(pa.RecordBatch.from_arrays(arrays, names=names), "tuple")


def internal_refusal(row_type: LogicalType) -> str | None:
    """Return why `internal_columns` has nothing for rows of a type, whatever the block."""
    for at, declared in enumerate(row_type.parts):
        if declared.kind not in _CONVERTERS:
            return f"{column_text(at, row_type.names)} is {kind_text(declared)}"
    return None


def _fields(block: ColumnBlock, names: Sequence[str]) -> list[pa.Array] | None:
    """The columns of the fields, by name where elements have names, else by place."""
    batch, form = block.batch, block.form
    is_named = form == "dict" or (form == "row" and set(batch.schema.names) == set(names))
    if is_named:
        places = [batch.schema.get_field_index(name) for name in names]
        return None if -1 in places else [batch.column(place) for place in places]
    is_tuple = form in ("row", "tuple", "value") or (isinstance(form, type) and issubclass(form, tuple))
    return list(batch.columns) if is_tuple and batch.num_columns == len(names) else None


def _whole(column: pa.Array, declared: LogicalType) -> pa.Array | None:
    wanted = arrow_type(declared)
    fits = wanted is not None and pa.types.is_signed_integer(column.type) and column.type.bit_width <= wanted.bit_width
    return column.cast(wanted) if fits else None


def _floating(column: pa.Array, declared: LogicalType) -> pa.Array | None:
    wanted = arrow_type(declared)
    return column.cast(wanted) if column.type in (pa.float32(), wanted) else None


def _same(column: pa.Array, declared: LogicalType) -> pa.Array | None:
    return column if column.type == arrow_type(declared) else None


def _date(column: pa.Array, declared: LogicalType) -> pa.Array | None:
    return column.cast(pa.int32()) if column.type == pa.date32() else None


def _timestamp(column: pa.Array, declared: LogicalType) -> pa.Array | None:
    given = _PER_SECOND.get(column.type.unit) if pa.types.is_timestamp(column.type) else None
    if given is None:
        return None
    wanted, numbers = per_second(declared.precision), column.cast(pa.int64())
    if given == wanted:
        return numbers
    is_null = numbers.is_null().to_numpy(zero_copy_only=False) if numbers.null_count else None
    values = (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy()
    return pa.array(values // (given // wanted) if given > wanted else values * (wanted // given), mask=is_null)


_CONVERTERS: dict[Kind, Callable[[pa.Array, LogicalType], pa.Array | None]] = {
    **dict.fromkeys((Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT), _whole),
    **dict.fromkeys((Kind.FLOAT, Kind.DOUBLE), _floating),
    **dict.fromkeys((Kind.BOOLEAN, Kind.CHAR, Kind.VARCHAR, Kind.BINARY, Kind.VARBINARY), _same),
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_LTZ: _timestamp,
}
