"""Driver processes: started as sessions of their own, and recognised again by whoever did not start them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.scratch import open_private

HOST = socket.gethostname()

_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class DriverProcess:
    """A process of this machine; its start time tells it from another one that got its number later."""

    pid: int
    started: int

    def is_alive(self) -> bool:
        """Whether it still runs; one of our own that has ended is waited for."""
        child = _children.get(self.pid)
        if child is not None and child.poll() is not None:
            del _children[self.pid]
        return start_time(self.pid) == self.started

    def kill(self) -> None:
        """End it and what it started; for drivers that answer nobody."""
        if self.is_alive():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)


def start_driver(command: list[str], environment: dict[str, str], folder: Path, log: Path) -> DriverProcess:
    """Start a driver in a session of its own, so that no signal to the dispatcher reaches it."""
    with open(log, "ab", opener=open_private) as stream:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    _children[child.pid] = child
    return DriverProcess(child.pid, start_time(child.pid) or 0)


def start_time(pid: int) -> int | None:
    """When a process was started, in ticks since the machine was; None if it has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def find_driver(argument: str) -> DriverProcess | None:
    """The process of this user that has an argument on its command line; for a driver that nobody noted."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if argument.encode() in words and folder.stat().st_uid == os.geteuid():
                    started = start_time(int(folder.name))
                    return None if started is None else DriverProcess(int(folder.name), started)
    return None
