"""Keyed states with a declared type.

Each is one of the other states with this in front, so that states without a type are spared the question.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from penstock.state.list_state import KeyedListState
from penstock.state.map_state import KeyedMapState
from penstock.state.serializers.fitting import Fit, fit_for
from penstock.state.value_states import KeyedReducingState, KeyedValueState, UncopiedValueState

__all__ = ["fits_of", "typed_state_class"]


class _TypedValue(KeyedValueState):
    fit: Fit

    def update(self, value: Any) -> None:
        """Set the value of the current key; None clears it."""
        self.hold(self.fit(value))


class _TypedWhole(_TypedValue):
    """Whole numbers that fit, which nearly all do, are kept at once: counters are the hottest states of all."""

    low: int
    high: int

    def update(self, value: Any) -> None:
        """Set the value of the current key; None clears it."""
        if value.__class__ is not int or not self.low <= value <= self.high:
            value = self.fit(value)
        address = self._backend.address
        if address not in self._objects:
            self._backend.check_key(self.name)
            self._backend.cached += 1
        self._objects[address] = value
        self._changed[address] = None


class _TypedPlain(_TypedValue):
    """Values of the very class that the type has in Python are kept at once."""

    plain: type

    def update(self, value: Any) -> None:
        """Set the value of the current key; None clears it."""
        self.hold(value if value.__class__ is self.plain else self.fit(value))


class _TypedResult(KeyedReducingState):
    """The type is that of what is kept."""

    fit: Fit

    def hold(self, value: Any) -> None:
        """Keep what a reduction gave."""
        super().hold(self.fit(value))


class _TypedList(KeyedListState):
    fit: Fit

    def add(self, value: Any) -> None:
        """Append one element to the current key's list."""
        self.hold(self.fit(value))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append several elements to the current key's list."""
        self.hold_all(list(map(self.fit, values)))

    def update(self, values: Iterable[Any]) -> None:
        """Replace the current key's list; an empty one clears it."""
        self.replace(list(map(self.fit, values)))


class _TypedMap(KeyedMapState):
    fit: Fit | None
    fit_key: Fit | None

    def get(self, key: Any) -> Any:
        """Return the value of a map key, or None."""
        return super().get(key if self.fit_key is None else self.fit_key(key))

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a map key."""
        self.hold(
            self._own(key) if self.fit_key is None else self.fit_key(key),
            self._own(value) if self.fit is None else self.fit(value),
        )

    def remove(self, key: Any) -> None:
        """Remove a map key; an absent one is fine."""
        super().remove(key if self.fit_key is None else self.fit_key(key))

    def contains(self, key: Any) -> bool:
        """Tell whether a map key is there."""
        return super().contains(key if self.fit_key is None else self.fit_key(key))


# An accumulator grows in the function's hands, so it is checked when it is written, and not anew at each element.
_IN_FRONT: dict[str, type] = {
    "value": _TypedValue,
    "list": _TypedList,
    "map": _TypedMap,
    "reducing": _TypedResult,
}


def fits_of(descriptor: Any, kind: str) -> dict[str, Fit | None]:
    """Return what a typed state does to values and, for a map, to its keys; nothing where none of it has a type."""
    if kind not in _IN_FRONT:
        return {}
    name = descriptor.get_name()
    declared = getattr(descriptor, {"list": "elem_type_info", "map": "value_type_info"}.get(kind, "type_info"), None)
    fits = {"fit": fit_for(declared, name)}
    if kind == "map":
        fits["fit_key"] = fit_for(getattr(descriptor, "key_type_info", None), name)
    return fits if any(fits.values()) else {}


_BITS = {"BYTE": 8, "SHORT": 16, "INT": 32, "LONG": 64}
_PLAIN: dict[str, type] = {"STRING": str, "DOUBLE": float, "BOOLEAN": bool, "BIG_INT": int}


@cache
def typed_state_class(state_class: Any, type_name: Any = None) -> type:
    """Return a class of state with checks of the type in front; `type_name` is that of its values, if it has one."""
    front: type = _IN_FRONT[state_class.kind]
    members: dict[str, Any] = {}
    if state_class is UncopiedValueState:
        if type_name in _BITS:
            half = 1 << (_BITS[type_name] - 1)
            front, members = _TypedWhole, {"low": -half, "high": half - 1}
        elif type_name in _PLAIN:
            front, members = _TypedPlain, {"plain": _PLAIN[type_name]}
    return type(f"Typed{state_class.__name__}", (front, state_class), members)
