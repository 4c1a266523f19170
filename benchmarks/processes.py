"""One process of the comparison and all that it starts: a session of its own, a limit, memory, processor time, end.

Knows processes only, not what they do.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

MEGABYTE = 1024 * 1024
SAMPLE_S = 0.5
GRACE_S = 3.0
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")


@dataclass(frozen=True)
class Ended:
    """How a process ended. `error` is None, or says in a sentence what went wrong.

    `processor_s` has moments, and the seconds of processor time that all processes together had taken by then.
    """

    started: float
    peak_mb: float
    error: str | None
    processor_s: tuple[tuple[float, float], ...] = ()

    def processor_s_until(self, moment: float) -> float:
        """Processor time up to a moment, as if it were taken evenly between two looks."""
        moments = [at for at, _ in self.processor_s]
        place = bisect.bisect_left(moments, moment)
        if place == 0 or place == len(moments):
            return self.processor_s[min(place, len(moments) - 1)][1] if moments else 0.0
        (before, low), (after, high) = self.processor_s[place - 1 : place + 1]
        return low + (high - low) * (moment - before) / (after - before)


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    limit_s: float,
    may_look: Callable[[], bool] = lambda: True,
) -> Ended:
    """Run a command to its end or to the limit. What it has started is gone afterwards, also after an interrupt.

    Memory is looked at while it `may_look`: a look at a JVM that has much of it holds that up for a third of a second.
    """
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
        with _Watch(process.pid, may_look) as watch:
            try:
                process.wait(limit_s)
                error = None if process.returncode == 0 else _complaint(process.returncode, log)
            except subprocess.TimeoutExpired:
                error = f"not finished after {limit_s:g} s"
            finally:
                _end_session(process)
    return Ended(started, watch.peak_mb, error, tuple(watch.processor_s))


class _Watch:
    """Samples what all processes of a session use; pages of memory that several of them share are counted once."""

    def __init__(self, session: int, may_look: Callable[[], bool]) -> None:
        self.peak_mb = 0.0
        self.processor_s: list[tuple[float, float]] = []
        self._by_process: dict[int, float] = {}
        self._session = session
        self._may_look = may_look
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(SAMPLE_S):
            if not self._may_look():
                continue
            members = list(_members(self._session))
            self.peak_mb = max(self.peak_mb, sum(map(_used_mb, members)))
            for member in members:
                with contextlib.suppress(psutil.Error):
                    used = member.cpu_times()
                    self._by_process[member.pid] = used.user + used.system
            # Of processes that have ended, what they had used when they were last seen.
            self.processor_s.append((time.time(), sum(self._by_process.values())))


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
