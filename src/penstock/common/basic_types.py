"""Declared types without parts: numbers, text, times, pickled objects.

Users import these names from `penstock.common.typeinfo`.
"""

from __future__ import annotations

import enum
import pickle
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Generic, NoReturn

import pyarrow as pa

from penstock.common.basic_values import CONVERTERS, UnfitError, to_date, to_time, to_timestamp
from penstock.common.time import Instant
from penstock.common.type_variables import T_co

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
    """Return a value as text for an error message, shortened if it is long."""
    return _SHOWN.repr(value)


class TypeInformation(ABC, Generic[T_co]):
    """A declared type: `TypeInformation[int]` is a type whose values are ints. None is a value of every type.

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
        """Return `value` as this type, without loss; floating-point numbers round. Raises TypeError if it cannot be."""

    def check(self, value: Any) -> None:
        """Raise TypeError if `value` does not fit this type."""
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

    def _converted(self, convert: Callable[[Any], Any], value: Any) -> Any:
        """What `convert` makes of a value; its complaint becomes one of this type."""
        if value is None:
            return None
        try:
            return convert(value)
        except UnfitError as unfit:
            hint = str(unfit)
        self._refuse(value, hint)

    def _refuse(self, value: Any, hint: str = "") -> NoReturn:
        raise TypeError(f"expected {self!r}, got {type(value).__name__} {shown(value)}{hint}")


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
    CHAR = "Char"
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


class BasicTypeInfo(TypeInformation[T_co]):
    """A type without parts."""

    def __init__(self, basic_type: BasicType) -> None:
        self._basic_type = BasicType(basic_type)

    @property
    def basic_type(self) -> BasicType:
        """Which of the basic types it is."""
        return self._basic_type

    def __repr__(self) -> str:
        return self._basic_type.name

    def __str__(self) -> str:
        return self._basic_type.value

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type; big numbers are limited to 38 digits there."""
        return _ARROW_TYPES[self._basic_type]

    def coerce(self, value: Any) -> Any:
        """Return `value` as this type."""
        return self._converted(CONVERTERS[self._basic_type.name], value)

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo[str]:
        """Return the type of `Types.STRING`."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo[bool]:
        """Return the type of `Types.BOOLEAN`."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo[int]:
        """Return the type of `Types.BYTE`."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo[int]:
        """Return the type of `Types.SHORT`."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo[int]:
        """Return the type of `Types.INT`."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo[int]:
        """Return the type of `Types.LONG`."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo[float]:
        """Return the type of `Types.FLOAT`."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo[float]:
        """Return the type of `Types.DOUBLE`."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo[str]:
        """Return the type of `Types.CHAR`."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo[int]:
        """Return the type of `Types.BIG_INT`."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo[Decimal]:
        """Return the type of `Types.BIG_DEC`."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo[Instant]:
        """Return the type of `Types.INSTANT`."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo[Instant]):
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


class DateTypeInfo(TypeInformation[date]):
    """A calendar date (`datetime.date`)."""

    def __repr__(self) -> str:
        return "SQL_DATE"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.date32()

    def coerce(self, value: Any) -> Any:
        """Return a date; a datetime is one where it has no time of day."""
        return self._converted(to_date, value)


class TimeTypeInfo(TypeInformation[time]):
    """A time of day (`datetime.time`)."""

    def __repr__(self) -> str:
        return "SQL_TIME"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.time64("us")

    def coerce(self, value: Any) -> Any:
        """Return a time of day."""
        return self._converted(to_time, value)


class TimestampTypeInfo(TypeInformation[datetime]):
    """A date and time of day without a time zone (`datetime.datetime`)."""

    def __repr__(self) -> str:
        return "SQL_TIMESTAMP"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.timestamp("us")

    def coerce(self, value: Any) -> Any:
        """Return a datetime; one with a time zone becomes UTC without one, so that all compare."""
        return self._converted(to_timestamp, value)


class PickledBytesTypeInfo(TypeInformation[Any]):
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
