"""Canonical bytes of keys as plain data: no class is looked up, so bytes of strangers can be shown.

An enum member becomes its name, a flag its number, a row the dict or list of its values. A dataclass becomes a dict, if
its fields are given; without them nobody knows how many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.errors import KeyEncodingError
from penstock.keys import tags
from penstock.keys.decoding import read_key, read_length

_MOST_NESTED = 50

Fields = Mapping[tuple[str, str], list[str]]
"""The fields of dataclasses that make their keys, by module and name of the class."""

_NO_CLASS: Fields = {}


def plain_key(data: bytes) -> Any:
    """Return a key as plain data; raises `KeyEncodingError` for one that needs its class."""
    return read_plain_key(data, 0)[0]


def read_plain_key(data: bytes, offset: int, fields: Fields = _NO_CLASS, depth: int = 0) -> tuple[Any, int]:
    """Return the key that starts at `offset` as plain data, and the offset just after it."""
    if depth > _MOST_NESTED or offset >= len(data):
        raise KeyEncodingError("Key bytes are damaged: they are cut off or nested without end.")
    tag = data[offset]
    if tag in (tags.TAG_TUPLE, tags.TAG_LIST, tags.TAG_SET):
        return _read_items(data, offset + 1, fields, depth)
    if tag == tags.TAG_DICT:
        return _read_pairs(data, offset + 1, fields, depth)
    if tag in (tags.TAG_ENUM, tags.TAG_FLAG):
        _, after_module = read_plain_key(data, offset + 1, fields, depth + 1)
        _, after_name = read_plain_key(data, after_module, fields, depth + 1)
        return read_plain_key(data, after_name, fields, depth + 1)
    if tag == tags.TAG_ROW:
        (_, names, values), end = read_plain_key(data, offset + 1, fields, depth + 1)
        return (dict(zip(names, values, strict=True)) if names else values), end
    if tag == tags.TAG_DATACLASS:
        return _read_dataclass(data, offset + 1, fields, depth)
    return read_key(data, offset)


def _read_items(data: bytes, offset: int, fields: Fields, depth: int) -> tuple[list[Any], int]:
    count, offset = read_length(data, offset)
    items = []
    for _ in range(count):
        item, offset = read_plain_key(data, offset, fields, depth + 1)
        items.append(item)
    return items, offset


def _read_pairs(data: bytes, offset: int, fields: Fields, depth: int) -> tuple[list[Any], int]:
    count, offset = read_length(data, offset)
    pairs = []
    for _ in range(count):
        key, offset = read_plain_key(data, offset, fields, depth + 1)
        value, offset = read_plain_key(data, offset, fields, depth + 1)
        pairs.append([key, value])
    return pairs, offset


def _read_dataclass(data: bytes, offset: int, fields: Fields, depth: int) -> tuple[dict[str, Any], int]:
    module, offset = read_plain_key(data, offset, fields, depth + 1)
    name, offset = read_plain_key(data, offset, fields, depth + 1)
    names = fields.get((module, name))
    if names is None:
        raise KeyEncodingError(f"A key of class {module}.{name} cannot be shown without the class")
    values = {}
    for field in names:
        values[field], offset = read_plain_key(data, offset, fields, depth + 1)
    return values, offset
