"""Where the partial matches of keys are between two events: keyed state, of which only what changes is written.

| state | row | object |
|---|---|---|
| `_cep_run` | the key | a small run as a whole; of others next number of an event, of a link, number of links |

Most runs are a partial match or two: one row has all of them. A run of many links, or of large events, has rows for
its parts, of which those that change are written:

| state | row | object |
|---|---|---|
| `_cep_partials` | place in the list of partial matches | the partial match; (0,): the one that has not started |
| `_cep_completed` | place in the list | a complete match that is held back |
| `_cep_links`, `_cep_events` | number | a link; an event |
| `_cep_shared_links`, `_cep_shared_events` | number | number of references, where there is more than one |
"""

from __future__ import annotations

from collections.abc import Hashable
from math import inf
from typing import Any

from penstock.common.typeinfo import Types
from penstock.runtime.operators.cep.matcher import NOT_STARTED, KeyRun, Partial
from penstock.runtime.operators.cep.order import StartQueue
from penstock.runtime.operators.cep.run_buffer import RunBuffer
from penstock.state.keyed import KeyedStateBackend
from penstock.state.map_state import KeyedMapState
from penstock.state.serializers import serializer_for
from penstock.vocabulary.state import MapStateDescriptor, ValueStateDescriptor

RUN = "_cep_run"
PARTIALS, COMPLETED = "_cep_partials", "_cep_completed"
PARTS = (PARTIALS, COMPLETED, "_cep_links", "_cep_events", "_cep_shared_links", "_cep_shared_events")
# A run with more links, or more bytes, has rows for its parts.
_MOST_LINKS = 8
_MOST_BYTES = 2_048
# Keys whose rows are remembered from batch to batch: to make the name of a row costs more than to look it up.
_MOST_NAMES = 100_000
# So many objects, about, does the cache grow by with a change.
_ROWS_OF_CHANGE = 2
# An object in a row must not be None.
_START_ROW = (0,)
_NUMBERS = 3
"""A row of so many numbers is that of a run whose parts have rows."""


class _Kept:
    """The run of a key, and what its rows hold. `has_parts`: it has, or had, rows for its parts."""

    __slots__ = ("buffer", "completed", "has_parts", "is_written", "partials", "run")

    def __init__(self, run: KeyRun, *, is_written: bool) -> None:
        self.run = run
        assert isinstance(run.buffer, RunBuffer)
        self.buffer = run.buffer
        self.is_written = is_written
        self.has_parts = False
        self.partials: list[Partial] = []
        self.completed: list[Partial] = []


