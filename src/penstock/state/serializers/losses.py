"""What plain values leave out of what bytes of state hold; owns that question, not the plain values.

A time with a zone is shown in UTC, an instant in microseconds, and a row without its kind: good to look at, but what is
written back would be something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.state.serializers.encoding import HEAD_BYTES, encoding_of
from penstock.state.serializers.schemas import Schema

Loses = Callable[[Any], bool]


def loss_finder(written: Schema) -> Callable[[bytes], bool] | None:
    """Return what tells of bytes of a schema whether their plain value leaves something out; None if none does."""
    loses = _loses(written)
    if loses is None:
        return None
    encoding = encoding_of(written)
    return lambda data: data[:HEAD_BYTES] == encoding.head and loses(encoding.unpack(data))


def _loses(schema: Schema) -> Loses | None:
    kind = schema["type"]
    if kind == "SQL_TIMESTAMP":
        return lambda data: type(data) is str
    if kind == "INSTANT":
        return lambda data: data is not None and data[1] % 1000 != 0
    if kind == "LIST":
        return _any_of(_loses(schema["element"]), lambda data: data)
    if kind == "MAP":
        key = _any_of(_loses(schema["key"]), lambda data: data)
        value = _any_of(_loses(schema["value"]), lambda data: data.values())
        return _either(key, value)
    if kind in ("TUPLE", "ROW", "RECORD"):
        return _loses_of_fields(schema)
    return None


def _any_of(loses: Loses | None, items: Callable[[Any], Any]) -> Loses | None:
    return None if loses is None else lambda data: data is not None and any(map(loses, items(data)))


def _either(one: Loses | None, other: Loses | None) -> Loses | None:
    if one is None or other is None:
        return one or other
    return lambda data: one(data) or other(data)


def _loses_of_fields(schema: Schema) -> Loses | None:
    types = [field["type"] for field in schema["fields"]] if schema["type"] == "RECORD" else schema["fields"]
    parts = [(at, loses) for at, loses in enumerate(map(_loses, types)) if loses is not None]
    # Only rows have a kind, but state of a dataclass may have been rows before.
    has_kind = schema["type"] != "TUPLE"
    if not parts and not has_kind:
        return None
    count = len(types)
    return lambda data: data is not None and (len(data) > count or any(loses(data[at]) for at, loses in parts))
