"""Time to live of state: what a configuration asks for and the stamp in front of a row's bytes.

A row of expiring state starts with its stamp: the milliseconds of its last access plus 2**62, 8 bytes big-endian. The
offset keeps the first byte between 0x20 and 0x5f, apart from that of a value (0x80 and above) and of a map entry whose
key follows (0x00); so rows written before a time to live was set, and after it was taken away, are told from others.
A list row whose elements have different stamps has the newest in front, then their number (4) and all of them (8 each).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.common.time import to_millis

if TYPE_CHECKING:
    from penstock.vocabulary.state import StateTtlConfig

_OFFSET = 2**62
_STAMP_BYTES = 8
_LOWEST, _HIGHEST = 0x20, 0x5F
FIRST_UNSTAMPED = 0x80
"""The bytes of a value, pickled or typed, start with this byte or a higher one."""

# Flink's number of entries looked at for each access, where none is chosen.
_DEFAULT_CLEANUP_SIZE = 5

_pack = struct.Struct(">Q").pack
_unpack = struct.Struct(">Q").unpack_from


@dataclass(frozen=True)
class TimeToLive:
    """What a `StateTtlConfig` asks for. A `cleanup_size` of 0 means that no sweep runs after every batch."""

    millis: int
    touches_on_read: bool
    returns_expired: bool
    cleanup_size: int
    sweeps_for_snapshots: bool


def time_to_live_of(descriptor: Any) -> TimeToLive | None:
    """Return the time to live that a descriptor asks for, or None when its state does not expire."""
    config: StateTtlConfig | None = getattr(descriptor, "ttl_config", None)
    if config is None or not config.is_enabled():
        return None
    strategies = config.get_cleanup_strategies()
    # Names, because the vocabulary lies above this package.
    return TimeToLive(
        millis=to_millis(config.get_ttl()),
        touches_on_read=config.get_update_type().name == "OnReadAndWrite",
        returns_expired=config.get_state_visibility().name == "ReturnExpiredIfNotCleanedUp",
        cleanup_size=_cleanup_size(strategies),
        sweeps_for_snapshots=strategies.in_full_snapshot(),
    )


def stamped(now_ms: int, data: bytes) -> bytes:
    """Return a row's bytes with the stamp of their last access in front."""
    return _pack(now_ms + _OFFSET) + data


def stamp_of(data: bytes) -> int | None:
    """Return the last access of a row, or None when the row was written without time to live."""
    return _unpack(data)[0] - _OFFSET if _LOWEST <= data[0] <= _HIGHEST else None


def without_stamp(data: bytes) -> bytes:
    """Return a row's bytes without the stamp, if they have one."""
    return data[_STAMP_BYTES:] if _LOWEST <= data[0] <= _HIGHEST else data


def stamped_list(stamps: Sequence[int], data: bytes) -> bytes:
    """Return the bytes of a list row with the stamps of its elements in front; there is at least one."""
    newest = max(stamps)
    if newest == min(stamps):
        return stamped(newest, data)
    count = len(stamps)
    return struct.pack(f">QI{count}Q", newest + _OFFSET, count, *(stamp + _OFFSET for stamp in stamps)) + data


def stamps_of_list(data: bytes) -> list[int] | int | None:
    """Return the stamps of a list row: one for each element, one for all, or None without time to live."""
    stamp = stamp_of(data)
    if stamp is None or data[_STAMP_BYTES] >= FIRST_UNSTAMPED:
        return stamp
    (count,) = struct.unpack_from(">I", data, _STAMP_BYTES)
    return [each - _OFFSET for each in struct.unpack_from(f">{count}Q", data, _STAMP_BYTES + 4)]


def list_without_stamps(data: bytes) -> bytes:
    """Return the bytes of a list row without stamps, if they have any."""
    bare = without_stamp(data)
    if bare[0] >= FIRST_UNSTAMPED:
        return bare
    (count,) = struct.unpack_from(">I", bare)
    return bare[4 + _STAMP_BYTES * count :]


def _cleanup_size(strategies: StateTtlConfig.CleanupStrategies) -> int:
    incremental = strategies.get_incremental_cleanup_strategy()
    if incremental is not None:
        return incremental.get_cleanup_size()
    has_filter = strategies.get_rocksdb_compact_filter_cleanup_strategy() is not None
    return _DEFAULT_CLEANUP_SIZE if has_filter else 0