class KeyRuns:
    """The runs of all keys of an operator. `is_ordered`: the place of a partial match in its list matters.

    A run that has changed is written with the rest of the state, once for all events since.
    """

    def __init__(self, backend: KeyedStateBackend, *, is_ordered: bool) -> None:
        self._backend = backend
        self._is_ordered = is_ordered
        self._kept: dict[Hashable, _Kept] = {}
        self._changed: dict[Hashable, _Kept] = {}
        # Keys that are known to have no rows, and the bytes of runs that were found but not looked into.
        self._absent: set[Hashable] = set()
        self._found: dict[Hashable, bytes] = {}
        self._names: dict[Hashable, bytes] = {}
        backend.attach(self, writes_to_states=True)
        # This object is the cache of its rows.
        backend.get_value_state(ValueStateDescriptor(RUN, Types.PICKLED_BYTE_ARRAY()))
        serializer = serializer_for(Types.PICKLED_BYTE_ARRAY(), RUN)
        self._dumps, self._loads = serializer.dumps, serializer.loads
        self._parts: dict[str, KeyedMapState] = {name: backend.get_map_state(_descriptor(name)) for name in PARTS}
        self._partials, self._completed, *self._buffers = self._parts.values()
        # Most keys have begun nothing: they share this one until they do.
        self._idle = KeyRun(RunBuffer(self._buffers))

    def busy(self, addresses: set[Hashable]) -> set[Hashable]:
        """Those of some keys that have begun a match."""
        found = addresses & self._kept.keys()
        unknown = list(addresses - found - self._absent)
        if unknown:
            self._backend.cached += len(unknown)
            for address, data in zip(unknown, map(self._backend.store.get, self._rows_of(unknown)), strict=True):
                if data is None:
                    self._absent.add(address)
                else:
                    self._found[address] = data
                    found.add(address)
        return found

    def _rows_of(self, addresses: list[Hashable]) -> list[bytes]:
        """The rows of the runs of some keys."""
        names = self._names
        new = [address for address in addresses if address not in names]
        if new:
            if len(names) + len(new) > _MOST_NAMES:
                names.clear()
                new = addresses
            names.update(zip(new, self._backend.rows(new, RUN), strict=True))
        return [names[address] for address in addresses]

    def current(self) -> KeyRun:
        """The run of the current key; `save` it when it has changed."""
        address = self._backend.address
        kept = self._kept.get(address)
        if kept is not None:
            return kept.run
        if address in self._absent:
            return self._idle
        data = self._found.pop(address, None) or self._stored()
        if data is None:
            self._absent.add(address)
            return self._idle
        kept = self._kept[address] = self._made(self._loads(data))
        return kept.run

    def _stored(self) -> bytes | None:
        """What the row of the current key holds."""
        self._backend.cached += 1
        return self._backend.store.get(self._backend.row(self._backend.address, RUN))

    def _made(self, content: tuple[Any, ...]) -> _Kept:
        if len(content) == _NUMBERS:
            return self._of_parts(*content)
        *numbers, partials, completed, rows = content
        run = KeyRun(RunBuffer(self._buffers, rows=rows))
        run.next_event, run.next_link, run.size = numbers
        self._fill(run, partials, completed)
        return _Kept(run, is_written=True)

    def _of_parts(self, next_event: int, next_link: int, size: int) -> _Kept:
        run = KeyRun(RunBuffer(self._buffers, next_event, next_link))
        run.next_event, run.next_link, run.size = next_event, next_link, size
        kept = _Kept(run, is_written=True)
        kept.has_parts = True
        rows = [row for _, row in sorted(self._partials.held_items())]
        kept.partials = [NOT_STARTED if row == _START_ROW else row for row in rows]
        kept.completed = [row for _, row in sorted(self._completed.held_items())]
        self._fill(run, kept.partials, kept.completed)
        return kept

    def _fill(self, run: KeyRun, partials: list[Partial], completed: list[Partial]) -> None:
        if self._is_ordered:
            run.partials.items = [NOT_STARTED if partial[-1] == inf else partial for partial in partials]
        else:
            run.partials.items = [*partials, NOT_STARTED]
        run.completed.items = list(completed)

    def save(self, run: KeyRun) -> KeyRun:
        """Take note that the run of the current key has changed; the run to go on with."""
        self._backend.cached += _ROWS_OF_CHANGE
        address = self._backend.address
        kept = self._kept.get(address)
        if kept is None:
            if run.is_idle:
                run.next_event = run.next_link = 1
                return run
            assert run is self._idle
            self._idle = KeyRun(RunBuffer(self._buffers))
            kept = self._kept[address] = _Kept(run, is_written=False)
            self._absent.discard(address)
        if run.is_idle:
            run.next_event = run.next_link = 1
            if not kept.is_written:
                del self._kept[address]
                self._changed.pop(address, None)
                self._absent.add(address)
                return self._idle
        self._changed[address] = kept
        return run

    def _bytes_of(self, kept: _Kept) -> bytes | None:
        """The bytes of a run that fits one row."""
        run = kept.run
        if kept.has_parts or run.size > _MOST_LINKS:
            return None
        items = run.partials.items
        partials = items if self._is_ordered else [partial for partial in items if partial[4] != inf]
        numbers = run.next_event, run.next_link, run.size
        data: bytes = self._dumps((*numbers, partials, run.completed.items, kept.buffer.in_memory()))
        return data if len(data) <= _MOST_BYTES else None

    def _write_parts(self, kept: _Kept) -> None:
        """Write what has changed of a run to the rows of the current key."""
        run = kept.run
        kept.buffer.write(run.next_event, run.next_link)
        completed = run.completed.items
        partials: list[Any] = []
        if not run.is_idle:
            partials = run.partials.items if self._is_ordered else _in_place(run.partials, kept.partials)
        _write(self._partials, kept.partials, partials)
        _write(self._completed, kept.completed, completed)
        kept.partials, kept.completed, kept.has_parts = list(partials), list(completed), True

    def drop_all(self) -> int:
        """Remove the runs of all keys; how many partial matches there were."""
        count = 0
        for key, _ in self._backend.places(RUN):
            self._backend.set_key(key)
            count += self.clear()
        self._backend.clear_key()
        self.forget()
        return count

    def clear(self) -> int:
        """Remove the rows of the run of the current key; how many partial and complete matches were in them."""
        row = self._backend.row(self._backend.address, RUN)
        data = self._backend.store.get(row)
        if data is None:
            return 0
        kept = self._made(self._loads(data))
        self._backend.store.delete(row)
        if kept.has_parts:
            for state in self._parts.values():
                state.clear()
        return started(kept.run)

    # ---- part of the backend's cache ----

    def bind(self) -> None:
        """Start on another store."""
        self.forget()

    def write(self) -> None:
        """Write the runs that have changed."""
        changed, self._changed = self._changed, {}
        if not changed:
            return
        gone: list[Hashable] = []
        there: dict[Hashable, bytes] = {}
        with self._backend.other_keys() as go_to:
            for address, kept in changed.items():
                is_idle = kept.run.is_idle
                data = None if is_idle else self._bytes_of(kept)
                if data is None and (kept.has_parts or not is_idle):
                    go_to(address)
                    self._write_parts(kept)
                if is_idle:
                    del self._kept[address]
                    gone.append(address)
                else:
                    run = kept.run
                    there[address] = data or self._dumps((run.next_event, run.next_link, run.size))
                    kept.is_written = True
        self._absent.update(gone)
        store = self._backend.store
        store.put_many(list(zip(self._rows_of(list(there)), there.values(), strict=True)))
        for row in self._rows_of(gone):
            store.delete(row)

    def forget(self) -> None:
        """Drop the runs in memory."""
        self._kept.clear()
        self._changed.clear()
        self._absent.clear()
        self._found.clear()


