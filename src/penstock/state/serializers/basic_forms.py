"""Values of types without parts as plain data and back; what such a type takes is the rule of `basic_values`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from penstock.common.basic_types import shown
from penstock.common.basic_values import CONVERTERS, UnfitError, to_date, to_time
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


def _by_rule(name: str, convert: Callable[[Any], Any], exact: type | None = None) -> Callable[[Any], Any]:
    """What makes plain data by the rule for values of the type wherever they are declared (`basic_values`)."""

    def to_plain(value: Any) -> Any:
        if value is None or type(value) is exact:
            return value
        try:
            return convert(value)
        except UnfitError as unfit:
            hint = str(unfit)
        raise MisfitError(name, value, hint=hint)

    return to_plain


def _basic(name: str, exact: type | None = None, guard: str | None = None, packed: str = "") -> Form:
    if guard is None and exact is not None:
        guard = f"type({{v}}) is {exact.__name__}"
    return Form(_by_rule(name, CONVERTERS[name], exact), None, guard, exact, packed)


def _integer(name: str, bits: int, packed: str) -> Form:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return _basic(name, guard=f"type({{v}}) is int and {low} <= {{v}} <= {high}", packed=packed)


def _to_bytes(value: Any) -> Any:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise UnfitError
    return bytes(value)


def _converted(name: str, to_plain: Callable[[Any], Any], from_plain: Callable[[Any], Any]) -> Form:
    """A type whose values are not plain data."""
    return Form(_by_rule(name, to_plain), lambda plain: None if plain is None else from_plain(plain))


def _decimal_text(value: Any) -> str:
    return str(CONVERTERS["BIG_DEC"](value))


def _instant_parts(value: Any) -> tuple[int, int]:
    instant = CONVERTERS["INSTANT"](value)
    return instant.seconds, instant.nanos


def _day(value: Any) -> int:
    return to_date(value).toordinal()


def _time_text(value: Any) -> str:
    return to_time(value).isoformat()


def _timestamp(value: Any) -> Any:
    if not isinstance(value, datetime):
        raise UnfitError
    # One with a time zone keeps its offset: the user compares it with others that have one.
    return (value - _EPOCH) // _MICROSECOND if value.tzinfo is None else value.isoformat()


def _from_timestamp(plain: Any) -> datetime:
    return _EPOCH + plain * _MICROSECOND if type(plain) is int else datetime.fromisoformat(plain)


BASIC: dict[str, Form] = {
    "STRING": _basic("STRING", str),
    "CHAR": _basic("CHAR", guard="type({v}) is str and len({v}) == 1"),
    "BOOLEAN": _basic("BOOLEAN", bool),
    "BYTE": _integer("BYTE", 8, "b"),
    "SHORT": _integer("SHORT", 16, "h"),
    "INT": _integer("INT", 32, "i"),
    "LONG": _integer("LONG", 64, "q"),
    "BIG_INT": _basic("BIG_INT", int),
    "FLOAT": _basic("FLOAT"),
    "DOUBLE": _basic("DOUBLE", float),
    "BYTES": Form(_by_rule("BYTES", _to_bytes, bytes), None, "type({v}) is bytes", bytes),
    "BIG_DEC": _converted("BIG_DEC", _decimal_text, Decimal),
    "INSTANT": _converted("INSTANT", _instant_parts, lambda parts: Instant(*parts)),
    "SQL_DATE": _converted("SQL_DATE", _day, date.fromordinal),
    "SQL_TIME": _converted("SQL_TIME", _time_text, time.fromisoformat),
    "SQL_TIMESTAMP": _converted("SQL_TIMESTAMP", _timestamp, _from_timestamp),
}
"""The form of each type without parts, by its name."""
