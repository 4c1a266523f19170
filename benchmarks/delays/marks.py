"""Records that are due at an even rate, and the delays that jobs note of them.

Imports the standard library only: environments of all systems load it.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SPREAD = 2_654_435_761
KEYS = 2_000
WINDOW_KEYS = 200
WINDOW_MS = 1_000
TIMER_MS = 100
"""How long after a record its timer is due."""
START_S = 60
"""How long a system may take until its first result, on a busy machine."""
TOPIC_IN, TOPIC_OUT = "due", "counted"
"""A record is a text of its key and when it was due, a result the same with the count behind; commas are between."""
TENTHS = 10
"""Delays are kept in tenths of a millisecond."""


@dataclass(frozen=True)
class DelayTask:
    """One run of a system: a job, records in a second, and for how long; delays go to files in `folder`."""

    job: str
    folder: str
    rate: int
    seconds: float
    parallelism: int = 2
    checkpoint_ms: int = 1_000
    options: dict[str, Any] = field(default_factory=dict)
    servers: str = ""
    """Where the brokers are, for a job between topics."""

    @classmethod
    def from_words(cls, words: list[str]) -> DelayTask:
        """The task on a command line."""
        return cls(**json.loads(words[0]))

    def as_json(self) -> str:
        """How the task is handed to a process."""
        return json.dumps(asdict(self))

    @property
    def keys(self) -> int:
        """How many keys the records have."""
        return WINDOW_KEYS if self.job == "window" else KEYS


def key_of(number: int, keys: int) -> int:
    """The key of a record."""
    return number * SPREAD % 4_294_967_296 % keys


def other_key(key: int, keys: int) -> int:
    """The key for a second exchange: most records change their task."""
    return (key * 7 + 3) % keys


class Marks:
    """Counts delays by second and size; a file of its own for each, so that any process may have one.

    A record is late from the moment it was due, not from the moment it was sent: a job that holds up its own source
    cannot hide that.
    """

    def __init__(self, folder: str) -> None:
        self._path = Path(folder) / f"{os.getpid()}-{uuid.uuid4().hex[:8]}.marks"
        self._counts: Counter[int] = Counter()
        self._second = 0

    def note(self, due_ms: float) -> None:
        """A result is there that was due."""
        now_ms = time.time_ns() / 1e6
        if now_ms // 1000 != self._second:
            self._write()
            self._second = int(now_ms // 1000)
        self._counts[int((now_ms - due_ms) * TENTHS)] += 1

    def _write(self) -> None:
        if self._counts:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([self._second, list(self._counts.items())]) + "\n")
            self._counts.clear()


def let_run(folder: str, seconds: float) -> None:
    """Wait for the first results of a job, and then as long as is measured."""
    gives_up = time.monotonic() + START_S
    while not any(Path(folder).glob("*.marks")) and time.monotonic() < gives_up:
        time.sleep(0.1)
    time.sleep(seconds)  # how long is measured; nothing is waited for


def seconds_of(folder: Path) -> dict[int, Counter[int]]:
    """What all files of a folder have, by second."""
    found: dict[int, Counter[int]] = {}
    for second, counts in _lines(folder):
        found.setdefault(second, Counter()).update(dict(counts))
    return found


def _lines(folder: Path) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    for path in sorted(folder.glob("*.marks")):
        for line in path.read_text().splitlines():
            second, counts = json.loads(line)
            yield second, [(tenth, count) for tenth, count in counts]
