"""Where the partial matches of keys are between two events: rows of keyed state, of which only those that change are
written.

| state | row | object |
|---|---|---|
| `_cep_partials` | place in the list of partial matches | the partial match; None: the one that has not started |
| `_cep_partials` | -1 | next number of an event, of a link, number of links |
| `_cep_completed` | place in the list | a complete match that is held back |
| `_cep_links`, `_cep_events` | number | a link; an event |
| `_cep_shared_links`, `_cep_shared_events` | number | number of references, where there is more than one |
"""

from __future__ import annotations

from collections.abc import Hashable
from math import inf
from typing import Any

from penstock.common.typeinfo import Types
from penstock.keys.codec import encode_key
from penstock.runtime.operators.cep.matcher import NOT_STARTED, KeyRun, Partial
from penstock.runtime.operators.cep.order import StartQueue
from penstock.runtime.operators.cep.run_buffer import RunBuffer
from penstock.state.keyed import KeyedStateBackend
from penstock.state.map_state import KeyedMapState
from penstock.vocabulary.state import MapStateDescriptor

PARTIALS, COMPLETED = "_cep_partials", "_cep_completed"
STATES = (PARTIALS, COMPLETED, "_cep_links", "_cep_events", "_cep_shared_links", "_cep_shared_events")
_NUMBERS = -1
_NUMBERS_CODE = encode_key(_NUMBERS)
# So many objects, about, does the cache grow by with a change.
_ROWS_OF_CHANGE = 2
# An object in a row must not be None.
_START_ROW = (0,)


class _Kept:
    """The run of a key with what its rows hold."""

    __slots__ = ("buffer", "completed", "partials", "run")

    def __init__(self, run: KeyRun, partials: list[Partial], completed: list[Partial]) -> None:
        self.run = run
        assert isinstance(run.buffer, RunBuffer)
        self.buffer = run.buffer
        self.partials = partials
        self.completed = completed


class KeyRuns:
    """The runs of all keys of an operator. `is_ordered`: the place of a partial match in its list matters.

    A run that has changed is written with the rest of the state, once for all events since.
    """

    def __init__(self, backend: KeyedStateBackend, *, is_ordered: bool) -> None:
        self._backend = backend
        self._is_ordered = is_ordered
        self._kept: dict[Hashable, _Kept] = {}
        self._changed: dict[Hashable, _Kept] = {}
        # Keys that are known to have no rows.
        self._absent: set[Hashable] = set()
        backend.attach(self, writes_to_states=True)
        self._states: dict[str, KeyedMapState] = {name: backend.get_map_state(_descriptor(name)) for name in STATES}
        self._partials, self._completed, *self._buffers = self._states.values()
        # Most keys have begun nothing: they share this one until they do.
        self._idle = self._new_run((1, 1, 0))

    def _new_run(self, numbers: tuple[int, int, int]) -> KeyRun:
        run = KeyRun(RunBuffer(self._buffers, *numbers[:2]))
        run.next_event, run.next_link, run.size = numbers
        return run

    def busy(self, addresses: set[Hashable]) -> set[Hashable]:
        """Those of some keys that have begun a match."""
        found = addresses & self._kept.keys()
        unknown = list(addresses - found - self._absent)
        if unknown:
            rows = self._backend.rows(unknown, PARTIALS)
            get = self._backend.store.get
            self._backend.cached += len(unknown)
            for address, row in zip(unknown, rows, strict=True):
                if get(row + _NUMBERS_CODE) is None:
                    self._absent.add(address)
                else:
                    found.add(address)
        return found

    def current(self) -> KeyRun:
        """The run of the current key; `save` it when it has changed."""
        address = self._backend.address
        kept = self._kept.get(address)
        if kept is not None:
            return kept.run
        if address in self._absent:
            return self._idle
        numbers = self._partials.held(_NUMBERS)
        if numbers is not None:
            return self._load(numbers)
        self._absent.add(address)
        return self._idle

    def _load(self, numbers: tuple[int, int, int]) -> KeyRun:
        run = self._new_run(numbers)
        rows = [row for place, row in sorted(self._partials.held_items()) if place != _NUMBERS]
        partials = [NOT_STARTED if row == _START_ROW else row for row in rows]
        completed = [row for _, row in sorted(self._completed.held_items())]
        self._kept[self._backend.address] = _Kept(run, partials, completed)
        held = list(partials) if self._is_ordered else [*partials, NOT_STARTED]
        run.partials.items, run.completed.items = held, list(completed)
        return run

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
            self._idle = self._new_run((1, 1, 0))
            kept = self._kept[address] = _Kept(run, [], [])
            self._absent.discard(address)
        if run.is_idle:
            run.next_event = run.next_link = 1
            if not kept.partials and not kept.completed:  # no row was ever written
                del self._kept[address]
                self._changed.pop(address, None)
                self._absent.add(address)
                return self._idle
        self._changed[address] = kept
        return run

    def _write(self, address: Hashable, kept: _Kept) -> None:
        run = kept.run
        kept.buffer.write(run.next_event, run.next_link)
        if run.is_idle:
            del self._kept[address]
            self._absent.add(address)
            _write(self._partials, kept.partials, [])
            _write(self._completed, kept.completed, [])
            self._partials.remove(_NUMBERS)
            return
        partials = run.partials.items if self._is_ordered else _in_place(run.partials, kept.partials)
        _write(self._partials, kept.partials, partials)
        _write(self._completed, kept.completed, run.completed.items)
        kept.partials, kept.completed = list(partials), list(run.completed.items)
        self._partials.hold(_NUMBERS, (run.next_event, run.next_link, run.size))

    def drop_all(self) -> int:
        """Remove the runs of all keys; how many partial matches there were."""
        count = 0
        for name in STATES:
            for key, _ in self._backend.places(name):
                self._backend.set_key(key)
                if name in (PARTIALS, COMPLETED):
                    count += self.count_started(name)
                self._states[name].clear()
        self._backend.clear_key()
        self.forget()
        return count

    def count_started(self, name: str) -> int:
        """How many matches of the current key are in a state."""
        rows = self._states[name].held_items()
        return sum(1 for place, row in rows if place != _NUMBERS and row != _START_ROW)

    # ---- part of the backend's cache ----

    def bind(self) -> None:
        """Start on another store."""
        self.forget()

    def write(self) -> None:
        """Write the runs that have changed."""
        changed, self._changed = self._changed, {}
        if not changed:
            return
        with self._backend.other_keys() as go_to:
            for address, kept in changed.items():
                go_to(address)
                self._write(address, kept)

    def forget(self) -> None:
        """Drop the runs in memory."""
        self._kept.clear()
        self._changed.clear()
        self._absent.clear()


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
