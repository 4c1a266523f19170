"""Where cached state is kept within an operator: by the hashable of its key, with a namespace where there is one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol


class CachedPart(Protocol):
    """Something that shares the life of the backend's cache."""

    def bind(self) -> None:
        """Start on the store the backend was just bound to."""

    def write(self) -> None:
        """Write what changed to the store; what is cached stays valid."""

    def forget(self) -> None:
        """Drop what is cached."""


class _Mark:
    """Type of markers that are equal to nothing a user can hold."""


NO_KEY = _Mark()
SCOPE = _Mark()
"""What an address begins with that has a namespace; the hashable of the key and the namespace follow."""


def has_namespace(address: Hashable) -> bool:
    """Whether an address is of a key in a namespace."""
    return type(address) is tuple and bool(address) and address[0] is SCOPE
