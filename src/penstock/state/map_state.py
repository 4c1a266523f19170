"""Map state: one row for each entry of the map.

The bytes of an entry are those of the value. Where the map key would lose its type in its row (True, 1.0), a zero byte,
the length (4) and the bytes of the key come before; a key of a declared type that is a number or a text cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.common.own_copies import ATOMS
from penstock.keys.codec import decode_key, keeps_type
from penstock.state.hashable_keys import PLAIN_TYPES, code_of, codes_of, hashable_of, hashable_of_code
from penstock.state.serializers import StateSerializer
from penstock.state.ttl import FIRST_UNSTAMPED, without_stamp

if TYPE_CHECKING:
    from penstock.state.keyed import KeyedStateBackend

_KEY_FOLLOWS = b"\x00"
# Types of map keys that a row's bytes tell, and what gives the key its type back.
KEPT_BY_ROW: dict[str, Callable[[Any], Any] | None] = {
    **dict.fromkeys(("STRING", "BYTE", "SHORT", "INT", "LONG", "BIG_INT", "BYTES")),
    "BOOLEAN": bool,
    "DOUBLE": float,
    "FLOAT": float,
}
Pair = tuple[Any, Any]
Entry = tuple[Any, ...]
"""A map key and its value; with a time to live, the last access too."""


class CachedMap:
    """One cached map.

    `pairs` has map key and value, or None for an entry known to be absent, by hashable map key. When
    `is_complete`, an entry that is not there is absent.
    """

    __slots__ = ("address", "changed", "codes", "is_complete", "order", "pairs")

    def __init__(self, address: Hashable) -> None:
        """Know nothing of the map of an address yet."""
        self.address = address
        self.empty(is_complete=False)

    def empty(self, *, is_complete: bool) -> None:
        """Forget all entries."""
        self.pairs: dict[Hashable, Entry | None] = {}
        self.changed: set[Hashable] = set()
        self.codes: dict[Hashable, bytes] = {}
        self.order: list[Hashable] | None = None
        self.is_complete = is_complete

    def code(self, entry: Hashable) -> bytes:
        """Return the encoded map key of an entry."""
        code = self.codes.get(entry)
        if code is None:
            code = self.codes[entry] = code_of(entry)
        return code

    def codes_of(self, entries: list[Hashable]) -> list[bytes]:
        """Return the encoded map keys of many entries."""
        new = [entry for entry in entries if entry not in self.codes]
        self.codes.update(zip(new, codes_of(new), strict=True))
        return list(map(self.codes.__getitem__, entries))

    def set(self, entry: Hashable, pair: Entry | None) -> None:
        """Set or, by None, remove an entry."""
        if (self.pairs.get(entry) is None) != (pair is None):
            self.order = None
        self.pairs[entry] = pair
        self.changed.add(entry)

    def in_order(self) -> list[Hashable]:
        """Return the entries that are present, ordered by encoded map key; the list is never changed."""
        if self.order is None:
            present = [entry for entry, pair in self.pairs.items() if pair is not None]
            self.order = sorted(present, key=self.code)
        return self.order


class KeyedMapState:
    """Keyed `MapState`.

    `items`, `keys` and `values` go over the entries present when they are called, ordered by encoded map key; the map
    may be changed meanwhile, and an entry removed before its turn is skipped. Keys and values are copied on their way
    in and out where they can be changed, except by `held`, `hold` and `held_items`.
    """

    kind: ClassVar[str] = "map"

    def __init__(
        self, backend: KeyedStateBackend, name: str, serializer: StateSerializer, keys: StateSerializer
    ) -> None:
        """Make the state `name` of a backend; `keys` is the serializer of the map's keys."""
        self._backend = backend
        self.name = name
        self._dumps, self._loads = serializer.dumps, serializer.loads
        self._dumps_unchecked = serializer.dumps_unchecked or serializer.dumps
        self._keys = keys
        self._check_key = None if keys.is_pickle else keys.check
        self._is_kept_by_row = keys.schema["type"] in KEPT_BY_ROW
        self._typed_key = KEPT_BY_ROW.get(keys.schema["type"])
        self._maps: dict[Hashable, CachedMap] = {}
        self._own = backend.own

    def get(self, key: Any) -> Any:
        """Return the value of a map key, or None."""
        # Same as held: this and put() are the hottest calls, so they are spared a further one.
        found = self._maps.get(self._backend.address) or self._current()
        entry = key if type(key) in PLAIN_TYPES else hashable_of(key)
        pair = found.pairs[entry] if entry in found.pairs else self._read(found, entry)
        if pair is None:
            return None
        value = pair[1]
        return value if value.__class__ in ATOMS else self._own(value)

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a map key."""
        # Same as hold.
        found = self._maps.get(self._backend.address) or self._current()
        entry = key if type(key) in PLAIN_TYPES else hashable_of(key)
        if found.pairs.get(entry) is None:
            found.order = None
            self._backend.cached += 1
        if value.__class__ not in ATOMS:
            value = self._own(value)
        found.pairs[entry] = (key if key.__class__ in ATOMS else self._own(key), value)
        found.changed.add(entry)

    def held(self, key: Any) -> Any:
        """Return the state's own value of a map key, or None."""
        pair = self._pair(key)
        return None if pair is None else pair[1]

    def hold(self, key: Any, value: Any) -> None:
        """Set the value of a map key to an object itself: it must be nobody else's from now on."""
        found = self._maps.get(self._backend.address) or self._current()
        entry = key if type(key) in PLAIN_TYPES else hashable_of(key)
        if found.pairs.get(entry) is None:
            found.order = None
            self._backend.cached += 1
        found.pairs[entry] = (key, value)
        found.changed.add(entry)

    def trust(self) -> None:
        """Leave out the check of types from now on: entries are an operator's own, who knows what they are."""
        self._dumps, self._check_key = self._dumps_unchecked, None

    def held_of(self, keys: Sequence[Any]) -> list[Any]:
        """Return what `held` does, for several map keys of `PLAIN_TYPES`; not with a time to live."""
        found = self._maps.get(self._backend.address) or self._current()
        pairs = found.pairs
        missing = [] if found.is_complete else [key for key in keys if key not in pairs]
        if missing:
            codes = codes_of(missing)
            prefix, get = self._backend.row(found.address, self.name), self._backend.store.get
            for key, code in zip(missing, codes, strict=True):
                data = get(prefix + code)
                pairs[key] = None if data is None else self._decode(code, data)
            found.codes.update(zip(missing, codes, strict=True))
            found.order = None
            self._backend.cached += len(missing)
        return [None if pair is None else pair[1] for pair in map(pairs.get, keys)]

    def hold_all(self, entries: Mapping[Any, Any], *, are_all: bool = False) -> None:
        """Do what `hold` does, for several map keys of `PLAIN_TYPES`; not with a time to live.

        `are_all`: the map is known to have no other entries, so that nobody has to look for them.
        """
        found = self._maps.get(self._backend.address) or self._current()
        before = len(found.pairs)
        found.pairs.update(zip(entries, entries.items(), strict=True))
        found.changed.update(entries)
        found.order = None
        found.is_complete = found.is_complete or are_all
        self._backend.cached += len(found.pairs) - before

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[Pair]) -> None:
        """Set several entries."""
        pairs = dict_value.items() if isinstance(dict_value, Mapping) else dict_value
        for key, value in pairs:
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Remove a map key; an absent one is fine."""
        self._current().set(hashable_of(key), None)
        self._backend.cached += 1

    def remove_once(self, key: Any) -> None:
        """Do what `remove` does, without caching the map if it is not."""
        found = self._maps.get(self._backend.address)
        entry = hashable_of(key)
        if found is None:
            self._backend.store.delete(self._backend.row(self._backend.address, self.name) + code_of(entry))
        else:
            found.set(entry, None)
            self._backend.cached += 1

    def contains(self, key: Any) -> bool:
        """Tell whether a map key is there."""
        return self._pair(key) is not None

    def items(self) -> Iterator[Pair]:
        """Iterate over pairs of map key and value."""
        return map(self._own, self.held_items())

    def keys(self) -> Iterator[Any]:
        """Iterate over map keys."""
        return map(self._own, map(itemgetter(0), self.held_items()))

    def values(self) -> Iterator[Any]:
        """Iterate over values."""
        return map(self._own, map(itemgetter(1), self.held_items()))

    def held_items(self) -> Iterator[Pair]:
        """Iterate over pairs of map key and value, the state's own."""
        found = self._complete()
        return _walk(found, found.in_order())

    def items_once(self) -> Iterator[Pair]:
        """Iterate over pairs of map key and value, without caching what is not: for an operator that does so itself."""
        address = self._backend.address
        if address in self._maps:
            return self.held_items()
        prefix = self._backend.row(address, self.name)
        start = len(prefix)
        return (self._decode(row[start:], data) for row, data in self._backend.store.scan(prefix))

    def all_items(self, limit: int) -> list[tuple[Hashable, bytes, Any, Any]] | None:
        """Return all entries of all keys, without caching them; None if there are more than `limit`.

        Of each: what the key is looked up by, the namespace, map key and value.
        """
        self.write()
        rows = self._backend.all_rows(self.name, limit)
        if rows is None:
            return None
        return [(hashable_of(key), namespace, *self._decode(code, data)) for key, namespace, code, data in rows]

    def hold_once(self, key: Any, value: Any) -> None:
        """Do what `hold` does, without caching the map if it is not."""
        address = self._backend.address
        if address in self._maps:
            self.hold(key, value)
        else:
            row = self._backend.row(address, self.name) + code_of(hashable_of(key))
            self._backend.store.put(row, self._encode((key, value)))

    def is_empty(self) -> bool:
        """Tell whether the map of the current key has no entry."""
        found = self._current()
        if any(pair is not None for pair in found.pairs.values()):
            return False
        return found.is_complete or not self._has_other_row(found)

    def clear(self) -> None:
        """Remove the map of the current key."""
        found = self._current()
        store = self._backend.store
        for row, _ in store.scan(self._backend.row(found.address, self.name)):
            store.delete(row)
        found.empty(is_complete=True)

    def __getitem__(self, key: Any) -> Any:
        """Return the value of a map key, or None, as PyFlink does."""
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set the value of a map key."""
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        """Remove a map key; an absent one is fine."""
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        """Tell whether a map key is there."""
        return self.contains(key)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over map keys."""
        return self.keys()

    def bind(self) -> None:
        """Start on another store: nothing is cached at that point."""

    def write(self) -> None:
        """Write the entries that changed."""
        entries: list[tuple[bytes, bytes]] = []
        for found in self._maps.values():
            if found.changed:
                self._take_changes(found, entries)
        self._backend.store.put_many(entries)

    def forget(self) -> None:
        """Drop the cached maps."""
        self._maps.clear()

    def _current(self) -> CachedMap:
        address = self._backend.address
        found = self._maps.get(address)
        if found is None:
            self._backend.check_key(self.name)
            found = self._maps[address] = CachedMap(address)
            self._backend.cached += 1
        return found

    def _pair(self, key: Any) -> Entry | None:
        found = self._maps.get(self._backend.address) or self._current()
        entry = key if type(key) in PLAIN_TYPES else hashable_of(key)
        return found.pairs[entry] if entry in found.pairs else self._read(found, entry)

    def _read(self, found: CachedMap, entry: Hashable) -> Entry | None:
        """Return an entry that is not cached."""
        if found.is_complete:
            return None
        data = self._backend.store.get(self._backend.row(found.address, self.name) + found.code(entry))
        pair = None if data is None else self._remember(found, entry, data)
        found.pairs[entry] = pair
        self._backend.cached += 1
        if pair is not None:
            found.order = None
        return pair

    def _complete(self) -> CachedMap:
        found = self._current()
        if not found.is_complete:
            prefix = self._backend.row(found.address, self.name)
            for row, data in self._backend.store.scan(prefix):
                code = row[len(prefix) :]
                entry = hashable_of_code(code)
                if entry not in found.pairs:
                    found.codes[entry] = code
                    found.pairs[entry] = self._remember(found, entry, data)
                    self._backend.cached += 1
            found.order = None
            found.is_complete = True
        return found

    def _has_other_row(self, found: CachedMap) -> bool:
        prefix = self._backend.row(found.address, self.name)
        rows = self._backend.store.scan(prefix)
        return any(hashable_of_code(row[len(prefix) :]) not in found.pairs for row, _ in rows)

    def _remember(self, found: CachedMap, entry: Hashable, data: bytes) -> Entry:
        return self._decode(found.code(entry), data)

    def _decode(self, code: bytes, data: bytes) -> Entry:
        if data[0] < FIRST_UNSTAMPED:
            data = without_stamp(data)
            original, data = split_entry(data)
            if original is not None:
                return self._keys.loads(original), self._loads(data)
        key = decode_key(code)
        return key if self._typed_key is None or key is None else self._typed_key(key), self._loads(data)

    def _encode(self, pair: Entry) -> bytes:
        key, value = pair
        data = self._dumps(value)
        if self._check_key is not None:
            self._check_key(key)
        if self._is_kept_by_row or keeps_type(key):
            return data
        return joined_entry(self._keys.dumps(key), data)

    def _take_changes(self, found: CachedMap, entries: list[tuple[bytes, bytes]]) -> None:
        """Delete the rows of entries that were removed, and add those of others that changed to what will be put."""
        prefix = self._backend.row(found.address, self.name)
        store, pairs, encode = self._backend.store, found.pairs, self._encode
        changed = found.changed
        codes = found.codes_of(list(changed)) if len(changed) > 1 else map(found.code, changed)
        for entry, code in zip(changed, codes, strict=True):
            pair = pairs[entry]
            if pair is None:
                store.delete(prefix + code)
            else:
                entries.append((prefix + code, encode(pair)))
        changed.clear()


def split_entry(data: bytes) -> tuple[bytes | None, bytes]:
    """Return the bytes of a map key that would lose its type in its row, and those of the value."""
    if not data.startswith(_KEY_FOLLOWS):
        return None, data
    end = 5 + int.from_bytes(data[1:5], "big")
    return data[5:end], data[end:]


def joined_entry(original: bytes, data: bytes) -> bytes:
    """Return the bytes of an entry, given those of a map key that would lose its type, and those of the value."""
    return _KEY_FOLLOWS + len(original).to_bytes(4, "big") + original + data


def _walk(found: CachedMap, entries: list[Hashable]) -> Iterator[Any]:
    for entry in entries:
        pair = found.pairs.get(entry)
        if pair is not None:
            yield pair
