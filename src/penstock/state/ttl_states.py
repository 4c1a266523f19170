"""The five kinds of keyed state with a time to live.

Reading an expired object removes it, and gives it once more where expired objects may be returned. Each is a plain
state whose cached objects carry the milliseconds of their last access, so that an object that expires within a batch
is expired there too; plain state is spared all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from penstock.state.hashable_keys import PLAIN_TYPES, hashable_of, hashable_of_code
from penstock.state.list_state import CachedList, KeyedListState, ListRow
from penstock.state.map_state import CachedMap, Entry, KeyedMapState
from penstock.state.ttl import (
    TimeToLive,
    list_without_stamps,
    stamp_of,
    stamped,
    stamped_list,
    stamps_of_list,
)
from penstock.state.value_states import KeyedAggregatingState, KeyedReducingState, KeyedValueState, SingleObjectState

Clock = Callable[[], int]


class _ExpiringObjectState(SingleObjectState):
    """One object for each address, with the time of its last access."""

    def __init__(self, life: TimeToLive, clock: Clock, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._life = life
        self._clock = clock
        self._accessed: dict[Hashable, int] = {}

    def forget(self) -> None:
        """Drop the cached objects."""
        super().forget()
        self._accessed.clear()

    def held(self) -> Any:
        """Return the state's own object of the current key, unless it is expired."""
        address = self._backend.address
        try:
            value = self._objects[address]
        except KeyError:
            value = self._load(address)
        if value is None:
            return None
        now = self._clock()
        if self._accessed[address] + self._life.millis <= now:
            super().hold(None)
            return value if self._life.returns_expired else None
        if self._life.touches_on_read and self._accessed[address] != now:
            self._accessed[address] = now
            self._changed[address] = None
        return value

    def hold(self, value: Any) -> None:
        """Keep an object itself, from now on."""
        super().hold(value)
        self._accessed[self._backend.address] = self._clock()

    def _decode(self, address: Hashable, data: bytes) -> Any:
        accessed = stamp_of(data)
        if accessed is None:
            accessed = self._clock()
            self._changed[address] = None
        self._accessed[address] = accessed
        return super()._decode(address, data)

    def _encode(self, address: Hashable, value: Any) -> bytes:
        return stamped(self._accessed[address], self._dumps(value))


class ExpiringValueState(_ExpiringObjectState, KeyedValueState):
    """Keyed `ValueState` with a time to live."""

    def value(self) -> Any:
        """Return the value of the current key, or None."""
        return self._own(self.held())

    def update(self, value: Any) -> None:
        """Set the value of the current key; None clears it."""
        self.hold(self._own(value))


class ExpiringReducingState(_ExpiringObjectState, KeyedReducingState):
    """Keyed `ReducingState` with a time to live: what is added to an expired value starts anew."""


class ExpiringAggregatingState(_ExpiringObjectState, KeyedAggregatingState):
    """Keyed `AggregatingState` with a time to live: what is added to an expired accumulator starts a new one."""


class ExpiringListState(KeyedListState):
    """Keyed `ListState` whose elements expire one by one; what is cached are pairs of last access and element."""

    def __init__(self, life: TimeToLive, clock: Clock, *arguments: Any) -> None:
        """Make the state of a backend and a name."""
        super().__init__(*arguments)
        self._life = life
        self._clock = clock

    def hold(self, value: Any) -> None:
        """Append an element itself."""
        super().hold((self._clock(), value))

    def hold_all(self, values: Iterable[Any]) -> None:
        """Append elements themselves."""
        now = self._clock()
        super().hold_all([(now, value) for value in values])

    def replace(self, items: list[Any]) -> None:
        """Replace the current key's list by elements themselves."""
        now = self._clock()
        super().replace([(now, value) for value in items])

    def held(self) -> list[Any]:
        """Return the state's own elements of the current key that are not expired."""
        pairs = super().held()
        limit = self._clock() - self._life.millis
        live = [pair for pair in pairs if pair[0] > limit]
        if pairs and (self._life.touches_on_read or len(live) < len(pairs)):
            self._settle(self._current(), live, limit)
        return [value for _, value in (pairs if self._life.returns_expired else live)]

    def _settle(self, found: CachedList, live: list[Any], limit: int) -> None:
        """Keep what a read must keep. Flink removes expired elements of a list that is read when none is live."""
        if not live:
            found.replace([])
        elif self._life.touches_on_read:
            now = limit + self._life.millis
            found.replace([(now, value) for _, value in live])
        elif not self._life.returns_expired:
            found.rows = [row for row in found.rows or () if self._keep_live(row, limit)]
            found.pending = [pair for pair in found.pending if pair[0] > limit]

    def _keep_live(self, row: ListRow, limit: int) -> bool:
        """Remove a row of which all is expired; write it anew only when half of it is, so that reading stays cheap."""
        live = [pair for pair in row.items if pair[0] > limit]
        if not live:
            self._backend.store.delete(row.row)
            return False
        if 2 * len(live) <= len(row.items):
            row.items = live
            self._save(row)
        return True

    def _read(self, address: Hashable) -> list[ListRow]:
        rows = super()._read(address)
        for row in rows:
            if stamp_of(row.data) is None:
                self._save(row)
        return rows

    def _save(self, row: ListRow) -> None:
        row.data = self._encode(row.items)
        self._backend.store.put(row.row, row.data)

    def _decode(self, data: bytes) -> list[Any]:
        items = self._loads(list_without_stamps(data))
        stamps = stamps_of_list(data)
        if isinstance(stamps, list):
            return list(zip(stamps, items, strict=True))
        accessed = self._clock() if stamps is None else stamps
        return [(accessed, item) for item in items]

    def _encode(self, items: list[Any]) -> bytes:
        return stamped_list([stamp for stamp, _ in items], self._dumps([item for _, item in items]))


