"""Key groups of whole columns of keys.

The group of a key is that of its canonical bytes, as `penstock.keys.groups` and `penstock.keys.codec` define it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.keys.code_columns import codes_of_columns
from penstock.keys.codec import encode_key
from penstock.keys.groups import key_groups
from penstock.keys.tags import LONG_LENGTH, TAG_STR

_DIGIT = 16
_DIGITS = 64 // _DIGIT
_LOW_BITS = (1 << _DIGIT) - 1
_CHECKSUMS_OF_HEADS = [crc32(bytes([TAG_STR, length])) for length in range(LONG_LENGTH)]


def column_key_groups(keys: pa.Array, max_parallelism: int) -> npt.NDArray[Any] | None:
    """The key group of each key of a column; None for columns that have to be asked key by key."""
    if pa.types.is_struct(keys.type):
        parts = [_part(each) for each in keys.flatten()]
        return None if not parts else groups_of_columns(parts, is_tuple=True, max_parallelism=max_parallelism)
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


def groups_of_columns(
    parts: Sequence[Any], *, is_tuple: bool, max_parallelism: int, codes: list[bytes] | None = None
) -> npt.NDArray[Any]:
    """The key group of each key that columns are the parts of; a part is an array of int64, or a column of Arrow.

    `codes` are the bytes of the keys, if they are known.
    """
    if all(isinstance(part, np.ndarray) for part in parts):
        return _groups(_checksums(parts, is_tuple=is_tuple), max_parallelism)
    codes = codes_of_columns(parts, is_tuple=is_tuple) if codes is None else codes
    return np.array(key_groups(codes, max_parallelism), np.uint32)


def _part(column: pa.Array) -> Any:
    is_whole = pa.types.is_signed_integer(column.type) and not column.null_count
    return column.to_numpy() if is_whole else column


def int_key_groups(numbers: npt.NDArray[np.int64], max_parallelism: int) -> npt.NDArray[np.uint32]:
    """The key group of each number, equal to `key_group(encode_key(number), max_parallelism)`."""
    return _groups(_checksums([numbers], is_tuple=False), max_parallelism)


def _checksums(parts: Sequence[npt.NDArray[np.int64]], *, is_tuple: bool) -> npt.NDArray[np.uint32]:
    """The checksums of the bytes of keys of whole numbers."""
    # A number of 64 bits is a tag and eight bytes. The checksum of texts of one length is linear, so it is the sum (by
    # exclusive or) of what each sixteen bits add to the checksum of zeros: four lookups instead of a text.
    width = len(parts) if is_tuple else 0
    mixed = np.full(len(parts[0]), crc32(_code_of(width, 0, 0)), np.uint32)
    for item, numbers in enumerate(parts):
        words = numbers.astype(np.int64, copy=False).view(np.uint64)
        varied = int(np.bitwise_or.reduce(words ^ words[0])) if len(words) else 0
        for place, table in enumerate(_tables(width, item)):
            if varied >> (place * _DIGIT) & _LOW_BITS:
                mixed ^= table[(words >> np.uint64(place * _DIGIT)) & np.uint64(_LOW_BITS)]
            elif len(words):  # as the high bits of most columns: they are the same everywhere
                mixed ^= table[int(words[0]) >> (place * _DIGIT) & _LOW_BITS]
    return mixed


def _groups(mixed: npt.NDArray[np.uint32], max_parallelism: int) -> npt.NDArray[np.uint32]:
    mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    groups: npt.NDArray[np.uint32] = (mixed ^ (mixed >> np.uint32(16))) % np.uint32(max_parallelism)
    return groups


def _code_of(width: int, item: int, number: int) -> bytes:
    """The bytes of a tuple of so many zeros with a number in one place; without a width, of the number itself."""
    return encode_key(tuple([number if at == item else 0 for at in range(width)]) if width else number)


@lru_cache(maxsize=16)
def _tables(width: int, item: int) -> list[npt.NDArray[Any]]:
    """For each sixteen bits of a number, by their value: what they change in the checksum of zeros."""
    zero = crc32(_code_of(width, item, 0))
    tables = []
    for place in range(_DIGITS):
        table = np.zeros(1, np.uint32)
        for bit in range(_DIGIT):
            shift = place * _DIGIT + bit
            number = 1 << shift if shift < 63 else -(1 << 63)
            table = np.concatenate([table, table ^ np.uint32(crc32(_code_of(width, item, number)) ^ zero)])
        tables.append(table)
    return tables
