"""Expressions on Arrow columns, for those functions whose kernels give what Flink gives.

A kernel never fails on values of its types, since branches of CASE are computed for all rows. What has no kernel is
left to `compiled_calc`, which is the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.row_kinds import KIND_COLUMN
from penstock.vocabulary.sql.scalar.column_kernels import KERNELS, Column, NoKernelError
from penstock.vocabulary.sql.typed_expressions import FieldRef, Literal, TypedExpression

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
    try:
        test = None if condition is None else _column(condition)
        made = None if projections is None else [_column(each) for each in projections]
    except NoKernelError:
        return None
    types = None if projections is None else [arrow_type(each.type) for each in projections]

    def calc(batch: pa.RecordBatch) -> pa.RecordBatch:
        if test is not None:
            batch = batch.filter(_as_array(test(batch), batch.num_rows, pa.bool_()))
        if made is None or types is None:
            return batch
        count = batch.num_rows
        columns = [_as_array(column(batch), count, type_) for column, type_ in zip(made, types, strict=True)]
        names = [KIND_COLUMN, *[f"f{at}" for at in range(len(columns))]]
        return pa.RecordBatch.from_arrays([batch.column(0), *columns], names=names)

    return calc


def _as_array(value: Any, count: int, type_: pa.DataType) -> pa.Array:
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, count)
    return value if value.type == type_ else pc.cast(value, type_, safe=False)


def _column(expression: TypedExpression) -> Column:
    type_ = arrow_type(expression.type)
    if type_ is None:
        raise NoKernelError
    if isinstance(expression, FieldRef):
        position = expression.index + 1
        return lambda batch: _as_array(batch.column(position), batch.num_rows, type_)
    if isinstance(expression, Literal):
        scalar = pa.scalar(expression.value, type_)
        return lambda batch: scalar
    kernel = KERNELS.get(expression.function)
    if kernel is None:
        raise NoKernelError
    return kernel(expression, type_, _column)
