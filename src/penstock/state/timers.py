"""Timers of one operator as rows of the ordered store; owns their order and when they are due, not the clock.

Row: ``02 op domain (1) timestamp (8, sign flipped) group (2) key namespace``. The domain comes before the group, so
that one scan gives all timers of a subtask in order of time. The value is empty, or the pickled key where the key
would lose its type in the row (True, 1.0).
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Hashable, Iterator
from typing import Any

from penstock.errors import StateError
from penstock.state.keyed import VOID_NAMESPACE, KeyedStateBackend
from penstock.state.keys import encode_key, keeps_type, read_key
from penstock.state.slots import slot_of
from penstock.state.store import prefix_end
from penstock.state.values import dump_value, load_value

EVENT = 0
PROCESSING = 1

_TIMER = b"\x02"
_TIME_START = 4
_KEY_START = 14  # row type, operator, domain, timestamp, group
_FLIP = 2**63
_BEFORE_ALL = -(2**63)
_AFTER_ALL = 2**63  # no timestamp is that late
_LABEL = "timer key"
_pack_time = struct.Struct(">Q").pack
_unpack_time = struct.Struct(">Q").unpack_from

Timer = tuple[int, Any, bytes]


class _Domain:
    """Timers of one domain.

    `first` is never later than the earliest timer, and equal to its timestamp when `is_exact`. `known` are timers that
    are certainly in the store. `inserted` are rows that came in while due timers are being given out.
    """

    __slots__ = ("first", "inserted", "is_exact", "known", "prefix")

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix
        self.known: set[tuple[int, Hashable, bytes]] = set()
        self.restart()

    def restart(self) -> None:
        self.first = _BEFORE_ALL
        self.is_exact = False
        self.inserted: list[bytes] | None = None
        self.known.clear()


class InternalTimers:
    """Event time and processing time timers for the keys of a backend, sharing its batches.

    There is at most one timer for a key, namespace and timestamp in each domain.
    """

    def __init__(self, backend: KeyedStateBackend) -> None:
        """Make the timers of the operator that `backend` belongs to."""
        self._backend = backend
        self._domains = tuple(_Domain(_TIMER + backend.operator + bytes([domain])) for domain in (EVENT, PROCESSING))
        backend.attach(self)

    def register(self, domain: int, timestamp: int, namespace: bytes = VOID_NAMESPACE) -> None:
        """Set a timer for the current key; setting it again changes nothing."""
        timers = self._domains[domain]
        timer = (timestamp, self._backend.key_slot, namespace)
        if timer in timers.known:
            return
        row = self._row(timers, timestamp, namespace)
        timers.known.add(timer)
        self._backend.cached += 1
        store = self._backend.store
        if store.get(row) is None:
            key = self._backend.current_key()
            store.put(row, b"" if keeps_type(key) else dump_value(key, _LABEL))
            if timestamp < timers.first:
                timers.first = timestamp
            if timers.inserted is not None:
                heapq.heappush(timers.inserted, row)

    def delete(self, domain: int, timestamp: int, namespace: bytes = VOID_NAMESPACE) -> None:
        """Remove a timer of the current key; an absent one is fine."""
        timers = self._domains[domain]
        row = self._row(timers, timestamp, namespace)
        timers.known.discard((timestamp, self._backend.key_slot, namespace))
        if self._backend.store.delete(row) and timestamp == timers.first:
            timers.is_exact = False

    def pop_due(self, domain: int, up_to: int) -> Iterator[Timer]:
        """Take out and give, in order, the timers up to a timestamp: (timestamp, key, namespace).

        Timers set meanwhile take part, and timers deleted before their turn do not fire. Timers of one timestamp
        come by key group and key.
        """
        timers = self._domains[domain]
        if up_to < timers.first:
            return iter(())
        return self._give_due(timers, up_to)

    def next_timestamp(self, domain: int) -> int | None:
        """Return the earliest timestamp, or None when there is no timer."""
        timers = self._domains[domain]
        if not timers.is_exact:
            self._find_first(timers)
        return None if timers.first == _AFTER_ALL else timers.first

    def count(self, domain: int) -> int:
        """Return the number of timers, by going over them."""
        return sum(1 for _ in self._backend.store.scan(self._domains[domain].prefix))

    def bind(self) -> None:
        """Start on the store the backend was bound to."""
        for timers in self._domains:
            timers.restart()

    def write(self) -> None:
        """Timers are in the store from the start: nothing is left to write."""

    def forget(self) -> None:
        """Drop what is remembered of the rows; they stay."""
        for timers in self._domains:
            timers.known.clear()

    def _row(self, timers: _Domain, timestamp: int, namespace: bytes) -> bytes:
        self._backend.check_key(_LABEL)
        group, code = self._backend.encoded(self._backend.key_slot)
        return timers.prefix + time_to_bytes(timestamp) + group + code + encode_key(namespace)

    def _give_due(self, timers: _Domain, up_to: int) -> Iterator[Timer]:
        if timers.inserted is not None:
            raise StateError("Due timers are being given out already: finish that before asking again.")
        timers.inserted = []
        timers.is_exact = False
        try:
            yield from self._take_rows(timers, timers.inserted, _end_of(timers.prefix, up_to))
            self._find_first(timers)
        finally:
            timers.inserted = None

    def _take_rows(self, timers: _Domain, inserted: list[bytes], end: bytes | None) -> Iterator[Timer]:
        store = self._backend.store
        rows = store.range(timers.prefix, end)
        ahead = next(rows, None)
        while True:
            if _is_next(inserted, ahead, end):
                row = heapq.heappop(inserted)
                value = store.get(row)
            elif ahead is not None:
                row, value = ahead
                ahead = next(rows, None)
            else:
                return
            # What the scan read ahead may be deleted by now, and a row may come both inserted and from the scan.
            if value is not None and store.delete(row):
                yield _read_timer(timers, row, value)

    def _find_first(self, timers: _Domain) -> None:
        row, _ = next(self._backend.store.scan(timers.prefix), (None, b""))
        timers.first = _AFTER_ALL if row is None else _time_in(row)
        timers.is_exact = True


def time_to_bytes(timestamp: int) -> bytes:
    """Return the bytes of a timer's time, which sort as the times do."""
    try:
        return _pack_time(timestamp + _FLIP)
    except (struct.error, TypeError):
        raise StateError(f"A timer needs a whole number of milliseconds in 64 bits, got {timestamp!r}.") from None


def time_from_bytes(data: bytes) -> int:
    """Return the time that `time_to_bytes` gave these bytes for."""
    time: int = _unpack_time(data)[0]
    return time - _FLIP


def _is_next(inserted: list[bytes], ahead: tuple[bytes, bytes] | None, end: bytes | None) -> bool:
    if not inserted or (end is not None and inserted[0] >= end):
        return False
    return ahead is None or inserted[0] <= ahead[0]


def _time_in(row: bytes) -> int:
    time: int = _unpack_time(row, _TIME_START)[0]
    return time - _FLIP


def _end_of(prefix: bytes, up_to: int) -> bytes | None:
    last = up_to + _FLIP + 1
    return prefix + _pack_time(last) if last < 2**64 else prefix_end(prefix)


def _read_timer(timers: _Domain, row: bytes, value: bytes) -> Timer:
    key, end = read_key(row, _KEY_START)
    namespace, _ = read_key(row, end)
    if value:
        key = load_value(value, _LABEL)
    time = _time_in(row)
    if timers.known:
        timers.known.discard((time, slot_of(key), namespace))
    return time, key, namespace
