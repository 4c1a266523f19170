"""Python values as Arrow columns, exactly as they are: what a column would round, wrap, cut or drop is a `Misfit`.

Which type a column has is declared, or learned (`penstock.formats.learned_types`).
"""

from __future__ import annotations

import array
import math
import operator
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.time import Instant
from penstock.formats.records import RecordShapeError, has_names, plain, to_dict
from penstock.formats.shown_values import clipped, shortened

Fit = Callable[[Any], Any]

ARROW_REFUSALS = (pa.ArrowException, OverflowError, TypeError, ValueError)
"""What Arrow raises of values that it cannot take."""

_FLOAT_MAX = 3.4028235677973366e38  # what rounds to the largest finite number of 32 bits is below
_NONE = type(None)


class Misfit(ValueError):
    """A value does not fit its column; the text says why, `value` is the one of the record's field."""

    def __init__(self, reason: str, value: Any = None) -> None:
        super().__init__(reason)
        self.value = value


# Types of which Arrow takes every value exactly, or refuses it. All others are looked at one by one.
_SAFE: dict[int, frozenset[type]] = {
    pa.int8().id: frozenset({int, _NONE}),
    pa.int16().id: frozenset({int, _NONE}),
    pa.int32().id: frozenset({int, _NONE}),
    pa.int64().id: frozenset({int, _NONE}),
    pa.float32().id: frozenset({float, int, _NONE}),
    pa.float64().id: frozenset({float, int, _NONE}),
    pa.string().id: frozenset({str, _NONE}),
    pa.binary().id: frozenset({bytes, _NONE}),
    pa.bool_().id: frozenset({bool, _NONE}),
    pa.date32().id: frozenset({date, _NONE}),
    pa.duration("us").id: frozenset({timedelta, _NONE}),
    pa.decimal128(1).id: frozenset({Decimal, int, _NONE}),
}
_ONLY_NONE = frozenset({_NONE})
_AS_TEXT: dict[int, frozenset[type]] = {
    pa.float64().id: frozenset({float, _NONE}),
    **{kind: types for kind, types in _SAFE.items() if types.isdisjoint({int, float})},
    pa.decimal128(1).id: frozenset({int, _NONE}),  # a Decimal may be none at all
}


def exact_array(column: list[Any], field: pa.Field) -> pa.Array:
    """The column of some values; raises `Misfit` for the first that it cannot hold as it is."""
    kind = field.type
    is_safe = _SAFE.get(kind.id, _ONLY_NONE).issuperset(map(type, column))
    try:
        found = pa.array(column if is_safe else [*map(fitter(kind), column)], type=kind)
    except ARROW_REFUSALS:
        raise _first_misfit(column, kind) from None
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if pa.types.is_float32(kind) and pc.any(pc.is_inf(found)).as_py():
        for value in column:
            _checked_single(value)
    if not field.nullable and found.null_count:
        raise Misfit("the column must have a value", None)
    return found


def exact_texts(column: list[Any], kind: pa.DataType) -> list[Any]:
    """Values for a format of texts, which has no limit of digits; raises `Misfit` as `exact_array`."""
    kinds = set(map(type, column))
    if kinds <= _AS_TEXT.get(kind.id, _ONLY_NONE):
        return column
    if pa.types.is_integer(kind) and kinds <= _SAFE[kind.id]:
        try:
            pa.array(column, type=kind)  # the quickest look at all limits
            return column
        except ARROW_REFUSALS:
            raise _first_misfit(column, kind) from None
    fit = fitter(kind)
    fitted = []
    for value in column:
        try:
            fitted.append(fit(value))
        except Misfit as misfit:
            raise Misfit(str(misfit), value) from None
    return fitted


def _first_misfit(column: list[Any], kind: pa.DataType) -> Misfit:
    fit = fitter(kind)
    for value in column:
        try:
            pa.array([fit(value)], type=kind)
        except ARROW_REFUSALS as failure:
            return Misfit(clipped(str(failure)), value)
    raise AssertionError("a column failed though each of its values fits")


@lru_cache(maxsize=1024)
def fitter(kind: pa.DataType) -> Fit:
    """What gives a value in the form that Arrow takes for a type, or raises `Misfit`; None stays None."""
    for is_kind, make in _FITTERS:
        if is_kind(kind):
            fit = make(kind)
            return lambda value: None if value is None else fit(value)
    return plain


def _wrong(value: Any, wanted: str) -> Misfit:
    return Misfit(f"{shortened(value)} is {_a(type(value).__name__)}, not {wanted}", value)


