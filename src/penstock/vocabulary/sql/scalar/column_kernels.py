"""Kernels on Arrow columns by function. Each gives Flink's values, or refuses the call with NoKernelError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.compilation import constant, is_deterministic
from penstock.vocabulary.sql.scalar.kinds import CHARACTERS, INTEGERS, units_per_milli
from penstock.vocabulary.sql.typed_expressions import Call, Literal, TypedExpression, fields_of

__all__ = ["KERNELS", "Column", "Compile", "Constant", "Kernel", "NoKernelError", "folded"]

Column = Callable[[pa.RecordBatch], Any]
Compile = Callable[[TypedExpression], Column]
Kernel = Callable[[Call, pa.DataType, Compile], Column]


class NoKernelError(Exception):
    """An expression has no kernel; `reason` says why in a user's words, where a kernel knows."""

    def __init__(self, reason: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason


class Constant:
    """The column of a literal: the same scalar for every batch."""

    def __init__(self, scalar: pa.Scalar) -> None:
        self.scalar = scalar

    def __call__(self, batch: pa.RecordBatch) -> pa.Scalar:
        """The scalar."""
        return self.scalar


_WHOLE = (*INTEGERS, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ, Kind.INTERVAL_MILLIS)
_COMPARED = (*_WHOLE, Kind.BOOLEAN, *CHARACTERS)


def folded(expression: TypedExpression) -> TypedExpression:
    """The expression, or the constant that it is; NoKernelError where computing that fails, as it would on a row."""
    if not isinstance(expression, Call) or next(fields_of(expression), None) is not None:
        return expression
    if not is_deterministic(expression):
        return expression
    try:
        return Literal(constant(expression), expression.type)
    except Exception:
        raise NoKernelError(f"the constant {expression.function}(...) cannot be computed") from None


def _require(is_possible: bool) -> None:
    if not is_possible:
        raise NoKernelError


def _arithmetic(call: Call, type_: pa.DataType, column: Compile) -> Column:
    """Whole numbers wrap in Arrow as in Java; floats of single precision round otherwise."""
    kinds = [each.type.kind for each in call.arguments]
    if kinds in ([Kind.TIMESTAMP, Kind.INTERVAL_MILLIS], [Kind.TIMESTAMP_LTZ, Kind.INTERVAL_MILLIS]):
        return _shifted(call, column)
    _require(len(call.arguments) == 2 and call.type.kind in (*INTEGERS, Kind.DOUBLE))
    arguments = [_as_double(each) for each in call.arguments] if call.type.kind is Kind.DOUBLE else call.arguments
    _require(all(each.type.kind in (*INTEGERS, Kind.DOUBLE) for each in arguments))
    left, right = [_cast(column(each), type_) for each in arguments]
    operate = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}[call.function]
    return lambda batch: operate(left(batch), right(batch))


def _as_double(expression: TypedExpression) -> TypedExpression:
    """A constant DECIMAL beside a DOUBLE counts as the DOUBLE that it becomes."""
    value = folded(expression) if expression.type.kind is Kind.DECIMAL else expression
    if isinstance(value, Literal) and value.type.kind is Kind.DECIMAL and value.value is not None:
        return Literal(float(value.value), LogicalType(Kind.DOUBLE, nullable=False))
    return expression


def _shifted(call: Call, column: Compile) -> Column:
    """A timestamp earlier or later, as WATERMARK clauses have it."""
    time, interval = [column(each) for each in call.arguments]
    units = pa.scalar(units_per_milli(call.arguments[0].type), pa.int64())
    operate = pc.add if call.function == "+" else pc.subtract
    _require(call.function in "+-")
    return lambda batch: operate(time(batch), pc.multiply(interval(batch), units))


def _cast(column: Column, type_: pa.DataType) -> Column:
    if isinstance(column, Constant):
        return Constant(pc.cast(column.scalar, type_, safe=False))

    def cast(batch: pa.RecordBatch) -> Any:
        value = column(batch)
        return value if value.type == type_ else pc.cast(value, type_, safe=False)

    return cast


def _divide(call: Call, type_: pa.DataType, column: Compile) -> Column:
    """Arrow fails on a zero of whole numbers, so that only constants can be divided by."""
    left, right = call.arguments[0], folded(call.arguments[1])
    if call.type.kind is Kind.DOUBLE:
        _require(all(each.type.kind in (*INTEGERS, Kind.DOUBLE) for each in call.arguments))
        sides = [_cast(column(each), type_) for each in call.arguments]
        return lambda batch: pc.divide(sides[0](batch), sides[1](batch))
    _require(call.type.kind in INTEGERS and left.type.kind in INTEGERS)
    _require(isinstance(right, Literal) and right.value not in (None, 0, -1))
    dividend, divisor = _cast(column(left), pa.int64()), int(right.value)  # type: ignore[union-attr]
    if call.function == "/":
        return lambda batch: _quotient(dividend(batch), divisor)
    return lambda batch: _remainder(dividend(batch), divisor)


