"""Value, reducing and aggregating state: one object for each key and namespace."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.common.own_copies import ATOMS
from penstock.state.serializers import StateSerializer
from penstock.state.ttl import FIRST_UNSTAMPED, without_stamp

if TYPE_CHECKING:
    from penstock.state.keyed import KeyedStateBackend


class SingleObjectState:
    """One cached object for each address; None means absent.

    The cached objects are the state's own: user code gives and is given copies of what can be changed, so that state
    changes by its methods only, wherever batches end and whether or not an object is cached. Operators that know what
    they do with an object spare the copies by `held` and `hold`.
    """

    kind: ClassVar[str]

    def __init__(self, backend: KeyedStateBackend, name: str, serializer: StateSerializer) -> None:
        """Make the state `name` of a backend."""
        self._backend = backend
        self.name = name
        self._dumps, self._loads = serializer.dumps, serializer.loads
        self._dumps_unchecked = serializer.dumps_unchecked or serializer.dumps
        self._objects: dict[Hashable, Any] = {}
        self._changed: dict[Hashable, None] = {}  # in the order of change: neighbours are written together
        self._loaded_alone = 0
        self._is_prepared = False
        self._own = backend.own

    def trust(self) -> None:
        """Leave out the check of types from now on: values are an operator's own, who knows what they are."""
        self._dumps = self._dumps_unchecked

    def clear(self) -> None:
        """Remove the object of the current key."""
        self.hold(None)

    def bind(self) -> None:
        """Start on another store: nothing is cached at that point."""

    def write(self) -> None:
        """Write the objects that changed."""
        self._write_changed(list(self._changed))
        self._changed.clear()

    def forget(self) -> None:
        """Drop the cached objects."""
        self._objects.clear()
        self._changed.clear()
        self._is_prepared = False

    def held(self) -> Any:
        """Return the state's own object of the current key; whoever changes it must `hold` it after that."""
        address = self._backend.address
        try:
            return self._objects[address]
        except KeyError:
            return self._load(address)

    def hold(self, value: Any) -> None:
        """Keep an object itself: it must be nobody else's from now on."""
        address = self._backend.address
        if address not in self._objects:
            self._backend.check_key(self.name)
            self._backend.cached += 1
        self._objects[address] = value
        self._changed[address] = None

    def held_of_all(self, addresses: list[Hashable]) -> list[Any]:
        """Return what `held` does, for many keys without a namespace; see `KeyedStateBackend.addresses_of`."""
        objects = self._objects
        missing = [address for address in addresses if address not in objects]
        if missing:
            backend = self._backend
            for address, row in zip(missing, backend.rows(missing, self.name), strict=True):
                self._remember(address, backend.store.get(row))
            backend.cached += len(missing)
        return [objects[address] for address in addresses]

    @property
    def has_objects(self) -> bool:
        """Whether objects are cached, some of which may not be written yet."""
        return bool(self._objects)

    def loaded(self, data: bytes) -> Any:
        """Return the object of the bytes of a row."""
        return self._decode(None, data)

    def hold_of_all(self, addresses: list[Hashable], values: list[Any]) -> None:
        """Do what `hold` does, for many keys that `held_of_all` was asked for."""
        self._objects.update(zip(addresses, values, strict=True))
        self._changed.update(dict.fromkeys(addresses))

    def _load(self, address: Hashable) -> Any:
        backend = self._backend
        backend.check_key(self.name)
        self._loaded_alone += 1
        backend.cached += 1
        return self._remember(address, backend.store.get(backend.row(address, self.name)))

    def _remember(self, address: Hashable, data: bytes | None) -> Any:
        value = self._objects[address] = None if data is None else self._decode(address, data)
        return value

    def prepare(self, addresses: list[Hashable]) -> None:
        """Load the objects of addresses together, if most of those used last had to be loaded one by one."""
        alone, self._loaded_alone = self._loaded_alone, 0
        if alone * 2 < len(addresses) and not self._is_prepared:
            return
        self._is_prepared = True
        addresses = [address for address in addresses if address not in self._objects]
        for address, data in zip(
            addresses, map(self._backend.store.get, self._backend.rows(addresses, self.name)), strict=True
        ):
            self._remember(address, data)
        self._backend.cached += len(addresses)

    def _write_changed(self, addresses: list[Hashable]) -> None:
        store, objects, encode = self._backend.store, self._objects, self._encode
        entries = []
        for address, row in zip(addresses, self._backend.rows(addresses, self.name) if addresses else (), strict=True):
            value = objects[address]
            if value is None:
                store.delete(row)
            else:
                entries.append((row, encode(address, value)))
        store.put_many(entries)  # not sorted: that costs more than the store gains by it

    def _decode(self, address: Hashable, data: bytes) -> Any:
        return self._loads(data if data[0] >= FIRST_UNSTAMPED else without_stamp(data))

    def _encode(self, address: Hashable, value: Any) -> bytes:
        return self._dumps(value)


