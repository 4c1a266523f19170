"""`Module` and `ModuleEntry`: sets of built-in functions; Penstock has Flink's core module."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Module", "ModuleEntry"]


@dataclass(frozen=True)
class Module:
    """A set of built-in functions, by its name."""

    name: str = "core"


class ModuleEntry:
    """A module that is loaded, and whether it is used."""

    def __init__(self, name: str, used: bool) -> None:
        """Made by `list_full_modules`."""
        self._name = name
        self._used = used

    def name(self) -> str:
        """The name of the module."""
        return self._name

    def used(self) -> bool:
        """Whether its functions are found."""
        return self._used

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleEntry) and (self._name, self._used) == (other._name, other._used)

    def __hash__(self) -> int:
        return hash((self._name, self._used))

    def __repr__(self) -> str:
        return f"ModuleEntry(name='{self._name}', used={self._used})"