class ExpiringMapState(KeyedMapState):
    """Keyed `MapState` whose entries expire one by one; what is cached are map key, value and last access."""

    def __init__(self, life: TimeToLive, clock: Clock, *arguments: Any) -> None:
        """Make the state of a backend and a name."""
        super().__init__(*arguments)
        self._life = life
        self._clock = clock

    def held(self, key: Any) -> Any:
        """Return the state's own value of a map key, or None."""
        pair = self._pair(key)
        return None if pair is None else pair[1]

    def hold(self, key: Any, value: Any) -> None:
        """Set the value of a map key to an object itself."""
        entry = key if type(key) in PLAIN_TYPES else hashable_of(key)
        found = self._current()
        self._backend.cached += entry not in found.pairs
        found.set(entry, (key, value, self._clock()))

    def get(self, key: Any) -> Any:
        """Return the value of a map key, or None."""
        return self._own(self.held(key))

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a map key."""
        self.hold(self._own(key), self._own(value))

    def held_items(self) -> Iterator[tuple[Any, Any]]:
        """Iterate over pairs of map key and value, the state's own."""
        found = self._complete()
        return self._walk(found, found.in_order())

    def is_empty(self) -> bool:
        """Tell whether the map of the current key has no entry; expired ones count if they may be returned."""
        found = self._current()
        limit = self._limit()
        if any(held is not None and held[2] > limit for held in found.pairs.values()):
            return False
        return found.is_complete or not self._has_other_row(found)

    def _walk(self, found: CachedMap, entries: list[Hashable]) -> Iterator[tuple[Any, Any]]:
        for entry in entries:
            held = self._checked(found, entry)
            if held is not None:
                yield held[0], held[1]

    def _pair(self, key: Any) -> Entry | None:
        if super()._pair(key) is None:
            return None
        return self._checked(self._current(), key if type(key) in PLAIN_TYPES else hashable_of(key))

    def _checked(self, found: CachedMap, entry: Hashable) -> Entry | None:
        """Return a cached entry as a read finds it, which removes an expired one."""
        held = found.pairs.get(entry)
        if held is None:
            return None
        now = self._clock()
        if held[2] + self._life.millis <= now:
            found.set(entry, None)
            return held if self._life.returns_expired else None
        if self._life.touches_on_read and held[2] != now:
            found.set(entry, (held[0], held[1], now))
        return held

    def _limit(self) -> float:
        """Return the last access that is too long ago to count where emptiness is asked for."""
        return float("-inf") if self._life.returns_expired else self._clock() - self._life.millis

    def _has_other_row(self, found: CachedMap) -> bool:
        prefix = self._backend.row(found.address, self.name)
        limit = self._limit()
        for row, data in self._backend.store.scan(prefix):
            accessed = stamp_of(data)
            if (accessed is None or accessed > limit) and hashable_of_code(row[len(prefix) :]) not in found.pairs:
                return True
        return False

    def _remember(self, found: CachedMap, entry: Hashable, data: bytes) -> Entry:
        if stamp_of(data) is None:
            found.changed.add(entry)
        return super()._remember(found, entry, data)

    def _decode(self, code: bytes, data: bytes) -> Entry:
        accessed = stamp_of(data)
        key, value = super()._decode(code, data)
        return key, value, self._clock() if accessed is None else accessed

    def _encode(self, pair: Entry) -> bytes:
        return stamped(pair[2], super()._encode(pair[:2]))


EXPIRING: dict[str, Callable[..., Any]] = {
    "value": ExpiringValueState,
    "list": ExpiringListState,
    "map": ExpiringMapState,
    "reducing": ExpiringReducingState,
    "aggregating": ExpiringAggregatingState,
}
"""The class of each kind of state when it has a time to live."""
