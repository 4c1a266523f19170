"""Canonical bytes back to keys. The rules are in `penstock.keys.codec`."""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

from penstock.errors import KeyEncodingError
from penstock.keys import tags as tags
from penstock.keys.classes import find_class, type_name
from penstock.keys.tags import FIRST_MOMENT, INT_OFFSET, LONG_LENGTH

Decoder = Callable[[bytes, int], tuple[Any, int]]

_DAY_MICROS = 86_400_000_000
_HOUR_MICROS = 3_600_000_000

_unpack_int = struct.Struct(">Q").unpack_from
_unpack_float = struct.Struct(">d").unpack_from
_unpack_length = struct.Struct(">I").unpack_from


def decode_key(data: bytes) -> Any:
    """Return the key that `encode_key` gave these bytes for."""
    value, end = read_key(data, 0)
    if end != len(data):
        raise KeyEncodingError(f"Key bytes are damaged: {len(data) - end} bytes follow the end of the key.")
    return value


def read_key(data: bytes, offset: int) -> tuple[Any, int]:
    """Return the key that starts at `offset` and the offset just after it."""
    try:
        return _DECODERS[data[offset]](data, offset + 1)
    except (IndexError, KeyError, struct.error, UnicodeDecodeError, OverflowError) as error:
        raise KeyEncodingError(f"Key bytes are damaged at offset {offset}: restore from another checkpoint.") from error


def read_length(data: bytes, offset: int) -> tuple[int, int]:
    """Return the length that stands at `offset` and the offset just after it."""
    length = data[offset]
    if length != LONG_LENGTH:
        return length, offset + 1
    return _unpack_length(data, offset + 1)[0], offset + 5


def _read_data(data: bytes, offset: int) -> tuple[bytes, int]:
    length, start = read_length(data, offset)
    return _take(data, start, length), start + length


def _take(data: bytes, start: int, length: int) -> bytes:
    part = data[start : start + length]
    if len(part) != length:
        raise IndexError(start)
    return part


def _read_items(data: bytes, offset: int) -> tuple[list[Any], int]:
    count, offset = read_length(data, offset)
    items = []
    for _ in range(count):
        item, offset = read_key(data, offset)
        items.append(item)
    return items, offset


def _decode_none(data: bytes, offset: int) -> tuple[None, int]:
    return None, offset


def _decode_int(data: bytes, offset: int) -> tuple[int, int]:
    return _unpack_int(data, offset)[0] - INT_OFFSET, offset + 8


def _decode_big_int(data: bytes, offset: int) -> tuple[int, int]:
    part, end = _read_data(data, offset)
    return int.from_bytes(part, "big", signed=True), end


def _decode_float(data: bytes, offset: int) -> tuple[float, int]:
    return _unpack_float(data, offset)[0], offset + 8


def _decode_nan(data: bytes, offset: int) -> tuple[float, int]:
    return math.nan, offset


def _decode_decimal(data: bytes, offset: int) -> tuple[Decimal, int]:
    part, end = _read_data(data, offset)
    return Decimal(part.decode()), end


def _decode_str(data: bytes, offset: int) -> tuple[str, int]:
    part, end = _read_data(data, offset)
    return part.decode("utf-8", "surrogatepass"), end


def _decode_tuple(data: bytes, offset: int) -> tuple[tuple[Any, ...], int]:
    items, end = _read_items(data, offset)
    return tuple(items), end


def _decode_set(data: bytes, offset: int) -> tuple[frozenset[Any], int]:
    items, end = _read_items(data, offset)
    return frozenset(items), end


def _decode_dict(data: bytes, offset: int) -> tuple[dict[Any, Any], int]:
    count, offset = read_length(data, offset)
    result = {}
    for _ in range(count):
        key, offset = read_key(data, offset)
        result[key], offset = read_key(data, offset)
    return result, offset


def _read_micros(data: bytes, offset: int, *, signed: bool = False) -> tuple[int, int]:
    return int.from_bytes(_take(data, offset, 8), "big", signed=signed), offset + 8


def _decode_datetime(data: bytes, offset: int) -> tuple[datetime, int]:
    micros, end = _read_micros(data, offset)
    return FIRST_MOMENT + timedelta(microseconds=micros), end


