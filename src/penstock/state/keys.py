"""Canonical, self-delimiting bytes of keys; owns what a key may be, not where its rows are kept.

Equal keys (Python ``==``) give equal bytes, whatever their identity, so ``1``, ``1.0``, ``True`` and ``Decimal(1)``
share one encoding and decode as ``1``; an integral float therefore comes back as an int, a named tuple as a tuple,
an aware datetime in UTC. No encoding is a prefix of another one, so encodings can be concatenated and read back.
Ints of 64 bits keep their order; other encodings are ordered, but not in any order a user would expect.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import math
import pickle
import struct
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

from penstock.errors import KeyEncodingError

Encoder = Callable[[Any], bytes]
Decoder = Callable[[bytes, int], tuple[Any, int]]

TAG_NONE = 0x01
TAG_INT = 0x02
TAG_BIG_INT = 0x03
TAG_FLOAT = 0x04
TAG_NAN = 0x05
TAG_DECIMAL = 0x06
TAG_STR = 0x07
TAG_BYTES = 0x08
TAG_TUPLE = 0x09
TAG_LIST = 0x0A
TAG_SET = 0x0B
TAG_DICT = 0x0C
TAG_DATETIME = 0x0D
TAG_INSTANT = 0x0E
TAG_DATE = 0x0F
TAG_TIME = 0x10
TAG_TIME_UTC = 0x11
TAG_TIMEDELTA = 0x12
TAG_UUID = 0x13
TAG_ENUM = 0x14
TAG_FLAG = 0x15
TAG_DATACLASS = 0x16
TAG_ROW = 0x17

_INT_LOW = -(2**63)
_INT_HIGH = 2**63
_LONG = 0xFF  # a length of 255 and more follows in four bytes
_LENGTH_LIMIT = 2**32
_DECIMAL_DIGITS_LIMIT = 10_000
_MICROSECOND = timedelta(microseconds=1)
_DAY_MICROS = 86_400_000_000
_HOUR_MICROS = 3_600_000_000
_FIRST_MOMENT = datetime(1, 1, 1)
_LAST_MOMENT_MICROS = (datetime.max - _FIRST_MOMENT) // _MICROSECOND

_pack_int = struct.Struct(">BQ").pack
_unpack_int = struct.Struct(">Q").unpack_from
_pack_float = struct.Struct(">Bd").pack
_unpack_float = struct.Struct(">d").unpack_from
_unpack_length = struct.Struct(">I").unpack_from

_NONE = bytes([TAG_NONE])
_NAN = bytes([TAG_NAN])


def encode_key(value: Any) -> bytes:
    """Return the canonical bytes of a key, or raise `KeyEncodingError` when its type has none."""
    try:
        encoder = _ENCODERS.get(type(value))
        if encoder is None:
            encoder = _learn_encoder(type(value))
        return encoder(value)
    except RecursionError:
        raise KeyEncodingError("A key is nested too deeply or contains itself: use a flat key.") from None


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


def keeps_type(key: Any) -> bool:
    """Tell whether the key comes back from its bytes as what it was, type included."""
    kind = type(key)
    if kind is str or kind is int or kind is bytes or key is None:
        return True
    if kind is tuple:
        return all(map(keeps_type, key))
    try:
        # A false alarm (equal objects that pickle differently) only costs the space of the pickled original.
        return pickle.dumps(decode_key(encode_key(key)), 5) == pickle.dumps(key, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False


def _heads(tag: int) -> list[bytes]:
    return [bytes([tag, length]) for length in range(_LONG)]


_STR_HEADS = _heads(TAG_STR)
_BYTES_HEADS = _heads(TAG_BYTES)
_TUPLE_HEADS = _heads(TAG_TUPLE)


def _head(tag: int, length: int) -> bytes:
    if length < _LONG:
        return bytes([tag, length])
    if length >= _LENGTH_LIMIT:
        raise KeyEncodingError("A key of 4 GiB or more cannot be encoded: use a digest of it as the key.")
    return bytes([tag, _LONG]) + length.to_bytes(4, "big")


def _encode_none(value: None) -> bytes:
    return _NONE


def _encode_int(value: int) -> bytes:
    if _INT_LOW <= value < _INT_HIGH:
        return _pack_int(TAG_INT, value + _INT_HIGH)
    value = int(value)
    data = value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
    return _head(TAG_BIG_INT, len(data)) + data


def _encode_float(value: float) -> bytes:
    if value.is_integer():
        return _encode_int(int(value))
    if value != value:
        return _NAN
    return _pack_float(TAG_FLOAT, value)


def _encode_str(value: str) -> bytes:
    try:
        data = str.encode(value)
    except UnicodeEncodeError:
        data = str.encode(value, "utf-8", "surrogatepass")
    length = len(data)
    return (_STR_HEADS[length] if length < _LONG else _head(TAG_STR, length)) + data


def _encode_bytes(value: bytes | bytearray) -> bytes:
    length = len(value)
    return (_BYTES_HEADS[length] if length < _LONG else _head(TAG_BYTES, length)) + value


def _encode_tuple(value: tuple[Any, ...]) -> bytes:
    length = len(value)
    head = _TUPLE_HEADS[length] if length < _LONG else _head(TAG_TUPLE, length)
    return head + b"".join([encode_key(item) for item in value])


def _encode_list(value: list[Any]) -> bytes:
    return _head(TAG_LIST, len(value)) + b"".join([encode_key(item) for item in value])


def _encode_set(value: Iterable[Any]) -> bytes:
    items = sorted([encode_key(item) for item in value])
    return _head(TAG_SET, len(items)) + b"".join(items)


def _encode_dict(value: dict[Any, Any]) -> bytes:
    items = sorted([(encode_key(key), encode_key(item)) for key, item in value.items()])
    return _head(TAG_DICT, len(items)) + b"".join([key + item for key, item in items])


def _encode_decimal(value: Decimal) -> bytes:
    if value.is_nan():
        return _NAN
    if value.is_infinite():
        return _encode_float(float(value))
    sign, digits, exponent = value.as_tuple()
    if abs(value.adjusted()) > _DECIMAL_DIGITS_LIMIT or len(digits) > _DECIMAL_DIGITS_LIMIT:
        raise KeyEncodingError(f"A Decimal key has more than {_DECIMAL_DIGITS_LIMIT} digits: use its text as the key.")
    assert isinstance(exponent, int)
    # Contexts round, so integrality and trailing zeros are decided on the digits themselves.
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    exponent += len(text) - len(stripped)
    if not stripped:
        return _encode_int(0)
    if exponent >= 0:
        whole = int(Decimal((0, tuple(map(int, stripped)), exponent)))
        return _encode_int(-whole if sign else whole)
    # Python compares Decimal and float exactly, so a Decimal that is a float must look like it.
    if Decimal(float(value)) == value:
        return _encode_float(float(value))
    data = f"{'-' if sign else ''}{stripped}E{exponent}".encode()
    return _head(TAG_DECIMAL, len(data)) + data


def _encode_datetime(value: datetime) -> bytes:
    # Equality inside one zone ignores `fold`, and so does hash().
    offset = value.replace(fold=0).utcoffset()
    micros = (value.replace(tzinfo=None) - _FIRST_MOMENT) // _MICROSECOND
    if offset is None:
        return bytes([TAG_DATETIME]) + micros.to_bytes(8, "big")
    micros -= offset // _MICROSECOND
    if not 0 <= micros <= _LAST_MOMENT_MICROS:
        raise KeyEncodingError(f"The key {value!r} is outside the years 1 to 9999 in UTC: use its text as the key.")
    return bytes([TAG_INSTANT]) + micros.to_bytes(8, "big")


def _encode_date(value: date) -> bytes:
    return bytes([TAG_DATE]) + value.toordinal().to_bytes(4, "big")


def _encode_time(value: time) -> bytes:
    micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    offset = value.utcoffset()
    if offset is None:
        return bytes([TAG_TIME]) + micros.to_bytes(8, "big")
    return bytes([TAG_TIME_UTC]) + (micros - offset // _MICROSECOND).to_bytes(8, "big", signed=True)


def _encode_timedelta(value: timedelta) -> bytes:
    return bytes([TAG_TIMEDELTA]) + _encode_int(value // _MICROSECOND)


def _encode_uuid(value: UUID) -> bytes:
    return bytes([TAG_UUID]) + value.bytes


def _encode_enum(value: enum.Enum) -> bytes:
    return bytes([TAG_ENUM]) + _encode_class(type(value)) + _encode_str(value.name)


def _encode_flag(value: enum.Flag) -> bytes:
    return bytes([TAG_FLAG]) + _encode_class(type(value)) + encode_key(value.value)


def _encode_class(cls: type) -> bytes:
    return _encode_str(cls.__module__) + _encode_str(cls.__qualname__)


def _dataclass_encoder(cls: Any) -> Encoder:
    fields = dataclasses.fields(cls)
    head = bytes([TAG_DATACLASS]) + _encode_class(cls)
    names = [field.name for field in fields if field.compare]
    for field in fields:
        if not field.compare and _has_no_default(field):
            raise KeyEncodingError(
                f"Field {field.name!r} of key type {_type_name(cls)} does not take part in equality and has no "
                "default, so the key could not be rebuilt: give it a default or leave it out of the key."
            )
    if cls.__eq__ is object.__eq__:
        raise KeyEncodingError(f"Key type {_type_name(cls)} has eq=False, so no two keys are equal: remove eq=False.")

    def encode(value: Any) -> bytes:
        return head + b"".join([encode_key(getattr(value, name)) for name in names])

    return encode


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _encode_row(value: Any) -> bytes:
    kind = value.get_row_kind().value
    return bytes([TAG_ROW]) + encode_key((kind, value._fields, tuple(value._values)))


def _encode_numpy(value: Any) -> bytes:
    return encode_key(value.item())


_ENCODERS: dict[type, Encoder] = {
    str: _encode_str,
    int: _encode_int,
    bytes: _encode_bytes,
    tuple: _encode_tuple,
    float: _encode_float,
    bool: _encode_int,
    type(None): _encode_none,
    bytearray: _encode_bytes,
    list: _encode_list,
    frozenset: _encode_set,
    set: _encode_set,
    dict: _encode_dict,
    Decimal: _encode_decimal,
    datetime: _encode_datetime,
    date: _encode_date,
    time: _encode_time,
    timedelta: _encode_timedelta,
    UUID: _encode_uuid,
}
_BUILT_IN = tuple(_ENCODERS)
# Classes met while encoding: a class of a script shipped to a worker can be found in no module there.
_CLASSES: dict[tuple[str, str], type] = {}


def _learn_encoder(cls: type) -> Encoder:
    encoder = _encoder_of_class(cls)
    if encoder is None:
        raise KeyEncodingError(
            f"A key of type {_type_name(cls)} has no canonical bytes: use str, int, float, bytes, bool, None, date and "
            "time types, Decimal, UUID, an Enum, a dataclass, or a tuple of these, as the key."
        )
    _ENCODERS[cls] = encoder
    return encoder


def _encoder_of_class(cls: type) -> Encoder | None:
    if cls.__module__ == "penstock.common.types" and cls.__qualname__ == "Row":
        return _encode_row
    if dataclasses.is_dataclass(cls) and not issubclass(cls, (enum.Enum, *_BUILT_IN)):
        _CLASSES[cls.__module__, cls.__qualname__] = cls
        return _dataclass_encoder(cls)
    if issubclass(cls, enum.Enum) and cls.__eq__ is object.__eq__:
        _CLASSES[cls.__module__, cls.__qualname__] = cls
        return _encode_flag if issubclass(cls, enum.Flag) else _encode_enum
    if cls.__module__ == "numpy":
        return _numpy_encoder(cls)
    for parent in cls.__mro__:
        # A subclass that redefines equality is not equal to what its parent's bytes would say.
        if parent in _BUILT_IN and cls.__eq__ is parent.__eq__:
            return _ENCODERS[parent]
    return None


def _numpy_encoder(cls: Any) -> Encoder | None:
    # Dates and wider floats have no Python scalar they are equal to.
    dtype = sys.modules["numpy"].dtype(cls)
    return _encode_numpy if dtype.kind in "biufUS" and dtype.itemsize <= 8 else None


def _type_name(cls: type) -> str:
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _read_length(data: bytes, offset: int) -> tuple[int, int]:
    length = data[offset]
    if length != _LONG:
        return length, offset + 1
    return _unpack_length(data, offset + 1)[0], offset + 5


def _read_data(data: bytes, offset: int) -> tuple[bytes, int]:
    length, start = _read_length(data, offset)
    return _take(data, start, length), start + length


def _take(data: bytes, start: int, length: int) -> bytes:
    part = data[start : start + length]
    if len(part) != length:
        raise IndexError(start)
    return part


def _read_items(data: bytes, offset: int) -> tuple[list[Any], int]:
    count, offset = _read_length(data, offset)
    items = []
    for _ in range(count):
        item, offset = read_key(data, offset)
        items.append(item)
    return items, offset


def _decode_none(data: bytes, offset: int) -> tuple[None, int]:
    return None, offset


def _decode_int(data: bytes, offset: int) -> tuple[int, int]:
    return _unpack_int(data, offset)[0] - _INT_HIGH, offset + 8


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
    count, offset = _read_length(data, offset)
    result = {}
    for _ in range(count):
        key, offset = read_key(data, offset)
        result[key], offset = read_key(data, offset)
    return result, offset


def _read_micros(data: bytes, offset: int, *, signed: bool = False) -> tuple[int, int]:
    return int.from_bytes(_take(data, offset, 8), "big", signed=signed), offset + 8


def _decode_datetime(data: bytes, offset: int) -> tuple[datetime, int]:
    micros, end = _read_micros(data, offset)
    return _FIRST_MOMENT + timedelta(microseconds=micros), end


def _decode_instant(data: bytes, offset: int) -> tuple[datetime, int]:
    value, end = _decode_datetime(data, offset)
    return value.replace(tzinfo=UTC), end


def _decode_date(data: bytes, offset: int) -> tuple[date, int]:
    return date.fromordinal(int.from_bytes(_take(data, offset, 4), "big")), offset + 4


def _time_of(micros: int, zone: timezone | None) -> time:
    return (_FIRST_MOMENT + timedelta(microseconds=micros)).time().replace(tzinfo=zone)


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
        raise KeyEncodingError(f"{_type_name(cls)} has no member {name!r} any more: put it back or rename the state.")
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
    cls = _CLASSES.get((module, name))
    if cls is None:
        cls = _CLASSES[module, name] = _find_class(module, name)
    return cls, offset


def _find_class(module: str, name: str) -> Any:
    try:
        found: Any = importlib.import_module(module)
    except ImportError:
        found = None
    for scope in (found, sys.modules.get("__main__")):
        for part in name.split("."):
            scope = getattr(scope, part, None)
        if scope is not None:
            return scope
    raise KeyEncodingError(f"Key type {module}.{name} cannot be found: keep the class importable under that name.")


_DECODERS: dict[int, Decoder] = {
    TAG_NONE: _decode_none,
    TAG_INT: _decode_int,
    TAG_BIG_INT: _decode_big_int,
    TAG_FLOAT: _decode_float,
    TAG_NAN: _decode_nan,
    TAG_DECIMAL: _decode_decimal,
    TAG_STR: _decode_str,
    TAG_BYTES: _read_data,
    TAG_TUPLE: _decode_tuple,
    TAG_LIST: _read_items,
    TAG_SET: _decode_set,
    TAG_DICT: _decode_dict,
    TAG_DATETIME: _decode_datetime,
    TAG_INSTANT: _decode_instant,
    TAG_DATE: _decode_date,
    TAG_TIME: _decode_time,
    TAG_TIME_UTC: _decode_time_utc,
    TAG_TIMEDELTA: _decode_timedelta,
    TAG_UUID: _decode_uuid,
    TAG_ENUM: _decode_enum,
    TAG_FLAG: _decode_flag,
    TAG_DATACLASS: _decode_dataclass,
    TAG_ROW: _decode_row,
}
