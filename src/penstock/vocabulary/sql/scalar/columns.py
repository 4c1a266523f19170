"""Expressions on Arrow columns, for those functions whose kernels give what Flink gives.

A kernel never fails on values of its types, since branches of CASE are computed for all rows. Where the caller can go
back to rows, functions without such a kernel have a guarded one, or are called with their arguments. What cannot be
done with columns at all is left to `compiled_calc`, which is the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.refusals import Names, column_text, kind_text
from penstock.vocabulary.sql.row_kinds import KIND_COLUMN
from penstock.vocabulary.sql.scalar.called_columns import called_column, user_reason
from penstock.vocabulary.sql.scalar.code import key_of
from penstock.vocabulary.sql.scalar.column_kernels import KERNELS, Column, Constant, Kernel, NoKernelError, folded
from penstock.vocabulary.sql.scalar.context import EvaluationContext
from penstock.vocabulary.sql.scalar.guarded_kernels import GUARDED_KERNELS
from penstock.vocabulary.sql.scalar.user_calls import VARYING
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression, fields_of
from penstock.vocabulary.sql.user_functions import USER_FUNCTION

__all__ = ["arrow_type", "calc_refusal", "columnar_calc"]

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
_NO_LEVEL: Any = object()


def arrow_type(type_: LogicalType) -> pa.DataType | None:
    """The Arrow type whose plain values are the internal values of a type, None for types that are not flat."""
    return _ARROW.get(type_.kind)


def columnar_calc(
    condition: TypedExpression | None,
    projections: Sequence[TypedExpression] | None,
    context: EvaluationContext | None = None,
) -> Calc | None:
    """Return a function of a batch whose first column is of kinds; None where an expression has to see rows.

    The result has the kinds first, then a column `f0`, `f1`, ... for each projection. With a context, the function may
    raise anything for values that it does not know, or that are wrong: `compiled_calc` then says which it is.
    """
    columns = _Columns(context)
    try:
        tests, made = _compiled(columns, condition, projections)
    except NoKernelError:
        return None
    types = None if projections is None else [_column_type(each.type) for each in projections]
    read = None if projections is None else frozenset([at + 1 for each in projections for at in fields_of(each)])

    def calc(batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            places = tests.places(batch)
            if places is not None:
                batch = columns.narrow(batch, places, _chosen(batch, places, read))
            if made is None or types is None:
                return batch
            count = batch.num_rows
            arrays = [_as_array(column(batch), count, type_) for column, type_ in zip(made, types, strict=True)]
        finally:
            columns.forget()
        names = [KIND_COLUMN, *[f"f{at}" for at in range(len(arrays))]]
        return pa.RecordBatch.from_arrays([batch.column(0), *arrays], names=names)

    return calc


def calc_refusal(
    condition: TypedExpression | None,
    projections: Sequence[TypedExpression] | None,
    context: EvaluationContext | None = None,
    names: Names = (),
) -> str | None:
    """Return why `columnar_calc` makes nothing of expressions; None if it does. `names` are those of the columns."""
    try:
        _compiled(_Columns(context, names), condition, projections)
    except NoKernelError as error:
        return error.reason or "an expression has no column form"
    return None


def _compiled(
    columns: _Columns, condition: TypedExpression | None, projections: Sequence[TypedExpression] | None
) -> tuple[_Tests, list[Column] | None]:
    tests = _Tests(columns, condition)
    return tests, None if projections is None else [columns.of(each) for each in projections]


class _Tests:
    """The parts of a condition: each is asked of the rows that those before it have left."""

    def __init__(self, columns: _Columns, condition: TypedExpression | None) -> None:
        parts = [] if condition is None else _conjuncts(condition)
        self._columns = columns
        self._tests = [columns.of(each) for each in parts]
        read = [frozenset([at + 1 for at in fields_of(each)]) for each in parts]
        self._read = [frozenset().union(*read[at:]) for at in range(len(read))]

    def places(self, batch: pa.RecordBatch) -> pa.Array | None:
        """Where the condition is true; None without one."""
        places, left = None, batch
        for test, read in zip(self._tests, self._read, strict=True):
            if places is not None and len(places) < batch.num_rows:
                left = self._columns.narrow(batch, places, _chosen(batch, places, read))
            true = _true_places(_as_array(test(left), left.num_rows, pa.bool_()))
            places = true if left is batch or places is None else places.take(true)
        return places


def _conjuncts(condition: TypedExpression) -> list[TypedExpression]:
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for each in condition.arguments for part in _conjuncts(each)]
    return [condition]


def _column_type(type_: LogicalType) -> pa.DataType | None:
    """The same inside of expressions, where DECIMALs have columns too."""
    return pa.decimal128(type_.precision, type_.scale) if type_.kind is Kind.DECIMAL else arrow_type(type_)


def _true_places(mask: pa.Array) -> pa.Array:
    return pa.array(np.flatnonzero(mask.fill_null(False).to_numpy(zero_copy_only=False)))


def _chosen(batch: pa.RecordBatch, places: pa.Array, read: frozenset[int] | None) -> pa.RecordBatch:
    """The rows at some places. Of the columns, only kinds and those that are read, unless all are."""
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


def _called(call: Call) -> str:
    if call.function in (USER_FUNCTION, VARYING):
        return f"the Python function {call.options[0]}()"
    return f"the {'function' if call.function[:1].isalpha() else 'operator'} {call.function}"


def _without_kernel(call: Call) -> str:
    is_user = call.function in (USER_FUNCTION, VARYING)
    return user_reason(call.options[0]) if is_user else f"{_called(call)} has no column form here"


class _Columns:
    """Makes functions of batches for expressions; what occurs twice is computed once for a batch."""

    def __init__(self, context: EvaluationContext | None, names: Names = ()) -> None:
        self._context = context
        self._names = names
        self._made: dict[Any, Column] = {}
        self._found: dict[Any, tuple[pa.RecordBatch, Any]] = {}
        self._levels: list[tuple[pa.RecordBatch, pa.Array | None]] = []
        """The first batch, and those of rows that were chosen, with their places in the first one."""

    def of(self, expression: TypedExpression) -> Column:
        """The column of an expression."""
        type_ = _column_type(expression.type)
        if type_ is None:
            raise NoKernelError(self._particular(expression))
        if isinstance(expression, FieldRef):
            position = expression.index + 1
            return lambda batch: _as_array(batch.column(position), batch.num_rows, type_)
        expression = folded(expression)
        if isinstance(expression, Literal):
            return Constant(pa.scalar(expression.value, type_))
        assert isinstance(expression, Call)
        key = key_of(expression)
        if key not in self._made:
            self._made[key] = self._once(self._computed(expression, type_))
        return self._made[key]

    def _computed(self, call: Call, type_: pa.DataType) -> Column:
        tables: list[dict[str, Kernel]] = [KERNELS] if self._context is None else [KERNELS, GUARDED_KERNELS]
        reason = None
        for kernels in tables:
            kernel = kernels.get(call.function)
            if kernel is not None:
                try:
                    return kernel(call, type_, self.of)
                except NoKernelError as error:
                    reason = error.reason or reason
        if self._context is None:
            raise NoKernelError(reason or _without_kernel(call))
        return called_column(call, type_, self.of, self._context)

    def _particular(self, expression: TypedExpression) -> str:
        """Return why an expression is no column, whose values are not flat."""
        if isinstance(expression, FieldRef):
            return f"{column_text(expression.index, self._names)} is {kind_text(expression.type)}"
        what = _called(expression) if isinstance(expression, Call) else "a constant"
        return f"{what} gives {kind_text(expression.type)}"

    def _once(self, compute: Column) -> Column:
        found, name = self._found, object()  # keys of expressions are deep: it takes long to look one up

        def column(batch: pa.RecordBatch) -> Any:
            known = found.get(name)
            if known is None or known[0] is not batch:
                taken = self._taken(known)
                known = found[name] = batch, compute(batch) if taken is None else taken
            return known[1]

        return column

    def narrow(self, batch: pa.RecordBatch, places: pa.Array, narrowed: pa.RecordBatch) -> pa.RecordBatch:
        """Let what was computed so far be known of the rows at some places of the first batch."""
        if not self._levels:
            self._levels.append((batch, None))
        self._levels.append((narrowed, places))
        return narrowed

    def _taken(self, known: tuple[pa.RecordBatch, Any] | None) -> Any:
        """What was computed before rows were chosen, for those that were; None where nothing was."""
        before = next((places for batch, places in self._levels if known is not None and batch is known[0]), _NO_LEVEL)
        if known is None or before is _NO_LEVEL:
            return None
        values, places = known[1], self._levels[-1][1]
        if isinstance(values, pa.Scalar):
            return values
        if before is not None and places is not None:  # both are in order
            places = pa.array(np.searchsorted(before.to_numpy(), places.to_numpy()))
        return values.take(places)

    def forget(self) -> None:
        """Let go of what was computed for the last batch."""
        self._found.clear()
        self._levels.clear()
