"""Values of a declared type made into those that JSON has: what `typed_values` does, the other way; writes nothing."""

from __future__ import annotations

import base64
import datetime
import decimal
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.common.composite_types import MapTypeInfo, RowTypeInfo, TupleTypeInfo
from penstock.common.time import Instant
from penstock.common.typeinfo import TypeInformation, Types
from penstock.formats.records import RecordShapeError, to_dict

Convert = Callable[[Any], Any]

_WHOLE = {Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG(), Types.BIG_INT()}
_ISO = {Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP()}


def plain_converter(given: TypeInformation) -> Convert:
    """What turns a value of the type into strings, numbers, truths, lists and dicts; None stays None."""
    convert = _converter(given)

    def checked(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except RecordShapeError as error:
            raise ValueError(f"a record {error}") from None
        except (TypeError, AttributeError):
            raise TypeError(f"expected {given!r}, got {value!r}") from None

    return checked


def _converter(given: TypeInformation) -> Convert:
    if isinstance(given, RowTypeInfo):
        names = given.get_field_names()
        return _RowConverter(names, [plain_converter(each) for each in given.get_field_types()])
    if isinstance(given, TupleTypeInfo):
        parts = [plain_converter(each) for each in given.get_field_types()]
        return lambda value: [each(item) for each, item in zip(parts, value, strict=True)]
    if isinstance(given, MapTypeInfo):
        key, item = plain_converter(given.key_type), plain_converter(given.value_type)
        return lambda value: {_key(key(k)): item(v) for k, v in value.items()}
    if given == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return lambda value: base64.b64encode(value).decode()
    element = getattr(given, "element_type", None)
    if element is not None:
        one = plain_converter(element)
        return lambda value: [one(item) for item in value]
    return _simple(given)


def _simple(given: TypeInformation) -> Convert:
    if given in _WHOLE:
        return lambda value: given.coerce(_whole_number(value))
    if given == Types.FLOAT():
        return lambda value: float(str(np.float32(given.coerce(value))))  # 1.1 as 1.1, as Java writes it
    if given in _ISO:
        return lambda value: given.coerce(value).isoformat()
    if given == Types.INSTANT():
        return lambda value: _microseconds(given.coerce(value)).isoformat()
    if given == Types.BIG_DEC():
        return _decimal_number
    return given.coerce


class _RowConverter:
    """A record as a dict of its declared fields."""

    def __init__(self, names: list[str], parts: list[Convert]) -> None:
        self._names = names
        self._fields = list(zip(names, parts, strict=True))

    def __call__(self, value: Any) -> dict[str, Any]:
        found = to_dict(value, self._names)
        unknown = found.keys() - set(self._names)
        if unknown:
            raise ValueError(f"field {min(unknown)!r} is not declared; the fields are {', '.join(self._names)}")
        return {name: self._field(name, convert, found.get(name)) for name, convert in self._fields}

    def _field(self, name: str, convert: Convert, value: Any) -> Any:
        try:
            return convert(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"field {name!r}: {error}") from None


def _key(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _whole_number(value: Any) -> int:
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _microseconds(value: Instant) -> datetime.datetime:
    if value.nanos % 1000:
        raise ValueError(f"{value!r} has nanoseconds, which a text of Python's cannot hold: declare the field as LONG")
    return value.to_datetime()


def _decimal_number(value: Any) -> float:
    """A number, as Flink writes it; Python has no way to write more digits than a float has."""
    number = float(value)
    if decimal.Decimal(repr(number)) != value:
        raise ValueError(f"{value} has more digits than a JSON number of Python's: declare the field as a string")
    return number
