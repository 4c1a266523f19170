"""Key groups of whole columns of numbers; owns how they are computed at once, not what they are.

The group of a number is that of its canonical bytes, as `penstock.state.groups` and `penstock.state.keys` define it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from penstock.state.keys import encode_key

_DIGIT = 16
_DIGITS = 64 // _DIGIT


def int_key_groups(numbers: npt.NDArray[np.int64], max_parallelism: int) -> npt.NDArray[np.uint32]:
    """The key group of each number, equal to `key_group(encode_key(number), max_parallelism)`."""
    # A key of 64 bits is a tag and eight bytes. The checksum of texts of one length is linear, so it is the sum (by
    # exclusive or) of what each sixteen bits add to the checksum of zero: four lookups instead of a text.
    mixed = np.full(len(numbers), crc32(encode_key(0)), np.uint32)
    words = numbers.astype(np.int64, copy=False).view(np.uint64)
    for place, table in enumerate(_tables()):
        digits = (words >> np.uint64(place * _DIGIT)) & np.uint64((1 << _DIGIT) - 1)
        mixed ^= table[digits]
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