def _quotient(values: Any, divisor: int) -> Any:
    """Division by a constant, towards zero."""
    plain = _not_negative(values) if divisor > 0 else None
    return pc.divide(values, pa.scalar(divisor, pa.int64())) if plain is None else pa.array(plain // divisor)


def _remainder(values: Any, divisor: int) -> Any:
    plain = _not_negative(values) if divisor > 0 else None
    if plain is None:
        by = pa.scalar(divisor, pa.int64())
        return pc.subtract(values, pc.multiply(pc.divide(values, by), by))
    quotients = plain // divisor
    quotients *= divisor
    return pa.array(np.subtract(plain, quotients, out=quotients))


def _not_negative(values: Any) -> Any:
    """The numbers of an array without NULLs and negative ones; numpy divides those by a constant four times as fast."""
    if isinstance(values, pa.Scalar) or values.null_count or not len(values):
        return None
    plain = values.to_numpy()
    return plain if plain.min() >= 0 else None


_COMPARISONS = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _sides(call: Call, column: Compile) -> list[Column]:
    """Columns that Arrow compares as Python does: whole numbers, texts by code points, BOOLEANs, DOUBLEs."""
    kinds = {each.type.kind for each in call.arguments}
    if kinds <= {*INTEGERS}:
        return [_cast(column(each), pa.int64()) for each in call.arguments]
    _require(len(kinds) == 1 or kinds <= {*CHARACTERS})
    _require(kinds <= {*_COMPARED, Kind.DOUBLE})
    return [column(each) for each in call.arguments]


def _compare(call: Call, type_: pa.DataType, column: Compile) -> Column:
    left, right = _sides(call, column)
    operate = _COMPARISONS[call.function]
    return lambda batch: operate(left(batch), right(batch))


def _between(call: Call, type_: pa.DataType, column: Compile) -> Column:
    _require(not call.options)
    value, low, high = _sides(call, column)

    def between(batch: pa.RecordBatch) -> Any:
        values = value(batch)
        return pc.and_kleene(pc.greater_equal(values, low(batch)), pc.less_equal(values, high(batch)))

    return between


def _in(call: Call, type_: pa.DataType, column: Compile) -> Column:
    value, *choices = call.arguments
    _require(value.type.kind in (*INTEGERS, *CHARACTERS))
    _require(all(isinstance(each, Literal) and each.type.kind in (*INTEGERS, *CHARACTERS) for each in choices))
    values = [each.value for each in choices if isinstance(each, Literal)]
    kind = pa.string() if value.type.kind in CHARACTERS else pa.int64()
    known = pa.array([each for each in values if each is not None], kind)
    of, otherwise = _cast(column(value), kind), pa.scalar(None if None in values else False, pa.bool_())

    def is_in(batch: pa.RecordBatch) -> Any:
        found = of(batch)
        chosen = pc.if_else(pc.is_in(found, value_set=known), pa.scalar(True), otherwise)
        return pc.if_else(pc.is_valid(found), chosen, pa.scalar(None, pa.bool_()))

    return is_in


def _logic(operate: Callable[[Any, Any], Any]) -> Kernel:
    def kernel(call: Call, type_: pa.DataType, column: Compile) -> Column:
        columns = [column(each) for each in call.arguments]

        def combined(batch: pa.RecordBatch) -> Any:
            made = columns[0](batch)
            for each in columns[1:]:
                made = operate(made, each(batch))
            return made

        return combined

    return kernel


def _one(operate: Callable[[Any], Any]) -> Kernel:
    def kernel(call: Call, type_: pa.DataType, column: Compile) -> Column:
        inner = column(call.arguments[0])
        return lambda batch: operate(inner(batch))

    return kernel


def _case(call: Call, type_: pa.DataType, column: Compile) -> Column:
    conditions = [column(each) for each in call.arguments[:-1:2]]
    values = [_cast(column(each), type_) for each in (*call.arguments[1::2], call.arguments[-1])]

    def case(batch: pa.RecordBatch) -> Any:
        tests = pa.StructArray.from_arrays(
            [_spread(each(batch), batch.num_rows) for each in conditions],
            names=[str(at) for at in range(len(conditions))],
        )
        return pc.case_when(tests, *[each(batch) for each in values])

    return case


def _spread(value: Any, count: int) -> pa.Array:
    return pa.repeat(value, count) if isinstance(value, pa.Scalar) else value


def _coalesce(call: Call, type_: pa.DataType, column: Compile) -> Column:
    columns = [_cast(column(each), type_) for each in call.arguments]
    return lambda batch: pc.coalesce(*[each(batch) for each in columns])


def _like(call: Call, type_: pa.DataType, column: Compile) -> Column:
    """Only patterns that ask for a beginning, an end or a part: Arrow's LIKE escapes otherwise."""
    _require(len(call.arguments) == 2)
    pattern = call.arguments[1]
    _require(isinstance(pattern, Literal) and isinstance(pattern.value, str) and "_" not in pattern.value)
    text = column(call.arguments[0])
    parts = pattern.value.split("%")  # type: ignore[union-attr]
    if len(parts) == 1:
        return lambda batch: pc.equal(text(batch), pa.scalar(parts[0]))
    if len(parts) == 2 and not parts[1]:
        return lambda batch: pc.starts_with(text(batch), parts[0])
    if len(parts) == 2 and not parts[0]:
        return lambda batch: pc.ends_with(text(batch), parts[1])
    _require(len(parts) == 3 and not parts[0] and not parts[2])
    return lambda batch: pc.match_substring(text(batch), parts[1])


def _casting(call: Call, type_: pa.DataType, column: Compile) -> Column:
    source, target = call.arguments[0].type, call.type
    inner = column(call.arguments[0])
    if source.kind in INTEGERS and (target.kind in (*INTEGERS, Kind.DOUBLE) or str(target).startswith("STRING")):
        return _cast(inner, type_)
    _require(source.kind in CHARACTERS and target.kind is Kind.VARCHAR and target.precision >= source.precision)
    return inner


def _substring(call: Call, type_: pa.DataType, column: Compile) -> Column:
    text, *bounds = call.arguments
    numbers = [each.value for each in bounds if isinstance(each, Literal) and each.value is not None]
    _require(len(numbers) == len(bounds) and numbers[0] > 0 and numbers[-1] >= 0)
    start = numbers[0] - 1
    stop = start + numbers[1] if len(numbers) > 1 else None
    inner = column(text)
    return lambda batch: pc.utf8_slice_codeunits(inner(batch), start, stop)


def _joined(call: Call, type_: pa.DataType, column: Compile) -> Column:
    columns = [column(each) for each in call.arguments]
    return lambda batch: pc.binary_join_element_wise(*[each(batch) for each in columns], "")


_UNIT_MILLIS = {"SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}


def _floor(call: Call, type_: pa.DataType, column: Compile) -> Column:
    """A TIMESTAMP to a unit of fixed length. Arrow divides towards zero, so that negative remainders are mended."""
    _require(bool(call.options) and call.options[0] in _UNIT_MILLIS and call.type.kind is Kind.TIMESTAMP)
    step = pa.scalar(_UNIT_MILLIS[call.options[0]] * units_per_milli(call.type), pa.int64())
    inner = column(call.arguments[0])

    def floor(batch: pa.RecordBatch) -> Any:
        values = inner(batch)
        rest = pc.subtract(values, pc.multiply(pc.divide(values, step), step))
        rest = pc.if_else(pc.less(rest, pa.scalar(0, pa.int64())), pc.add(rest, step), rest)
        return pc.subtract(values, rest)

    return floor


def _to_timestamp_ltz(call: Call, type_: pa.DataType, column: Compile) -> Column:
    """Of whole numbers: milliseconds as they are, seconds."""
    value, *precision = call.arguments
    _require(value.type.kind in INTEGERS and len(precision) <= 1)
    wanted = folded(precision[0]) if precision else Literal(3, call.type)
    _require(isinstance(wanted, Literal) and wanted.value in (0, 3))
    _require(wanted.value == 3 or value.type.kind is not Kind.BIGINT)  # type: ignore[union-attr]
    inner = _cast(column(value), type_)
    if isinstance(wanted, Literal) and wanted.value == 3:
        return inner
    return lambda batch: pc.multiply(inner(batch), pa.scalar(1000, pa.int64()))


def _length(call: Call, type_: pa.DataType, column: Compile) -> Column:
    inner = column(call.arguments[0])
    return lambda batch: pc.utf8_length(inner(batch))


def _or_false(value: Any) -> Any:
    return pc.coalesce(value, pa.scalar(False))


def _or_true(value: Any) -> Any:
    return pc.coalesce(value, pa.scalar(True))


KERNELS: dict[str, Kernel] = {
    **dict.fromkeys(("+", "-", "*"), _arithmetic),
    **dict.fromkeys(("/", "%", "MOD"), _divide),
    **dict.fromkeys(_COMPARISONS, _compare),
    "BETWEEN": _between,
    "IN": _in,
    "AND": _logic(pc.and_kleene),
    "OR": _logic(pc.or_kleene),
    "NOT": _one(pc.invert),
    "IS NULL": _one(pc.is_null),
    "IS UNKNOWN": _one(pc.is_null),
    "IS NOT NULL": _one(pc.is_valid),
    "IS NOT UNKNOWN": _one(pc.is_valid),
    "IS TRUE": _one(_or_false),
    "IS NOT FALSE": _one(_or_true),
    "IS NOT TRUE": _one(lambda value: pc.invert(_or_false(value))),
    "IS FALSE": _one(lambda value: pc.invert(_or_true(value))),
    "CASE": _case,
    "IF": _case,
    "COALESCE": _coalesce,
    "IFNULL": _coalesce,
    "LIKE": _like,
    "CAST": _casting,
    "SUBSTRING": _substring,
    "||": _joined,
    "FLOOR": _floor,
    "CHAR_LENGTH": _length,
    "TO_TIMESTAMP_LTZ": _to_timestamp_ltz,
}
