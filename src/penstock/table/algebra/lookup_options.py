"""What a LOOKUP hint says about a lookup join."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NO_OPTIONS", "LookupOptions"]


@dataclass(frozen=True)
class LookupOptions:
    """The wishes of a hint; None: what the settings of the environment say."""

    is_asynchronous: bool | None = None
    allows_unordered: bool | None = None
    capacity: int | None = None
    timeout_ms: int | None = None
    max_attempts: int = 0
    """How often a key that finds nothing is looked up again."""
    delay_ms: int = 0
    """How long to wait before that."""
    shuffles: bool = False
    """Whether rows of the same key go to the same subtask, for the sake of its cache."""

    def __str__(self) -> str:
        """The wishes, for plans."""
        names = (
            "is_asynchronous",
            "allows_unordered",
            "capacity",
            "timeout_ms",
            "max_attempts",
            "delay_ms",
            "shuffles",
        )
        given = [(name, getattr(self, name)) for name in names]
        return ", ".join(f"{name}={value}" for name, value in given if value is not None and value != 0)


NO_OPTIONS = LookupOptions()
"""Those of a join without a hint."""
