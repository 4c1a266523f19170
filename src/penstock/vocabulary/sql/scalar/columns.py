"""Expressions on Arrow columns, for those functions whose kernels give what Flink gives.

A kernel never fails on values of its types, since branches of CASE are computed for all rows. What has no kernel is
left to `compiled_calc`, which is the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.row_kinds import KIND_COLUMN
from penstock.vocabulary.sql.scalar.code import key_of
from penstock.vocabulary.sql.scalar.column_kernels import KERNELS, Column, NoKernelError, folded
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression, fields_of

__all__ = ["COLUMNS_FROM_ROWS", "arrow_type", "columnar_calc"]

COLUMNS_FROM_ROWS = 400
"""Blocks with fewer rows are quicker as rows."""

_ARROW = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.TINYINT: pa.int8(),
    Kind.SMALLINT: pa.int16(),
    Kind.INTEGER: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.CHAR: pa.string(),
    Kind.VARCHAR: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.VARBINARY: pa.binary(),
    Kind.DATE: pa.int32(),
    Kind.TIME: pa.int32(),
    Kind.TIMESTAMP: pa.int64(),
    Kind.TIMESTAMP_LTZ: pa.int64(),
    Kind.INTERVAL_MONTHS: pa.int32(),
    Kind.INTERVAL_MILLIS: pa.int64(),
}

Calc = Callable[[pa.RecordBatch], pa.RecordBatch]


def arrow_type(type_: LogicalType) -> pa.DataType | None:
    """The Arrow type whose plain values are the internal values of a type, None for types that are not flat."""
    return _ARROW.get(type_.kind)


def columnar_calc(condition: TypedExpression | None, projections: Sequence[TypedExpression] | None) -> Calc | None:
    """Return a function of a batch whose first column is of kinds; None where an expression has no kernel.

    The result has the kinds first, then a column `f0`, `f1`, ... for each projection.
    """
    columns = _Columns()
    try:
        test = None if condition is None else columns.of(condition)
        made = None if projections is None else [columns.of(each) for each in projections]
    except NoKernelError:
        return None
    types = None if projections is None else [arrow_type(each.type) for each in projections]
    read = None if projections is None else frozenset([at + 1 for each in projections for at in fields_of(each)])

    def calc(batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            if test is not None:
                batch = _chosen(batch, _as_array(test(batch), batch.num_rows, pa.bool_()), read)
            if made is None or types is None:
                return batch
            count = batch.num_rows
            arrays = [_as_array(column(batch), count, type_) for column, type_ in zip(made, types, strict=True)]
        finally:
            columns.forget()
        names = [KIND_COLUMN, *[f"f{at}" for at in range(len(arrays))]]
        return pa.RecordBatch.from_arrays([batch.column(0), *arrays], names=names)

    return calc


def _chosen(batch: pa.RecordBatch, mask: pa.Array, read: frozenset[int] | None) -> pa.RecordBatch:
    """The rows for which the mask is true. Of the columns, only kinds and those that are read, unless all are."""
    places = pa.array(np.flatnonzero(mask.fill_null(False).to_numpy(zero_copy_only=False)))
    if read is None:
        return batch if len(places) == batch.num_rows else batch.take(places)
    nothing = pa.nulls(len(places))
    is_all = len(places) == batch.num_rows
    arrays = [
        nothing if at and at not in read else column if is_all else column.take(places)
        for at, column in enumerate(batch.columns)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _as_array(value: Any, count: int, type_: pa.DataType) -> pa.Array:
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, count)
    return value if value.type == type_ else pc.cast(value, type_, safe=False)


class _Columns:
    """Makes functions of batches for expressions; what occurs twice is computed once for a batch."""

    def __init__(self) -> None:
        self._made: dict[Any, Column] = {}
        self._found: dict[Any, tuple[pa.RecordBatch, Any]] = {}

    def of(self, expression: TypedExpression) -> Column:
        """The column of an expression."""
        type_ = arrow_type(expression.type)
        if type_ is None:
            raise NoKernelError
        if isinstance(expression, FieldRef):
            position = expression.index + 1
            return lambda batch: _as_array(batch.column(position), batch.num_rows, type_)
        expression = folded(expression)
        if isinstance(expression, Literal):
            scalar = pa.scalar(expression.value, type_)
            return lambda batch: scalar
        assert isinstance(expression, Call)
        key = key_of(expression)
        if key not in self._made:
            kernel = KERNELS.get(expression.function)
            if kernel is None:
                raise NoKernelError
            self._made[key] = self._once(key, kernel(expression, type_, self.of))
        return self._made[key]

    def _once(self, key: Any, compute: Column) -> Column:
        found = self._found

        def column(batch: pa.RecordBatch) -> Any:
            known = found.get(key)
            if known is None or known[0] is not batch:
                known = found[key] = batch, compute(batch)
            return known[1]

        return column

    def forget(self) -> None:
        """Let go of what was computed for the last batch."""
        self._found.clear()
