"""The control file: how the driver of a job talks to the reader of Penstock's own sources.

Spark runs the reader in a process of its own beside the driver, so a small file on the driver's disk is what
both can see. It says: drain, which Spark-read sources have ended, and when a batch is wanted even without data.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass, replace

import cloudpickle

from penstock.connectors.source import SplitSource


@dataclass(frozen=True)
class ControlState:
    """What the driver wants of the next batches."""

    is_draining: bool = False
    ended: tuple[int, ...] = ()
    due_ms: int | None = None


@dataclass(frozen=True)
class SplitVertex:
    """A source vertex that Penstock reads itself, as the reader needs to know it."""

    source: SplitSource
    split_count: int
    has_idleness: bool


@dataclass(frozen=True)
class SourceList:
    """All sources of a job. `frames`: vertex -> whether it has idleness, for sources that Spark reads."""

    splits: dict[int, SplitVertex]
    frames: dict[int, bool]
    max_records_per_batch: int


class Control:
    """The driver's end of the control file."""

    def __init__(self, sources: SourceList, search_path: tuple[str, ...], main_classes: bytes) -> None:
        self.directory = tempfile.mkdtemp(prefix="penstock-control-")
        self._state = ControlState()
        with open(os.path.join(self.directory, "sources"), "wb") as stream:
            # Two layers: the search path must be set before the sources can be unpickled.
            cloudpickle.dump((search_path, main_classes, cloudpickle.dumps(sources)), stream)
        self._write()

    @property
    def state(self) -> ControlState:
        """What was last said."""
        return self._state

    def drain(self) -> None:
        """Let all sources end where they are."""
        self._change(is_draining=True)

    def end_frame(self, vertex: int) -> None:
        """Say that a bounded source that Spark reads has been read to its end."""
        if vertex not in self._state.ended:
            self._change(ended=(*self._state.ended, vertex))

    def wake_at(self, due_ms: int | None) -> None:
        """Ask for a batch at a processing time, or for none."""
        if due_ms != self._state.due_ms:
            self._change(due_ms=due_ms)

    def remove(self) -> None:
        """Clean up; the query must have stopped."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _change(self, **what: object) -> None:
        self._state = replace(self._state, **what)  # type: ignore[arg-type]
        self._write()

    def _write(self) -> None:
        path = os.path.join(self.directory, "control.json")
        with open(path + ".tmp", "w") as stream:
            json.dump(asdict(self._state), stream)
        os.replace(path + ".tmp", path)


class ControlReader:
    """The reader's end of the control file; parses it again only when it has changed."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, "control.json")
        self._seen: tuple[int, int] | None = None
        self._state = ControlState()

    def state(self) -> ControlState:
        """What the driver wants now."""
        status = os.stat(self._path)
        stamp = (status.st_mtime_ns, status.st_ino)
        if stamp != self._seen:
            with open(self._path) as stream:
                found = json.load(stream)
            self._state = ControlState(found["is_draining"], tuple(found["ended"]), found["due_ms"])
            self._seen = stamp
        return self._state
