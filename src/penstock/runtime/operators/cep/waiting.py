"""Events that wait for the watermark.

Most events come and are taken within one batch. They are in memory meanwhile, in the blocks that they came in; only
those that still wait at the end of a batch become rows of keyed state, by time, with a timer each that brings them
back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import compress, groupby
from operator import itemgetter
from typing import Any, NamedTuple

from penstock.common.typeinfo import Types
from penstock.state.hashable_keys import PLAIN_TYPES, hashable_of
from penstock.state.keyed import KeyedStateBackend
from penstock.state.timers import EVENT, InternalTimers
from penstock.vocabulary.state import MapStateDescriptor

_QUEUE = "_cep_queue"
_time_of = itemgetter(0)

Due = list[tuple[int, Any, bool | None]]
"""Time, event, and whether it may begin a match, if that was asked."""


class EventBlock(NamedTuple):
    """Events in the order they came, with their keys and times."""

    keys: list[Any]
    times: list[int]
    events: list[Any]

    def split(self, watermark: int) -> tuple[EventBlock, EventBlock]:
        """The events up to a watermark, and those after it."""
        is_due = [time <= watermark for time in self.times]
        due = EventBlock(*[list(compress(each, is_due)) for each in self])
        return due, EventBlock(*[list(compress(each, [not one for one in is_due])) for each in self])

    def hashable_keys(self) -> list[Hashable]:
        """The keys, or what stands for them in a dict."""
        if PLAIN_TYPES.issuperset(map(type, self.keys)):
            return self.keys
        return list(map(hashable_of, self.keys))


class WaitingEvents:
    """The events of all keys that wait. `order` sorts events of one time; None: as they came."""

    def __init__(
        self, backend: KeyedStateBackend, timers: InternalTimers, order: Callable[[Any], Any] | None = None
    ) -> None:
        self._backend = backend
        self._timers = timers
        self._order = order
        self._rows = backend.get_map_state(MapStateDescriptor(_QUEUE, Types.LONG(), Types.PICKLED_BYTE_ARRAY()))
        # With the earliest and the latest time of each, so that a watermark looks at events only where it must.
        self._blocks: list[tuple[int, int, EventBlock]] = []

    def begin(self) -> None:
        """A batch begins: what waits is in the rows."""
        self._blocks.clear()

    def add(self, block: EventBlock) -> None:
        """Let events wait."""
        if block.times:
            self._blocks.append((min(block.times), max(block.times), block))

    def taken_back(self, time: int) -> list[Any]:
        """Remove and return the events of a time of the current key that are in its rows."""
        rows = self._rows.held(time)
        if rows is None:
            return []
        self._rows.remove(time)
        return self.in_order(list(rows))

    def in_order(self, events: list[Any]) -> list[Any]:
        """Events of one time, in the order they are to be taken."""
        return events if self._order is None or len(events) == 1 else sorted(events, key=self._order)

    def due(self, watermark: int) -> EventBlock:
        """Remove and return the events in memory up to a watermark, in the order they came."""
        taken: list[EventBlock] = []
        waiting: list[tuple[int, int, EventBlock]] = []
        for first, last, block in self._blocks:
            if first > watermark:
                waiting.append((first, last, block))
            elif last <= watermark:
                taken.append(block)
            else:
                due, rest = block.split(watermark)
                taken.append(due)
                waiting.append((min(rest.times), last, rest))
        self._blocks = waiting
        return taken[0] if len(taken) == 1 else _joined(taken)

    def stored(self, watermark: int) -> dict[Hashable, tuple[Any, Due]]:
        """Remove and return what timers bring back from the rows, by key; also keys whose timer had no event."""
        stored: dict[Hashable, tuple[Any, Due]] = {}
        earliest = self._timers.next_timestamp(EVENT)
        if earliest is None or earliest > watermark:
            return stored
        for time, key, _ in self._timers.pop_due(EVENT, watermark):
            self._backend.set_key(key)
            _, found = stored.setdefault(self._backend.hashable_key, (key, []))
            found.extend((time, event, None) for event in self.taken_back(time))
        return stored

    def sorted(self, due: Due) -> Due:
        """Events of a key in the order they are to be taken."""
        if len(due) > 1:
            due.sort(key=_time_of)
            if self._order is not None:
                return [each for _, same in groupby(due, key=_time_of) for each in self._in_order(list(same))]
        return due

    def _in_order(self, same: Due) -> Due:
        order = self._order
        assert order is not None
        return same if len(same) == 1 else sorted(same, key=lambda each: order(each[1]))

    def keep(self, time: int, events: list[Any]) -> None:
        """Put events of the current key into its rows."""
        self._rows.hold(time, (*(self._rows.held(time) or ()), *events))

    def write(self) -> None:
        """The batch ends: what waits in memory becomes rows with timers."""
        blocks, self._blocks = self._blocks, []
        waiting = _joined([block for _, _, block in blocks])
        keys: dict[Hashable, tuple[Any, list[tuple[int, Any]]]] = {}
        for hashable, key, time, event in zip(waiting.hashable_keys(), *waiting, strict=True):
            keys.setdefault(hashable, (key, []))[1].append((time, event))
        for key, events in keys.values():
            self._backend.set_key(key)
            events.sort(key=_time_of)
            for time, same in groupby(events, key=_time_of):
                self.keep(time, [event for _, event in same])
                self._timers.register(EVENT, time)


def _joined(blocks: Iterable[EventBlock]) -> EventBlock:
    joined = EventBlock([], [], [])
    for block in blocks:
        for whole, part in zip(joined, block, strict=True):
            whole.extend(part)
    return joined
