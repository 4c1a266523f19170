"""Keyed state of one operator: the current key, the states by name and their write-back cache.

The store and its versions belong to the caller, who binds one for each batch. Rows (op: 2 bytes, numbers big-endian):

    meta        00 op 's' name              -> kind (1) state id (4)
                00 op 'e'                   -> last epoch that list rows were written in (8)
                00 op 't' role number name  -> schema that rows of the state may have; see `state.stored_schemas`
    keyed       01 op group (2) state id (4) key namespace suffix    -> bytes of the object; see `penstock.state.ttl`
    timers      02 op ...                   see `penstock.state.timers`

A state's id is a hash of its name, the same in every subtask, so that rows can be dealt out anew.
Key and namespace are self-delimited (`penstock.keys.codec`). The suffix is empty for value, reducing and aggregating
state, the encoded map key for map state, and epoch (8) counter (4) for list state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from penstock.common.own_copies import itself, own_copies, own_copy
from penstock.errors import StateError
from penstock.keys.codec import encode_key, read_key
from penstock.keys.groups import check_parallelism, key_group, key_groups
from penstock.state.addresses import NO_KEY, SCOPE, CachedPart, has_namespace
from penstock.state.declarations import SchemasByRole, StateDeclaration, describe_state, serializers_of
from penstock.state.hashable_keys import PLAIN_TYPES, code_of, codes_of, hashable_of
from penstock.state.list_state import KeyedListState
from penstock.state.map_state import KeyedMapState
from penstock.state.serializers import StateSerializer
from penstock.state.state_ids import META, new_state_id, read_ids, write_id
from penstock.state.store import OrderedStore
from penstock.state.stored_schemas import StoredSchemas
from penstock.state.ttl import time_to_live_of
from penstock.state.ttl_states import EXPIRING
from penstock.state.ttl_sweep import Sweep
from penstock.state.typed_states import fits_of, typed_state_class
from penstock.state.value_states import (
    KeyedAggregatingState,
    KeyedReducingState,
    KeyedValueState,
    SingleObjectState,
    UncopiedValueState,
)

VOID_NAMESPACE = b""
_VOID_CODE = encode_key(VOID_NAMESPACE)
_KEYED = b"\x01"
_MANY_MISSED = 8  # one key in so many that had to be looked up alone is worth looking them up together
_HEAD_BYTES = 9  # up to the key: row type, operator, group, state id
UNCHANGEABLE = frozenset({"BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "BIG_INT", "FLOAT", "DOUBLE", "STRING"})
"""Types of state whose values need no copy."""

GoTo = Callable[..., None]
"""Makes a key the current one, by its address and, where it is another object, the key itself."""

KeyedState = KeyedValueState | KeyedListState | KeyedMapState | KeyedReducingState | KeyedAggregatingState
S = TypeVar("S", KeyedValueState, KeyedListState, KeyedMapState, KeyedReducingState, KeyedAggregatingState)


class KeyedStateBackend:
    """States of one operator for the current key and namespace.

    Objects read or written are cached until `flush`. When more than `cache_limit` are cached, the next `set_key`
    writes and drops them: at that point no user code is between reading an object and changing it in place.
    """

    __slots__ = (
        "_cache_limit",
        "_clock",
        "_counter",
        "_described",
        "_encoded",
        "_epoch",
        "_epoch_written",
        "_head",
        "_ids",
        "_key",
        "_last_namespace",
        "_max_parallelism",
        "_missed",
        "_operator",
        "_parts",
        "_schemas",
        "_states",
        "_store",
        "_sweeps",
        "_version",
        "address",
        "cached",
        "hashable_key",
        "namespace",
        "own",
        "own_all",
    )

    def __init__(
        self,
        max_parallelism: int,
        cache_limit: int = 300_000,
        *,
        operator_index: int = 0,
        clock: Callable[[], int] | None = None,
        shares_objects: bool = False,
    ) -> None:
        """Make the backend of operator number `operator_index` in its vertex; rows of two numbers never meet.

        `clock` gives processing time in milliseconds; only state with a time to live needs it. With `shares_objects`
        user code gives and gets the objects of the state themselves.
        """
        self.own = itself if shares_objects else own_copy
        self.own_all = itself if shares_objects else own_copies
        check_parallelism(1, max_parallelism)
        self._max_parallelism = max_parallelism
        self._cache_limit = cache_limit
        self._operator = operator_index.to_bytes(2, "big")
        self._head = _KEYED + self._operator
        self._states: dict[str, KeyedState] = {}
        self._schemas = StoredSchemas(self._operator)
        self._parts: list[CachedPart] = []
        self._clock = clock
        self._sweeps: dict[str, Sweep] = {}
        self._described: dict[str, dict[str, Any]] = {}
        self._version = -1
        self._store: OrderedStore | None = None
        self._ids: dict[str, tuple[str, bytes]] = {}
        self._encoded: dict[Hashable, tuple[bytes, bytes]] = {}
        self._epoch = 0
        self._epoch_written = False
        self._counter = 0
        self._last_namespace = VOID_NAMESPACE, _VOID_CODE
        self._key: Any = NO_KEY
        self._missed = 0
        self.cached = 0
        self.hashable_key: Hashable = NO_KEY
        self.address: Hashable = NO_KEY
        self.namespace = VOID_NAMESPACE

    # Life of a batch

    def bind(self, store: OrderedStore, version: int) -> None:
        """Work on `store` from now on, with nothing cached and no current key; `version` is the one being made."""
        self._forget()
        self._store = store
        self._key = self.hashable_key = self.address = NO_KEY
        self.namespace = VOID_NAMESPACE
        self._ids = read_ids(store, self._operator)
        self._schemas.bind(store)
        for name, state in self._states.items():
            self._check_kind(name, state.kind)
            self._schemas.settle(name, is_stored=name in self._ids)
        self._start_epoch(store, version)
        self._start_sweeps(version)
        for part in self._parts:
            part.bind()

    def flush(self) -> None:
        """Write everything that changed to the store and empty the caches."""
        self.write()
        self._forget()

    def end_batch(self, records: int) -> None:
        """Flush, and remove what is expired among rows whose turn it is: the more, the more records came in."""
        self.flush()
        self._sweep(records)

    def end_version(self, records: int) -> None:
        """Do what `end_batch` does, and keep what is cached where that is right; `go_on` begins the next version."""
        if self._sweeps:  # removes rows behind the back of what is cached
            self.end_batch(records)
        else:
            self.write()

    def go_on(self, version: int) -> None:
        """Begin the next version with the store of the last one."""
        self._start_epoch(self.store, version)
        self._start_sweeps(version)
        for state in self._states.values():
            if isinstance(state, KeyedListState):
                state.forget()  # each version adds a row to a list, and only reading makes one row of them again

    def _sweep(self, records: int) -> None:
        for name, sweep in self._sweeps.items():
            if name in self._ids and self._clock is not None:
                walk_from = partial(self._rows_of_state, self._ids[name][1])
                sweep.run(self.store, walk_from, self._clock(), version=self._version, records=records)

    def write(self) -> None:
        """Write everything that changed to the store; the caches stay."""
        for part in self._parts:
            part.write()

    def unbind(self) -> None:
        """Let go of the store; what was not flushed is dropped."""
        self._forget()
        self._store = None
        self._key = self.hashable_key = self.address = NO_KEY

    @property
    def store(self) -> OrderedStore:
        """Return the store bound now."""
        if self._store is None:
            raise StateError(
                "Keyed state was used outside a batch: use it only while an element or timer is processed."
            )
        return self._store

    @property
    def max_parallelism(self) -> int:
        """Return how many key groups there are."""
        return self._max_parallelism

    @property
    def operator(self) -> bytes:
        """Return the two bytes that tell this operator's rows from others."""
        return self._operator

    # Current key

    def set_key(self, key: Any) -> None:
        """Make `key` the current key."""
        if self.cached > self._cache_limit:
            self.flush()
        self._key = key
        hashable = key if type(key) in PLAIN_TYPES else hashable_of(key)
        self.hashable_key = hashable
        self.address = (SCOPE, hashable, self.namespace) if self.namespace else hashable

    def walk(self, keys: list[Any]) -> Iterator[Any]:
        """Make one key after the other the current one, as `set_key` does, and give it.

        A generator is resumed in less time than a method is called, and this is done for every record.
        """
        if self.namespace or not PLAIN_TYPES.issuperset(map(type, keys)):
            for key in keys:
                self.set_key(key)
                yield key
            return
        if self._missed * _MANY_MISSED > len(keys):
            self._prepare(keys)
        limit, self._missed = self._cache_limit, 0
        for key in keys:
            if self.cached > limit:
                self.flush()
            self._key = self.hashable_key = self.address = key
            yield key

    def addresses_of(self, keys: list[Any]) -> list[Hashable]:
        """Return the addresses of many keys without a namespace, for work on all of them; there is no current key."""
        self.make_room()
        return keys if PLAIN_TYPES.issuperset(map(type, keys)) else list(map(hashable_of, keys))

    def make_room(self) -> None:
        """Begin work on many keys without a namespace; there is no current key."""
        assert not self.namespace, "keys of a namespace have addresses of their own"
        self.clear_key()
        if self.cached > self._cache_limit:
            self.flush()

    def _prepare(self, keys: list[Any]) -> None:
        """Read together what the keys of a block will need, if the block before has shown that most of them are new."""
        new = [*set(keys).difference(self._encoded)]
        self._encode(new)
        for state in self._states.values():
            if isinstance(state, SingleObjectState):
                state.prepare(new)
        self._missed = len(new)

    @contextmanager
    def other_keys(self) -> Iterator[GoTo]:
        """Work on other keys, by their addresses, and come back to the current one; nothing is flushed meanwhile.

        The key itself is to be told too where timers are set.
        """
        before = self._key, self.hashable_key, self.address

        def go_to(address: Hashable, key: Any = None) -> None:
            self._key = address if key is None else key
            self.hashable_key = self.address = address

        try:
            yield go_to
        finally:
            self._key, self.hashable_key, self.address = before

    def clear_key(self) -> None:
        """Have no current key: what is processed next belongs to none."""
        self._key = self.hashable_key = self.address = NO_KEY

    def current_key(self) -> Any:
        """Return the current key."""
        if self._key is NO_KEY:
            raise StateError("There is no current key: this is only known while a keyed element or timer is processed.")
        return self._key

    def set_namespace(self, namespace: bytes) -> None:
        """Make `namespace` the current one for all states; `VOID_NAMESPACE` outside windows."""
        self.namespace = namespace
        self.address = (SCOPE, self.hashable_key, namespace) if namespace else self.hashable_key

    # States

    def get_value_state(self, descriptor: Any) -> KeyedValueState:
        """Return the value state a descriptor names."""
        return self._register(descriptor, KeyedValueState)

    def get_list_state(self, descriptor: Any) -> KeyedListState:
        """Return the list state a descriptor names."""
        return self._register(descriptor, KeyedListState)

    def get_map_state(self, descriptor: Any) -> KeyedMapState:
        """Return the map state a descriptor names."""
        return self._register(descriptor, KeyedMapState)

    def get_reducing_state(self, descriptor: Any) -> KeyedReducingState:
        """Return the reducing state a descriptor names."""
        return self._register(descriptor, KeyedReducingState, descriptor.get_reduce_function())

    def get_aggregating_state(self, descriptor: Any) -> KeyedAggregatingState:
        """Return the aggregating state a descriptor names."""
        return self._register(descriptor, KeyedAggregatingState, descriptor.get_agg_function())

    def attach(self, part: CachedPart, *, writes_to_states: bool = False) -> None:
        """Let `part` share bind, flush and the bound of the cache; before the states if what it writes is theirs."""
        self._parts.insert(0 if writes_to_states else len(self._parts), part)
        if self._store is not None:
            part.bind()

    def state(self, name: str) -> KeyedState:
        """Return the state of a name that was asked for before."""
        found = self._states.get(name)
        if found is None:
            known = ", ".join(sorted(self._states)) or "none"
            raise StateError(f"There is no state {name!r}; states of this operator: {known}.")
        return found

    def declarations(self) -> dict[str, StateDeclaration]:
        """Return what is declared of each state that was asked for, by name."""
        return {name: self._schemas.declared(name, state.kind) for name, state in self._states.items()}

    def stored_schemas(self) -> dict[str, SchemasByRole]:
        """Return which schemas the rows in the store may have, by state; those of states that are only pickled lack."""
        return self._schemas.by_state()

    def described(self) -> dict[str, dict[str, Any]]:
        """Return what readers from outside have to know: states by queryable name, and how long states live."""
        return self._described

    def keys(self, state_name: str, namespace: bytes = VOID_NAMESPACE) -> Iterator[Any]:
        """Iterate over all keys that have something in a state; the state may be changed meanwhile.

        Keys come as their bytes decode: 1 for True or 1.0.
        """
        self.write()
        last = None
        for place, key, found, _ in self._walk(state_name):
            if found == namespace and place != last:
                last = place
                yield key

    def keys_in_group(self, state_name: str, group: int) -> list[Any]:
        """Return the keys of a key group that have something in a state without namespace.

        Keys come as their bytes decode: 1 for True or 1.0.
        """
        self.write()
        _, state_id = self._ids.get(state_name, ("", b""))
        if not state_id:
            return []
        found: dict[bytes, Any] = {}
        for row, _ in self.store.scan(self._head + group.to_bytes(2, "big") + state_id):
            key, end = read_key(row, _HEAD_BYTES)
            if row[end : end + len(_VOID_CODE)] == _VOID_CODE:
                found[row[:end]] = key
        return list(found.values())

    def places(self, state_name: str) -> list[tuple[Any, bytes]]:
        """Return all pairs of key and namespace that have something in a state; for what has to be done once.

        Keys come as their bytes decode: 1 for True or 1.0.
        """
        self.write()
        return list({place: (key, namespace) for place, key, namespace, _ in self._walk(state_name)}.values())

    def all_rows(self, state_name: str, limit: int) -> list[tuple[Any, bytes, bytes, bytes]] | None:
        """Return the rows of a state: key, namespace, suffix and value of each; None if there are more than `limit`.

        Keys come as their bytes decode: 1 for True or 1.0.
        """
        found = list(islice(self._walk(state_name), limit + 1))
        if len(found) > limit:
            return None
        return [(key, namespace, row[len(place) :], data) for place, key, namespace, (row, data) in found]

    def keys_of_states(self, state_names: Iterable[str], namespace: bytes = VOID_NAMESPACE) -> Iterator[Any]:
        """Iterate over all keys that have something in at least one of some states, each once, by key group.

        Keys come as their bytes decode: 1 for True or 1.0.
        """
        self.write()
        ids = [self._ids[name][1] for name in state_names if name in self._ids]
        for group in range(self._max_parallelism):
            codes: dict[bytes, Any] = {}
            for held_id in ids:
                for row, _ in self.store.scan(self._head + group.to_bytes(2, "big") + held_id):
                    key, end = read_key(row, _HEAD_BYTES)
                    if read_key(row, end)[0] == namespace:
                        codes[row[_HEAD_BYTES:end]] = key
            yield from codes.values()

    def count_entries(self) -> int:
        """Return how many pairs of key and namespace have something, summed over all states."""
        self.write()
        count = 0
        last = None
        for row, _ in self.store.scan(self._head):
            _, end = read_key(row, _HEAD_BYTES)
            _, end = read_key(row, end)
            if row[:end] != last:
                last = row[:end]
                count += 1
        return count

    # For states and timers of this package

    def row(self, address: Hashable, state_name: str) -> bytes:
        """Return the row of an address in a state, without suffix."""
        namespace = _VOID_CODE
        if type(address) is tuple and address and address[0] is SCOPE:
            _, address, scope = address
            # Windows are worked on one after the other, each for many keys.
            last, namespace = self._last_namespace
            if scope != last:
                namespace = encode_key(scope)
                self._last_namespace = scope, namespace
        group, code = self.encoded(address)
        entry = self._ids.get(state_name)
        return self._head + group + (self._new_id(state_name) if entry is None else entry[1]) + code + namespace

    def row_frame(self, state_name: str) -> tuple[bytes, bytes, bytes]:
        """Return what rows of a state have before the key group, between it and the key, and after the key."""
        entry = self._ids.get(state_name)
        return self._head, self._new_id(state_name) if entry is None else entry[1], _VOID_CODE

    def has_stored(self, state_name: str) -> bool:
        """Tell whether the store had rows of a state when the batch began, or some were written since."""
        return state_name in self._ids

    def rows(self, addresses: list[Hashable], state_name: str) -> list[bytes]:
        """Return the rows of addresses in a state, without suffix."""
        if tuple in set(map(type, addresses)) and any(map(has_namespace, addresses)):
            return [self.row(address, state_name) for address in addresses]
        (head, state_id, tail), encoded = self.row_frame(state_name), self._encoded
        self._encode([address for address in addresses if address not in encoded])
        return [head + group + state_id + code + tail for group, code in map(encoded.__getitem__, addresses)]

    def _encode(self, hashables: list[Hashable]) -> None:
        """Encode many keys together: each costs a fraction of what it costs alone."""
        if hashables:
            codes = codes_of(hashables)
            groups = [group.to_bytes(2, "big") for group in key_groups(codes, self._max_parallelism)]
            self._encoded.update(zip(hashables, zip(groups, codes, strict=True), strict=True))

    def encoded(self, hashable_key: Hashable) -> tuple[bytes, bytes]:
        """Return the key group (2 bytes) and the encoded key of a hashable key."""
        found = self._encoded.get(hashable_key)
        if found is None:
            self._missed += 1
            code = code_of(hashable_key)
            found = key_group(code, self._max_parallelism).to_bytes(2, "big"), code
            self._encoded[hashable_key] = found
        return found

    def check_key(self, state_name: str) -> None:
        """Refuse the use of a state where there is no key."""
        if self.hashable_key is NO_KEY:
            raise StateError(
                f"State {state_name!r} was used without a current key: use it while a keyed element or timer is "
                "processed; on a broadcast side use ctx.apply_to_keyed_state()."
            )

    def next_list_suffix(self) -> bytes:
        """Return a suffix that sorts after all that were given before, in this batch and earlier ones."""
        if not self._epoch_written:
            self.store.put(self._epoch_row(), self._epoch.to_bytes(8, "big"))
            self._epoch_written = True
        self._counter += 1
        return self._epoch.to_bytes(8, "big") + self._counter.to_bytes(4, "big")

    def _forget(self) -> None:
        for part in self._parts:
            part.forget()
        self._encoded.clear()
        self.cached = 0

    def _register(self, descriptor: Any, cls: type[S], *functions: Any) -> S:
        name = descriptor.get_name()
        state = self._states.get(name)
        if state is None:
            self._check_kind(name, cls.kind)
            state = self._states[name] = self._new_state(descriptor, cls, *functions)
            self._schemas.settle(name, is_stored=name in self._ids)
            self.attach(state)
        describe_state(descriptor, self._described)
        if not isinstance(state, cls):
            raise StateError(f"State {name!r} is {state.kind} state already: give the {cls.kind} state another name.")
        return state

    def _new_state(self, descriptor: Any, cls: type[S], *functions: Any) -> S:
        name = descriptor.get_name()
        life = time_to_live_of(descriptor)
        serializers: dict[str, StateSerializer] = serializers_of(descriptor, cls.kind)
        self._schemas.add(name, serializers)
        parts: tuple[Any, ...] = (self, name, *serializers.values(), *functions)
        made: Any = cls
        if life is not None:
            if self._clock is None:
                raise StateError(f"State {name!r} has a time-to-live, but there is no clock: give the backend one.")
            self._sweeps[name] = Sweep(life)
            made, parts = EXPIRING[cls.kind], (life, self._clock, *parts)
        type_name = next(iter(serializers.values())).schema["type"]
        if made is KeyedValueState and (self.own is itself or type_name in UNCHANGEABLE):
            made = UncopiedValueState
        fits = fits_of(descriptor, cls.kind)
        state: S = (typed_state_class(made, str(type_name)) if fits else made)(*parts)
        vars(state).update(fits)
        return state

    def _check_kind(self, name: str, kind: str) -> None:
        held = self._ids.get(name, (kind, b""))[0]
        if held != kind:
            raise StateError(
                f"State {name!r} is {kind} state in the program but {held} state in the checkpoint: "
                "give the new state another name."
            )

    def _walk(self, state_name: str) -> Iterator[tuple[bytes, Any, bytes, tuple[bytes, bytes]]]:
        """Give the rows of a state: the part of the row that names key and namespace, these two, row and value."""
        _, state_id = self._ids.get(state_name, ("", b""))
        for row, data in self._rows_of_state(state_id) if state_id else ():
            if data is not None:
                key, end = read_key(row, _HEAD_BYTES)
                namespace, end = read_key(row, end)
                yield row[:end], key, namespace, (row, data)

    def _rows_of_state(self, state_id: bytes, start: bytes = b"") -> Iterator[tuple[bytes, bytes | None]]:
        """Give the rows of a state from `start` on, and rows of others that are met on the way without their value."""
        start = start or self._head
        while True:
            for row, data in self.store.range(start, self._head + b"\xff\xff"):
                held_id = row[5:_HEAD_BYTES]
                if held_id != state_id:
                    yield row, None
                    # Rows of other states may be many: go straight to the next group where this one can be.
                    group = int.from_bytes(row[3:5], "big") + (held_id > state_id)
                    start = self._head + group.to_bytes(2, "big") + state_id
                    break
                yield row, data
            else:
                return

    def _new_id(self, name: str) -> bytes:
        new_id, kind = new_state_id(name, self._ids), self._states[name].kind
        write_id(self.store, self._operator, name, kind, new_id)
        self._ids[name] = (kind, new_id)
        self._schemas.settle(name, is_stored=True)
        return new_id

    def _epoch_row(self) -> bytes:
        return META + self._operator + b"e"

    def _start_sweeps(self, version: int) -> None:
        if version <= self._version:
            for sweep in self._sweeps.values():
                sweep.restart()
        self._version = version

    def _start_epoch(self, store: OrderedStore, version: int) -> None:
        # Versions start anew after a restore from a savepoint; rows of a list must stay in order all the same.
        held = store.get(self._epoch_row())
        self._epoch = max(version, 0 if held is None else int.from_bytes(held, "big") + 1)
        self._epoch_written = False
        self._counter = 0
