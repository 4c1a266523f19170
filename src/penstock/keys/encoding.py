"""Keys to canonical bytes. The rules are in `penstock.keys.codec`."""

from __future__ import annotations

import dataclasses
import enum
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from penstock.errors import KeyEncodingError
from penstock.keys import tags as tags
from penstock.keys.classes import has_default, remember_class, type_name
from penstock.keys.tags import FIRST_MOMENT, INT_OFFSET, LONG_LENGTH, MICROSECOND

Encoder = Callable[[Any], bytes]

_LENGTH_LIMIT = 2**32
_DECIMAL_DIGITS_LIMIT = 10_000
_LAST_MOMENT_MICROS = (datetime.max - FIRST_MOMENT) // MICROSECOND

_pack_int = struct.Struct(">BQ").pack
_pack_float = struct.Struct(">Bd").pack

_NONE = bytes([tags.TAG_NONE])
_NAN = bytes([tags.TAG_NAN])
# Looked up once: these two are on the hot path.
_TAG_INT = tags.TAG_INT
_TAG_FLOAT = tags.TAG_FLOAT


def encode_key(value: Any) -> bytes:
    """Return the canonical bytes of a key, or raise `KeyEncodingError` when its type has none."""
    try:
        encoder = _ENCODERS.get(type(value))
        if encoder is None:
            encoder = _learn_encoder(type(value))
        return encoder(value)
    except RecursionError:
        raise KeyEncodingError("A key is nested too deeply or contains itself: use a flat key.") from None


def encode_keys(values: Sequence[Any]) -> list[bytes]:
    """Return the canonical bytes of many keys: those that `encode_key` gives, in less time where their type is one."""
    if set(map(type, values)) == {tuple} and len(set(map(len, values))) == 1 and 0 < len(values[0]) < LONG_LENGTH:
        # Column by column: the parts of a key have one type as a rule.
        head = _TUPLE_HEADS[len(values[0])]
        columns = [_encode_all(column) for column in zip(*values, strict=True)]
        return [head + b"".join(codes) for codes in zip(*columns, strict=True)]
    return _encode_all(values)


def _encode_all(values: Sequence[Any]) -> list[bytes]:
    kinds = set(map(type, values))
    if kinds == {int} and min(values) >= -INT_OFFSET and max(values) < INT_OFFSET:
        return [_pack_int(_TAG_INT, value + INT_OFFSET) for value in values]
    encoder = _encode_str if kinds == {str} else encode_key
    return [encoder(value) for value in values]


def _heads(tag: int) -> list[bytes]:
    return [bytes([tag, length]) for length in range(LONG_LENGTH)]


_STR_HEADS = _heads(tags.TAG_STR)
_BYTES_HEADS = _heads(tags.TAG_BYTES)
_TUPLE_HEADS = _heads(tags.TAG_TUPLE)


def _head(tag: int, length: int) -> bytes:
    if length < LONG_LENGTH:
        return bytes([tag, length])
    if length >= _LENGTH_LIMIT:
        raise KeyEncodingError("A key of 4 GiB or more cannot be encoded: use a digest of it as the key.")
    return bytes([tag, LONG_LENGTH]) + length.to_bytes(4, "big")


def _encode_none(value: None) -> bytes:
    return _NONE


def _encode_int(value: int) -> bytes:
    if -INT_OFFSET <= value < INT_OFFSET:
        return _pack_int(_TAG_INT, value + INT_OFFSET)
    value = int(value)
    data = value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
    return _head(tags.TAG_BIG_INT, len(data)) + data


def _encode_float(value: float) -> bytes:
    if value.is_integer():
        return _encode_int(int(value))
    if value != value:
        return _NAN
    return _pack_float(_TAG_FLOAT, value)


def _encode_str(value: str) -> bytes:
    try:
        data = str.encode(value)
    except UnicodeEncodeError:
        data = str.encode(value, "utf-8", "surrogatepass")
    length = len(data)
    return (_STR_HEADS[length] if length < LONG_LENGTH else _head(tags.TAG_STR, length)) + data


def _encode_bytes(value: bytes | bytearray) -> bytes:
    length = len(value)
    return (_BYTES_HEADS[length] if length < LONG_LENGTH else _head(tags.TAG_BYTES, length)) + value


def _encode_tuple(value: tuple[Any, ...]) -> bytes:
    length = len(value)
    head = _TUPLE_HEADS[length] if length < LONG_LENGTH else _head(tags.TAG_TUPLE, length)
    return head + b"".join([encode_key(item) for item in value])


