"""Encoded values of state that lose something when they are shown as plain values.

A time with a zone is shown in UTC, an instant in microseconds, and a row without its kind: good to look at, but what is
written back would be something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.state.serializers.encoding import HEAD_BYTES, encoding_of
from penstock.state.serializers.schema_visitor import SchemaVisitor
from penstock.state.serializers.schemas import Schema

Loses = Callable[[Any], bool]


def lossy_value_test(written: Schema) -> Callable[[bytes], bool] | None:
    """Return a predicate for encoded values that lose information as plain values; None if no value can."""
    loses = _Losses().visit(written)
    if loses is None:
        return None
    encoding = encoding_of(written)
    return lambda data: data[:HEAD_BYTES] == encoding.head and loses(encoding.unpack(data))


class _Losses(SchemaVisitor[Loses | None]):
    """Which encoded data lose something; None where none can."""

    def of_simple(self, schema: Schema, kind: str) -> Loses | None:
        if kind == "SQL_TIMESTAMP":
            return lambda data: type(data) is str
        return (lambda data: data is not None and data[1] % 1000 != 0) if kind == "INSTANT" else None

    def of_list(self, schema: Schema, element: Loses | None) -> Loses | None:
        return _any_of(element, lambda data: data)

    def of_map(self, schema: Schema, key: Loses | None, value: Loses | None) -> Loses | None:
        return _either(_any_of(key, lambda data: data), _any_of(value, lambda data: data.values()))

    def of_fields(self, schema: Schema, fields: list[tuple[str, Loses | None]]) -> Loses | None:
        parts = [(at, loses) for at, (_, loses) in enumerate(fields) if loses is not None]
        # Only rows have a kind, but state of a dataclass may have been rows before.
        has_kind = schema["type"] != "TUPLE"
        if not parts and not has_kind:
            return None
        count = len(fields)
        return lambda data: data is not None and (len(data) > count or any(loses(data[at]) for at, loses in parts))


def _any_of(loses: Loses | None, items: Callable[[Any], Any]) -> Loses | None:
    return None if loses is None else lambda data: data is not None and any(map(loses, items(data)))


def _either(one: Loses | None, other: Loses | None) -> Loses | None:
    if one is None or other is None:
        return one or other
    return lambda data: one(data) or other(data)