def started(run: KeyRun) -> int:
    """How many partial and complete matches a run has."""
    return sum(1 for partial in run.partials.items if partial[4] != inf) + len(run.completed)


def _descriptor(name: str) -> MapStateDescriptor:
    return MapStateDescriptor(name, Types.LONG(), Types.PICKLED_BYTE_ARRAY())


def _in_place(partials: StartQueue, known: list[Partial]) -> list[Partial]:
    """Partial matches in an order in which those that have stayed are where they were; the start is left out."""
    started = [partial for partial in partials.items if partial[4] != inf]
    if len(started) == len(known) and all(a is b for a, b in zip(started, known, strict=True)):
        return started
    staying = {id(partial) for partial in started}
    places: list[Any] = [partial if id(partial) in staying else None for partial in known[: len(started)]]
    placed = {id(partial) for partial in places if partial is not None}
    moving = iter([partial for partial in started if id(partial) not in placed])
    ordered = [next(moving) if partial is None else partial for partial in places]
    ordered.extend(moving)
    partials.items = [*ordered, NOT_STARTED]
    return ordered


def _write(rows: KeyedMapState, known: list[Partial], now: list[Partial]) -> None:
    for place, partial in enumerate(now):
        if place >= len(known) or known[place] is not partial:
            rows.hold(place, _START_ROW if partial[4] == inf else partial)
    for place in range(len(now), len(known)):
        rows.remove(place)
