"""Rows in LMDB: keys of any length, in order.

LMDB keys have at most 511 bytes, so a longer key is stored as its first 479 bytes and a digest, with the whole key
before the value. Keys that share those 479 bytes are put in order when they are read, so scans are right for keys of
any length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Any

Entry = tuple[bytes, bytes]

_DIGEST_BYTES = 32
DIRECT_BYTES = 511 - _DIGEST_BYTES
"""Keys up to this length are stored as they are."""

_FIRST_CHUNK = 16
_LAST_CHUNK = 512


def stored_key(key: bytes) -> bytes:
    """Return what a key of more than `DIRECT_BYTES` is stored as."""
    return key[:DIRECT_BYTES] + sha256(key).digest()


def packed_value(key: bytes, value: bytes) -> bytes:
    """Return the stored value of such a key."""
    return len(key).to_bytes(4, "big") + key + value


def unpacked(packed: bytes) -> Entry:
    """Return key and value of such a stored value."""
    end = 4 + int.from_bytes(packed[:4], "big")
    return packed[4:end], packed[end:]


def read_row(transaction: Any, key: bytes) -> bytes | None:
    """Return the value of a key, or None."""
    if len(key) <= DIRECT_BYTES:
        value: bytes | None = transaction.get(key)
        return value
    packed = transaction.get(stored_key(key))
    return None if packed is None else unpacked(packed)[1]


def write_row(transaction: Any, key: bytes, value: bytes | None) -> None:
    """Set the value of a key; None removes it."""
    is_direct = len(key) <= DIRECT_BYTES
    if value is None:
        transaction.delete(key if is_direct else stored_key(key))
    elif is_direct:
        transaction.put(key, value)
    else:
        transaction.put(stored_key(key), packed_value(key, value))


def read_range(cursor: Callable[[], Any], start: bytes, stop: bytes | None) -> Iterator[Entry]:
    """Iterate over entries with start <= key < stop, in order; `cursor` gives the one to use for the next few."""
    size = _FIRST_CHUNK
    while True:
        chunk, is_last = _read_chunk(cursor(), start, stop, size)
        yield from chunk
        if is_last:
            return
        start = chunk[-1][0] + b"\x00"
        size = min(size * 2, _LAST_CHUNK)


def _read_chunk(cursor: Any, start: bytes, stop: bytes | None, size: int) -> tuple[list[Entry], bool]:
    found = cursor.set_range(start[:DIRECT_BYTES]) if start else cursor.first()
    if size > _FIRST_CHUNK and found:
        # A long scan: most of what it meets in the next few rows will be wanted.
        ahead = list(islice(cursor.iternext(), size))
        if len(start) <= DIRECT_BYTES and max([len(stored) for stored, _ in ahead]) <= DIRECT_BYTES:
            return _before(ahead, stop, len(ahead) < size)
        found = cursor.set_range(start[:DIRECT_BYTES]) if start else cursor.first()
    chunk: list[Entry] = []
    while found:
        stored, value = cursor.item()
        if len(stored) <= DIRECT_BYTES:
            found = cursor.next()
            entries = [(stored, value)]
        else:
            entries, found = _read_siblings(cursor, stored[:DIRECT_BYTES])
        for entry in entries:
            if stop is not None and entry[0] >= stop:
                return chunk, True
            if entry[0] >= start:
                chunk.append(entry)
        if len(chunk) >= size:
            return chunk, False
    return chunk, True


def _before(entries: list[Entry], stop: bytes | None, is_last: bool) -> tuple[list[Entry], bool]:
    if stop is not None and entries[-1][0] >= stop:
        return entries[: bisect_left(entries, (stop,))], True
    return entries, is_last


def _read_siblings(cursor: Any, stem: bytes) -> tuple[list[Entry], bool]:
    """Read the long keys with this beginning, from the cursor on; digests have no order, so sort."""
    entries = []
    found = True
    while found and cursor.key().startswith(stem):
        entries.append(unpacked(cursor.value()))
        found = cursor.next()
    return sorted(entries), found