def _encode_list(value: list[Any]) -> bytes:
    return _head(tags.TAG_LIST, len(value)) + b"".join([encode_key(item) for item in value])


def _encode_set(value: Iterable[Any]) -> bytes:
    # NaN is a key equal to itself, so two of them are one.
    items = sorted({encode_key(item) for item in value})
    return _head(tags.TAG_SET, len(items)) + b"".join(items)


def _encode_dict(value: dict[Any, Any]) -> bytes:
    items = dict(sorted([(encode_key(key), encode_key(item)) for key, item in value.items()]))
    return _head(tags.TAG_DICT, len(items)) + b"".join([key + item for key, item in items.items()])


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
    return _head(tags.TAG_DECIMAL, len(data)) + data


def _encode_datetime(value: datetime) -> bytes:
    # Equality inside one zone ignores `fold`, and so does hash().
    offset = value.replace(fold=0).utcoffset()
    micros = (value.replace(tzinfo=None) - FIRST_MOMENT) // MICROSECOND
    if offset is None:
        return bytes([tags.TAG_DATETIME]) + micros.to_bytes(8, "big")
    micros -= offset // MICROSECOND
    if not 0 <= micros <= _LAST_MOMENT_MICROS:
        raise KeyEncodingError(f"The key {value!r} is outside the years 1 to 9999 in UTC: use its text as the key.")
    return bytes([tags.TAG_INSTANT]) + micros.to_bytes(8, "big")


def _encode_date(value: date) -> bytes:
    return bytes([tags.TAG_DATE]) + value.toordinal().to_bytes(4, "big")


def _encode_time(value: time) -> bytes:
    micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    offset = value.utcoffset()
    if offset is None:
        return bytes([tags.TAG_TIME]) + micros.to_bytes(8, "big")
    return bytes([tags.TAG_TIME_UTC]) + (micros - offset // MICROSECOND).to_bytes(8, "big", signed=True)


def _encode_timedelta(value: timedelta) -> bytes:
    return bytes([tags.TAG_TIMEDELTA]) + _encode_int(value // MICROSECOND)


def _encode_uuid(value: UUID) -> bytes:
    return bytes([tags.TAG_UUID]) + value.bytes


def _encode_enum(value: enum.Enum) -> bytes:
    return bytes([tags.TAG_ENUM]) + _encode_class(type(value)) + _encode_str(value.name)


def _encode_flag(value: enum.Flag) -> bytes:
    return bytes([tags.TAG_FLAG]) + _encode_class(type(value)) + encode_key(value.value)


def _encode_class(cls: type) -> bytes:
    return _encode_str(cls.__module__) + _encode_str(cls.__qualname__)


def _dataclass_encoder(cls: Any) -> Encoder:
    fields = dataclasses.fields(cls)
    head = bytes([tags.TAG_DATACLASS]) + _encode_class(cls)
    names = [field.name for field in fields if field.compare]
    for field in fields:
        if not field.compare and not has_default(field):
            raise KeyEncodingError(
                f"Field {field.name!r} of key type {type_name(cls)} does not take part in equality and has no "
                "default, so the key could not be rebuilt: give it a default or leave it out of the key."
            )
    if cls.__eq__ is object.__eq__:
        raise KeyEncodingError(f"Key type {type_name(cls)} has eq=False, so no two keys are equal: remove eq=False.")

    def encode(value: Any) -> bytes:
        return head + b"".join([encode_key(getattr(value, name)) for name in names])

    return encode


def _encode_row(value: Any) -> bytes:
    # Rows with the same names in another order are equal.
    return bytes([tags.TAG_ROW]) + encode_key((value.get_row_kind().value, *value.in_order_of_names()))


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


def _learn_encoder(cls: type) -> Encoder:
    encoder = _encoder_of_class(cls)
    if encoder is None:
        raise KeyEncodingError(
            f"A key of type {type_name(cls)} has no canonical bytes: use str, int, float, bytes, bool, None, date and "
            "time types, Decimal, UUID, an Enum, a dataclass, or a tuple of these, as the key."
        )
    _ENCODERS[cls] = encoder
    return encoder


def _encoder_of_class(cls: type) -> Encoder | None:
    if cls.__module__ == "penstock.common.types" and cls.__qualname__ == "Row":
        return _encode_row
    if dataclasses.is_dataclass(cls) and not issubclass(cls, (enum.Enum, *_BUILT_IN)):
        remember_class(cls)
        return _dataclass_encoder(cls)
    if issubclass(cls, enum.Enum) and cls.__eq__ is object.__eq__:
        remember_class(cls)
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
