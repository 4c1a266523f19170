"""Keys in requests: JSON, made to be of the declared key type, as the canonical bytes that state goes by.

Nothing in a request is ever unpickled or looked up as a class. Where the program declares no key type, JSON stands for
itself (an array is a tuple), and what JSON does not have is written as an object of one entry: {"$date": "2026-05-01"}.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from penstock.common.types import Row
from penstock.errors import KeyEncodingError, QueryError
from penstock.keys.codec import encode_key
from penstock.keys.tags import TAG_DATACLASS, TAG_ENUM
from penstock.state.serializers import Schema

_MOST_DIGITS = 1000  # of a number in a request: more only cost time


def requested_key(given: Any, schema: Schema | None, key_class: list[Any] | None = None) -> bytes:
    """Return the canonical bytes of a key that a request has as JSON."""
    try:
        if schema is None:
            return encode_key(_untyped(given)) if not _is_enum(given) else _enum_key(given["$enum"])
        if key_class is not None and schema["type"] == "RECORD":
            return _dataclass_key(given, schema, key_class)
        return encode_key(_typed(given, schema))
    except (KeyEncodingError, ValueError, TypeError, InvalidOperation, RecursionError, OverflowError) as error:
        reason = str(error) if isinstance(error, (_MisfitError, KeyEncodingError)) else f"it cannot be read ({error})"
        raise QueryError(f"key {_shown(given)} is not one of this state: {reason}") from None


def key_from_text(text: str, schema: Schema | None, key_class: list[Any] | None = None) -> bytes:
    """Return the canonical bytes of a key that is given as text: JSON, or a bare word where a text is wanted."""
    wants_text = schema is not None and schema["type"] == "STRING"
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = text
    if wants_text and not isinstance(given, str):
        given = text
    return requested_key(given, schema, key_class)


class _MisfitError(ValueError):
    """A part of a key that is not of its type."""


def _typed(given: Any, schema: Schema) -> Any:
    kind = schema["type"]
    if given is None:
        return None
    if isinstance(given, dict) and len(given) == 1 and next(iter(given)) in _TAGGED and kind in _SIMPLE:
        return _untyped(given)  # as clients write what JSON does not have
    if kind in _SIMPLE:
        wanted, words, convert = _SIMPLE[kind]
        if not isinstance(given, wanted) or (isinstance(given, bool) and kind != "BOOLEAN"):
            raise _MisfitError(f"expected {words}, got {_shown(given)}")
        return convert(given)
    if kind == "LIST":
        return [_typed(each, schema["element"]) for each in _array(given)]
    if kind in ("TUPLE", "ROW"):
        parts = _array(given, len(schema["fields"]))
        values = [_typed(each, field) for each, field in zip(parts, schema["fields"], strict=True)]
        return tuple(values) if kind == "TUPLE" else Row(*values)
    if kind == "RECORD":
        values = _fields(given, schema)
        names = tuple(field["name"] for field in schema["fields"])
        return tuple(values) if schema.get("form") == "namedtuple" else Row.of_fields(names, values)
    raise _MisfitError(f"keys of type {kind} cannot be asked for")


def _fields(given: Any, schema: Schema) -> list[Any]:
    fields = schema["fields"]
    if isinstance(given, dict):
        names = {field["name"] for field in fields}
        if given.keys() != names:
            raise _MisfitError(f"expected an object with {', '.join(sorted(names))}, got {_shown(given)}")
        given = [given[field["name"]] for field in fields]
    return [_typed(each, field["type"]) for each, field in zip(_array(given, len(fields)), fields, strict=True)]


def _array(given: Any, length: int | None = None) -> list[Any]:
    if not isinstance(given, list) or (length is not None and len(given) != length):
        raise _MisfitError(f"expected an array{'' if length is None else f' of {length}'}, got {_shown(given)}")
    return given


def _dataclass_key(given: Any, schema: Schema, key_class: list[Any]) -> bytes:
    module, name, compared = key_class
    values = dict(zip([field["name"] for field in schema["fields"]], _fields(given, schema), strict=True))
    parts = [encode_key(module), encode_key(name), *(encode_key(values[field]) for field in compared)]
    return bytes([TAG_DATACLASS]) + b"".join(parts)


def _is_enum(given: Any) -> bool:
    return isinstance(given, dict) and list(given) == ["$enum"]


def _enum_key(given: Any) -> bytes:
    module, name, member = map(str, _array(given, 3))
    return bytes([TAG_ENUM]) + encode_key(module) + encode_key(name) + encode_key(member)


def _untyped(given: Any) -> Any:
    if isinstance(given, list):
        return tuple([_untyped(each) for each in given])
    if not isinstance(given, dict):
        return given
    if len(given) == 1:
        ((tag, value),) = given.items()
        if tag in _TAGGED:
            return _TAGGED[tag](value)
    known = ", ".join(sorted([*_TAGGED, "$enum"]))
    raise _MisfitError(f'an object must have exactly one of {known}, as in {{"$date": "2026-05-01"}}')


def _decimal(given: Any) -> Decimal:
    text = str(given)
    if len(text) > _MOST_DIGITS:
        raise _MisfitError(f"a number has more than {_MOST_DIGITS} digits")
    return Decimal(text)


def _bytes(given: Any) -> bytes:
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, TypeError):
        raise _MisfitError(f"expected bytes in base64, got {_shown(given)}") from None


def _row(given: Any) -> Row:
    if isinstance(given, dict):
        return Row(**{name: _untyped(value) for name, value in given.items()})
    return Row(*[_untyped(each) for each in _array(given)])


_TAGGED: dict[str, Callable[[Any], Any]] = {
    "$date": lambda given: date.fromisoformat(given),
    "$time": lambda given: time.fromisoformat(given),
    "$timestamp": lambda given: datetime.fromisoformat(given),
    "$seconds": lambda given: timedelta(seconds=given),
    "$decimal": _decimal,
    "$bytes": _bytes,
    "$uuid": lambda given: UUID(str(given)),
    "$list": lambda given: [_untyped(each) for each in _array(given)],
    "$set": lambda given: frozenset([_untyped(each) for each in _array(given)]),
    "$row": _row,
}
_WHOLE = (int, "a whole number", int)
_NUMBER = ((int, float), "a number", float)
_SIMPLE: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "STRING": (str, "a text", str),
    "BOOLEAN": (bool, "true or false", bool),
    **dict.fromkeys(("BYTE", "SHORT", "INT", "LONG", "BIG_INT"), _WHOLE),
    **dict.fromkeys(("FLOAT", "DOUBLE"), _NUMBER),
    "BIG_DEC": ((str, int, float), "a number, as text if it must be exact", _decimal),
    "BYTES": (str, "bytes in base64", _bytes),
    "SQL_DATE": (str, "a date as text", date.fromisoformat),
    "SQL_TIME": (str, "a time of day as text", time.fromisoformat),
    "SQL_TIMESTAMP": (str, "a timestamp as text", datetime.fromisoformat),
    "CHAR": (str, "a text of one character", str),
}


def _shown(given: Any) -> str:
    try:
        text = json.dumps(given, default=str)
    except RecursionError:
        return "(nested too deeply)"
    return text if len(text) <= 80 else text[:77] + "..."
