"""One process of the comparison and everything it starts: a session of its own, a time limit, its memory, its end.

Knows processes only, not what they do.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

MEGABYTE = 1024 * 1024
SAMPLE_S = 0.5
GRACE_S = 3.0
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")


@dataclass(frozen=True)
class Ended:
    """How a process ended. `error` is None, or says in a sentence what went wrong."""

    started: float
    peak_mb: float
    error: str | None


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path, limit_s: float) -> Ended:
    """Run a command to its end or to the limit. What it has started is gone afterwards, also after an interrupt."""
    log = folder / "log"
    started = time.time()
    with log.open("wb") as output:
        # The input is a pipe that is never written to: it closes when this process dies, however it dies.
        process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with _Memory(process.pid) as memory:
            try:
                process.wait(limit_s)
                error = None if process.returncode == 0 else _complaint(process.returncode, log)
            except subprocess.TimeoutExpired:
                error = f"not finished after {limit_s:g} s"
            finally:
                _end_session(process)
    return Ended(started, memory.peak_mb, error)


class _Memory:
    """Samples the memory of all processes of a session; pages that several of them share are counted once."""

    def __init__(self, session: int) -> None:
        self.peak_mb = 0.0
        self._session = session
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(SAMPLE_S):
            self.peak_mb = max(self.peak_mb, sum(_used_mb(member) for member in _members(self._session)))


def _members(session: int) -> Iterator[psutil.Process]:
    for pid in psutil.pids():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(pid) == session and (member := psutil.Process(pid)).status() != psutil.STATUS_ZOMBIE:
                yield member


def _used_mb(process: psutil.Process) -> float:
    """Proportional share of memory where the system tells it, else what is resident."""
    try:
        full = process.memory_full_info()
        return float(getattr(full, "pss", full.rss)) / MEGABYTE
    except psutil.Error:  # it has just ended
        return 0.0


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the session; each by its own number, for Spark's workers leave the group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        left = list(_members(process.pid))
        for member in left:
            with contextlib.suppress(psutil.Error):
                member.send_signal(number)
        psutil.wait_procs(left, timeout=GRACE_S)
    if process.stdin is not None:
        process.stdin.close()
    process.wait()


def _complaint(status: int, log: Path) -> str:
    """The last line of the log that looks like an error, for the table; the log itself is kept by the caller."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)]
    said = (errors or lines or ["no output"])[-1]
    return f"ended with {status}: {said[:200]}"
