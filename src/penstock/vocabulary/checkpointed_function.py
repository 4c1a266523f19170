"""Functions that take part in checkpoints: the words that users derive from or are handed.

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
    """What a function is handed to find its state."""

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
    """What a function is told about the checkpoint that is being made."""

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
        """Put what is in fields into the states; called at the end of every batch."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Get the states and, if restored, fill the fields from them; called before `open`."""


class ListCheckpointed(ABC):
    """A function whose state is one list, which is cut in pieces when the parallelism changes."""

    @abstractmethod
    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        """Return the state; called at the end of every batch."""

    @abstractmethod
    def restore_state(self, state: list[Any]) -> None:
        """Take over a state that was returned before; called before `open`, if there is one."""


class CheckpointListener(ABC):
    """A function that wants to know when a checkpoint is final.

    A worker learns it when its subtask runs again: the call comes at the start of the subtask's next batch, in
    whichever process that is. It may come again if that batch has to be repeated, and does not come for the last batch
    of a job: what must happen then belongs into a sink with a committer.
    """

    @abstractmethod
    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Take note that the checkpoint with this id, and so every earlier one, is final."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:  # noqa: B027 - optional hook
        """Never called: where a batch fails, its copy of the function is dropped. Here for Flink's programs."""