def _decode_instant(data: bytes, offset: int) -> tuple[datetime, int]:
    value, end = _decode_datetime(data, offset)
    return value.replace(tzinfo=UTC), end


def _decode_date(data: bytes, offset: int) -> tuple[date, int]:
    return date.fromordinal(int.from_bytes(_take(data, offset, 4), "big")), offset + 4


def _time_of(micros: int, zone: timezone | None) -> time:
    return (FIRST_MOMENT + timedelta(microseconds=micros)).time().replace(tzinfo=zone)


def _decode_time(data: bytes, offset: int) -> tuple[time, int]:
    micros, end = _read_micros(data, offset)
    return _time_of(micros, None), end


def _decode_time_utc(data: bytes, offset: int) -> tuple[time, int]:
    micros, end = _read_micros(data, offset, signed=True)
    hours = 0
    # A time of day in UTC may lie on the day before or after; the nearest zone in which it does not is as equal.
    if micros < 0:
        hours = -(micros // _HOUR_MICROS)
    elif micros >= _DAY_MICROS:
        hours = -((micros - _DAY_MICROS) // _HOUR_MICROS + 1)
    return _time_of(micros + hours * _HOUR_MICROS, timezone(timedelta(hours=hours))), end


def _decode_timedelta(data: bytes, offset: int) -> tuple[timedelta, int]:
    micros, end = read_key(data, offset)
    return timedelta(microseconds=micros), end


def _decode_uuid(data: bytes, offset: int) -> tuple[UUID, int]:
    return UUID(bytes=_take(data, offset, 16)), offset + 16


def _decode_enum(data: bytes, offset: int) -> tuple[Any, int]:
    cls, offset = _read_class(data, offset)
    name, end = read_key(data, offset)
    if name not in cls.__members__:
        raise KeyEncodingError(f"{type_name(cls)} has no member {name!r} any more: put it back or rename the state.")
    return cls[name], end


def _decode_flag(data: bytes, offset: int) -> tuple[Any, int]:
    cls, offset = _read_class(data, offset)
    value, end = read_key(data, offset)
    return cls(value), end


def _decode_dataclass(data: bytes, offset: int) -> tuple[Any, int]:
    cls, offset = _read_class(data, offset)
    values = {}
    for field in dataclasses.fields(cls):
        if field.compare:
            values[field.name], offset = read_key(data, offset)
        else:
            values[field.name] = _default_of(field)
    # The constructor is not called: it may compute or refuse, and the values were accepted once.
    key = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(key, name, value)
    return key, offset


def _default_of(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def _decode_row(data: bytes, offset: int) -> tuple[Any, int]:
    from penstock.common.types import Row, RowKind

    (kind, fields, values), end = read_key(data, offset)
    return Row.of_fields(fields, list(values), RowKind(kind)), end


def _read_class(data: bytes, offset: int) -> tuple[Any, int]:
    module, offset = read_key(data, offset)
    name, offset = read_key(data, offset)
    return find_class(module, name), offset


_DECODERS: dict[int, Decoder] = {
    tags.TAG_NONE: _decode_none,
    tags.TAG_INT: _decode_int,
    tags.TAG_BIG_INT: _decode_big_int,
    tags.TAG_FLOAT: _decode_float,
    tags.TAG_NAN: _decode_nan,
    tags.TAG_DECIMAL: _decode_decimal,
    tags.TAG_STR: _decode_str,
    tags.TAG_BYTES: _read_data,
    tags.TAG_TUPLE: _decode_tuple,
    tags.TAG_LIST: _read_items,
    tags.TAG_SET: _decode_set,
    tags.TAG_DICT: _decode_dict,
    tags.TAG_DATETIME: _decode_datetime,
    tags.TAG_INSTANT: _decode_instant,
    tags.TAG_DATE: _decode_date,
    tags.TAG_TIME: _decode_time,
    tags.TAG_TIME_UTC: _decode_time_utc,
    tags.TAG_TIMEDELTA: _decode_timedelta,
    tags.TAG_UUID: _decode_uuid,
    tags.TAG_ENUM: _decode_enum,
    tags.TAG_FLAG: _decode_flag,
    tags.TAG_DATACLASS: _decode_dataclass,
    tags.TAG_ROW: _decode_row,
}
