"""Where checkpoints are kept, under PyFlink's path; defined in `penstock.vocabulary.checkpoint_storage`."""

from __future__ import annotations

from penstock.vocabulary.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]
