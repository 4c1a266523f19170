"""Views of aggregates on keyed state that are one value while they are small: one read and one write in a batch."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from penstock.common.typeinfo import Types
from penstock.runtime.operators.table.operator import KeyedTableOperator
from penstock.state.map_state import KeyedMapState
from penstock.vocabulary.sql.aggregates.code import View

__all__ = ["Entries", "SmallView"]

_MOST_ENTRIES = 64
"""Entries that are written anew together when one changes; with more, each entry is a row of state."""
_PLAIN = frozenset([Types.STRING(), Types.INT(), Types.LONG(), Types.SHORT(), Types.BYTE()])
"""Types of keys whose values are equal in Python exactly if they are in SQL."""


class Entries(NamedTuple):
    """Names of entries, those of one key after those of another: `bounds` are where each key's begin, and the end."""

    keys: list[Any]
    addresses: list[Hashable]
    bounds: list[int]
    names: list[Any]

    def with_each(self, held: list[Any]) -> Iterator[tuple[Any, Any, int, int]]:
        """Each key with what is held for it, and where its entries begin and end."""
        return zip(self.keys, held, self.bounds, self.bounds[1:], strict=False)


class SmallView:
    """A map for each key: a dict in one value; with too many entries an empty dict, and the entries in map state."""

    def __init__(self, operator: KeyedTableOperator, view: View, large: KeyedMapState) -> None:
        self._small = operator.value_state(f"_small_{view.name}", Types.MAP(view.key_type, view.value_type))
        self._small.trust()
        self._large = large
        large.trust()
        self._backend = operator.backend

    @staticmethod
    def can_be(view: View) -> bool:
        """Whether keys can be those of a dict."""
        return view.key_type in _PLAIN

    def held(self, key: Any) -> Any:
        """The value of a key, or None."""
        found = self._small.held()
        if found:
            return found.get(key)
        return None if found is None else self._large.held(key)

    def held_of_all(self, entries: Entries) -> list[Any]:
        """What `held` gives, for entries of many keys."""
        found: list[Any] = []
        for key, small, start, stop in entries.with_each(self._small.held_of_all(entries.addresses)):
            part = entries.names[start:stop]
            if small:
                found += map(small.get, part)
            elif small is None:
                found += [None] * len(part)
            else:
                self._backend.set_key(key)
                found += self._large.held_of(part)
        return found

    def hold_all(self, entries: Entries, values: list[Any]) -> None:
        """Set the values of entries of many keys."""
        addresses, changed = [], []
        held = self._small.held_of_all(entries.addresses)
        for at, (key, small, start, stop) in enumerate(entries.with_each(held)):
            part = dict(zip(entries.names[start:stop], values[start:stop], strict=True))
            if small is not None and not small:
                self._backend.set_key(key)
                self._large.hold_all(part)
                continue
            merged = part if small is None else {**small, **part}
            if len(merged) > _MOST_ENTRIES:
                self._backend.set_key(key)
                merged = self._moved(merged)
            addresses.append(entries.addresses[at])
            changed.append(merged)
        self._small.hold_of_all(addresses, changed)

    def hold(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        found = self._small.held()
        if found is None:
            self._small.hold({key: value})
        elif not found:
            self._large.hold(key, value)
        else:
            found[key] = value
            self._small.hold(found if len(found) <= _MOST_ENTRIES else self._moved(found))

    def _moved(self, entries: dict[Any, Any]) -> dict[Any, Any]:
        self._large.hold_all(entries, are_all=True)
        return {}

    def remove(self, key: Any) -> None:
        """Remove a key; an absent one is fine."""
        found = self._small.held()
        if found:
            found.pop(key, None)
            self._small.hold(found or None)
        elif found is not None:
            self._large.remove(key)

    def held_items(self) -> Iterator[tuple[Any, Any]]:
        """Pairs of key and value."""
        found = self._small.held()
        return self._large.held_items() if found is not None and not found else iter(sorted((found or {}).items()))

    def clear(self) -> None:
        """Remove all keys."""
        if self._small.held() == {}:
            self._large.clear()
        self._small.clear()
