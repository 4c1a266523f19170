"""CheckpointingMode, under PyFlink's path; defined in `penstock.vocabulary.checkpointing_mode`."""

from __future__ import annotations

from penstock.vocabulary.checkpointing_mode import (
    CheckpointingMode,
)

__all__ = [
    "CheckpointingMode",
]
