"""What a test run has started ends with it, even if the run is killed: brokers, databases, drivers, sessions of Spark.

The run has a mark in its environment, which everything that it starts inherits, however deep. A process beside it,
which has no mark, waits for its end and kills whatever still has it. On systems without `/proc` nothing is done.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

MARK = "PENSTOCK_TEST_RUN"
_PROCESSES = Path("/proc")
_PATIENCE_SECONDS = 30.0


def watch() -> Callable[[], None]:
    """Mark this process and have it watched; call what is returned when the run ends in order."""
    if not (_PROCESSES / "self" / "environ").exists():
        return lambda: None
    plain = {name: value for name, value in os.environ.items() if name != MARK}
    os.environ[MARK] = uuid.uuid4().hex
    command = [sys.executable, "-S", "-E", str(Path(__file__).resolve()), os.environ[MARK]]
    watcher = subprocess.Popen(command, stdin=subprocess.PIPE, env=plain, start_new_session=True)

    def end() -> None:
        watcher.communicate(b"ended in order")

    return end


def kill_all(mark: str) -> None:
    """Kill every process that has the mark; some may only just be starting others.

    A process shows no environment for a moment when it begins, so nobody is left only if two looks find nobody.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    pause = threading.Event()
    found_nobody = 0
    while found_nobody < 2 and time.monotonic() < deadline:
        found = marked(mark)
        found_nobody = 0 if found else found_nobody + 1
        for process in found:
            try:
                os.kill(process, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        pause.wait(0.2)


def marked(mark: str) -> list[int]:
    """The numbers of the living processes that have the mark."""
    wanted = f"{MARK}={mark}".encode()
    return [int(each.name) for each in _PROCESSES.iterdir() if each.name.isdigit() and wanted in _environment(each)]


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")  # empty for one that is dead and not yet waited for
    except OSError:
        return []


if __name__ == "__main__":
    if not sys.stdin.buffer.read():
        kill_all(sys.argv[1])
