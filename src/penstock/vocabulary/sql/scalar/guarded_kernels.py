"""Kernels on Arrow columns that give Flink's values for usual ones, and raise UnusualValueError for others.

Whoever uses them works on rows then, which give the value or the error that belongs to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.vocabulary.sql.logical_types import Kind
from penstock.vocabulary.sql.scalar.column_kernels import Column, Compile, Kernel, NoKernelError, folded
from penstock.vocabulary.sql.scalar.kinds import CHARACTERS, INTEGERS
from penstock.vocabulary.sql.typed_expressions import Call, Literal

__all__ = ["GUARDED_KERNELS", "UnusualValueError"]

_STAMPS = (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ)


class UnusualValueError(Exception):
    """A kernel met a value that it does not know."""


def _require(is_possible: bool) -> None:
    if not is_possible:
        raise NoKernelError


def _plain(value: Any, batch: pa.RecordBatch) -> Any:
    """The values as numbers of numpy."""
    if isinstance(value, pa.Scalar):
        value = pa.repeat(value, batch.num_rows)
    if value.null_count:
        raise UnusualValueError
    return value.to_numpy(zero_copy_only=False)


def _divide(call: Call, type_: pa.DataType, column: Compile) -> Column:
    """By whole numbers that are not constants: only natural ones are the same in numpy and Java."""
    _require(call.type.kind in INTEGERS and all(each.type.kind in INTEGERS for each in call.arguments))
    left, right = [column(each) for each in call.arguments]
    operate = np.floor_divide if call.function == "/" else np.remainder

    def divided(batch: pa.RecordBatch) -> Any:
        dividends, divisors = _plain(left(batch), batch), _plain(right(batch), batch)
        if len(divisors) and (divisors.min() <= 0 or dividends.min() < 0):
            raise UnusualValueError
        return pc.cast(pa.array(operate(dividends, divisors)), type_, safe=False)

    return divided


def _extreme(call: Call, type_: pa.DataType, column: Compile) -> Column:
    """GREATEST and LEAST; NULL where one is."""
    _require(call.type.kind in INTEGERS and all(each.type.kind in INTEGERS for each in call.arguments))
    columns = [column(each) for each in call.arguments]
    operate = pc.max_element_wise if call.function == "GREATEST" else pc.min_element_wise
    return lambda batch: operate(*[each(batch).cast(type_) for each in columns], skip_nulls=False)


def _power(call: Call, type_: pa.DataType, column: Compile) -> Column:
    _require(all(each.type.kind is Kind.DOUBLE for each in call.arguments))
    base, exponent = [column(each) for each in call.arguments]
    return lambda batch: pc.power(base(batch), exponent(batch))


def _floor(call: Call, type_: pa.DataType, column: Compile) -> Column:
    _require(not call.options and call.type.kind is Kind.DOUBLE)
    inner = column(call.arguments[0])
    operate = pc.floor if call.function == "FLOOR" else pc.ceil
    return lambda batch: operate(inner(batch))


def _casting(call: Call, type_: pa.DataType, column: Compile) -> Column:
    source, target = call.arguments[0].type, call.type
    inner = column(call.arguments[0])
    if source.kind is Kind.DOUBLE and target.kind in (Kind.INTEGER, Kind.BIGINT):
        return _truncated(inner, type_, 2.0 ** (62 if target.kind is Kind.BIGINT else 31))
    if target.kind is Kind.DECIMAL and source.kind in INTEGERS:
        _require(target.precision - target.scale >= 19)
        return lambda batch: pc.cast(pc.cast(inner(batch), pa.decimal128(19, 0)), type_)
    if source.kind is target.kind is Kind.DECIMAL:
        _require(target.scale >= source.scale)
        _require(target.precision - target.scale >= source.precision - source.scale)
        return lambda batch: pc.cast(inner(batch), type_)
    raise NoKernelError


def _truncated(inner: Column, type_: pa.DataType, bound: float) -> Column:
    """Towards zero; what is not a number or out of range has rules of Java's."""

    def truncated(batch: pa.RecordBatch) -> Any:
        values = inner(batch)
        plain = _plain(values, batch)
        if not (np.abs(plain) < bound).all():
            raise UnusualValueError
        return pc.cast(pc.trunc(values), type_, safe=False)

    return truncated


