"""The control file: how the driver of a job talks to the reader of Penstock's own sources.

Spark runs the reader in a process of its own beside the driver, so a small file on the driver's disk is what
both can see. It says: drain, which Spark-read sources have ended, when a batch is wanted even without data, how many
records it may take, and which splits it is to leave alone.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, replace

import cloudpickle

from penstock.engine.spark.program_imports import ProgramImports
from penstock.job.intake import IntakeRequest, SourceList
from penstock.scratch import make_scratch, open_private, remove_scratch
from penstock.storage.disk_space import told_if_full

CLOCK = "clock"
"""Name of the file that stands for the clock, where a scripted source sets it."""
_PLAN = "plan"


class Control:
    """The driver's end of the control file."""

    def __init__(self, sources: SourceList) -> None:
        self.directory = make_scratch("control")
        self._state = IntakeRequest()
        self._rests_until = 0.0
        self.clock_file = os.path.join(self.directory, CLOCK) if sources.scripts_clock() else None
        if self.clock_file is not None:
            write_clock(self.clock_file, 0)
        with open(os.path.join(self.directory, "sources"), "wb", opener=open_private) as stream:
            # Two layers: what the program's own modules and classes need comes before what is made of them.
            cloudpickle.dump((ProgramImports.of_this_process(), cloudpickle.dumps(sources)), stream)
        self._write()

    def write_plan(self, plan: bytes) -> None:
        """Leave the plan, which the reader sends to the tasks that read; before the query starts."""
        path = os.path.join(self.directory, _PLAN)
        with told_if_full(path), open(path, "wb", opener=open_private) as stream:
            stream.write(plan)

    @property
    def state(self) -> IntakeRequest:
        """What was last said."""
        return self._state

    def now_ms(self) -> int:
        """The time, by the machine's clock or by the script's."""
        return clock_ms() if self.clock_file is None else read_clock(self.clock_file)

    def drain(self) -> None:
        """Let all sources end where they are."""
        self._change(is_draining=True)

    def end_frame(self, uid: str) -> None:
        """Say that a bounded source that Spark reads has been read to its end."""
        if uid not in self._state.ended:
            self._change(ended=(*self._state.ended, uid))

    def wake_at(self, due_ms: int | None) -> None:
        """Ask for a batch at a processing time, or for none."""
        if due_ms != self._state.due_ms:
            self._change(due_ms=due_ms)

    def take_at_most(self, limit: int | None) -> None:
        """Say how many records the next batches may take."""
        if limit != self._state.limit:
            self._change(limit=limit)

    def rest_until(self, moment: float) -> None:
        """Say when the next batch may begin if nothing is urgent, by the monotonic clock, which processes share."""
        if moment != self._rests_until:
            self._rests_until = moment
            self._write()

    def pause(self, paused: dict[str, list[str]]) -> None:
        """Say which splits the next batches are not to read, by source."""
        if paused != self._state.paused:
            self._change(paused=paused)

    def remove(self) -> None:
        """Clean up; the query must have stopped."""
        remove_scratch(self.directory)

    def _change(self, **what: object) -> None:
        self._state = replace(self._state, **what)  # type: ignore[arg-type]
        self._write()

    def _write(self) -> None:
        path = os.path.join(self.directory, "control.json")
        with told_if_full(path):
            self._replace(path)

    def _replace(self, path: str) -> None:
        with open(path + ".tmp", "w", opener=open_private) as stream:
            json.dump({**asdict(self._state), "rests_until": self._rests_until}, stream)
        os.replace(path + ".tmp", path)


def read_plan(directory: str) -> bytes | None:
    """The plan that the driver left, None if there is none yet."""
    try:
        with open(os.path.join(directory, _PLAN), "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


class ControlReader:
    """The reader's end of the control file; parses it again only when it has changed."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, "control.json")
        clock_file = os.path.join(directory, CLOCK)
        self._clock_file = clock_file if os.path.exists(clock_file) else None
        self._seen: tuple[int, int] | None = None
        self._state = IntakeRequest()
        self.rests_until = 0.0
        """When the next batch may begin, by the monotonic clock; as of the last look at the state."""

    def state(self) -> IntakeRequest:
        """What the driver wants now."""
        status = os.stat(self._path)
        stamp = (status.st_mtime_ns, status.st_ino)
        if stamp != self._seen:
            with open(self._path) as stream:
                found = json.load(stream)
            self.rests_until = found.pop("rests_until")
            self._state = IntakeRequest(**{**found, "ended": tuple(found["ended"])})
            self._seen = stamp
        return self._state

    def now_ms(self) -> int:
        """The time, by the machine's clock or by the script's."""
        return clock_ms() if self._clock_file is None else read_clock(self._clock_file)

    def set_clock(self, now_ms: int) -> None:
        """A scripted source says what time it is; time does not go back."""
        if self._clock_file is not None and now_ms > read_clock(self._clock_file):
            write_clock(self._clock_file, now_ms)


def clock_ms() -> int:
    """The machine's clock."""
    return time.time_ns() // 1_000_000


def read_clock(path: str) -> int:
    """The time that a clock file shows."""
    with open(path) as stream:
        return int(stream.read())


def write_clock(path: str, now_ms: int) -> None:
    """Set a clock file."""
    with open(path + ".tmp", "w", opener=open_private) as stream:
        stream.write(str(now_ms))
    os.replace(path + ".tmp", path)