class KeyedValueState(SingleObjectState):
    """Keyed `ValueState`."""

    kind = "value"

    def value(self) -> Any:
        """Return the value of the current key, or None."""
        # Same as held: this and update() are the hottest calls of all, so they are spared a further one.
        try:
            value = self._objects[self._backend.address]
        except KeyError:
            value = self._load(self._backend.address)
        return value if value.__class__ in ATOMS else self._own(value)

    def update(self, value: Any) -> None:
        """Set the value of the current key; None clears it."""
        address = self._backend.address
        if address not in self._objects:
            self._backend.check_key(self.name)
            self._backend.cached += 1
        self._objects[address] = value if value.__class__ in ATOMS else self._own(value)
        self._changed[address] = None


class UncopiedValueState(KeyedValueState):
    """Keyed `ValueState` of values that cannot change, or that are shared: the same without a look at each of them."""

    def value(self) -> Any:
        """Return the value of the current key, or None."""
        try:
            return self._objects[self._backend.address]
        except KeyError:
            return self._load(self._backend.address)

    def update(self, value: Any) -> None:
        """Set the value of the current key; None clears it."""
        address = self._backend.address
        if address not in self._objects:
            self._backend.check_key(self.name)
            self._backend.cached += 1
        self._objects[address] = value
        self._changed[address] = None


class KeyedReducingState(SingleObjectState):
    """Keyed `ReducingState`."""

    kind = "reducing"

    def __init__(self, backend: KeyedStateBackend, name: str, serializer: StateSerializer, function: Any) -> None:
        """Make the state `name`, reduced by a function object or a plain callable."""
        super().__init__(backend, name, serializer)
        self._reduce: Callable[[Any, Any], Any] = getattr(function, "reduce", function)

    def get(self) -> Any:
        """Return the reduced value of the current key, or None when nothing was added."""
        return self._own(self.held())

    def add(self, value: Any) -> None:
        """Reduce `value` into the current key's value; None clears, as in Flink."""
        self.merge_taken(self._own(value)) if value is not None else self.clear()

    def take(self) -> Any:
        """Remove and return the reduced value."""
        held = self.held()
        self.hold(None)
        return held

    def merge_taken(self, value: Any) -> None:
        """Reduce in what is nobody else's, such as what `take` gave in another namespace."""
        if value is None:
            return
        held = self.held()
        if held is not None:
            reduced = self._reduce(held, value)
            # What the function got here may be kept; anything else may be the function's own.
            value = reduced if reduced is held or reduced is value else self._own(reduced)
        self.hold(value)


class KeyedAggregatingState(SingleObjectState):
    """Keyed `AggregatingState`; what is kept is the accumulator, which the function has to itself between two calls."""

    kind = "aggregating"

    def __init__(self, backend: KeyedStateBackend, name: str, serializer: StateSerializer, function: Any) -> None:
        """Make the state `name`, aggregated by an `AggregateFunction`."""
        super().__init__(backend, name, serializer)
        self._function = function

    def get(self) -> Any:
        """Return the result for the current key, or None when nothing was added."""
        accumulator = self.held()
        if accumulator is None:
            return None
        result = self._function.get_result(accumulator)
        if accumulator.__class__ not in ATOMS:
            # The function may have changed it, and finds it so the next time.
            self._changed[self._backend.address] = None
        return self._own(result)

    def add(self, value: Any) -> None:
        """Add `value` to the current key's accumulator; None clears, as in Flink."""
        if value is None:
            self.clear()
            return
        accumulator = self.held()
        if accumulator is None:
            accumulator = self._own(self._function.create_accumulator())
        self.hold(self._function.add(self._own(value), accumulator))

    def take(self) -> Any:
        """Remove and return the accumulator."""
        accumulator = self.held()
        self.hold(None)
        return accumulator

    def merge_taken(self, accumulator: Any) -> None:
        """Merge in what `take` gave in another namespace."""
        if accumulator is None:
            return
        held = self.held()
        self.hold(accumulator if held is None else self._function.merge(held, accumulator))
