"""Keys in a form that caches can look up: two keys have the same one exactly if they have the same bytes.

The *hashable* of a key is the key itself where Python's equality and hash agree with the encoding, and the encoded key
otherwise: for unhashable keys, for NaN (not equal to itself), and for bytes, so that an encoded key is never taken for
a key.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from penstock.keys import tags as tags
from penstock.keys.codec import decode_key, encode_key, encode_keys

PLAIN_TYPES = frozenset({str, int, bool, type(None)})
_ITEM_TYPES = PLAIN_TYPES | {bytes}
_PLAIN_TAGS = frozenset({tags.TAG_NONE, tags.TAG_INT, tags.TAG_BIG_INT, tags.TAG_FLOAT, tags.TAG_STR})


def hashable_of(key: Any) -> Hashable:
    """Return the hashable of a key; for `PLAIN_TYPES` that is the key itself, which a hot path may test first."""
    kind = type(key)
    if kind in PLAIN_TYPES or (kind is float and key == key):
        return key  # type: ignore[no-any-return]
    if kind is tuple and _ITEM_TYPES.issuperset(map(type, key)):
        return key  # type: ignore[no-any-return]
    return hashable_of_code(encode_key(key))


def hashable_of_code(code: bytes) -> Hashable:
    """Return the hashable of the key with this encoding."""
    # Decimal(1), an IntEnum or a named tuple must have the hashable of the plain value they are equal to.
    if code[0] in _PLAIN_TAGS:
        return decode_key(code)  # type: ignore[no-any-return]
    if code[0] == tags.TAG_TUPLE:
        plain = decode_key(code)
        if _ITEM_TYPES.issuperset(map(type, plain)):
            return plain  # type: ignore[no-any-return]
    return code


def codes_of(hashables: list[Hashable]) -> list[bytes]:
    """Return the encoded keys that hashables stand for."""
    return (
        [code_of(hashable) for hashable in hashables] if bytes in set(map(type, hashables)) else encode_keys(hashables)
    )


def code_of(hashable: Hashable) -> bytes:
    """Return the encoded key that a hashable stands for."""
    return hashable if type(hashable) is bytes else encode_key(hashable)
