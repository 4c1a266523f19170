"""How Python workers on this machine died: noted by the process they are forked from, read by the driver.

Spark only sees that a connection was closed. The daemon is the parent of all workers, so it is told how each ended.
"""

from __future__ import annotations

import glob
import os
import signal
import time
from contextlib import suppress
from typing import Any

_FILE = "penstock-worker-deaths-{pid}"
_RECENT_SECONDS = 60.0
_LAST = 4


def note_deaths(folder: str | None) -> None:
    """Have the deaths of this process's children noted in a folder, from its next child on.

    The file bears the number of the Java process that started this one: the folders of several may be side by side.
    """
    if folder is not None:
        path = os.path.join(folder, _FILE.format(pid=os.getppid()))
        # Spark's daemon tells the system to forget its children, once, before it has any: hence after a fork.
        os.register_at_fork(after_in_parent=lambda: _watch(path))


def _watch(path: str) -> None:
    def on_death(number: int, frame: Any) -> None:
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                _note(path, os.waitstatus_to_exitcode(status))

    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, on_death)


def _note(path: str, code: int) -> None:
    if code != 0:
        with suppress(OSError), open(path, "a") as stream:
            stream.write(f"{time.time()} {code}\n")


def codes_of_deaths(scratch: str, java: int) -> list[int]:
    """The codes with which workers of a Java process ended lately, the last few; none if nobody noted them.

    `scratch` is the directory that holds the folders in which Spark's processes on this machine keep their files.
    """
    noted: list[list[str]] = []
    for path in glob.glob(os.path.join(glob.escape(scratch), "*", _FILE.format(pid=java))):
        with open(path) as stream:
            noted += [line.split() for line in stream.readlines()[-_LAST:]]
    return [int(code) for when, code in noted[-_LAST:] if time.time() - float(when) < _RECENT_SECONDS]
