"""Between values of programs (dates, Rows, lists) and internal values of tables, and how Flink shows rows as text.

`to_internal(type)`, `to_external(type)` and `java_text(type)` return functions of one value. Internal values are
described in `penstock.vocabulary.sql.logical_types`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from penstock.common.types import Row, RowKind
from penstock.errors import DeclaredTypeError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.row_kinds import SHORT_NAMES

__all__ = ["ROW_KINDS", "external_row", "in_zone", "internal_row", "to_external", "to_internal"]

Convert = Callable[[Any], Any]

ROW_KINDS = (RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE)

_WIDE = Context(prec=76)
"""Room for every digit of DECIMAL(38, 38) and of what is rounded to it."""
_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_MICROSECOND = datetime.timedelta(microseconds=1)
_RANGES = {Kind.TINYINT: 7, Kind.SMALLINT: 15, Kind.INTEGER: 31, Kind.BIGINT: 63}


def per_second(precision: int) -> int:
    """How many units of an internal timestamp a second has."""
    return 1000 if precision <= 3 else 1_000_000 if precision <= 6 else 1_000_000_000


# ---- to internal values ----


def to_internal(declared: LogicalType) -> Convert:
    """What makes internal values of a type out of Python objects; a value that does not fit is refused."""
    convert = _TO_INTERNAL[declared.kind](declared)

    def checked(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
            if isinstance(error, DeclaredTypeError):
                raise
            raise DeclaredTypeError(f"{value!r} is not a value of type {declared}.", value) from None

    return checked


def internal_row(row_type: LogicalType) -> Callable[[Any], tuple[Any, ...]]:
    """What makes `(kind, *fields)` of a Row, tuple, list or dict."""
    converts = [to_internal(each) for each in row_type.parts]
    names = row_type.names

    def convert(row: Any) -> tuple[Any, ...]:
        kind = row.get_row_kind().value if isinstance(row, Row) else 0
        return (kind, *[each(value) for each, value in zip(converts, _fields(row, names), strict=True)])

    return convert


def _fields(row: Any, names: Sequence[str]) -> list[Any]:
    if isinstance(row, dict):
        return [row.get(name) for name in names]
    if isinstance(row, Row) and row._fields is not None and set(row._fields) == set(names):
        return [row[name] for name in names]
    values = list(row) if isinstance(row, tuple | list | Row) else [row]
    if len(values) != len(names):
        raise DeclaredTypeError(
            f"{row!r} has {len(values)} fields, but {len(names)} were declared: {', '.join(names)}."
        )
    return values


def _same(kind: type) -> Callable[[LogicalType], Convert]:
    def make(declared: LogicalType) -> Convert:
        def convert(value: Any) -> Any:
            if not isinstance(value, kind):
                raise TypeError
            return value

        return convert

    return make


def _whole(declared: LogicalType) -> Convert:
    limit = 1 << _RANGES[declared.kind]

    def convert(value: Any) -> int:
        number = value.__index__()
        if isinstance(value, bool) or not -limit <= number < limit:
            raise ValueError
        return int(number)

    return convert


def _double(declared: LogicalType) -> Convert:
    if declared.kind is Kind.DOUBLE:
        return float
    import struct

    single = struct.Struct("f")
    return lambda value: single.unpack(single.pack(float(value)))[0]


_WIDE = Context(prec=76)
"""Decimals have more digits than Python keeps unless it is told to."""


def _decimal(declared: LogicalType) -> Convert:
    step = Decimal(1).scaleb(-declared.scale)
    limit = Decimal(10) ** (declared.precision - declared.scale)

    def convert(value: Any) -> Decimal:
        number = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
        rounded = number.quantize(step, ROUND_HALF_UP, _WIDE)
        if rounded.copy_abs() >= limit:  # abs() would round to Python's 28 digits
            raise ValueError
        return rounded

    return convert


def _text(declared: LogicalType) -> Convert:
    return _same(str)(declared)


def _binary(declared: LogicalType) -> Convert:
    return bytes


def _date(declared: LogicalType) -> Convert:
    def convert(value: Any) -> int:
        if isinstance(value, str):
            value = datetime.date.fromisoformat(value)
        if isinstance(value, datetime.datetime):
            value = value.date()
        return int(value.toordinal()) - _EPOCH_DAY

    return convert


def _time(declared: LogicalType) -> Convert:
    def convert(value: Any) -> int:
        if isinstance(value, str):
            value = datetime.time.fromisoformat(value)
        whole: int = (value.hour * 60 + value.minute) * 60 + value.second
        return whole * 1000 + int(value.microsecond) // 1000

    return convert


def _timestamp(declared: LogicalType) -> Convert:
    unit = per_second(declared.precision)

    def convert(value: Any) -> int:
        if isinstance(value, str):
            return _parsed_timestamp(value, unit)
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return _scaled((value - _EPOCH) // _MICROSECOND, unit)

    return convert


def _scaled(micros: int, unit: int) -> int:
    return micros // (1_000_000 // unit) if unit <= 1_000_000 else micros * 1000


def _parsed_timestamp(text: str, unit: int) -> int:
    """`2020-01-01T00:00:00.123456789Z`, with a blank or a T, with up to nine digits of a second."""
    whole, _, fraction = text.rstrip("Z").replace("T", " ").partition(".")
    moment = datetime.datetime.fromisoformat(whole)
    seconds = (moment - _EPOCH) // datetime.timedelta(seconds=1)
    return (seconds * 1_000_000_000 + int(fraction.ljust(9, "0")[:9] or 0)) // (1_000_000_000 // unit)


def _millis(declared: LogicalType) -> Convert:
    return lambda value: value if isinstance(value, int) else value // datetime.timedelta(milliseconds=1)


def _array(declared: LogicalType) -> Convert:
    element = to_internal(declared.parts[0])
    return lambda value: tuple([element(each) for each in value])


def _map(declared: LogicalType) -> Convert:
    key, of = to_internal(declared.parts[0]), to_internal(declared.parts[1])
    # Files of columns give pairs.
    return lambda value: {key(each): of(held) for each, held in (value.items() if hasattr(value, "items") else value)}


def _multiset(declared: LogicalType) -> Convert:
    element = to_internal(declared.parts[0])
    return lambda value: {element(each): int(count) for each, count in value.items()}


def _row(declared: LogicalType) -> Convert:
    convert = internal_row(declared)
    return lambda value: convert(value)[1:]


def _as_it_is(declared: LogicalType) -> Convert:
    return lambda value: value


_TO_INTERNAL: dict[Kind, Callable[[LogicalType], Convert]] = {
    Kind.BOOLEAN: _same(bool),
    Kind.TINYINT: _whole,
    Kind.SMALLINT: _whole,
    Kind.INTEGER: _whole,
    Kind.BIGINT: _whole,
    Kind.FLOAT: _double,
    Kind.DOUBLE: _double,
    Kind.DECIMAL: _decimal,
    Kind.CHAR: _text,
    Kind.VARCHAR: _text,
    Kind.BINARY: _binary,
    Kind.VARBINARY: _binary,
    Kind.DATE: _date,
    Kind.TIME: _time,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMP_LTZ: _timestamp,
    Kind.INTERVAL_MONTHS: lambda declared: int,
    Kind.INTERVAL_MILLIS: _millis,
    Kind.ARRAY: _array,
    Kind.MAP: _map,
    Kind.MULTISET: _multiset,
    Kind.ROW: _row,
    Kind.RAW: _as_it_is,
    Kind.SYMBOL: _as_it_is,
    Kind.NULL: _as_it_is,
}


# ---- to Python objects ----


def to_external(declared: LogicalType) -> Convert:
    """What makes Python objects of internal values: datetimes without a zone in UTC, Rows, lists, dicts."""
    make = _TO_EXTERNAL.get(declared.kind)
    if make is None:
        return _as_it_is(declared)
    convert = make(declared)
    return lambda value: None if value is None else convert(value)


def in_zone(declared: LogicalType, zone: datetime.tzinfo) -> Convert:
    """The same with moments as datetimes of a time zone, also inside of rows and collections."""
    convert = to_external(declared)
    if declared.kind is Kind.TIMESTAMP_LTZ:
        return lambda value: None if value is None else convert(value).replace(tzinfo=datetime.UTC).astimezone(zone)
    return convert


def external_row(row_type: LogicalType) -> Callable[[tuple[Any, ...]], Row]:
    """What makes a Row, with its kind and names, of `(kind, *fields)`."""
    converts = [to_external(each) for each in row_type.parts]
    names = tuple(row_type.names)

    def convert(row: tuple[Any, ...]) -> Row:
        values = [each(value) for each, value in zip(converts, row[1:], strict=True)]
        return Row.of_fields(names, values, ROW_KINDS[row[0]])

    return convert


def _to_datetime(declared: LogicalType) -> Convert:
    unit = per_second(declared.precision)
    if unit > 1_000_000:
        return lambda value: _EPOCH + datetime.timedelta(microseconds=value // 1000)
    per = 1_000_000 // unit
    return lambda value: _EPOCH + datetime.timedelta(microseconds=value * per)


def _to_time(declared: LogicalType) -> Convert:
    def convert(value: int) -> datetime.time:
        seconds, millis = divmod(value, 1000)
        return datetime.time(seconds // 3600, seconds // 60 % 60, seconds % 60, millis * 1000)

    return convert


def _to_list(declared: LogicalType) -> Convert:
    element = to_external(declared.parts[0])
    return lambda value: [element(each) for each in value]


def _to_dict(declared: LogicalType) -> Convert:
    key = to_external(declared.parts[0])
    of = to_external(declared.parts[1]) if len(declared.parts) > 1 else int
    return lambda value: {key(each): of(held) for each, held in value.items()}


def _to_row(declared: LogicalType) -> Convert:
    convert = external_row(declared)
    return lambda value: convert((0, *value))


_TO_EXTERNAL: dict[Kind, Callable[[LogicalType], Convert]] = {
    Kind.DATE: lambda declared: lambda value: datetime.date.fromordinal(value + _EPOCH_DAY),
    Kind.TIME: _to_time,
    Kind.TIMESTAMP: _to_datetime,
    Kind.TIMESTAMP_LTZ: _to_datetime,
    Kind.INTERVAL_MILLIS: lambda declared: lambda value: datetime.timedelta(milliseconds=value),
    Kind.ARRAY: _to_list,
    Kind.MAP: _to_dict,
    Kind.MULTISET: _to_dict,
    Kind.ROW: _to_row,
}


def kind_text(kind: int) -> str:
    """`+I` and its kin."""
    return SHORT_NAMES[kind]
