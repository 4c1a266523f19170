"""Value, reducing and aggregating state: one object for each key and namespace; owns their caches, not the rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.state.serializers import StateSerializer
from penstock.state.ttl import FIRST_UNSTAMPED, without_stamp
from penstock.state.values import is_frozen

if TYPE_CHECKING:
    from penstock.state.keyed import KeyedStateBackend


class SingleObjectState:
    """One cached object for each slot; None means absent.

    An object that was read and can be changed in place is encoded again at each write, so that a change without
    `update` is kept, as it would be if no batch ended here.
    """

    kind: ClassVar[str]

    def __init__(self, backend: KeyedStateBackend, name: str, serializer: StateSerializer) -> None:
        """Make the state `name` of a backend."""
        self._backend = backend
        self.name = name
        self._dumps, self._loads = serializer.dumps, serializer.loads
        self._objects: dict[Hashable, Any] = {}
        self._changed: set[Hashable] = set()
        self._loaded_alone = 0
        self._is_prepared = False
        self._stored: dict[Hashable, bytes] = {}  # bytes in the store of objects that can be changed in place

    def clear(self) -> None:
        """Remove the object of the current key."""
        self._set(None)

    def bind(self) -> None:
        """Start on another store: nothing is cached at that point."""

    def write(self) -> None:
        """Write the objects that changed."""
        self._write_changed(list(self._changed))
        for slot, data in self._stored.items():
            if slot not in self._changed:
                self._stored[slot] = self._rewrite_object(slot, data)
        self._changed.clear()

    def forget(self) -> None:
        """Drop the cached objects."""
        self._objects.clear()
        self._changed.clear()
        self._stored.clear()
        self._is_prepared = False

    def _get(self) -> Any:
        slot = self._backend.slot
        try:
            return self._objects[slot]
        except KeyError:
            return self._load(slot)

    def _set(self, value: Any) -> None:
        slot = self._backend.slot
        if slot not in self._objects:
            self._backend.check_key(self.name)
            self._backend.cached += 1
        self._objects[slot] = value
        self._changed.add(slot)

    def _load(self, slot: Hashable) -> Any:
        backend = self._backend
        backend.check_key(self.name)
        self._loaded_alone += 1
        backend.cached += 1
        return self._remember(slot, backend.store.get(backend.row(slot, self.name)))

    def _remember(self, slot: Hashable, data: bytes | None) -> Any:
        value = None if data is None else self._decode(slot, data)
        if data is not None and not is_frozen(value):
            self._stored[slot] = data
        self._objects[slot] = value
        return value

    def prepare(self, slots: list[Hashable]) -> None:
        """Load the objects of slots together, if most of those used last had to be loaded one by one."""
        alone, self._loaded_alone = self._loaded_alone, 0
        if alone * 2 < len(slots) and not self._is_prepared:
            return
        self._is_prepared = True
        slots = [slot for slot in slots if slot not in self._objects]
        for slot, data in zip(slots, map(self._backend.store.get, self._backend.rows(slots, self.name)), strict=True):
            self._remember(slot, data)
        self._backend.cached += len(slots)

    def _write_changed(self, slots: list[Hashable]) -> None:
        store, objects, stored, encode = self._backend.store, self._objects, self._stored, self._encode
        entries = []
        for slot, row in zip(slots, self._backend.rows(slots, self.name) if slots else (), strict=True):
            value = objects[slot]
            if value is None:
                store.delete(row)
                stored.pop(slot, None)
                continue
            data = encode(slot, value)
            entries.append((row, data))
            if not is_frozen(value):
                stored[slot] = data
            elif stored:
                stored.pop(slot, None)
        store.put_many(entries)  # in no order: sorting costs more than the store gains by it

    def _rewrite_object(self, slot: Hashable, stored: bytes) -> bytes:
        data = self._encode(slot, self._objects[slot])
        if data != stored:
            self._backend.store.put(self._backend.row(slot, self.name), data)
        return data

    def _decode(self, slot: Hashable, data: bytes) -> Any:
        return self._loads(data if data[0] >= FIRST_UNSTAMPED else without_stamp(data))

    def _encode(self, slot: Hashable, value: Any) -> bytes:
        return self._dumps(value)


class KeyedValueState(SingleObjectState):
    """Keyed `ValueState`."""

    kind = "value"

    def value(self) -> Any:
        """Return the value of the current key, or None."""
        try:
            return self._objects[self._backend.slot]
        except KeyError:
            return self._load(self._backend.slot)

    def update(self, value: Any) -> None:
        """Set the value of the current key; None clears it."""
        # Same as _set: this and value() are the hottest calls of all, so they are spared a further one.
        slot = self._backend.slot
        if slot not in self._objects:
            self._backend.check_key(self.name)
            self._backend.cached += 1
        self._objects[slot] = value
        self._changed.add(slot)


class KeyedReducingState(SingleObjectState):
    """Keyed `ReducingState`."""

    kind = "reducing"

    def __init__(self, backend: KeyedStateBackend, name: str, serializer: StateSerializer, function: Any) -> None:
        """Make the state `name`, reduced by a function object or a plain callable."""
        super().__init__(backend, name, serializer)
        self._reduce: Callable[[Any, Any], Any] = getattr(function, "reduce", function)

    def get(self) -> Any:
        """Return the reduced value of the current key, or None when nothing was added."""
        return self._get()

    def add(self, value: Any) -> None:
        """Reduce `value` into the current key's value; None clears, as in Flink."""
        held = self._get()
        self._set(value if held is None or value is None else self._reduce(held, value))

    def take(self) -> Any:
        """Remove and return the reduced value."""
        held = self._get()
        self._set(None)
        return held

    def merge_taken(self, value: Any) -> None:
        """Reduce in what `take` gave in another namespace."""
        if value is not None:
            self.add(value)


class KeyedAggregatingState(SingleObjectState):
    """Keyed `AggregatingState`; what is kept is the accumulator."""

    kind = "aggregating"

    def __init__(self, backend: KeyedStateBackend, name: str, serializer: StateSerializer, function: Any) -> None:
        """Make the state `name`, aggregated by an `AggregateFunction`."""
        super().__init__(backend, name, serializer)
        self._function = function

    def get(self) -> Any:
        """Return the result for the current key, or None when nothing was added."""
        accumulator = self._get()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        """Add `value` to the current key's accumulator; None clears, as in Flink."""
        if value is None:
            self.clear()
            return
        accumulator = self._get()
        if accumulator is None:
            accumulator = self._function.create_accumulator()
        self._set(self._function.add(value, accumulator))

    def take(self) -> Any:
        """Remove and return the accumulator."""
        accumulator = self._get()
        self._set(None)
        return accumulator

    def merge_taken(self, accumulator: Any) -> None:
        """Merge in what `take` gave in another namespace."""
        if accumulator is not None:
            held = self._get()
            self._set(accumulator if held is None else self._function.merge(held, accumulator))
