"""What makes a batch final: the seal of each version, and the directory that holds seals and state."""

from __future__ import annotations

from penstock.checkpoint.directory import CheckpointDirectory
from penstock.checkpoint.seal import Seal

__all__ = ["CheckpointDirectory", "Seal"]
