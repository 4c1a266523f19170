"""Declared types of records: what they are called, how a value becomes one, and how Arrow stores it.

Owns no inference from Python hints or Arrow schemas (see `type_inference`) and no encoding of state or keys.
"""

from __future__ import annotations

import array
import ctypes
import dataclasses
import datetime
import decimal
import enum
import operator
import pickle
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import pyarrow as pa

from penstock.common.time import Instant
from penstock.common.types import Row

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "InstantTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RecordTypeInfo",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
]

_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 80


class TypeInformation(ABC):
    """A declared type. None is a value of every type.

    `coerce` turns a value into the declared type or refuses it. `to_internal_type` turns a coerced value into
    the form `pyarrow.array(..., arrow_type())` takes, and `from_internal_type` turns it back.
    """

    @abstractmethod
    def __repr__(self) -> str: ...

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
        raise TypeError(f"expected {self!r}, got {type(value).__name__} {_SHOWN.repr(value)}")


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


class SqlTimeTypeInfo(TypeInformation):
    """Makes the types of the SQL dates and times."""

    @staticmethod
    def DATE() -> TypeInformation:
        """Return the type of dates."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TypeInformation:
        """Return the type of times of day."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TypeInformation:
        """Return the type of datetimes."""
        return TimestampTypeInfo()


class PickledBytesTypeInfo(TypeInformation):
    """Any Python object; Arrow holds its pickle."""

    def __repr__(self) -> str:
        return "PICKLED_BYTE_ARRAY"

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


class _SequenceTypeInfo(TypeInformation):
    _name = "LIST"

    def __init__(self, element_type: TypeInformation) -> None:
        self._element_type = _checked(element_type, self._name)

    @property
    def element_type(self) -> TypeInformation:
        """The type of an element."""
        return self._element_type

    def __repr__(self) -> str:
        return f"{self._name}({self._element_type!r})"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.list_(self._element_type.arrow_type())

    def coerce(self, value: Any) -> Any:
        """Return a list of coerced elements."""
        if value is None:
            return None
        if not isinstance(value, (list, tuple, array.array)):
            if type(value).__module__ != "numpy" or not hasattr(value, "tolist"):
                self._refuse(value)
            value = value.tolist()
        element = self._element_type
        return _coerce_parts(self, ((f"element {at}", element, item) for at, item in enumerate(value)))

    def need_conversion(self) -> bool:
        """Return whether elements differ from their Arrow form."""
        return self._element_type.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        """Return the list with elements in Arrow form."""
        if obj is None or not self.need_conversion():
            return obj
        return [self._element_type.to_internal_type(item) for item in obj]

    def from_internal_type(self, obj: Any) -> Any:
        """Return the list of an Arrow form."""
        if obj is None or not self.need_conversion():
            return obj
        return [self._element_type.from_internal_type(item) for item in obj]

    def _identity(self) -> Any:
        return self._element_type


class ListTypeInfo(_SequenceTypeInfo):
    """A list."""


class BasicArrayTypeInfo(_SequenceTypeInfo):
    """An array of basic values (a list in Python)."""

    _name = "BASIC_ARRAY"


class ObjectArrayTypeInfo(_SequenceTypeInfo):
    """An array of any values (a list in Python)."""

    _name = "OBJECT_ARRAY"


