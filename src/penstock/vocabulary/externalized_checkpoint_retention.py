"""`ExternalizedCheckpointRetention`, what becomes of checkpoints when a job is cancelled; deletes nothing itself."""

from __future__ import annotations

import enum

__all__ = ["ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(enum.Enum):
    """Whether the checkpoints of a cancelled job stay."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
