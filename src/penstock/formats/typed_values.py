"""Parsed text values made into those of a declared type: what JSON and CSV readers share; parses no messages."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
from collections.abc import Callable
from typing import Any

from penstock.common.composite_types import MapTypeInfo, RowTypeInfo, TupleTypeInfo
from penstock.common.time import Instant
from penstock.common.typeinfo import TypeInformation, Types
from penstock.common.types import Row

Convert = Callable[[Any], Any]


class Wrong(ValueError):
    """A value that does not fit its field."""


def converter(wanted: TypeInformation, *, needs_all: bool = False, forgives: bool = False) -> Convert:
    """What turns a parsed value into one of the type; None stays None.

    `needs_all` refuses rows with a field missing; `forgives` makes None of fields that do not fit.
    """
    convert = _converter(wanted, needs_all, forgives)

    def checked(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except Wrong:
            raise
        except (ValueError, TypeError, ArithmeticError):
            raise Wrong(f"expected {wanted!r}, got {value!r}") from None

    return checked


def _converter(wanted: TypeInformation, needs_all: bool, forgives: bool) -> Convert:
    def part(of: TypeInformation) -> Convert:
        return converter(of, needs_all=needs_all, forgives=forgives)

    if isinstance(wanted, RowTypeInfo):
        return _RowConverter(wanted, [part(each) for each in wanted.get_field_types()], needs_all, forgives)
    if isinstance(wanted, TupleTypeInfo):
        parts = [part(each) for each in wanted.get_field_types()]
        return lambda value: tuple(each(item) for each, item in zip(parts, _a_list(value), strict=True))
    if isinstance(wanted, MapTypeInfo):
        key, item = part(wanted.key_type), part(wanted.value_type)
        return lambda value: {key(k): item(v) for k, v in _an_object(value).items()}
    if wanted == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return lambda value: base64.b64decode(value, validate=True)
    element = getattr(wanted, "element_type", None)
    if element is not None:
        one = part(element)
        return lambda value: [one(item) for item in _a_list(value)]
    return _simple(wanted)


def _simple(wanted: TypeInformation) -> Convert:
    by_type: dict[TypeInformation, Convert] = {
        Types.STRING(): _text,
        Types.BOOLEAN(): _boolean,
        Types.BYTE(): _whole_number(8),
        Types.SHORT(): _whole_number(16),
        Types.INT(): _whole_number(32),
        Types.LONG(): _whole_number(64),
        Types.BIG_INT(): int,
        Types.BIG_DEC(): lambda value: decimal.Decimal(str(value)),
        Types.FLOAT(): lambda value: wanted.coerce(_number(value)),
        Types.DOUBLE(): _number,
        Types.INSTANT(): lambda value: Instant.of_datetime(datetime.datetime.fromisoformat(value)),
        Types.SQL_DATE(): datetime.date.fromisoformat,
        Types.SQL_TIME(): datetime.time.fromisoformat,
        Types.SQL_TIMESTAMP(): _timestamp,
    }
    return by_type.get(wanted, wanted.coerce)


class _RowConverter:
    """A JSON object as a row."""

    def __init__(self, wanted: RowTypeInfo, parts: list[Convert], needs_all: bool, forgives: bool) -> None:
        self._names = tuple(wanted.get_field_names())
        self._fields = list(zip(self._names, parts, strict=True))
        self._needs_all = needs_all
        self._forgives = forgives

    def __call__(self, value: Any) -> Row:
        given = _an_object(value)
        return Row.of_fields(self._names, [self._field(given, name, convert) for name, convert in self._fields])

    def _field(self, given: dict[str, Any], name: str, convert: Convert) -> Any:
        if self._needs_all and name not in given:
            raise Wrong(f"field {name!r} is missing")
        try:
            return convert(given.get(name))
        except Wrong as error:
            if self._forgives:
                return None
            raise Wrong(f"field {name!r}: {error}") from None


def _an_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _a_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _boolean(value: Any) -> bool:
    found = {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise TypeError
    return found


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    return float(value)


def _whole_number(bits: int) -> Convert:
    half = 1 << (bits - 1)

    def convert(value: Any) -> int:
        if type(value) is not int:
            value = _parsed_integer(value)
        if not -half <= value < half:
            raise ValueError
        return value  # type: ignore[no-any-return]

    return convert


def _parsed_integer(value: Any) -> int:
    if isinstance(value, str):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise TypeError


def _timestamp(value: Any) -> datetime.datetime:
    """Text as RFC 3339 has it; a time zone is taken off after going to UTC, for the type has none."""
    found = datetime.datetime.fromisoformat(value)
    return found if found.tzinfo is None else found.astimezone(datetime.UTC).replace(tzinfo=None)
