"""Publishing of staged files by rename: the second half of the exactly-once file sink, run on the driver.

Owns nothing of the files' content; what is to be published is decided by the writers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.connectors.sink import Committer
from penstock.connectors.storage import Storage
from penstock.errors import SinkError


@dataclass(frozen=True)
class PublishFile:
    """Give a staged file its final name, then remove the chunks that were merged into it."""

    staged: str
    final: str
    merged: tuple[str, ...] = ()

    def apply(self, storage: Storage) -> None:
        """Rename; if that happened before, do only what is left."""
        if storage.exists(self.staged):
            storage.move(self.staged, self.final)
        for path in self.merged:
            storage.remove(path)


@dataclass(frozen=True)
class ClearStaging:
    """Remove a subtask's staging folder: its input has ended and all it wrote is published."""

    directory: str

    def apply(self, storage: Storage) -> None:
        """Remove the folder, with what failed tries left in it."""
        storage.remove_directory(self.directory)


class FileCommitter(Committer):
    """Applies what the writers ask for, in an order that never removes a file still to be published."""

    def __init__(self, location: str) -> None:
        """Take the base path of the sink."""
        self._storage = Storage(location)

    def commit(self, committables: list[Any]) -> None:
        """Publish all files first, then clear."""
        for item in committables:
            if isinstance(item, PublishFile) and not self._storage.exists(item.staged):
                raise SinkError(
                    f"The file sink at {self._storage.location} cannot publish {item.final}: its staged file "
                    f"{item.staged} is gone. Tasks and driver must see one directory, and nobody else may touch it."
                )
        self.commit_again(committables)

    def commit_again(self, committables: list[Any]) -> None:
        """Do what is left.

        A staged file that is gone was published before the crash. If the final one is gone too, a reader has been
        quick; complaining would keep the job from ever starting again.
        """
        for committable in sorted(committables, key=lambda item: isinstance(item, ClearStaging)):
            committable.apply(self._storage)
