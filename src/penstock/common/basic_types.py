"""Declared types without parts: numbers, text, times, pickled objects; owns no types made of others.

Users import these names from `penstock.common.typeinfo`.
"""

from __future__ import annotations

import ctypes
import datetime
import decimal
import enum
import operator
import pickle
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NoReturn

import pyarrow as pa

from penstock.common.time import Instant

__all__ = [
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "InstantTypeInfo",
    "PickledBytesTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TypeInformation",
    "shown",
]

_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 80


def shown(value: Any) -> str:
    """Return a value as an error message shows it: short, however large it is."""
    return _SHOWN.repr(value)


class TypeInformation(ABC):
    """A declared type. None is a value of every type.

    `coerce` turns a value into the declared type or refuses it. `to_internal_type` turns a coerced value into
    the form `pyarrow.array(..., arrow_type())` takes, and `from_internal_type` turns it back.
    """

    @abstractmethod
    def __repr__(self) -> str: ...

    def __str__(self) -> str:
        """Return the text that PyFlink gives a type."""
        return type(self).__name__

    @abstractmethod
    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type that holds values of this type."""

    @abstractmethod
    def coerce(self, value: Any) -> Any:
        """Return `value` as this type; integers wrap around as in Java. Raises TypeError if it cannot be."""

    def check(self, value: Any) -> None:
        """Raise TypeError if `value` cannot be of this type."""
        self.coerce(value)

    def need_conversion(self) -> bool:
        """Return whether values differ from their Arrow form."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """Return the Arrow form of a value."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """Return the value of an Arrow form."""
        return obj

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypeInformation):
            return NotImplemented
        return type(self) is type(other) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((type(self), self._identity()))

    def _identity(self) -> Any:
        return repr(self)

    def _refuse(self, value: Any) -> NoReturn:
        raise TypeError(f"expected {self!r}, got {type(value).__name__} {shown(value)}")


class BasicType(enum.Enum):
    """The types that have no parts."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Character"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


