"""Values of types without parts as plain data and back; owns what such a type takes, strictly: nothing wraps around."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from penstock.common.basic_types import shown
from penstock.common.time import Instant


class MisfitError(TypeError):
    """A value is not of the declared type; `path` says which part of it, from the outermost."""

    def __init__(self, expected: str, value: Any, path: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(expected, path)
        self.text = f"expected {expected}, got {type(value).__name__} {shown(value)}{hint}"
        self.path = path

    def within(self, part: str) -> MisfitError:
        """Return it as the misfit of a part of something larger."""
        self.path = (part, *self.path)
        return self

    def __str__(self) -> str:
        return f"{' of '.join(reversed(self.path))}: {self.text}" if self.path else self.text


class Form(NamedTuple):
    """How values of a type become plain data (`to_plain`, which also checks them) and values again.

    None stands for itself. Without `from_plain` the plain data are the value. `guard`, an expression over `{v}`, is
    true for values that are plain data of the type already. `exact` is their type, where all values of it are;
    `packed` the type of an array that takes none but such values.
    """

    to_plain: Callable[[Any], Any]
    from_plain: Callable[[Any], Any] | None = None
    guard: str | None = None
    exact: type | None = None
    packed: str = ""


_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_float32 = struct.Struct(">f")


def _checked(name: str, exact: type, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`convert` gives the plain form, or NotImplemented."""

    def to_plain(value: Any) -> Any:
        if value is None or type(value) is exact:
            return value
        plain = convert(value)
        if plain is NotImplemented:
            raise MisfitError(name, value)
        return plain

    return to_plain


def _without_numpy(value: Any) -> Any:
    is_scalar = type(value).__module__ == "numpy" and hasattr(value, "item") and not getattr(value, "shape", ())
    return value.item() if is_scalar else value


def _to_string(value: Any) -> Any:
    return str.__str__(value) if isinstance(value, str) else NotImplemented


def _to_boolean(value: Any) -> Any:
    plain = _without_numpy(value)
    return plain if isinstance(plain, bool) else NotImplemented


def _to_integer(value: Any) -> Any:
    try:
        return int(operator.index(value))
    except TypeError:
        return NotImplemented


def _to_double(value: Any) -> Any:
    plain = _without_numpy(value)
    if not isinstance(plain, (int, float)):
        return NotImplemented
    try:
        return float(plain)
    except OverflowError:
        return NotImplemented


def _to_bytes(value: Any) -> Any:
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else NotImplemented


def _to_char(value: Any) -> Any:
    if value is None or (type(value) is str and len(value) == 1):
        return value
    if isinstance(value, str) and len(value) == 1:
        return str.__str__(value)
    raise MisfitError("CHAR", value)


def _to_float(value: Any) -> Any:
    number = None if value is None else _to_double(value)
    if number is NotImplemented:
        raise MisfitError("FLOAT", value)
    try:
        return None if number is None else _float32.unpack(_float32.pack(number))[0]
    except OverflowError:
        raise MisfitError("FLOAT", value, hint=", which 32 bits cannot hold: declare DOUBLE") from None


def _integer(name: str, bits: int, wider: str, packed: str) -> Form:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def to_plain(value: Any) -> Any:
        if value is None:
            return None
        number = value if type(value) is int else _to_integer(value)
        if number is NotImplemented:
            raise MisfitError(name, value)
        if not low <= number <= high:
            raise MisfitError(name, value, hint=f", which {bits} bits cannot hold: declare {wider}")
        return number

    return Form(to_plain, None, f"type({{v}}) is int and {low} <= {{v}} <= {high}", packed=packed)


def _converted(name: str, to_plain: Callable[[Any], Any], from_plain: Callable[[Any], Any]) -> Form:
    """A type whose values are not plain data."""

    def checked(value: Any) -> Any:
        plain = None if value is None else to_plain(value)
        if plain is NotImplemented:
            raise MisfitError(name, value)
        return plain

    return Form(checked, lambda plain: None if plain is None else from_plain(plain))


def _decimal_text(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    number = _to_integer(value)
    return number if number is NotImplemented else str(number)


def _instant_parts(value: Any) -> Any:
    if isinstance(value, datetime):
        value = Instant.of_datetime(value)
    return (value.seconds, value.nanos) if isinstance(value, Instant) else NotImplemented


def _day(value: Any) -> Any:
    # A datetime is a date to Python, but would lose its time.
    return value.toordinal() if isinstance(value, date) and not isinstance(value, datetime) else NotImplemented


def _time_text(value: Any) -> Any:
    return value.isoformat() if isinstance(value, time) else NotImplemented


def _timestamp(value: Any) -> Any:
    if not isinstance(value, datetime):
        return NotImplemented
    # One with a time zone keeps its offset: the user compares it with others that have one.
    return (value - _EPOCH) // _MICROSECOND if value.tzinfo is None else value.isoformat()


def _from_timestamp(plain: Any) -> datetime:
    return _EPOCH + plain * _MICROSECOND if type(plain) is int else datetime.fromisoformat(plain)


BASIC: dict[str, Form] = {
    "STRING": Form(_checked("STRING", str, _to_string), None, "type({v}) is str", str),
    "CHAR": Form(_to_char, None, "type({v}) is str and len({v}) == 1"),
    "BOOLEAN": Form(_checked("BOOLEAN", bool, _to_boolean), None, "type({v}) is bool", bool),
    "BYTE": _integer("BYTE", 8, "SHORT", "b"),
    "SHORT": _integer("SHORT", 16, "INT", "h"),
    "INT": _integer("INT", 32, "LONG", "i"),
    "LONG": _integer("LONG", 64, "BIG_INT", "q"),
    "BIG_INT": Form(_checked("BIG_INT", int, _to_integer), None, "type({v}) is int", int),
    "FLOAT": Form(_to_float),
    "DOUBLE": Form(_checked("DOUBLE", float, _to_double), None, "type({v}) is float", float),
    "BYTES": Form(_checked("BYTES", bytes, _to_bytes), None, "type({v}) is bytes", bytes),
    "BIG_DEC": _converted("BIG_DEC", _decimal_text, Decimal),
    "INSTANT": _converted("INSTANT", _instant_parts, lambda parts: Instant(*parts)),
    "SQL_DATE": _converted("SQL_DATE", _day, date.fromordinal),
    "SQL_TIME": _converted("SQL_TIME", _time_text, time.fromisoformat),
    "SQL_TIMESTAMP": _converted("SQL_TIMESTAMP", _timestamp, _from_timestamp),
}
"""The form of each type without parts, by its name."""