class PrimitiveArrayTypeInfo(_SequenceTypeInfo):
    """An array of numbers (a list in Python); an array of BYTE is `bytes`."""

    _name = "PRIMITIVE_ARRAY"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.binary() if self._is_bytes() else super().arrow_type()

    def coerce(self, value: Any) -> Any:
        """Return a list of coerced numbers, or bytes."""
        if not self._is_bytes():
            return super().coerce(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        numbers = super().coerce(value)
        return None if numbers is None else bytes(number & 0xFF for number in numbers)

    def _is_bytes(self) -> bool:
        return self._element_type == BasicTypeInfo.BYTE_TYPE_INFO()


class MapTypeInfo(TypeInformation):
    """A dict."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        self._key_type_info = _checked(key_type_info, "MAP")
        self._value_type_info = _checked(value_type_info, "MAP")

    @property
    def key_type(self) -> TypeInformation:
        """The type of a key."""
        return self._key_type_info

    @property
    def value_type(self) -> TypeInformation:
        """The type of a value."""
        return self._value_type_info

    def __repr__(self) -> str:
        return f"MAP({self._key_type_info!r}, {self._value_type_info!r})"

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type."""
        return pa.map_(self._key_type_info.arrow_type(), self._value_type_info.arrow_type())

    def coerce(self, value: Any) -> Any:
        """Return a dict of coerced keys and values."""
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self._refuse(value)
        keys = _coerce_parts(self, (("a key", self._key_type_info, key) for key in value))
        values = _coerce_parts(
            self, ((f"the value of key {_SHOWN.repr(key)}", self._value_type_info, item) for key, item in value.items())
        )
        return dict(zip(keys, values, strict=True))

    def need_conversion(self) -> bool:
        """Return True: Arrow takes pairs."""
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Return key and value pairs in Arrow form."""
        if obj is None:
            return None
        key_form, value_form = self._key_type_info.to_internal_type, self._value_type_info.to_internal_type
        return [(key_form(key), value_form(value)) for key, value in obj.items()]

    def from_internal_type(self, obj: Any) -> Any:
        """Return the dict of key and value pairs."""
        if obj is None:
            return None
        key_of, value_of = self._key_type_info.from_internal_type, self._value_type_info.from_internal_type
        return {key_of(key): value_of(value) for key, value in obj}

    def _identity(self) -> Any:
        return self._key_type_info, self._value_type_info


class _FieldsTypeInfo(TypeInformation):
    # What rows and tuples have in common: typed fields in order, a struct in Arrow.
    _name = "TUPLE"

    def __init__(self, field_types: Iterable[TypeInformation], field_names: Iterable[str] | None = None) -> None:
        self._field_types = [_checked(field_type, self._name) for field_type in field_types]
        positions = [f"f{position}" for position in range(len(self._field_types))]
        self._field_names = positions if field_names is None else list(field_names)
        if len(self._field_names) != len(self._field_types):
            raise ValueError(
                f"{self._name} got {len(self._field_names)} field names for {len(self._field_types)} types: "
                f"give one for each"
            )
        if len(set(self._field_names)) != len(self._field_names):
            raise ValueError(f"{self._name} has a field name twice: {', '.join(self._field_names)}")

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields in order."""
        return self._field_types

    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type, a struct."""
        types = [field_type.arrow_type() for field_type in self._field_types]
        return pa.struct(list(zip(self._field_names, types, strict=True)))

    def need_conversion(self) -> bool:
        """Return True: Arrow takes dicts."""
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Return the fields in Arrow form by name."""
        if obj is None:
            return None
        values = zip(self._field_names, self._field_types, self._values_of(obj), strict=True)
        return {name: field_type.to_internal_type(value) for name, field_type, value in values}

    def from_internal_type(self, obj: Any) -> Any:
        """Return the value of an Arrow form."""
        if obj is None:
            return None
        fields = zip(self._field_names, self._field_types, strict=True)
        return self._build(obj, [field_type.from_internal_type(obj[name]) for name, field_type in fields])

    def coerce(self, value: Any) -> Any:
        """Return the value with coerced fields."""
        if value is None:
            return None
        values = self._values_of(value)
        if len(values) != len(self._field_types):
            raise TypeError(
                f"expected {self!r} of {len(self._field_types)} fields, got {len(values)} in {_SHOWN.repr(value)}"
            )
        fields = zip(self._field_names, self._field_types, values, strict=True)
        parts = ((f"field {name!r}", field_type, item) for name, field_type, item in fields)
        return self._build(value, _coerce_parts(self, parts))

    def _values_of(self, value: Any) -> Any:
        return value if isinstance(value, (tuple, list, Row)) else self._refuse(value)

    def _build(self, origin: Any, values: list[Any]) -> Any:
        return tuple(values)

    def _identity(self) -> Any:
        return tuple(self._field_names), tuple(self._field_types)


class TupleTypeInfo(_FieldsTypeInfo):
    """A tuple of fixed length."""

    def __init__(self, field_types: Iterable[TypeInformation]) -> None:
        super().__init__(field_types)

    def __repr__(self) -> str:
        return f"TUPLE({', '.join(map(repr, self._field_types))})"


class RowTypeInfo(_FieldsTypeInfo):
    """A `Row`. With declared names, values may come as a Row or dict in another order, or as a dataclass."""

    _name = "ROW"

    def __init__(self, field_types: Iterable[TypeInformation], field_names: Iterable[str] | None = None) -> None:
        super().__init__(field_types, field_names)
        # One tuple for all rows: it is pickled once a block, not once a row.
        self._row_fields = None if field_names is None else tuple(self._field_names)

    def __repr__(self) -> str:
        if self._row_fields is None:
            return f"ROW({', '.join(map(repr, self._field_types))})"
        fields = zip(self._field_names, self._field_types, strict=True)
        return f"ROW({', '.join(f'{name}: {field_type!r}' for name, field_type in fields)})"

    def get_field_names(self) -> list[str]:
        """Return the names of the fields in order (f0, f1, ... if none were declared)."""
        return self._field_names

    def get_field_index(self, field_name: str) -> int:
        """Return the position of a field, or -1."""
        return self._field_names.index(field_name) if field_name in self._field_names else -1

    def _values_of(self, value: Any) -> Any:
        if isinstance(value, Row) and (self._row_fields is None or value._fields is None):
            return value._values
        if isinstance(value, (Row, Mapping)):
            return self._by_name(value, value.as_dict() if isinstance(value, Row) else value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._by_name(value, {field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
        return super()._values_of(value)

    def _by_name(self, value: Any, fields: Mapping[str, Any]) -> list[Any]:
        if fields.keys() != set(self._field_names):
            raise TypeError(
                f"expected {self!r}, got {type(value).__name__} with the fields {', '.join(map(str, fields))}"
            )
        return [fields[name] for name in self._field_names]

    def _build(self, origin: Any, values: list[Any]) -> Any:
        if isinstance(origin, Row):
            return Row.of_fields(self._row_fields or origin._fields, values, origin.get_row_kind())
        return Row.of_fields(self._row_fields, values)

    def _identity(self) -> Any:
        return self._row_fields, tuple(self._field_types)


class RecordTypeInfo(RowTypeInfo):
    """A dataclass or named tuple; values stay objects of that class."""

    def __init__(self, record_class: type, field_names: Iterable[str], field_types: Iterable[TypeInformation]) -> None:
        super().__init__(field_types, field_names)
        self.record_class = record_class

    def __repr__(self) -> str:
        return self.record_class.__qualname__ + super().__repr__().removeprefix("ROW")

    def _build(self, origin: Any, values: list[Any]) -> Any:
        return self.record_class(**dict(zip(self._field_names, values, strict=True)))

    def _identity(self) -> Any:
        return self.record_class, super()._identity()


class Types:
    """Makes every declared type.

    >>> Types.ROW_NAMED(["id", "price"], [Types.INT(), Types.DOUBLE()])
    ROW(id: INT, price: DOUBLE)
    >>> Types.BYTE().coerce(130)
    -126
    """

    @staticmethod
    def STRING() -> TypeInformation:
        """Text (`str`)."""
        return BasicTypeInfo.STRING_TYPE_INFO()

    @staticmethod
    def BYTE() -> TypeInformation:
        """An integer of 8 bits."""
        return BasicTypeInfo.BYTE_TYPE_INFO()

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """True or False."""
        return BasicTypeInfo.BOOLEAN_TYPE_INFO()

    @staticmethod
    def SHORT() -> TypeInformation:
        """An integer of 16 bits."""
        return BasicTypeInfo.SHORT_TYPE_INFO()

    @staticmethod
    def INT() -> TypeInformation:
        """An integer of 32 bits."""
        return BasicTypeInfo.INT_TYPE_INFO()

    @staticmethod
    def LONG() -> TypeInformation:
        """An integer of 64 bits."""
        return BasicTypeInfo.LONG_TYPE_INFO()

    @staticmethod
    def FLOAT() -> TypeInformation:
        """A floating-point number of 32 bits."""
        return BasicTypeInfo.FLOAT_TYPE_INFO()

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """A floating-point number of 64 bits."""
        return BasicTypeInfo.DOUBLE_TYPE_INFO()

    @staticmethod
    def CHAR() -> TypeInformation:
        """One character."""
        return BasicTypeInfo.CHAR_TYPE_INFO()

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """An integer of any size."""
        return BasicTypeInfo.BIG_INT_TYPE_INFO()

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """A decimal number (`decimal.Decimal`)."""
        return BasicTypeInfo.BIG_DEC_TYPE_INFO()

    @staticmethod
    def INSTANT() -> TypeInformation:
        """A point in time (`Instant`; datetimes are converted)."""
        return BasicTypeInfo.INSTANT_TYPE_INFO()

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """A calendar date (`datetime.date`)."""
        return SqlTimeTypeInfo.DATE()

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """A time of day (`datetime.time`)."""
        return SqlTimeTypeInfo.TIME()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """A date and time of day (`datetime.datetime`)."""
        return SqlTimeTypeInfo.TIMESTAMP()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any Python object."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: list[TypeInformation]) -> RowTypeInfo:
        """A `Row` whose fields have positions only."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: list[str], field_types: list[TypeInformation]) -> RowTypeInfo:
        """A `Row` with named fields."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: list[TypeInformation]) -> TupleTypeInfo:
        """A tuple of fixed length."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """An array of numbers; of BYTE, it is `bytes`."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """An array of basic values."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """An array of any values."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        """A dict."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        """A list."""
        return ListTypeInfo(element_type_info)


def _checked(part: TypeInformation, whole: str) -> TypeInformation:
    if not isinstance(part, TypeInformation):
        raise TypeError(f"{whole} expects types such as Types.INT(), got {type(part).__name__} {_SHOWN.repr(part)}")
    return part


def _coerce_parts(whole: TypeInformation, parts: Iterable[tuple[str, TypeInformation, Any]]) -> list[Any]:
    coerced = []
    for where, part_type, value in parts:
        try:
            coerced.append(part_type.coerce(value))
        except TypeError as error:
            raise TypeError(f"{where} of {whole!r}: {error}") from None
    return coerced
