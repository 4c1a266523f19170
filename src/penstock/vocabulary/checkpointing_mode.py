"""`CheckpointingMode`, the guarantee for state."""

from __future__ import annotations

import enum

__all__ = ["CheckpointingMode"]


class CheckpointingMode(enum.Enum):
    """Whether state counts each element exactly once or at least once after a failure."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
