"""Ways for a job to kill itself at a chosen moment: sink, writer and committer that die, and a dying checkpoint.

Each is a SIGKILL, nothing is cleaned up.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import psutil
from pyarrow import fs

from penstock.checkpoint import CheckpointDirectory, Seal
from penstock.connectors.files.committer import FileCommitter
from penstock.connectors.files.sink import FileSinkState, FileWriter
from penstock.connectors.sink import Committer, SinkContext, SinkWriter
from penstock.datastream.connectors.file_system import FileSink
from penstock.runtime.continuous.station import LevelStation
from penstock.runtime.rows import ExchangeRow

BEFORE_SEAL, TORN_SEAL, AFTER_SEAL = "before-seal", "torn-seal", "after-seal"
AFTER_LAST_SEAL = "after-last-seal"  # that of the batch in which all input ends
MID_PUBLISH, AFTER_PUBLISH = "mid-publish", "after-publish"
ALIGNING = "aligning"  # a moment of workers
DRIVER_MOMENTS = (BEFORE_SEAL, TORN_SEAL, AFTER_SEAL, MID_PUBLISH, AFTER_PUBLISH)


def die_with_children() -> NoReturn:
    """End this process and all below it as a power cut would."""
    for child in psutil.Process().children(recursive=True):
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue  # died of its parent's death
    die()


def die() -> NoReturn:
    """End this process only."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a process survived SIGKILL")


def claim(folder: str, name: str) -> bool:
    """Whether nobody took this name before: a process that is started again must not die of the same cause."""
    try:
        os.close(os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class Trap:
    """Kills the worker that first meets one of some numbers; `kind` says what they number."""

    def __init__(self, kind: str, numbers: Iterable[int], notes: str) -> None:
        self._kind = kind
        self._numbers = frozenset(numbers)
        self._notes = notes

    def step_on(self, number: int) -> None:
        """Die, if it is one of them and nobody has died of it."""
        if number in self._numbers and claim(self._notes, f"died-{self._kind}-{number}"):
            die()


class _Countdown:
    def __init__(self, calls: int) -> None:
        self._left = calls

    def is_over(self) -> bool:
        self._left -= 1
        return self._left < 0


class DyingCommitter(FileCommitter):
    """Publishes files until its moment comes."""

    def __init__(self, location: str, moment: str, after: int) -> None:
        super().__init__(location)
        self._moment = moment
        self._countdown = _Countdown(after)

    def commit(self, committables: list[Any]) -> None:
        """Publish all, or half and die, or all and die."""
        # A batch without a file cannot be cut in two.
        is_now = len(committables) > 1 and self._moment in (MID_PUBLISH, AFTER_PUBLISH) and self._countdown.is_over()
        if is_now and self._moment == MID_PUBLISH:
            super().commit(committables[: len(committables) // 2])
            die_with_children()
        super().commit(committables)
        if is_now:
            die_with_children()


class DyingWriter(FileWriter):
    """A writer that notes where each batch runs and dies, once, where it is told to."""

    def __init__(self, sink: DyingFileSink, context: SinkContext) -> None:
        super().__init__(sink, context)
        self._notes = sink.notes
        self._deaths = sink.worker_deaths
        self._subtask = context.subtask
        if ALIGNING in self._deaths:
            let_alignment_die(self._notes, self._deaths[ALIGNING])

    def begin(self, version: int, attempt: str, state: FileSinkState | None) -> None:
        """Note the executor and begin."""
        self._batch = version
        Path(self._notes, f"ran-{version}-{self._subtask}-{executor_pid()}-{os.getpid()}").touch()
        super().begin(version, attempt, state)

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        """Stage the files; die before anything else is saved."""
        committables = super().prepare_commit(now_ms, end_of_input)
        self._die_if_told("staged")
        return committables

    def snapshot(self) -> FileSinkState:
        """Die when the local store holds the new version but nobody has been told of it."""
        self._die_if_told("stored")
        return super().snapshot()

    def _die_if_told(self, moment: str) -> None:
        first = self._deaths.get(moment)
        if first is not None and self._batch >= first and claim(self._notes, f"died-{moment}-{self._subtask}"):
            die()


def let_alignment_die(notes: str, first: int) -> None:
    """Let this worker die, once, in continuous mode, when a barrier has come on some of its channels and not on all."""
    take = LevelStation.take

    def take_and_die(station: LevelStation, sender: int, row: ExchangeRow) -> None:
        take(station, sender, row)
        if station.aligner.is_aligning and station.version >= first and claim(notes, f"died-{ALIGNING}"):
            die()

    if take.__name__ != take_and_die.__name__:
        LevelStation.take = take_and_die  # type: ignore[method-assign]


class DyingFileSink(FileSink):
    """The file sink with writers and committers that die. Set `notes` before the job starts."""

    notes: str
    worker_deaths: dict[str, int]
    driver_death: tuple[str, int]

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Make a writer that dies."""
        return DyingWriter(self, context)

    def create_committer(self) -> Committer | None:
        """Make a committer that dies."""
        return DyingCommitter(self.location, *self.driver_death)


class _NoRename:
    """A file system on which the process dies when a file is to get its final name."""

    def __init__(self, inner: fs.FileSystem) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def move(self, source: str, target: str) -> NoReturn:
        """Leave the temporary file where it is."""
        die_with_children()


def let_seals_die(moment: str, after: int) -> None:
    """Make this process die around the writing of a seal of some output, when so many have been written."""
    countdown = _Countdown(after)
    write_seal = CheckpointDirectory.write_seal

    def is_now(seal: Seal) -> bool:
        if moment == AFTER_LAST_SEAL:
            return all(entry.has_ended for entry in seal.entries.values())
        # A batch without output, as the first of a rate-limited source often is, has nothing to lose.
        return bool(seal.committables) and countdown.is_over()

    def write_and_die(directory: CheckpointDirectory, seal: Seal) -> None:
        if not is_now(seal):
            return write_seal(directory, seal)
        if moment == BEFORE_SEAL:
            die_with_children()
        if moment == TORN_SEAL:
            directory.filesystem = _NoRename(directory.filesystem)
        write_seal(directory, seal)
        die_with_children()

    if moment in (BEFORE_SEAL, TORN_SEAL, AFTER_SEAL, AFTER_LAST_SEAL):
        CheckpointDirectory.write_seal = write_and_die  # type: ignore[method-assign]


def let_publication_die(moment: str, after: int) -> None:
    """Make this process die in the middle of publishing files, or after it, when it has been done so many times.

    For sinks that are not built to die, see `DyingFileSink`.
    """
    countdown = _Countdown(after)
    commit = FileCommitter.commit

    def commit_and_die(committer: FileCommitter, committables: list[Any]) -> None:
        if not committables or not countdown.is_over():
            return commit(committer, committables)
        commit(committer, committables[: len(committables) // 2] if moment == MID_PUBLISH else committables)
        die_with_children()

    if moment in (MID_PUBLISH, AFTER_PUBLISH):
        FileCommitter.commit = commit_and_die  # type: ignore[method-assign]


def executor_pid() -> int:
    """The Java process this Python worker belongs to."""
    parents = psutil.Process().parents()
    return next(process.pid for process in parents if "java" in process.name())
