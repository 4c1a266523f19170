"""The rows that an interval join keeps: in memory while a batch brings and joins them, in state from batch to batch.

State is map state by timestamp, in namespaces that are buckets of time as wide as the interval: whatever the time of a
row, its partners are in at most two buckets. Each key and time has a timer, at which the rows go. In an outer join a
second map has, by timestamp, the position of the first row without a partner. Partners are found by time, so rows of
one time that have one come before those that have none.

Rows that came in this batch, and buckets that were read, are in memory, in order of time. What comes and goes
within a batch is never state and sets no timer; the rest is written when the batch ends or the cache is full.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Any

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.typeinfo import Types
from penstock.runtime.kernels.rows_by_time import RowsByTime
from penstock.state.keyed import VOID_NAMESPACE, KeyedStateBackend
from penstock.state.map_state import KeyedMapState
from penstock.state.timers import EVENT, InternalTimers
from penstock.vocabulary.state import MapStateDescriptor

FEWEST_AT_ONCE = 1_000
"""Rows to come before it is worth a look at what the store has of all keys."""


class KeyRows(RowsByTime):
    """The rows of one side and key that are in memory.

    `fresh` has, by time, how many of them state does not have yet: the last ones of that time; `alone`, by time, the
    position among these of the first one without a partner, and `stored_alone` times at which state has one. `loaded`
    are the buckets that were read. The rows are those after watermark number `epoch`.
    """

    __slots__ = ("alone", "epoch", "fresh", "hashable", "key", "loaded", "stored_alone")

    def __init__(self, hashable: Hashable, key: Any, epoch: int) -> None:
        super().__init__()
        self.hashable = hashable
        self.key = key
        self.epoch = epoch
        self.loaded: set[int] = set()
        self.fresh: dict[int, int] = {}
        self.alone: dict[int, int] | None = None
        self.stored_alone: set[int] = set()

    def parted(self, time: int) -> tuple[list[Any], list[Any]]:
        """Return the rows of a time that were read from state, and those that state does not have: it is about to."""
        begin, end = self.between(time, time)
        middle = end - self.fresh.pop(time)
        return self.rows[begin:middle], self.rows[middle:end]

    def drop_until(self, time: int) -> list[int]:
        """Remove the rows up to a time."""
        gone = super().drop_until(time)
        for each in gone:
            self.fresh.pop(each, None)
        if self.stored_alone:
            self.stored_alone.difference_update(gone)
        return gone


class IntervalSide:
    """The rows of one input, for the current key where none is named.

    Rows are kept until the watermark reaches their time plus `retention`. A row of this side has its partners from
    `first` to `last` after its own time.
    """

    def __init__(
        self,
        backend: KeyedStateBackend,
        timers: InternalTimers,
        bounds: tuple[int, int],
        *,
        is_left: bool,
        is_outer: bool,
    ) -> None:
        name = "left" if is_left else "right"
        lower, upper = bounds
        self.is_left = is_left
        self.mark = name[:1].encode()
        self.first, self.last = (lower, upper) if is_left else (-upper, -lower)
        self.retention = max(self.last, 0)
        self._width = max(upper - lower + 1, 1)
        self._backend = backend
        self._timers = timers
        self._rows_name = f"_{name}_rows"
        self._rows: KeyedMapState = backend.get_map_state(_descriptor(self._rows_name))
        self._unmatched = backend.get_map_state(_descriptor(f"_{name}_unmatched")) if is_outer else None
        self._watermark = MIN_WATERMARK
        self._epoch = 0
        self.forget()
        backend.attach(self, writes_to_states=True)

    def forget(self) -> None:
        """Drop what is in memory."""
        self._keys: dict[Hashable, KeyRows] = {}
        self._stored: dict[int, bool] = {}
        self._waiting: dict[int, list[KeyRows]] = {}
        self._times: list[int] = []
        self._has_all = False
        self._next_attempt = FEWEST_AT_ONCE
        self._credit = self._count = self._counted = 0

    @property
    def is_outer(self) -> bool:
        """Return whether rows without a partner are results."""
        return self._unmatched is not None

    # A row comes in

    def near(self, hashable: Hashable, key: Any, first: int, last: int) -> tuple[KeyRows, int, int]:
        """Return the rows of the current key, and where in them those from `first` to `last` are."""
        held = self._keys.get(hashable)
        if held is None or held.epoch != self._epoch:
            held = self._held(held, hashable, key)
        bucket, last_bucket, loaded = first // self._width, last // self._width, held.loaded
        if not self._has_all and (bucket not in loaded or last_bucket not in loaded):
            self._load(held, bucket, last_bucket)
        times = held.times
        if not times or times[-1] < first:
            return held, 0, 0
        return (held, *held.between(first, last))

    def take(self, hashable: Hashable, key: Any, time: int, row: Any, *, has_partner: bool) -> None:
        """Add a row of the current key."""
        held = self._keys.get(hashable)
        if held is None or held.epoch != self._epoch:
            held = self._held(held, hashable, key)
        held.key = key
        held.add(time, row)
        self._count += 1
        position = held.fresh.get(time, 0)
        held.fresh[time] = position + 1
        if not has_partner and self._unmatched is not None:
            self._wait(held, time, position)

    def mark_matched(self, held: KeyRows, begin: int, end: int) -> None:
        """Note that rows of the current key, at these positions, have a partner."""
        alone, stored_alone = held.alone, held.stored_alone
        if not alone and not stored_alone:
            return
        for time in held.times[begin:end]:
            if alone:
                alone.pop(time, None)
            if stored_alone and time in stored_alone:
                assert self._unmatched is not None
                stored_alone.remove(time)
                self._enter(time // self._width)
                self._unmatched.remove(time)
        self._backend.set_namespace(VOID_NAMESPACE)

    def begin_block(self, count: int) -> None:
        """Note that so many rows come, and count those that were added to the cache before."""
        self._credit += count
        self._backend.cached += self._count - self._counted
        self._counted = self._count

    def _held(self, held: KeyRows | None, hashable: Hashable, key: Any) -> KeyRows:
        """Return the rows of a key as they are after the last watermark."""
        if held is None:
            held = self._keys[hashable] = KeyRows(hashable, key, self._epoch)
            self._count += 1
        else:
            self._prune(held)
        return held

    def _prune(self, held: KeyRows) -> None:
        """Remove what the last watermark has expired; what came since may be due, and stays until the next."""
        held.epoch = self._epoch
        self._count -= len(held.drop_until(self._expired_until()))

    def _expired_until(self) -> int:
        return MAX_WATERMARK if self._watermark == MAX_WATERMARK else self._watermark - self.retention

    # What is in state comes into memory

    def _load(self, held: KeyRows, *buckets: int) -> None:
        """Read buckets of the current key, or all that is stored."""
        for bucket in set(buckets).difference(held.loaded):
            held.loaded.add(bucket)
            if self._may_be_stored(bucket) and not self._load_all(held, bucket):
                self._enter(bucket)
                for time, rows in self._rows.items_once():
                    self._add_stored(held, time, rows)
                if self._unmatched is not None:
                    held.stored_alone |= {time for time, _ in self._unmatched.items_once()}
                self._backend.set_namespace(VOID_NAMESPACE)

    def _load_all(self, held: KeyRows, bucket: int) -> bool:
        """Read the rows of all keys, if they are few beside those that come: one by one they cost many times more."""
        if self._has_all or self._credit < self._next_attempt:
            return self._has_all
        self._next_attempt = self._credit * 2
        entries = self._rows.all_items(self._credit)
        if entries is None:
            return False
        held.loaded.remove(bucket)
        for hashable, namespace, time, rows in entries:
            found = self._of_stored(hashable)
            if int(namespace) not in found.loaded:
                self._add_stored(found, time, rows)
        alone = () if self._unmatched is None else self._unmatched.all_items(len(entries)) or ()
        for hashable, namespace, time, _ in alone:
            found = self._of_stored(hashable)
            if int(namespace) not in found.loaded:
                found.stored_alone.add(time)
        self._has_all = True
        return True

    def _of_stored(self, hashable: Hashable) -> KeyRows:
        held = self._keys.get(hashable)
        return held if held is not None and held.epoch == self._epoch else self._held(held, hashable, hashable)

    def _add_stored(self, held: KeyRows, time: int, rows: tuple[Any, ...]) -> None:
        held.add_earlier(time, rows)
        self._count += len(rows)

    def _may_be_stored(self, bucket: int) -> bool:
        """Return whether some key may have rows of a bucket in state: then there are timers that are as late."""
        found = self._stored.get(bucket)
        if found is None:
            due = max(self._due(bucket * self._width), MIN_WATERMARK)
            found = self._stored[bucket] = self._timers.has_any_from(EVENT, due)
        return found

    def _due(self, time: int) -> int:
        return min(time + self.retention, MAX_WATERMARK)

    def _enter(self, bucket: int) -> None:
        """Let the states mean a bucket of the current key; to be left for the void namespace before user code runs."""
        self._backend.set_namespace(b"%d" % bucket)

    # The watermark advances

    def _wait(self, held: KeyRows, time: int, position: int) -> None:
        """Have a row looked at when it is due: it may still be without a partner."""
        if held.alone is None:
            held.alone = {}
        elif time in held.alone:
            return
        held.alone[time] = position
        waiting = self._waiting.get(time)
        if waiting is None:
            self._waiting[time] = [held]
            heappush(self._times, time)
        else:
            waiting.append(held)

    def advance(self, watermark: int) -> None:
        """Let rows in memory expire. Those that stayed without a partner become state, and fire with its timers."""
        self._watermark = watermark
        self._epoch += 1
        with self._backend.other_keys() as go_to:
            while self._times and self._due(self._times[0]) <= watermark:
                time = heappop(self._times)
                for held in self._waiting.pop(time):
                    if held.alone and time in held.alone:
                        go_to(held.hashable, held.key)
                        self._keep(held, time)
            self._backend.set_namespace(VOID_NAMESPACE)

    def release(self, time: int) -> tuple[Any, ...]:
        """Remove the rows of a time from state, and return those that stayed without a partner, in an outer join."""
        self._enter(time // self._width)
        alone: tuple[Any, ...] = ()
        if self._unmatched is not None and self._unmatched.contains(time):
            alone = self._rows.held(time)[self._unmatched.get(time) :]
            self._unmatched.remove(time)
        self._rows.remove_once(time)
        self._backend.set_namespace(VOID_NAMESPACE)
        return alone

    # Memory becomes state

    def bind(self) -> None:
        """Start on another store: nothing is in memory at that point."""

    def write(self) -> None:
        """Make state and timers of what is in memory and has not expired, and forget it."""
        expired_until = self._expired_until()
        with self._backend.other_keys() as go_to:
            for held in self._keys.values():
                is_current = held.epoch == self._epoch
                times = [time for time in held.fresh if is_current or time > expired_until]
                if times:
                    go_to(held.hashable, held.key)
                for time in times:
                    self._keep(held, time)
            self._backend.set_namespace(VOID_NAMESPACE)
        self._backend.cached -= self._counted
        self.forget()

    def _keep(self, held: KeyRows, time: int) -> None:
        """Make state of the fresh rows of a time, and set their timer."""
        before, rows = held.parted(time)
        position = held.alone.pop(time, None) if held.alone else None
        bucket = time // self._width
        self._enter(bucket)
        if not self._has_all and bucket not in held.loaded and self._may_be_stored(bucket):
            before = self._rows.held(time) or []
        self._rows.hold_once(time, (*before, *rows))
        if position is not None:
            assert self._unmatched is not None
            if not before or not self._unmatched.contains(time):
                self._unmatched.hold_once(time, len(before) + position)
        # The rows' time is part of the name: it could not be told from a timer cut to the end of time.
        self._timers.register(EVENT, self._due(time), self.mark + b"%d" % time)

    # Other bounds

    def settle(self) -> None:
        """Put all rows into the buckets that they belong to, wherever another width has put them."""
        for key, namespace in self._backend.places(self._rows_name):
            self._backend.set_key(key)
            self._backend.set_namespace(namespace)
            held = [(time, rows) for time, rows in self._rows.items() if b"%d" % (time // self._width) != namespace]
            for time, rows in held:
                self._backend.set_namespace(namespace)
                self._move(time, rows)
        self._backend.set_namespace(VOID_NAMESPACE)

    def _move(self, time: int, rows: tuple[Any, ...]) -> None:
        unmatched = self._unmatched
        alone_from = None if unmatched is None else unmatched.get(time)
        self._rows.remove(time)
        if unmatched is not None and alone_from is not None:
            unmatched.remove(time)
        self._enter(time // self._width)
        self._rows.put(time, rows)
        if unmatched is not None and alone_from is not None:
            unmatched.put(time, alone_from)


def _descriptor(name: str) -> MapStateDescriptor:
    return MapStateDescriptor(name, Types.LONG(), Types.PICKLED_BYTE_ARRAY())
