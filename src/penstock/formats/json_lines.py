"""A line of JSON as a record of an Arrow schema, by the rules of Spark: what does not fit is None."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.formats import text_values

_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_ODD_REALS = {"NaN", "Infinity", "-Infinity", "+Infinity", "INF", "+INF", "-INF"}

Convert = Callable[[Any], Any]


class Malformed(ValueError):
    """A line that is no JSON."""


class _Real(float):
    """A number with what was written, for columns of texts."""

    written: str


def _real(written: str) -> _Real:
    made = _Real(written)
    made.written = written
    return made


_decoder = json.JSONDecoder(parse_float=_real, parse_constant=_real, strict=False)


def parsed(line: str) -> Any:
    """The value that a line begins with; what follows it is not looked at, and quotes may be single ones."""
    text = line.lstrip()
    try:
        return _decoder.raw_decode(text)[0]
    except (ValueError, RecursionError):
        if "'" not in text:
            raise Malformed(line) from None
    try:
        return _decoder.raw_decode(_TEXTS.sub(_with_double_quotes, text))[0]
    except (ValueError, RecursionError):
        raise Malformed(line) from None


def _with_double_quotes(found: re.Match[str]) -> str:
    text = found.group()
    return text if text[0] == '"' else '"' + text[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'


def records(line: str) -> list[dict[str, Any] | None]:
    """The objects of a line: one, or those of an array; None for what is none."""
    try:
        value = parsed(line)
    except Malformed:
        return [None]
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return list(value)
    return [value if isinstance(value, dict) else None]


def written_field(line: str, name: str) -> str | None:
    """The text of an object's field as it stands in the line."""
    at = line.index("{") + 1
    found: str | None = None
    try:
        while True:
            key, at = _decoder.raw_decode(line, _past_blanks(line, at))
            at = _past_blanks(line, _past_blanks(line, at) + 1)
            _, end = _decoder.raw_decode(line, at)
            if key == name:
                found = line[at:end]
            at = _past_blanks(line, end)
            if line[at] != ",":
                return found
            at += 1
    except (ValueError, IndexError):
        return None


def _past_blanks(line: str, at: int) -> int:
    while line[at] in " \t":
        at += 1
    return at


class Misfit(ValueError):
    """A value that is not of its type: its array or map is None as a whole."""


def converter(kind: pa.DataType) -> Convert:
    """What makes a value of a type of a parsed one; raises Misfit where it is none."""
    for is_kind, make in _CONVERTERS:
        if is_kind(kind):
            return make(kind)
    raise TypeError(f"JSON cannot be {kind}")


def or_none(convert: Convert) -> Convert:
    """The same, with None for what does not fit."""

    def converted(value: Any) -> Any:
        try:
            return None if value is None else convert(value)
        except Misfit:
            return None

    return converted


def _checked(convert: Convert, *kinds: type) -> Convert:
    def converted(value: Any) -> Any:
        made = convert(value) if type(value) in kinds else None
        if made is None:
            raise Misfit
        return made

    return converted


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return value.written if isinstance(value, _Real) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return text_values.real(value) if value in _ODD_REALS else None
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _whole(kind: pa.DataType) -> Convert:
    half = 1 << (kind.bit_width - 1)
    return _checked(lambda value: value if -half <= value < half else None, int)


def _decimal(kind: pa.DataType) -> Convert:
    convert = text_values.decimal_converter(kind)
    return _checked(lambda value: convert(_text(value)), int, _Real, str)


def _time(value: Any) -> datetime.datetime | None:
    if isinstance(value, str):
        return text_values.moment(value)
    try:
        return datetime.datetime.fromtimestamp(value, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _list(kind: pa.DataType) -> Convert:
    item = converter(kind.value_type)
    return _checked(lambda value: [None if each is None else item(each) for each in value], list)


def _map(kind: pa.DataType) -> Convert:
    item = converter(kind.item_type)
    return _checked(lambda value: [(k, None if v is None else item(v)) for k, v in value.items()], dict)


def _struct(kind: pa.DataType) -> Convert:
    fields = [(field.name, or_none(converter(field.type))) for field in kind]
    return _checked(lambda value: {name: convert(value.get(name)) for name, convert in fields}, dict)


_CONVERTERS: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], Convert]]] = [
    (pa.types.is_string, lambda _: _text),
    (pa.types.is_boolean, lambda _: _checked(bool_of, bool)),
    (pa.types.is_integer, _whole),
    (pa.types.is_floating, lambda _: _checked(_number, int, _Real, str)),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_date, lambda _: _checked(text_values.day, str)),
    (lambda kind: bool(pa.types.is_timestamp(kind) and kind.tz is not None), lambda _: _checked(_time, str, int)),
    (pa.types.is_timestamp, lambda _: _checked(text_values.moment_without_zone, str)),
    (pa.types.is_binary, lambda _: _checked(text_values.octets, str)),
    (pa.types.is_list, _list),
    (pa.types.is_map, _map),
    (pa.types.is_struct, _struct),
]


def bool_of(value: bool) -> bool:
    """True and false are themselves."""
    return value


# ---- what the type of a column is, where nobody says it ----


def type_of(value: Any) -> pa.DataType:
    """The type of a parsed value; an Arrow null where there is nothing to tell it from."""
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        digits = len(str(abs(value)))
        if -(1 << 63) <= value < 1 << 63:
            return pa.int64()
        return pa.decimal128(digits, 0) if digits <= 38 else pa.float64()
    if isinstance(value, float):
        return pa.float64()
    if isinstance(value, str):
        return pa.string()
    if isinstance(value, dict):
        return pa.struct([(name, type_of(value[name])) for name in sorted(value)])
    if isinstance(value, list):
        element: pa.DataType = pa.null()
        for each in value:
            element = merged(element, type_of(each))
        return pa.list_(element)
    return pa.null()


def merged(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The type that takes values of both."""
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    if pa.types.is_struct(left) and pa.types.is_struct(right):
        names = sorted({*(field.name for field in left), *(field.name for field in right)})
        return pa.struct([(name, merged(_field(left, name), _field(right, name))) for name in names])
    if pa.types.is_list(left) and pa.types.is_list(right):
        return pa.list_(merged(left.value_type, right.value_type))
    kinds = [left, right]
    if all(map(_is_number, kinds)):
        if any(map(pa.types.is_floating, kinds)):
            return pa.float64()
        digits = max(each.precision if pa.types.is_decimal(each) else 20 for each in kinds)
        return pa.decimal128(digits, 0)
    return pa.string()


def settled(kind: pa.DataType) -> pa.DataType | None:
    """A learned type with texts where nothing was seen; None for an object without fields."""
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        element = settled(kind.value_type)
        return None if element is None else pa.list_(element)
    if pa.types.is_struct(kind):
        fields = [(field.name, settled(field.type)) for field in kind if field.name]
        known = [(name, each) for name, each in fields if each is not None]
        return pa.struct(known) if known else None
    return kind


def _field(kind: pa.DataType, name: str) -> pa.DataType:
    place = kind.get_field_index(name)
    return kind.field(place).type if place >= 0 else pa.null()


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_int64(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
