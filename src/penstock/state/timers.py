"""Timers of one operator as rows of the ordered store.

Row: ``02 op domain (1) timestamp (8, sign flipped) group (2) key namespace``. The domain comes before the group, so
that one scan gives all timers of a subtask in order of time. The value is empty, or the pickled key where the key
would lose its type in the row (True, 1.0).

The earliest timers are held in memory, those that were set in this batch among them, and reach the store with the
other changes: one that is set and fires within a batch never does.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Hashable, Iterator
from itertools import islice
from typing import Any

from penstock.errors import StateError
from penstock.keys.codec import encode_key, keeps_type, read_key
from penstock.state.hashable_keys import hashable_of
from penstock.state.keyed import VOID_NAMESPACE, KeyedStateBackend
from penstock.state.store import prefix_end
from penstock.state.values import dump_value, load_value

EVENT = 0
PROCESSING = 1

_TIMER = b"\x02"
_TIME_START = 4
_KEY_START = 14  # row type, operator, domain, timestamp, group
_FLIP = 2**63
_BEFORE_ALL = -(2**63) - 1  # no timestamp is that early
_AFTER_ALL = 2**63  # nor that late
_READ_AT_ONCE = 10_000
_LABEL = "timer key"
_WITHIN = object()  # marks entries with a namespace: nothing a user can hold is equal to it
_pack_time = struct.Struct(">Q").pack
_unpack_time = struct.Struct(">Q").unpack_from

Timer = tuple[int, Any, bytes]
Bucket = dict[Hashable, bytes | None]
"""Timers of one timestamp, by hashable key and namespace: their row in the store, None if it is not there yet."""


class _Domain:
    """Timers of one domain.

    In memory, in `buckets`, are all whose row comes before `edge`, which has the timestamp `horizon`. `times` is a heap
    of timestamps that are or were in `buckets`; `fresh` are those with timers that the store lacks. `far` are rows
    behind the edge, and `removed` rows before it, that the store has yet to be told of. `originals` has keys that are
    not what is looked up. While timers of a timestamp are given out, it is `firing`.
    """

    __slots__ = (
        "buckets",
        "edge",
        "far",
        "firing",
        "fresh",
        "horizon",
        "is_disturbed",
        "originals",
        "prefix",
        "removed",
        "times",
    )

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix
        self.firing = _BEFORE_ALL
        self.restart()

    def restart(self) -> None:
        """Hold nothing, and know nothing of the store."""
        self.buckets: dict[int, Bucket] = {}
        self.times: list[int] = []
        self.fresh: set[int] = set()
        self.far: dict[bytes, bytes] = {}
        self.removed: list[bytes] = []
        self.originals: dict[tuple[int, Hashable], Any] = {}
        self.horizon = _BEFORE_ALL
        self.edge = self.prefix
        self.is_disturbed = True

    def first(self) -> int | None:
        """Return the earliest timestamp in memory."""
        while self.times:
            if self.buckets.get(self.times[0]):
                return self.times[0]
            self.buckets.pop(heapq.heappop(self.times), None)
        return None

    def bucket(self, timestamp: int) -> Bucket:
        """Return the timers of a timestamp, to be added to."""
        found = self.buckets.get(timestamp)
        if found is None:
            found = self.buckets[timestamp] = {}
            heapq.heappush(self.times, timestamp)
        return found


class InternalTimers:
    """Event time and processing time timers for the keys of a backend, sharing its batches.

    There is at most one timer for a key, namespace and timestamp in each domain.
    """

    def __init__(self, backend: KeyedStateBackend) -> None:
        """Make the timers of the operator that `backend` belongs to."""
        self._backend = backend
        self._domains = tuple(_Domain(_TIMER + backend.operator + bytes([domain])) for domain in (EVENT, PROCESSING))
        self._last_namespace = VOID_NAMESPACE, encode_key(VOID_NAMESPACE)
        backend.attach(self)

    def register(self, domain: int, timestamp: int, namespace: bytes = VOID_NAMESPACE) -> None:
        """Set a timer for the current key; setting it again changes nothing."""
        timers, hashable = self._domains[domain], self._backend.hashable_key
        entry = (_WITHIN, hashable, namespace) if namespace else hashable
        bucket = timers.buckets.get(timestamp)
        if bucket is None or entry not in bucket:
            self._add(timers, timestamp, entry)

    def delete(self, domain: int, timestamp: int, namespace: bytes = VOID_NAMESPACE) -> None:
        """Remove a timer of the current key; an absent one is fine."""
        self._backend.check_key(_LABEL)
        timers, hashable = self._domains[domain], self._backend.hashable_key
        entry = (_WITHIN, hashable, namespace) if namespace else hashable
        if self._is_near(timers, timestamp, entry):
            bucket = timers.buckets.get(timestamp, {})
            if entry in bucket:
                self._take(timers, timestamp, bucket, entry)
                if not bucket:
                    del timers.buckets[timestamp]
            return
        row = self._row(timers, timestamp, entry)
        if timers.far.pop(row, None) is not None:
            self._backend.cached -= 1
        self._backend.store.delete(row)

    def pop_due(self, domain: int, up_to: int) -> Iterator[Timer]:
        """Take out and give, in order, the timers up to a timestamp: (timestamp, key, namespace).

        Timers set meanwhile take part, and timers deleted before their turn do not fire. Timers of one timestamp
        come by key group and key.
        """
        timers = self._domains[domain]
        if timers.firing != _BEFORE_ALL:
            raise StateError("Due timers are already being fired: finish that first.")
        earliest = self._first(timers)
        return iter(()) if earliest is None or earliest > up_to else self._give_due(timers, up_to)

    def next_timestamp(self, domain: int) -> int | None:
        """Return the earliest timestamp, or None when there is no timer."""
        return self._first(self._domains[domain])

    def has_any_at(self, domain: int, timestamp: int) -> bool:
        """Tell whether any key has a timer at a timestamp."""
        timers = self._domains[domain]
        if timers.horizon == _BEFORE_ALL:
            self._read_ahead(timers)
        if timers.buckets.get(timestamp):
            return True
        if timestamp < timers.horizon:
            return False
        self._write(timers)
        start = timers.prefix + time_to_bytes(timestamp)
        return next(self._backend.store.range(start, prefix_end(start)), None) is not None

    def has_any_from(self, domain: int, timestamp: int) -> bool:
        """Tell whether any key has a timer at a timestamp or later."""
        timers = self._domains[domain]
        self._write(timers)
        rows = self._backend.store.range(timers.prefix + time_to_bytes(timestamp), prefix_end(timers.prefix))
        return next(rows, None) is not None

    def count(self, domain: int) -> int:
        """Return the number of timers, by going over them."""
        timers = self._domains[domain]
        self._write(timers)
        return sum(1 for _ in self._backend.store.scan(timers.prefix))

    def every(self, domain: int) -> list[Timer]:
        """Return all timers in order; for what has to be done once, as they may be many."""
        timers = self._domains[domain]
        self._write(timers)
        found = []
        for row, value in self._backend.store.scan(timers.prefix):
            key, end = read_key(row, _KEY_START)
            found.append((_time_in(row), load_value(value, _LABEL) if value else key, read_key(row, end)[0]))
        return found

    def bind(self) -> None:
        """Start on the store the backend was bound to."""
        self.forget()

    def write(self) -> None:
        """Tell the store of timers that were set, and of those that are gone."""
        for timers in self._domains:
            self._write(timers)

    def forget(self) -> None:
        """Drop what is in memory."""
        for timers in self._domains:
            timers.restart()

    def _add(self, timers: _Domain, timestamp: int, entry: Hashable) -> None:
        self._backend.check_key(_LABEL)
        key, hashable = self._backend.current_key(), self._backend.hashable_key
        if not self._is_near(timers, timestamp, entry):
            row = self._row(timers, timestamp, entry)
            if row not in timers.far:
                timers.far[row] = _value_of(key)
                self._backend.cached += 1
            return
        bucket = timers.bucket(timestamp)
        if entry in bucket:
            return
        bucket[entry] = None
        timers.fresh.add(timestamp)
        if key is not hashable:
            timers.originals[timestamp, entry] = key
        if timestamp <= timers.firing:
            timers.is_disturbed = True
        self._backend.cached += 1

    def _is_near(self, timers: _Domain, timestamp: int, entry: Hashable) -> bool:
        """Tell whether a timer belongs in memory, if there is one."""
        if timers.horizon == _BEFORE_ALL:
            self._read_ahead(timers)
        time_to_bytes(timestamp)  # refuses what is no time
        if timestamp != timers.horizon:
            return timestamp < timers.horizon
        return self._row(timers, timestamp, entry) < timers.edge

    def _row(self, timers: _Domain, timestamp: int, entry: Hashable) -> bytes:
        return timers.prefix + time_to_bytes(timestamp) + self._tail(entry)

    def _tail(self, entry: Hashable) -> bytes:
        hashable, namespace = _parts_of(entry)
        last, code = self._last_namespace
        if namespace != last:
            code = encode_key(namespace)
            self._last_namespace = namespace, code
        group, key = self._backend.encoded(hashable)
        return group + key + code

    def _first(self, timers: _Domain) -> int | None:
        found = timers.first()
        while found is None and timers.horizon != _AFTER_ALL:
            self._read_ahead(timers)
            found = timers.first()
        return found

    def _give_due(self, timers: _Domain, up_to: int) -> Iterator[Timer]:
        try:
            while (timestamp := self._first(timers)) is not None and timestamp <= up_to:
                timers.firing, timers.is_disturbed = timestamp, False
                bucket = timers.buckets[timestamp]
                for entry in self._ordered(bucket):
                    if entry in bucket:  # it may have been deleted meanwhile
                        yield self._take(timers, timestamp, bucket, entry)
                        if timers.is_disturbed:
                            break
        finally:
            timers.firing = _BEFORE_ALL

    def _ordered(self, bucket: Bucket) -> list[Hashable]:
        return sorted(bucket, key=self._tail) if len(bucket) > 1 else list(bucket)

    def _take(self, timers: _Domain, timestamp: int, bucket: Bucket, entry: Hashable) -> Timer:
        row = bucket.pop(entry)
        if row is None:
            self._backend.cached -= 1
        else:
            timers.removed.append(row)
        hashable, namespace = _parts_of(entry)
        key = timers.originals.pop((timestamp, entry), hashable) if timers.originals else hashable
        return timestamp, key, namespace

    def _read_ahead(self, timers: _Domain) -> None:
        """Bring the next timers into memory."""
        self._write(timers)
        timers.horizon, edge = _AFTER_ALL, timers.edge
        rows = self._backend.store.range(edge, prefix_end(timers.prefix))
        for row, value in islice(rows, _READ_AT_ONCE):
            self._remember(timers, row, value)
        behind = next(rows, None)
        if behind is not None:
            timers.horizon, timers.edge = _time_in(behind[0]), behind[0]

    def _remember(self, timers: _Domain, row: bytes, value: bytes) -> None:
        key, end = read_key(row, _KEY_START)
        namespace, _ = read_key(row, end)
        if value:
            key = load_value(value, _LABEL)
        hashable, timestamp = hashable_of(key), _time_in(row)
        entry = (_WITHIN, hashable, namespace) if namespace else hashable
        timers.bucket(timestamp)[entry] = row
        if key is not hashable:
            timers.originals[timestamp, entry] = key
        self._backend.cached += 1

    def _write(self, timers: _Domain) -> None:
        store = self._backend.store
        for row in timers.removed:
            store.delete(row)
        self._backend.cached -= len(timers.removed) + len(timers.far)
        timers.removed.clear()
        rows, timers.far = timers.far, {}
        for timestamp in timers.fresh:
            bucket = timers.buckets.get(timestamp, {})
            for entry in [entry for entry, row in bucket.items() if row is None]:
                key = timers.originals.get((timestamp, entry), _parts_of(entry)[0])
                bucket[entry] = row = self._row(timers, timestamp, entry)
                rows[row] = _value_of(key)
        timers.fresh.clear()
        store.put_many(sorted(rows.items()))


def _parts_of(entry: Hashable) -> tuple[Hashable, bytes]:
    """Return hashable key and namespace of an entry."""
    if type(entry) is tuple and entry and entry[0] is _WITHIN:
        return entry[1], entry[2]
    return entry, VOID_NAMESPACE


def _value_of(key: Any) -> bytes:
    return b"" if keeps_type(key) else dump_value(key, _LABEL)


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


def _time_in(row: bytes) -> int:
    time: int = _unpack_time(row, _TIME_START)[0]
    return time - _FLIP
