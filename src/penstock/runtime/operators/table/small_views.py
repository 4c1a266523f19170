"""Views of aggregates on keyed state that are one value while they are small: one read and one write in a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.common.typeinfo import Types
from penstock.runtime.operators.table.operator import KeyedTableOperator
from penstock.state.map_state import KeyedMapState
from penstock.vocabulary.sql.aggregates.code import View

__all__ = ["SmallView"]

_MOST_ENTRIES = 64
"""Entries that are written anew together when one changes; with more, each entry is a row of state."""
_PLAIN = frozenset([Types.STRING(), Types.INT(), Types.LONG(), Types.SHORT(), Types.BYTE()])
"""Types of keys whose values are equal in Python exactly if they are in SQL."""


class SmallView:
    """A map for each key: a dict in one value; with too many entries an empty dict, and the entries in map state."""

    def __init__(self, operator: KeyedTableOperator, view: View, large: KeyedMapState) -> None:
        self._small = operator.value_state(f"_small_{view.name}", Types.MAP(view.key_type, view.value_type))
        self._small.trust()
        self._large = large

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

    def held_of(self, keys: Sequence[Any]) -> list[Any]:
        """What `held` gives, for several keys."""
        found = self._small.held()
        if found:
            return list(map(found.get, keys))
        return [None] * len(keys) if found is None else list(map(self._large.held, keys))

    def hold_all(self, entries: dict[Any, Any]) -> None:
        """Set the values of several keys."""
        found = self._small.held()
        if found is not None and not found:
            for key, value in entries.items():
                self._large.hold(key, value)
            return
        merged = entries if found is None else {**found, **entries}
        self._small.hold(merged if len(merged) <= _MOST_ENTRIES else self._moved(merged))

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
        for key, value in entries.items():
            self._large.hold(key, value)
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
