"""Canonical bytes of whole columns of keys: those that `penstock.keys.codec` gives key by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.keys import tags as tags
from penstock.keys.codec import encode_keys

__all__ = ["codes_of_columns", "int_codes"]

_INT_BYTES = 9
_REPEATED = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_boolean,
    pa.types.is_date32,
)
"""Types that Arrow and Python mean the same by equal values of: each value is encoded once."""


def codes_of_columns(parts: Sequence[Any], *, is_tuple: bool) -> list[bytes]:
    """The bytes of the keys that columns are the parts of; a part is an array of int64, or a column of Arrow."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return int_codes(parts, is_tuple=is_tuple)
    columns = [_codes_of_part(part) for part in parts]
    if not is_tuple:
        return columns[0]
    head = _tuple_head(len(parts))
    return [head + b"".join(codes) for codes in zip(*columns, strict=True)]


def int_codes(parts: Sequence[npt.NDArray[np.int64]], *, is_tuple: bool) -> list[bytes]:
    """The bytes of keys of whole numbers: all have the same length, so they are the rows of one table of bytes."""
    head = _tuple_head(len(parts)) if is_tuple else b""
    table = np.empty((len(parts[0]), len(head) + _INT_BYTES * len(parts)), np.uint8)
    table[:, : len(head)] = np.frombuffer(head, np.uint8)
    for place, part in enumerate(parts):
        start = len(head) + _INT_BYTES * place
        # Adding 2**63 turns the highest bit around.
        biased = part.astype(np.int64, copy=False).view(np.uint64) ^ np.uint64(tags.INT_OFFSET)
        table[:, start] = tags.TAG_INT
        table[:, start + 1 : start + _INT_BYTES] = biased.astype(">u8").view(np.uint8).reshape(-1, 8)
    codes: list[bytes] = table.view(f"V{table.shape[1]}").reshape(-1).tolist()
    return codes


def _tuple_head(count: int) -> bytes:
    assert count < tags.LONG_LENGTH, "a table has far fewer columns in its key"
    return bytes([tags.TAG_TUPLE, count])


def _codes_of_part(part: Any) -> list[bytes]:
    if isinstance(part, np.ndarray):
        return int_codes([part], is_tuple=False)
    if not any(is_kind(part.type) for is_kind in _REPEATED):
        return encode_keys(part.to_pylist())
    encoded = part.dictionary_encode(null_encoding="encode")
    known = encode_keys(encoded.dictionary.to_pylist())
    return [known[at] for at in encoded.indices.to_pylist()]
