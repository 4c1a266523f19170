"""Rolling policies: when a part file is finished."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from penstock.errors import ConfigurationError


class RollingPolicy(ABC):
    """Decides when the part file in progress of a bucket is published."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: int = 60 * 1000,
        inactivity_interval: int = 60 * 1000,
    ) -> DefaultRollingPolicy:
        """Finish a part at `part_size` bytes, or so many milliseconds after its first or its last record."""
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Finish all parts with every checkpoint, that is with every batch."""
        return OnCheckpointRollingPolicy()

    @abstractmethod
    def is_full(self, size: int) -> bool:
        """Whether a part of that many bytes takes no more records."""

    @abstractmethod
    def is_due(self, created_ms: int, updated_ms: int, now_ms: int) -> bool:
        """Whether a part is finished at the end of a batch."""

    @abstractmethod
    def deadline(self, created_ms: int, updated_ms: int) -> int | None:
        """When a part becomes due if no more records come; None if it need not be looked at."""


@dataclass(frozen=True)
class DefaultRollingPolicy(RollingPolicy):
    """By size (bytes), age and inactivity (milliseconds), whichever comes first."""

    part_size: int = 1024 * 1024 * 128
    rollover_interval: int = 60 * 1000
    inactivity_interval: int = 60 * 1000

    def __post_init__(self) -> None:
        """Refuse limits that no part could keep."""
        for name in ("part_size", "rollover_interval", "inactivity_interval"):
            limit = getattr(self, name)
            if isinstance(limit, bool) or not isinstance(limit, int) or limit <= 0:
                raise ConfigurationError(f"{name} of a rolling policy must be a whole number above 0, got {limit!r}.")

    def is_full(self, size: int) -> bool:
        """Whether the size limit is reached."""
        return size >= self.part_size

    def is_due(self, created_ms: int, updated_ms: int, now_ms: int) -> bool:
        """Whether the part is too old or too long without records."""
        return now_ms >= self.deadline(created_ms, updated_ms)

    def deadline(self, created_ms: int, updated_ms: int) -> int:
        """Return the earlier of the two time limits."""
        return min(created_ms + self.rollover_interval, updated_ms + self.inactivity_interval)


@dataclass(frozen=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """With every batch."""

    def is_full(self, size: int) -> bool:
        """Never: only the end of the batch finishes a part."""
        return False

    def is_due(self, created_ms: int, updated_ms: int, now_ms: int) -> bool:
        """Return true: the batch ends."""
        return True

    def deadline(self, created_ms: int, updated_ms: int) -> None:
        """Nothing is left over from a batch."""
        return None
