"""Functions with operator state, under PyFlink's path; defined in `penstock.vocabulary.checkpointed_function`."""

from __future__ import annotations

from penstock.vocabulary.checkpointed_function import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ListCheckpointed,
)

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "ListCheckpointed",
]
