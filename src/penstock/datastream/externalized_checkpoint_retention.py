"""What becomes of checkpoints, under PyFlink's path."""

from __future__ import annotations

from penstock.vocabulary.externalized_checkpoint_retention import (
    ExternalizedCheckpointRetention,
)

__all__ = [
    "ExternalizedCheckpointRetention",
]
