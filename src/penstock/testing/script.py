"""Scripted sources: records, watermarks, batch ends, clock and failures in one list.

Runs in process and on (local) Spark alike.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.watermark_strategy import Watermark
from penstock.connectors.source import Chunk, SplitSource, StatusSignal, WatermarkSignal


@dataclass(frozen=True)
class Element:
    """A record with its timestamp; in a script, a value that is no marker is a record without one."""

    value: Any
    timestamp: int | None = None


@dataclass(frozen=True)
class Idle:
    """From here on the source is idle, until its next record."""


@dataclass(frozen=True)
class Cut:
    """A batch ends here."""


@dataclass(frozen=True)
class Clock:
    """Processing time is this when the batch that starts here runs."""

    now_ms: int


@dataclass(frozen=True)
class Fail:
    """Reading fails here, the first `times` times."""

    message: str = "scripted failure"
    times: int = 1


@dataclass(frozen=True)
class Pause:
    """Nothing more is given until so much time has passed."""

    duration_ms: int


class ScriptedFailure(Exception):
    """What a `Fail` marker raises."""


Script = Sequence[Any]


def _folder_of_this_program() -> str:
    """A folder that goes with the program: copies of the source, in workers too, may need it until then."""
    folder = tempfile.mkdtemp(prefix="penstock-script-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class ScriptedSource(SplitSource):
    """A bounded source that follows scripts, one for each split.

    >>> source = ScriptedSource([Element("a", 1), Watermark(5), Cut(), Element("b", 7)])
    >>> source.available(0, 1, 0, 0, 100)
    3
    >>> list(source.read(0, 1, 0, 2))
    [(['a'], [1]), WatermarkSignal(timestamp=5)]
    """

    def __init__(self, *scripts: Script, ends: bool = True) -> None:
        """Take one script for each split; `ends` False leaves the source open when it has given everything."""
        self._scripts = [list(script) for script in scripts]
        self._ends = ends
        self._paused: dict[tuple[int, int], int] = {}
        # Failures are counted in a folder: the process that failed does not remember.
        has_failures = any(isinstance(item, Fail) for script in self._scripts for item in script)
        self._folder = _folder_of_this_program() if has_failures else None

    def is_bounded(self) -> bool:
        """Whether the script is all there will be."""
        return self._ends

    def is_single(self) -> bool:
        """One script is one split, whatever the parallelism of the job."""
        return len(self._scripts) == 1

    def split_count(self, parallelism: int) -> int:
        """One split for each script."""
        return len(self._scripts)

    def split_end(self, split: int, split_count: int) -> int | None:
        """The end of the script."""
        return len(self._scripts[split]) if self._ends else None

    def available(self, split: int, split_count: int, position: int, elapsed_ms: int, limit: int) -> int:
        """Up to the next cut, change of the clock, or pause that is not over."""
        script = self._scripts[split]
        stop = min(len(script), position + limit)
        for index in range(position, stop):
            item = script[index]
            if isinstance(item, Cut):
                return index + 1
            if isinstance(item, Clock) and index > position:
                return index
            if isinstance(item, Pause) and not self._is_over(split, index, item, elapsed_ms):
                return index
        return stop

    def _is_over(self, split: int, index: int, pause: Pause, elapsed_ms: int) -> bool:
        since = self._paused.setdefault((split, index), elapsed_ms)
        return elapsed_ms >= since + pause.duration_ms

    def processing_time(self, split: int, split_count: int, position: int) -> int | None:
        """The last time that the script has set by a position."""
        times = [item.now_ms for item in self._scripts[split][:position] if isinstance(item, Clock)]
        return max(times, default=None)

    def has_clock(self) -> bool:
        """Whether the script sets the clock."""
        return any(isinstance(item, Clock) for script in self._scripts for item in script)

    def read(
        self, split: int, split_count: int, start: int, stop: int
    ) -> Iterator[Chunk | WatermarkSignal | StatusSignal]:
        """Give the records of a range, and what the markers between them say."""
        for index, item in enumerate(self._scripts[split][start:stop], start):
            if isinstance(item, Watermark):
                yield WatermarkSignal(item.timestamp)
            elif isinstance(item, Idle):
                yield StatusSignal(True)
            elif isinstance(item, Fail):
                self._fail(split, index, item)
            elif not isinstance(item, (Cut, Clock, Pause)):
                element = item if isinstance(item, Element) else Element(item)
                yield [element.value], None if element.timestamp is None else [element.timestamp]

    def _fail(self, split: int, index: int, failure: Fail) -> None:
        assert self._folder is not None
        for time in range(failure.times):
            try:
                os.close(os.open(os.path.join(self._folder, f"{split}-{index}-{time}"), os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            raise ScriptedFailure(failure.message)
