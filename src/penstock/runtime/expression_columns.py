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
from penstock.datastream.expressions import Column, Constant, Expression, Named, Operation

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


def _value(expression: Expression, block: ColumnBlock) -> Any:
    if isinstance(expression, Named):
        return _value(expression.expression, block)
    if isinstance(expression, Constant):
        if type(expression.value) not in _PLAIN:
            raise _Undecided
        return pa.scalar(expression.value)
    if isinstance(expression, Column):
        column = block.column(expression.field)
        if column is None:
            raise _Undecided
        return column
    assert isinstance(expression, Operation)
    operands = [_value(operand, block) for operand in expression.operands]
    return _of_one(expression.operator, *operands) if len(operands) == 1 else _of_two(expression.operator, *operands)


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
    return operand if operand.type == pa.float64() else operand.cast(pa.float64(), safe=False)


def _check_exact(operand: Any) -> None:
    """Leave ints to Python that a float does not hold exactly."""
    bounds = pc.min_max(operand if isinstance(operand, pa.Array) else pa.array([operand.as_py()], operand.type)).as_py()
    if bounds["min"] is not None and (bounds["min"] < -_EXACT_IN_FLOAT or bounds["max"] > _EXACT_IN_FLOAT):
        raise _Undecided


def _divided(left: Any, right: Any) -> Any:
    if left.type == right.type == pa.int64():
        _check_exact(left)
        _check_exact(right)
    divisor = _as_float(right)
    if pc.any(pc.equal(_array(divisor), 0.0)).as_py():
        raise _Undecided
    return pc.divide(_as_float(left), divisor)


def _rounded_down(operator: str, left: Any, right: Any) -> Any:
    """`//` and `%`, which Arrow rounds towards zero and numpy rounds down."""
    left, right = _alike(left, right)
    is_valid = pc.and_(pc.is_valid(left), pc.is_valid(right))
    dividend, divisor = _numbers(left, 0), _numbers(right, 1)
    if not divisor.all() or (dividend.dtype == np.int64 and (dividend == _BOUNDS.min).any()):
        raise _Undecided
    if dividend.dtype != np.int64 and not (np.isfinite(dividend).all() and np.isfinite(divisor).all()):
        raise _Undecided
    with np.errstate(all="ignore"):
        result = np.floor_divide(dividend, divisor) if operator == "//" else np.remainder(dividend, divisor)
    if isinstance(is_valid, pa.Scalar):
        return pa.scalar(result[0]) if is_valid.as_py() else pa.scalar(None, left.type)
    return pc.if_else(is_valid, pa.array(result), pa.scalar(None, left.type))


def _numbers(operand: Any, instead: int) -> Any:
    """The numbers of an operand, of a scalar an array of one, with something harmless for nulls."""
    return _array(operand).fill_null(instead).to_numpy(zero_copy_only=False)


def _array(operand: Any) -> pa.Array:
    return pa.array([operand.as_py()], operand.type) if isinstance(operand, pa.Scalar) else operand
