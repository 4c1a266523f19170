"""Expressions on blocks of columns, by Arrow's and numpy's kernels.

Gives what `penstock.runtime.expression_objects` gives for the objects of the block, or nothing: wherever the kernels
would differ from Python (an overflow, a division by zero, numbers that a float cannot hold), the objects are asked.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.column_block import ColumnBlock
from penstock.vocabulary.expressions import Column, Constant, Expression, Named, Operation

Kernel = Callable[[Any, Any], Any]

_EXACT_IN_FLOAT = 2**53
_CHECKED: dict[str, Kernel] = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_COMPARED: dict[str, Kernel] = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_BOUNDS = np.iinfo(np.int64)
# Of exactly these types, because an Arrow value gives back nothing else.
_PLAIN = (bool, int, float, str, bytes, type(None), datetime.date, datetime.datetime)


class _Undecided(Exception):
    """Only the objects can tell."""


def evaluated(expression: Expression, block: ColumnBlock) -> pa.Array | None:
    """The value of an expression for each record of a block; None where the objects have to be asked."""
    try:
        value = _value(expression, block)
        if isinstance(value, pa.Scalar):
            if pa.types.is_timestamp(value.type):  # a constant datetime has more to it: its zone's class, its fold
                return None
            return pa.repeat(value, len(block)) if value.is_valid else pa.nulls(len(block), value.type)
        return value
    except (_Undecided, pa.ArrowException, ValueError, OverflowError):
        return None


def constant_refusal(expression: Expression) -> str | None:
    """Return why an expression has no value as columns, whatever the block; types of columns are found in blocks."""
    if isinstance(expression, Named):
        return constant_refusal(expression.expression)
    if isinstance(expression, Operation):
        return next((reason for each in expression.operands if (reason := constant_refusal(each))), None)
    if isinstance(expression, Constant) and type(expression.value) not in _PLAIN:
        return f"the constant {expression.value!r} is a {type(expression.value).__name__}"
    return None


def _value(expression: Expression, block: ColumnBlock) -> Any:
    if isinstance(expression, Named):
        return _value(expression.expression, block)
    if isinstance(expression, Constant):
        if type(expression.value) not in _PLAIN:
            raise _Undecided
        return _constant(expression.value)
    if isinstance(expression, Column):
        column = block.column(expression.field)
        if column is None:
            raise _Undecided
        return column
    assert isinstance(expression, Operation)
    operands = [_value(operand, block) for operand in expression.operands]
    return _of_one(expression.operator, *operands) if len(operands) == 1 else _of_two(expression.operator, *operands)


def _constant(value: Any) -> pa.Scalar:
    return _scalar_shown_as(repr(value), value)


@lru_cache(maxsize=256, typed=True)
def _scalar_shown_as(shown: str, value: Any) -> pa.Scalar:
    """A scalar that is made once; equal values, such as 0.0 and -0.0, are told apart by how they are shown."""
    return pa.scalar(value)


@lru_cache(maxsize=256)
def _family(kind: pa.DataType) -> str:
    """What Python compares and computes with, for a type of column."""
    for name, is_kind in _FAMILIES.items():
        if is_kind(kind):
            return name
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamp with zone"
    return "other"


_FAMILIES: dict[str, Callable[[pa.DataType], bool]] = {
    "int": pa.types.is_integer,
    "float": lambda kind: pa.types.is_float32(kind) or pa.types.is_float64(kind),
    "bool": pa.types.is_boolean,
    "null": pa.types.is_null,
    "text": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    "bytes": lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
    "date": pa.types.is_date,
}
_NUMBERS = ("int", "float")


def _of_one(operator: str, operand: Any) -> Any:
    family = _family(operand.type)
    if operator == "is_null":
        return pc.is_null(operand)
    if operator == "is_not_null":
        return pc.is_valid(operand)
    if operator == "~":
        return pc.invert(_as_bool(operand, family))
    if family == "null":
        return operand
    if family not in _NUMBERS:
        raise _Undecided
    return (pc.negate_checked if operator == "neg" else pc.abs_checked)(_widened(operand, family))


def _of_two(operator: str, left: Any, right: Any) -> Any:
    families = _family(left.type), _family(right.type)
    if operator in ("&", "|"):
        kernel = pc.and_kleene if operator == "&" else pc.or_kleene
        return kernel(_as_bool(left, families[0]), _as_bool(right, families[1]))
    if "other" in families:
        raise _Undecided
    if "null" in families:
        return pa.scalar(None, pa.bool_() if operator in _COMPARED else pa.null())
    if operator in _COMPARED:
        return _compared(operator, left, right, families)
    if not set(families) <= set(_NUMBERS):
        raise _Undecided
    left, right = _widened(left, families[0]), _widened(right, families[1])
    if operator in _CHECKED:
        return _CHECKED[operator](*_alike(left, right))
    return _divided(left, right) if operator == "/" else _rounded_down(operator, left, right)


def _as_bool(operand: Any, family: str) -> Any:
    if family == "null":
        return pa.scalar(None, pa.bool_())
    if family != "bool":
        raise _Undecided
    return operand


def _compared(operator: str, left: Any, right: Any, families: tuple[str, str]) -> Any:
    if not set(families) <= set(_NUMBERS):
        if families[0] != families[1]:
            raise _Undecided
        return _COMPARED[operator](left, right)
    if families[0] != families[1]:  # Python compares an int and a float exactly
        _check_exact(left if families[0] == "int" else right)
    return _COMPARED[operator](*_alike(_widened(left, families[0]), _widened(right, families[1])))


def _widened(operand: Any, family: str) -> Any:
    """Numbers as wide as those that objects are computed with; a number beyond that is an error of Arrow's."""
    kind = pa.int64() if family == "int" else pa.float64()
    return operand if operand.type == kind else operand.cast(kind)


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Both as floats if one is; an int becomes the nearest float, as in Python."""
    if left.type == right.type:
        return left, right
    return _as_float(left), _as_float(right)


def _as_float(operand: Any) -> Any:
    if operand.type == pa.float64():
        return operand
    if isinstance(operand, pa.Scalar):
        return _constant(float(operand.as_py())) if operand.is_valid else pa.scalar(None, pa.float64())
    return operand.cast(pa.float64(), safe=False)


def _check_exact(operand: Any) -> None:
    """Leave ints to Python that a float does not hold exactly."""
    if isinstance(operand, pa.Scalar):
        low = high = operand.as_py()
    else:
        bounds = pc.min_max(operand)
        low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is not None and (low < -_EXACT_IN_FLOAT or high > _EXACT_IN_FLOAT):
        raise _Undecided


def _divided(left: Any, right: Any) -> Any:
    if left.type == right.type == pa.int64():
        _check_exact(left)
        _check_exact(right)
    divisor = _as_float(right)
    if not np.all(_numbers(divisor, 1)):
        raise _Undecided
    return pc.divide(_as_float(left), divisor)


def _rounded_down(operator: str, left: Any, right: Any) -> Any:
    """`//` and `%`, which Arrow rounds towards zero and numpy rounds down."""
    left, right = _alike(left, right)
    dividend, divisor = _numbers(left, 0), _numbers(right, 1)
    if not np.all(divisor):
        raise _Undecided
    if left.type == pa.int64():
        if np.any(dividend == _BOUNDS.min):  # divided by -1 it is beyond 64 bits
            raise _Undecided
    elif not (np.all(np.isfinite(dividend)) and np.all(np.isfinite(divisor))):
        raise _Undecided
    with np.errstate(all="ignore"):
        result = np.floor_divide(dividend, divisor) if operator == "//" else np.remainder(dividend, divisor)
    return _with_nulls(result, left, right)


def _numbers(operand: Any, instead: int) -> Any:
    """The numbers of an operand, with something harmless for nulls: an array, or one number of a constant."""
    if isinstance(operand, pa.Scalar):
        kind = np.int64 if operand.type == pa.int64() else np.float64
        return kind(operand.as_py() if operand.is_valid else instead)
    return (operand.fill_null(instead) if operand.null_count else operand).to_numpy()


def _with_nulls(result: Any, left: Any, right: Any) -> Any:
    """A result that is null wherever an operand is."""
    made = pa.scalar(result) if np.ndim(result) == 0 else pa.array(result)
    for operand in (left, right):
        if isinstance(operand, pa.Scalar):
            made = made if operand.is_valid else pa.scalar(None, operand.type)
        elif operand.null_count:
            made = pc.if_else(pc.is_valid(operand), made, pa.scalar(None, operand.type))
    return made