# Spark and most readers stop at 38 digits, so wider decimals would only move the failure further away.
_ARROW_TYPES = {
    BasicType.STRING: pa.string(),
    BasicType.BYTE: pa.int8(),
    BasicType.BOOLEAN: pa.bool_(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
    BasicType.FLOAT: pa.float32(),
    BasicType.DOUBLE: pa.float64(),
    BasicType.CHAR: pa.string(),
    BasicType.BIG_INT: pa.decimal128(38, 0),
    BasicType.BIG_DEC: pa.decimal128(38, 18),
    BasicType.INSTANT: pa.timestamp("us", tz="UTC"),
}


def _to_string(value: Any) -> Any:
    return value if isinstance(value, str) else NotImplemented


def _to_char(value: Any) -> Any:
    return value if isinstance(value, str) and len(value) == 1 else NotImplemented


def _to_boolean(value: Any) -> Any:
    plain = _without_numpy(value)
    return plain if isinstance(plain, bool) else NotImplemented


def _to_integer(value: Any) -> Any:
    return operator.index(value) if hasattr(value, "__index__") else NotImplemented


def _wrapping(bits: int) -> Callable[[Any], Any]:
    half = 1 << (bits - 1)
    mask = (1 << bits) - 1

    def to_integer(value: Any) -> Any:
        if type(value) is int and -half <= value < half:
            return value
        number = _to_integer(value)
        return number if number is NotImplemented else ((number + half) & mask) - half

    return to_integer


def _to_double(value: Any) -> Any:
    if type(value) is float:
        return value
    plain = _without_numpy(value)
    if not isinstance(plain, (int, float)):
        return NotImplemented
    try:
        return float(plain)
    except OverflowError:
        return NotImplemented


def _to_float(value: Any) -> Any:
    number = _to_double(value)
    return number if number is NotImplemented else ctypes.c_float(number).value


def _to_decimal(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return value
    number = _to_integer(value)
    return number if number is NotImplemented else decimal.Decimal(number)


def _to_instant(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return Instant.of_datetime(value)
    return value if isinstance(value, Instant) else NotImplemented


def _without_numpy(value: Any) -> Any:
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


_CONVERTERS: dict[BasicType, Callable[[Any], Any]] = {
    BasicType.STRING: _to_string,
    BasicType.BYTE: _wrapping(8),
    BasicType.BOOLEAN: _to_boolean,
    BasicType.SHORT: _wrapping(16),
    BasicType.INT: _wrapping(32),
    BasicType.LONG: _wrapping(64),
    BasicType.FLOAT: _to_float,
    BasicType.DOUBLE: _to_double,
    BasicType.CHAR: _to_char,
    BasicType.BIG_INT: _to_integer,
    BasicType.BIG_DEC: _to_decimal,
    BasicType.INSTANT: _to_instant,
}


class BasicTypeInfo(TypeInformation):
    """A type without parts."""

    def __init__(self, basic_type: BasicType) -> None:
        self._basic_type = BasicType(basic_type)

    def __repr__(self) -> str:
        return self._basic_type.name

    def __str__(self) -> str:
        return self._basic_type.value

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type; big numbers are limited to 38 digits there."""
        return _ARROW_TYPES[self._basic_type]

    def coerce(self, value: Any) -> Any:
        """Return `value` as this type."""
        if value is None:
            return None
        converted = _CONVERTERS[self._basic_type](value)
        return self._refuse(value) if converted is NotImplemented else converted

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.STRING`."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.BOOLEAN`."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.BYTE`."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.SHORT`."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.INT`."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.LONG`."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.FLOAT`."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.DOUBLE`."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.CHAR`."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.BIG_INT`."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.BIG_DEC`."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of `Types.INSTANT`."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """A point in time; Arrow holds its microseconds."""

    def need_conversion(self) -> bool:
        """Return True: Arrow takes datetimes."""
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Return an Instant as a UTC datetime."""
        return None if obj is None else obj.to_datetime()

    def from_internal_type(self, obj: Any) -> Any:
        """Return a datetime as an Instant."""
        return None if obj is None else Instant.of_datetime(obj)


class DateTypeInfo(TypeInformation):
    """A calendar date (`datetime.date`)."""

    def __repr__(self) -> str:
        return "SQL_DATE"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.date32()

    def coerce(self, value: Any) -> Any:
        """Return a date; a datetime loses its time of day."""
        if isinstance(value, datetime.datetime):
            return value.date()
        return value if value is None or isinstance(value, datetime.date) else self._refuse(value)


class TimeTypeInfo(TypeInformation):
    """A time of day (`datetime.time`)."""

    def __repr__(self) -> str:
        return "SQL_TIME"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.time64("us")

    def coerce(self, value: Any) -> Any:
        """Return a time of day."""
        return value if value is None or isinstance(value, datetime.time) else self._refuse(value)


class TimestampTypeInfo(TypeInformation):
    """A date and time of day without a time zone (`datetime.datetime`)."""

    def __repr__(self) -> str:
        return "SQL_TIMESTAMP"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.timestamp("us")

    def coerce(self, value: Any) -> Any:
        """Return a datetime; one with a time zone becomes UTC without one, so that all compare."""
        if not isinstance(value, datetime.datetime):
            return None if value is None else self._refuse(value)
        return value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)


class PickledBytesTypeInfo(TypeInformation):
    """Any Python object; Arrow holds its pickle."""

    def __repr__(self) -> str:
        return "PICKLED_BYTE_ARRAY"

    def __str__(self) -> str:
        return "PickledByteArrayTypeInfo"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.binary()

    def coerce(self, value: Any) -> Any:
        """Return the value as it is."""
        return value

    def need_conversion(self) -> bool:
        """Return True: Arrow takes the pickle."""
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Return the pickle."""
        return None if obj is None else pickle.dumps(obj, protocol=5)

    def from_internal_type(self, obj: Any) -> Any:
        """Return the object of a pickle."""
        return None if obj is None else pickle.loads(obj)