def _multiply(call: Call, type_: pa.DataType, column: Compile) -> Column:
    """Of DECIMALs whose product has room for all of its digits."""
    kinds = [each.type for each in call.arguments]
    _require(call.type.kind is Kind.DECIMAL and all(each.kind in (Kind.DECIMAL, *INTEGERS) for each in kinds))
    forms = [(each.precision, each.scale) if each.kind is Kind.DECIMAL else (19, 0) for each in kinds]
    _require(sum(each[0] for each in forms) <= 37 and sum(each[1] for each in forms) == call.type.scale)
    sides = [column(each) for each in call.arguments]

    def multiplied(batch: pa.RecordBatch) -> Any:
        left, right = [pc.cast(side(batch), pa.decimal128(*form)) for side, form in zip(sides, forms, strict=True)]
        try:
            return pc.cast(pc.multiply(left, right), type_)
        except pa.ArrowInvalid:
            raise UnusualValueError from None

    return multiplied


def _compare(call: Call, type_: pa.DataType, column: Compile) -> Column:
    """Of DECIMALs with whole numbers or DECIMALs."""
    kinds = [each.type for each in call.arguments]
    _require(all(each.kind in (Kind.DECIMAL, *INTEGERS) for each in kinds))
    forms = [(each.precision, each.scale) if each.kind is Kind.DECIMAL else (19, 0) for each in kinds]
    scale = max(each[1] for each in forms)
    digits = max(each[0] - each[1] for each in forms) + scale
    _require(digits <= 38)
    common = pa.decimal128(digits, scale)
    left, right = [column(each) for each in call.arguments]
    operate = {
        "=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
    }[call.function]  # fmt: skip
    return lambda batch: operate(pc.cast(left(batch), common), pc.cast(right(batch), common))


def _lower(call: Call, type_: pa.DataType, column: Compile) -> Column:
    """Of ASCII: other letters have rules that differ between systems."""
    _require(call.arguments[0].type.kind in CHARACTERS)
    inner = column(call.arguments[0])
    operate = pc.ascii_lower if call.function == "LOWER" else pc.ascii_upper

    def changed(batch: pa.RecordBatch) -> Any:
        values = inner(batch)
        if (
            isinstance(values, pa.Scalar)
            or not pc.all(pc.string_is_ascii(values), skip_nulls=True).as_py() is not False
        ):
            raise UnusualValueError
        return operate(values)

    return changed


def _replace(call: Call, type_: pa.DataType, column: Compile) -> Column:
    _require(len(call.arguments) == 3 and all(each.type.kind in CHARACTERS for each in call.arguments))
    old, new = [folded(each) for each in call.arguments[1:]]
    _require(isinstance(old, Literal) and isinstance(new, Literal) and bool(old.value) and new.value is not None)
    inner = column(call.arguments[0])
    return lambda batch: pc.replace_substring(inner(batch), old.value, new.value)  # type: ignore[union-attr]


def _split_index(call: Call, type_: pa.DataType, column: Compile) -> Column:
    """The part of a text at a constant place between constant separators; NULL where there are fewer parts."""
    separator, place = [folded(each) for each in call.arguments[1:]]
    _require(isinstance(separator, Literal) and isinstance(separator.value, str) and len(separator.value) == 1)
    _require(isinstance(place, Literal) and isinstance(place.value, int) and place.value >= 0)
    inner = column(call.arguments[0])
    at: int = place.value  # type: ignore[union-attr]

    def part(batch: pa.RecordBatch) -> Any:
        texts = inner(batch)
        if isinstance(texts, pa.Scalar) or texts.null_count or pc.any(pc.equal(texts, "")).as_py():
            raise UnusualValueError
        parts = pc.split_pattern(texts, separator.value, max_splits=at + 1)  # type: ignore[union-attr]
        offsets = parts.offsets.to_numpy()
        places = offsets[:-1] + at
        return parts.values.take(pa.array(places, mask=places >= offsets[1:]))

    return part


GUARDED_KERNELS: dict[str, Kernel] = {
    **dict.fromkeys(("/", "%", "MOD"), _divide),
    **dict.fromkeys(("GREATEST", "LEAST"), _extreme),
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _compare),
    **dict.fromkeys(("FLOOR", "CEIL"), _floor),
    **dict.fromkeys(("LOWER", "UPPER"), _lower),
    "POWER": _power,
    "CAST": _casting,
    "*": _multiply,
    "REPLACE": _replace,
    "SPLIT_INDEX": _split_index,
}
