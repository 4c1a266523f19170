"""The committer of the file sink: publishes staged files by renaming them, on the driver.

If one file of a version has changed since it was written, no file of that version is published.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.common.plain_data import kept_as
from penstock.connectors.files.checksums import damage_of
from penstock.connectors.sink import Committer, WorkRunner, run_here
from penstock.errors import SinkError
from penstock.storage.places import Storage

_log = logging.getLogger(__name__)

_READ_HERE_BYTES = 64 * 1024 * 1024
"""What the driver reads itself; more is read by workers, which costs a job of its own."""

_BEGUN = "publishing"


@kept_as("file to publish")
@dataclass(frozen=True)
class PublishFile:
    """Give a staged file its final name, then remove the chunks that were merged into it.

    `size` and `checksum` (CRC-32) are those of the staged file.
    """

    staged: str
    final: str
    merged: tuple[str, ...] = ()
    size: int = -1
    checksum: int | None = None

    def to_plain(self) -> list[Any]:
        """Return it as plain data."""
        return [self.staged, self.final, list(self.merged), self.size, self.checksum]

    @classmethod
    def from_plain(cls, plain: list[Any], version: int) -> PublishFile:
        """Return what `to_plain` described."""
        staged, final, merged, size, checksum = plain
        return cls(staged, final, tuple(merged), size, checksum)

    def apply(self, storage: Storage) -> None:
        """Rename; if that happened before, do only what is left."""
        if storage.exists(self.staged):
            storage.move(self.staged, self.final)
        for path in self.merged:
            storage.remove(path)


@kept_as("staging to clear")
@dataclass(frozen=True)
class ClearStaging:
    """Remove a subtask's staging folder: its input has ended and all it wrote is published."""

    directory: str

    def to_plain(self) -> list[Any]:
        """Return it as plain data."""
        return [self.directory]

    @classmethod
    def from_plain(cls, plain: list[Any], version: int) -> ClearStaging:
        """Return what `to_plain` described."""
        return cls(*plain)

    def apply(self, storage: Storage) -> None:
        """Remove the folder, with what failed tries left in it."""
        storage.remove(f"{os.path.dirname(self.directory)}/{_BEGUN}")  # of files that came with a savepoint
        storage.remove_directory(self.directory)


class FileCommitter(Committer):
    """Publishes and cleans up what the writers report, in a safe order."""

    def __init__(self, location: str) -> None:
        """Take the base path of the sink."""
        self._storage = Storage(location)
        self._run: WorkRunner = run_here

    def use_workers(self, run: WorkRunner) -> None:
        """Take the way to worker processes."""
        self._run = run

    def commit(self, committables: list[Any]) -> None:
        """Publish all files first, then clear."""
        files = [item for item in committables if isinstance(item, PublishFile)]
        self._check(files)
        self._apply(files, committables)

    def commit_again(self, committables: list[Any]) -> None:
        """Do what is left.

        A staged file that is gone was published before the crash, if publishing had begun. If the final one is gone
        too, a reader has been quick; complaining would keep the job from ever starting again.
        """
        files = [item for item in committables if isinstance(item, PublishFile)]
        if self._has_begun(files):
            for item in files:
                if not self._storage.exists(item.staged) and not self._storage.exists(item.final):
                    _log.warning("%s was published, and a reader has taken it since.", self._storage.full(item.final))
            self._check([item for item in files if self._storage.exists(item.staged)])
        else:
            self._check(files)
        self._apply(files, committables)

    def _check(self, files: list[PublishFile]) -> None:
        """Compare every file before the first is published."""
        compare = partial(_damage, self._storage.location)
        is_much = sum(item.size for item in files) > _READ_HERE_BYTES and self._storage.is_local
        found = self._run(compare, files) if is_much else run_here(compare, files)
        for item, damage in zip(files, found, strict=True):
            if damage is not None:
                raise SinkError(
                    f"The file sink at {self._storage.location} cannot publish {item.final}: its staged file "
                    f"{self._storage.full(item.staged)} {damage}. Nothing of this version was published. Restore the "
                    "file from a copy, or start from a savepoint. Tasks and driver must use the same directory, and "
                    "nothing else may change it."
                )

    def _apply(self, files: list[PublishFile], committables: list[Any]) -> None:
        self._begin(files)
        for item in files:
            item.apply(self._storage)
        # The next version may be sealed when this returns, and then nobody looks after these names any more.
        self._storage.sync_names(*(item.final for item in files if self._storage.exists(item.final)))
        for item in committables:
            if isinstance(item, ClearStaging):
                item.apply(self._storage)

    def _begin(self, files: list[PublishFile]) -> None:
        """Note that from now on a staged file may be gone because it was published."""
        if files and not self._has_begun(files):
            mark = _mark_of(files)
            with self._storage.open_output(f"{mark}~") as stream:
                stream.write(files[0].staged.encode())
            self._storage.move(f"{mark}~", mark)
            self._storage.sync(mark)

    def _has_begun(self, files: list[PublishFile]) -> bool:
        """Whether there is such a note, or what it was kept in was cleared at the end of the input.

        Versions that did not note sizes left no such note either.
        """
        if not files or files[0].size < 0:
            return True
        mark = _mark_of(files)
        if not self._storage.exists(mark):
            return not self._storage.has_folder(os.path.dirname(mark))
        with self._storage.open_input(mark) as source:
            return bool(source.read().decode() == files[0].staged)


def _mark_of(files: list[PublishFile]) -> str:
    return f"{os.path.dirname(files[0].staged)}/{_BEGUN}"


def _damage(location: str, item: PublishFile) -> str | None:
    return damage_of(Storage(location), item.staged, item.size, item.checksum)
