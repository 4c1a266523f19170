"""Slots: hashable stand-ins for keys in caches; owns the rule that two keys share a slot only if they share bytes.

A slot is the key itself where Python's equality and hash agree with the encoding, and the encoded key otherwise: for
unhashable keys, for NaN (not equal to itself), and for bytes, so that an encoded key is never taken for a key.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from penstock.state import key_tags as tags
from penstock.state.keys import decode_key, encode_key, encode_keys

PLAIN_TYPES = frozenset({str, int, bool, type(None)})
_ITEM_TYPES = PLAIN_TYPES | {bytes}
_PLAIN_TAGS = frozenset({tags.TAG_NONE, tags.TAG_INT, tags.TAG_BIG_INT, tags.TAG_FLOAT, tags.TAG_STR})


def slot_of(key: Any) -> Hashable:
    """Return the slot of a key; for `PLAIN_TYPES` that is the key itself, which a hot path may test first."""
    kind = type(key)
    if kind in PLAIN_TYPES or (kind is float and key == key):
        return key  # type: ignore[no-any-return]
    if kind is tuple and _ITEM_TYPES.issuperset(map(type, key)):
        return key  # type: ignore[no-any-return]
    return slot_of_code(encode_key(key))


def slot_of_code(code: bytes) -> Hashable:
    """Return the slot of the key with this encoding."""
    # Decimal(1), an IntEnum or a named tuple must land in the slot of the plain value they are equal to.
    if code[0] in _PLAIN_TAGS:
        return decode_key(code)  # type: ignore[no-any-return]
    if code[0] == tags.TAG_TUPLE:
        plain = decode_key(code)
        if _ITEM_TYPES.issuperset(map(type, plain)):
            return plain  # type: ignore[no-any-return]
    return code


def codes_of(slots: list[Hashable]) -> list[bytes]:
    """Return the encoded keys that slots stand for."""
    return [code_of(slot) for slot in slots] if bytes in set(map(type, slots)) else encode_keys(slots)


def code_of(slot: Hashable) -> bytes:
    """Return the encoded key that a slot stands for."""
    return slot if type(slot) is bytes else encode_key(slot)
