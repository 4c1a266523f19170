"""`state_aliases`: old names of renamed fields, declared on a class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

__all__ = ["alias_names", "aliases_of", "state_aliases"]

T = TypeVar("T", bound=type)
_ATTRIBUTE = "__penstock_aliases__"


def state_aliases(**aliases: str | Iterable[str]) -> Callable[[T], T]:
    """Declare the old names of renamed fields of a dataclass or named tuple, for reading old state.

    >>> from dataclasses import dataclass
    >>> @state_aliases(price="cost")
    ... @dataclass
    ... class Order:
    ...     price: float
    """
    names = {new: alias_names(old) for new, old in aliases.items()}

    def declare(cls: T) -> T:
        known: Any = getattr(cls, "__dataclass_fields__", getattr(cls, "_fields", None))
        if known is None:
            raise TypeError(
                f"state_aliases: {cls.__qualname__} is not a dataclass or named tuple: put @state_aliases above "
                "@dataclass"
            )
        for name in names:
            if name not in known:
                raise ValueError(f"state_aliases: {cls.__qualname__} has no field {name!r}: write new_name='old_name'")
        setattr(cls, _ATTRIBUTE, names)
        return cls

    return declare


def aliases_of(cls: type) -> dict[str, tuple[str, ...]]:
    """Return what `state_aliases` declared for a class itself."""
    found: dict[str, tuple[str, ...]] = vars(cls).get(_ATTRIBUTE, {})
    return found


def alias_names(old: str | Iterable[str]) -> tuple[str, ...]:
    """Return one name or several as a tuple."""
    return (old,) if isinstance(old, str) else tuple(old)