def _a(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def without_numpy(value: Any) -> Any:
    """A number of numpy as Python's own."""
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0
    return value.item() if is_scalar else value


def _integer(kind: pa.DataType) -> Fit:
    bits = kind.bit_width
    low, high = (-(1 << bits - 1), 1 << bits - 1) if pa.types.is_signed_integer(kind) else (0, 1 << bits)

    def fit(value: Any) -> int:
        number = without_numpy(value)
        if isinstance(number, bool) or not hasattr(number, "__index__"):
            raise _wrong(value, "a whole number")
        number = operator.index(number)
        if not low <= number < high:
            raise Misfit(f"{shortened(value)} is beyond {bits} bits", value)
        return number

    return fit


def _number(kind: pa.DataType) -> Fit:
    exact = 1 << {16: 11, 32: 24, 64: 53}[kind.bit_width]

    def fit(value: Any) -> float:
        number = without_numpy(value)
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise _wrong(value, "a float")
        if isinstance(number, int) and not -exact <= number <= exact:
            raise Misfit(f"a {kind} has not enough digits for {shortened(value)}", value)
        return float(_checked_single(number) if kind.bit_width == 32 else number)

    return fit


def _checked_single(value: Any) -> Any:
    if value is not None and math.isfinite(value) and abs(value) >= _FLOAT_MAX:
        raise Misfit(f"{shortened(value)} is beyond 32 bits", value)
    return value


def _decimal(kind: pa.DataType) -> Fit:
    def fit(value: Any) -> Any:
        number = without_numpy(value)
        if isinstance(number, bool) or not isinstance(number, (int, Decimal)):
            raise _wrong(value, "a Decimal")
        if isinstance(number, Decimal) and not number.is_finite():
            raise Misfit(f"{shortened(value)} has no digits", value)
        return number

    return fit


def _instance(wanted: type | tuple[type, ...], name: str, never: tuple[type, ...] = ()) -> Callable[[Any], Fit]:
    def make(kind: pa.DataType) -> Fit:
        def fit(value: Any) -> Any:
            found = without_numpy(value)
            if not isinstance(found, wanted) or isinstance(found, never):
                raise _wrong(value, name)
            return found

        return fit

    return make


def _timestamp(kind: pa.DataType) -> Fit:
    """Points in time: those without a zone are UTC, and a column without one is of UTC (as `Types.SQL_TIMESTAMP`)."""

    def fit(value: Any) -> datetime:
        if isinstance(value, Instant):
            if value.nanos % 1000:
                raise Misfit(f"{value!r} has nanoseconds, and the column microseconds", value)
            value = value.to_datetime()
        if not isinstance(value, datetime):
            raise _wrong(value, "a datetime")
        if getattr(value, "nanosecond", 0):  # of pandas
            raise Misfit(f"{value!r} has nanoseconds, and the column microseconds", value)
        _check_unit(value, value.microsecond, kind.unit)
        if kind.tz is None:
            return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)

    return fit


def _check_unit(value: Any, microsecond: int, unit: str) -> None:
    if microsecond % {"s": 1_000_000, "ms": 1_000}.get(unit, 1):
        raise Misfit(f"{value!r} has microseconds, and the column {unit}: round it, or declare another type", value)


def _time(kind: pa.DataType) -> Fit:
    def fit(value: Any) -> time:
        if not isinstance(value, time):
            raise _wrong(value, "a time")
        if value.tzinfo is not None:
            raise Misfit(f"{value!r} has a time zone, and the column has none", value)
        _check_unit(value, value.microsecond, kind.unit)
        return value

    return fit


def _fixed_bytes(kind: pa.DataType) -> Fit:
    def fit(value: Any) -> bytes:
        if not isinstance(value, (bytes, bytearray)) or len(value) != kind.byte_width:
            raise _wrong(value, f"{kind.byte_width} bytes")
        return bytes(value)

    return fit


def _list(kind: pa.DataType) -> Fit:
    part = fitter(kind.value_type)

    def fit(value: Any) -> list[Any]:
        items = elements(value)
        if items is None:
            raise _wrong(value, "a list")
        return [_inside(f"element {at}", part, item) for at, item in enumerate(items)]

    return fit


def elements(value: Any) -> list[Any] | None:
    """The elements of what is a list to a column; None of anything else."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 0) > 0:
        return value.tolist()  # type: ignore[no-any-return]
    as_plain = list(value) if isinstance(value, array.array) else value if isinstance(value, list) else None
    if as_plain is None and not has_names(value):
        as_plain = plain(value)
    return as_plain if isinstance(as_plain, list) else None


def _map(kind: pa.DataType) -> Fit:
    key_part, item_part = fitter(kind.key_type), fitter(kind.item_type)

    def fit(value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise _wrong(value, "a dict")
        return {
            _inside("a key", key_part, key): _inside(f"the value of {shortened(key)}", item_part, item)
            for key, item in value.items()
        }

    return fit


def _struct(kind: pa.DataType) -> Fit:
    parts = [(each.name, fitter(each.type), each.nullable) for each in kind]
    names = [name for name, _, _ in parts]
    known = frozenset(names)

    def fit(value: Any) -> dict[str, Any]:
        if not has_names(value) and elements(value) is None:
            raise _wrong(value, f"a record with the fields {', '.join(names)}")
        try:
            found = to_dict(value, names)
        except RecordShapeError as failure:
            raise Misfit(f"the record {failure}", value) from None
        for name in found:
            if name not in known:
                raise Misfit(f"there is no column for its field {name!r}", value)
        for name, _, is_nullable in parts:
            if not is_nullable and found.get(name) is None:
                raise Misfit(f"field {name!r} must have a value", value)
        return {name: _inside(f"field {name!r}", part, found.get(name)) for name, part, _ in parts}

    return fit


def _inside(where: str, part: Fit, value: Any) -> Any:
    try:
        return part(value)
    except Misfit as misfit:
        raise Misfit(f"{where}: {misfit}", value) from None


_FITTERS: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], Fit]]] = [
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _number),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_boolean, _instance(bool, "a bool")),
    (pa.types.is_string, _instance(str, "a str")),
    (pa.types.is_large_string, _instance(str, "a str")),
    (pa.types.is_binary, _instance((bytes, bytearray, memoryview), "bytes")),
    (pa.types.is_fixed_size_binary, _fixed_bytes),
    (pa.types.is_large_binary, _instance((bytes, bytearray, memoryview), "bytes")),
    (pa.types.is_date, _instance(date, "a date", never=(datetime,))),
    (pa.types.is_time, _time),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_duration, _instance(timedelta, "a timedelta")),
    (pa.types.is_map, _map),
    (pa.types.is_list, _list),
    (pa.types.is_large_list, _list),
    (pa.types.is_struct, _struct),
    (pa.types.is_null, _instance((), "None")),
]
