"""Key groups: the unit in which keyed state moves between subtasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

from penstock.errors import ConfigurationError

MAX_PARALLELISM_LIMIT = 32768
_DEFAULT_LOWER_BOUND = 128
_MASK = 0xFFFFFFFF


def key_group(key_bytes: bytes, max_parallelism: int) -> int:
    """Return the key group of an encoded key: the same in every process and release."""
    # crc32 is linear, so near keys have near sums; Murmur3's finaliser spreads them.
    mixed = crc32(key_bytes)
    mixed = ((mixed ^ (mixed >> 16)) * 0x85EBCA6B) & _MASK
    mixed = ((mixed ^ (mixed >> 13)) * 0xC2B2AE35) & _MASK
    return (mixed ^ (mixed >> 16)) % max_parallelism


def key_groups(keys_bytes: Sequence[bytes], max_parallelism: int) -> list[int]:
    """Return the key groups of many encoded keys: those that `key_group` gives, in a fraction of the time."""
    mixed: Any = np.fromiter(map(crc32, keys_bytes), np.uint32, len(keys_bytes))
    mixed = (mixed ^ (mixed >> 16)) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> 13)) * np.uint32(0xC2B2AE35)
    groups: list[int] = ((mixed ^ (mixed >> 16)) % np.uint32(max_parallelism)).tolist()
    return groups


def default_max_parallelism(parallelism: int) -> int:
    """Return Flink's default: the next power of two of one and a half times, from 128 to 32768."""
    check_parallelism(parallelism, MAX_PARALLELISM_LIMIT)
    wanted = parallelism + parallelism // 2
    return min(max(1 << (wanted - 1).bit_length(), _DEFAULT_LOWER_BOUND), MAX_PARALLELISM_LIMIT)


def subtask_of(group: int, parallelism: int, max_parallelism: int) -> int:
    """Return the subtask that owns a key group."""
    return group * parallelism // max_parallelism


def group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """Return the key groups a subtask owns."""
    start = -(-subtask * max_parallelism // parallelism)
    stop = ((subtask + 1) * max_parallelism - 1) // parallelism + 1
    return range(start, stop)


def check_parallelism(parallelism: int, max_parallelism: int) -> None:
    """Refuse a parallelism or maximum parallelism that no job can have."""
    if not 1 <= max_parallelism <= MAX_PARALLELISM_LIMIT:
        raise ConfigurationError(f"Max parallelism is {max_parallelism}: set it between 1 and {MAX_PARALLELISM_LIMIT}.")
    if not 1 <= parallelism <= max_parallelism:
        raise ConfigurationError(f"Parallelism is {parallelism}: set it between 1 and {max_parallelism}.")
