"""Functions that take part in checkpoints, and their contexts.

Add one of the classes to any function: `class Buffer(MapFunction, CheckpointedFunction)`. Every batch is a checkpoint
here, and the next batch may run in another worker process. So more happens, more often, than on Flink, and results are
the same: `snapshot_state` is called at the end of every batch in which the subtask ran; a process whose copy of the
function did not make the last checkpoint closes it and starts it anew, with the fields it was submitted with:
`initialize_state` (now `is_restored`), then `open`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.vocabulary.functions import KeyedStateStore
from penstock.vocabulary.state import OperatorStateStore

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "ListCheckpointed",
]


class FunctionInitializationContext(ABC):
    """Gives a function access to its state."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Return whether there was a checkpoint of this subtask before."""

    @abstractmethod
    def get_restored_checkpoint_id(self) -> int | None:
        """Return the id of that checkpoint, or None."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """Return the store of state that belongs to the subtask."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """Return the store of state that belongs to keys; it has none if the stream is not keyed."""


class FunctionSnapshotContext(ABC):
    """Describes the checkpoint that is being taken."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """Return the id of the checkpoint; later ones have greater ids."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """Return the clock in milliseconds since 1970."""


class CheckpointedFunction(ABC):
    """A function with state that belongs to its subtask, not to a key."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Copy fields into the states; called at the end of every batch."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Get the states and, if restored, fill the fields from them; called before `open`."""


class ListCheckpointed(ABC):
    """A function whose state is one list, which is redistributed when the parallelism changes."""

    @abstractmethod
    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        """Return the state; called at the end of every batch."""

    @abstractmethod
    def restore_state(self, state: list[Any]) -> None:
        """Restore a state returned earlier; called before `open`, if there is one."""


class CheckpointListener(ABC):
    """A function that is notified when a checkpoint is final.

    A worker learns it when its subtask runs again: the call comes at the start of the subtask's next batch, in
    whichever process that is. It may come again if that batch has to be repeated, and does not come for the last batch
    of a job: what must happen then belongs into a sink with a committer.
    """

    @abstractmethod
    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Called when the checkpoint with this id, and so every earlier one, is final."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:  # noqa: B027 - optional hook
        """Never called: where a batch fails, its copy of the function is dropped. Here for Flink's programs."""
