"""Versions of the state of one subtask: which files make a version, and how the next one is written.

Knows neither what the entries mean nor which version is current.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from types import TracebackType

from pyarrow import fs

from penstock.errors import StateError
from penstock.state.backends import DEFAULT_BACKEND, open_store
from penstock.state.files import Change, read_entries, write_entries
from penstock.state.local_store import LocalStore
from penstock.state.store import OrderedStore
from penstock.state.tracked_store import TakenChanges, TrackedStore
from penstock.storage.disk_space import told_if_full

# Below this, changes are not worth compacting whatever the size of the snapshot.
_SMALL_CHAIN_BYTES = 256 * 1024


@dataclass(frozen=True)
class StateFile:
    """One file of a version; its name starts with the id of the version it made."""

    name: str
    is_snapshot: bool
    bytes: int
    entries: int

    @property
    def version_id(self) -> str:
        """Return the id of the version whose writing made this file."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class StateVersion:
    """A state: at most one snapshot, first, then changes in order."""

    id: str
    files: tuple[StateFile, ...]


EMPTY = StateVersion("", ())

WriteVersion = Callable[[], StateVersion]
"""Writes the files of a version that has ended, and returns the version."""


class SubtaskState:
    """The state of one subtask, opened at a base version, to be committed as the next one or aborted, once."""

    def __init__(
        self,
        filesystem: fs.FileSystem,
        directory: str,
        base: StateVersion,
        inner: LocalStore,
        *,
        rebuilt: bool,
        snapshot_after: int,
        spill_parent: str | None,
        local_path: str = "memory",
    ) -> None:
        """Take over a store that holds `base`; use `open`."""
        self._filesystem = filesystem
        self._directory = directory
        self._base = base
        self._inner = inner
        self._local_path = local_path
        self._snapshot_after = snapshot_after
        # A snapshot is read from the store: what changed need not be kept for it, nor spilled.
        self._tracked = TrackedStore(inner, spill_parent, keeps_changes=not self._needs_snapshot())
        self._open = True
        self._is_turning = False
        self.store: OrderedStore = self._tracked
        self.rebuilt = rebuilt

    @classmethod
    def open(
        cls,
        filesystem: fs.FileSystem,
        directory: str,
        base: StateVersion,
        *,
        local_path: str | None,
        backend: str = DEFAULT_BACKEND,
        snapshot_after: int = 20,
    ) -> SubtaskState:
        """Open version `base` in the backend's store at `local_path`; None is a store on the heap that nobody keeps.

        `rebuilt` of the result tells whether files had to be read.
        """
        inner = open_store(backend, local_path)
        rebuilt = _bring_up_to(base, inner, filesystem, directory)
        folder = "" if local_path is None else os.path.dirname(os.path.abspath(local_path))
        spill_parent = folder if os.path.isdir(folder) else None
        return cls(
            filesystem,
            directory,
            base,
            inner,
            rebuilt=rebuilt,
            snapshot_after=snapshot_after,
            spill_parent=spill_parent,
            local_path=local_path or "memory",
        )

    def commit(self) -> StateVersion:
        """Write what changed as a new version and close; the base itself comes back when nothing changed."""
        assert not self._is_turning, "its last version is not written yet"
        if not self._open:
            raise StateError("This state was committed or aborted already: open it again from its version.")
        try:
            if not self._tracked.has_changes:
                return self._base
            is_snapshot = self._needs_snapshot()
            entries = self._inner.scan(b"") if is_snapshot else self._tracked.changes()
            version = self._new_version(uuid.uuid4().hex, entries, is_snapshot=is_snapshot)
            with told_if_full(self._local_path):
                self._inner.commit(version.id.encode())
            return version
        finally:
            self.abort()

    def turn(self) -> WriteVersion:
        """End the version and go on with the next one; the caller calls the result, which writes the version's files.

        It may be called in another thread, and must have returned before the next turn and before the state is closed.
        """
        if not self._open or self._is_turning:
            raise StateError("This state was closed already, or its last version is not written yet.")
        base = self._base
        if not self._tracked.has_changes:
            return lambda: base
        version_id = uuid.uuid4().hex
        is_snapshot = self._needs_snapshot()
        changes = self._tracked.take_changes()
        # Before there are files: without them no seal names the version, so a store that is ahead is built anew.
        with told_if_full(self._local_path):
            self._inner.commit(version_id.encode())
        self._is_turning = True
        if not is_snapshot:
            return partial(self._write_turned, version_id, changes)
        entries = self._inner.frozen()
        if entries is not None:
            return partial(self._write_turned, version_id, changes, entries)
        version = self._write_turned(version_id, changes, self._inner.scan(b""))
        return lambda: version

    def _write_turned(
        self, version_id: str, changes: TakenChanges, snapshot: Iterable[Change] | None = None
    ) -> StateVersion:
        try:
            entries = changes.in_order() if snapshot is None else snapshot
            self._base = self._new_version(version_id, entries, is_snapshot=snapshot is not None)
            return self._base
        finally:
            self._is_turning = False
            changes.forget()

    def abort(self) -> None:
        """Forget what was written since the opening and close; fine after a commit."""
        if not self._open:
            return
        self._open = False
        self._tracked.forget()
        self._inner.close()

    def __enter__(self) -> SubtaskState:
        """Return the state itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Abort what was not committed."""
        self.abort()

    def _new_version(self, version_id: str, entries: Iterable[Change], *, is_snapshot: bool) -> StateVersion:
        if is_snapshot:
            return StateVersion(version_id, (self._write(f"{version_id}.snapshot", True, entries),))
        changes = self._write(f"{version_id}.changes", False, entries)
        return StateVersion(version_id, (*self._base.files, changes))

    def _needs_snapshot(self) -> bool:
        files = self._base.files
        if not files:
            return True
        snapshot_bytes = files[0].bytes if files[0].is_snapshot else 0
        change_bytes = sum(file.bytes for file in files if not file.is_snapshot)
        changes = sum(not file.is_snapshot for file in files)
        return changes >= self._snapshot_after or change_bytes > max(2 * snapshot_bytes, _SMALL_CHAIN_BYTES)

    def _write(self, name: str, is_snapshot: bool, entries: Iterable[Change]) -> StateFile:
        info = write_entries(self._filesystem, f"{self._directory}/{name}", entries)
        return StateFile(name, is_snapshot, info.bytes, info.entries)


def _bring_up_to(base: StateVersion, store: LocalStore, filesystem: fs.FileSystem, directory: str) -> bool:
    """Make a store hold a version, by the files that it lacks; returns whether there were any."""
    try:
        held = (store.tag or b"").decode()
        if held == base.id:
            return False
        missing = files_after(held, base)
        if missing is None:
            store.clear()
            missing = base.files
        for file in missing:
            _apply(store, read_entries(filesystem, f"{directory}/{file.name}"))
        # Kept even if this task fails later: the work of loading need not be done again.
        store.commit(base.id.encode())
        return bool(missing)
    except BaseException:
        store.close()
        raise


def files_after(held: str, base: StateVersion) -> tuple[StateFile, ...] | None:
    """Return the files that lead from the version held to `base`, or None when it is no ancestor in the chain."""
    for index, file in enumerate(base.files):
        if file.version_id == held:
            return base.files[index + 1 :]
    return None


def _apply(store: OrderedStore, changes: Iterable[Change]) -> None:
    for key, value in changes:
        if value is None:
            store.delete(key)
        else:
            store.put(key, value)
