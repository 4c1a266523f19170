"""The sweep that removes expired rows of one state from the store.

Where it is lives in memory: in another process it starts from the first row. That costs some rows looked at twice and
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.state.store import OrderedStore
from penstock.state.ttl import TimeToLive, stamp_of, stamped

MIN_ROWS = 1_000
"""Rows looked at after a batch, however small the batch was."""

SNAPSHOT_BATCHES = 20
"""A state cleaned for snapshots is swept whole once in so many versions, about as often as a snapshot is written."""

_ALL = 2**63
_ROUNDS_PER_LIFE = 10

WalkFrom = Callable[[bytes], Iterator[tuple[bytes, bytes | None]]]
"""From a row, or from the first for b"": the state's rows in order, and rows of others that were met, without value."""


class Sweep:
    """Goes round the rows of one state, some after each batch."""

    def __init__(self, life: TimeToLive) -> None:
        """Start before the first row."""
        self._life = life
        self._cursor = b""
        self._oldest = 0  # last access of the row that will expire first, of those met in this round
        self._met = 0  # rows met in this round
        self._rests_until: int | None = None

    def restart(self) -> None:
        """Start anew: a batch was undone, so that removed rows and old stamps are back."""
        self._cursor = b""
        self._rests_until = None

    def run(self, store: OrderedStore, walk_from: WalkFrom, now_ms: int, *, version: int, records: int) -> None:
        """Remove what is expired among the rows whose turn it is after a batch of so many records."""
        life = self._life
        if life.sweeps_for_snapshots and version % SNAPSHOT_BATCHES == 0:
            self._cursor = b""
            self._walk(store, walk_from, now_ms, _ALL)
        elif life.cleanup_size and (self._rests_until is None or now_ms >= self._rests_until):
            self._walk(store, walk_from, now_ms, max(MIN_ROWS, records * life.cleanup_size))

    def _walk(self, store: OrderedStore, walk_from: WalkFrom, now_ms: int, left: int) -> None:
        """Look at the stamps of so many rows, at most to the end of the round."""
        if not self._cursor:
            self._oldest, self._met = now_ms, 0
        limit = now_ms - self._life.millis
        oldest, met = self._oldest, self._met + left
        for row, data in walk_from(self._cursor):
            if not left:
                self._cursor, self._oldest, self._met = row, oldest, met
                return
            left -= 1
            if data is None:
                continue
            stamp = stamp_of(data)
            if stamp is None:
                # Written before there was a time to live: its life starts now, or it would stay for ever.
                store.put(row, stamped(now_ms, data))
            elif stamp <= limit:
                store.delete(row)
            elif stamp < oldest:
                oldest = stamp
        self._end_round(oldest, met - left, now_ms)

    def _end_round(self, oldest: int, met: int, now_ms: int) -> None:
        self._cursor = b""
        # Whatever was written since the round began was accessed later than that: nothing expires before.
        self._rests_until = oldest + self._life.millis
        if met > MIN_ROWS:
            # In a large state something expires all the time. Rounds without pause would cost more than the records.
            self._rests_until = max(self._rests_until, now_ms + self._life.millis // _ROUNDS_PER_LIFE)
