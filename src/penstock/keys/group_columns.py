"""Key groups of whole columns of numbers and texts.

The group of a key is that of its canonical bytes, as `penstock.keys.groups` and `penstock.keys.codec` define it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.keys.codec import encode_key
from penstock.keys.tags import LONG_LENGTH, TAG_STR

_DIGIT = 16
_DIGITS = 64 // _DIGIT
_CHECKSUMS_OF_HEADS = [crc32(bytes([TAG_STR, length])) for length in range(LONG_LENGTH)]


def column_key_groups(keys: pa.Array, max_parallelism: int) -> npt.NDArray[Any] | None:
    """The key group of each key of a column; None for columns that have to be asked key by key."""
    if keys.null_count:
        return None
    if pa.types.is_signed_integer(keys.type):
        return int_key_groups(keys.to_numpy(), max_parallelism)
    if not pa.types.is_string(keys.type):
        return None
    encoded = keys.dictionary_encode()
    texts = encoded.dictionary.cast(pa.binary()).to_pylist()
    if max(map(len, texts)) >= LONG_LENGTH:
        return None
    groups: npt.NDArray[Any] = text_key_groups(texts, max_parallelism)[encoded.indices.to_numpy()]
    return groups


def text_key_groups(texts: list[bytes], max_parallelism: int) -> npt.NDArray[np.uint32]:
    """The key group of each text, given as UTF-8 of less than 255 bytes; as quick as to find it in a cache."""
    heads = _CHECKSUMS_OF_HEADS
    checksums = np.fromiter([crc32(text, heads[len(text)]) for text in texts], np.uint32, len(texts))
    return _groups(checksums, max_parallelism)


def int_key_groups(numbers: npt.NDArray[np.int64], max_parallelism: int) -> npt.NDArray[np.uint32]:
    """The key group of each number, equal to `key_group(encode_key(number), max_parallelism)`."""
    # A key of 64 bits is a tag and eight bytes. The checksum of texts of one length is linear, so it is the sum (by
    # exclusive or) of what each sixteen bits add to the checksum of zero: four lookups instead of a text.
    mixed = np.full(len(numbers), crc32(encode_key(0)), np.uint32)
    words = numbers.astype(np.int64, copy=False).view(np.uint64)
    for place, table in enumerate(_tables()):
        digits = (words >> np.uint64(place * _DIGIT)) & np.uint64((1 << _DIGIT) - 1)
        mixed ^= table[digits]
    return _groups(mixed, max_parallelism)


def _groups(mixed: npt.NDArray[np.uint32], max_parallelism: int) -> npt.NDArray[np.uint32]:
    mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    groups: npt.NDArray[np.uint32] = (mixed ^ (mixed >> np.uint32(16))) % np.uint32(max_parallelism)
    return groups


@lru_cache(maxsize=1)
def _tables() -> list[npt.NDArray[Any]]:
    """For each sixteen bits of a number, by their value: what they change in the checksum of zero."""
    zero = crc32(encode_key(0))
    tables = []
    for place in range(_DIGITS):
        table = np.zeros(1, np.uint32)
        for bit in range(_DIGIT):
            shift = place * _DIGIT + bit
            number = 1 << shift if shift < 63 else -(1 << 63)
            table = np.concatenate([table, table ^ np.uint32(crc32(encode_key(number)) ^ zero)])
        tables.append(table)
    return tables
