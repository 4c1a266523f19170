"""Driver processes: started as sessions of their own, and recognised again by whoever did not start them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from penstock.scratch import open_private

HOST = socket.gethostname()
DRIVER_MODULE = "penstock.cli.driver_main"
NOT_STARTED = -1
"""The exit code of a driver that was not told what to run."""

_DRIVER = DRIVER_MODULE.encode()

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
            _children.pop(self.pid, None)
            if child.stdin is not None:
                _close(child.stdin)
        return start_time(self.pid) == self.started

    def kill(self) -> None:
        """End it and what it started; for drivers that answer nobody."""
        if self.is_alive():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def let_run(self, arguments: list[str]) -> None:
        """Tell a driver that has just been started what to run; not on its command line, which all can read."""
        self._tell(json.dumps(arguments).encode())

    def turn_away(self) -> None:
        """Have a driver that has just been started end before it does anything."""
        self._tell(b"")

    def _tell(self, content: bytes) -> None:
        child = _children.get(self.pid)
        if child is not None and child.stdin is not None:
            with suppress(BrokenPipeError, ValueError):  # one that has died is looked after like any other
                child.stdin.write(content)
            _close(child.stdin)


def _close(channel: IO[bytes]) -> None:
    with suppress(BrokenPipeError):
        channel.close()


def start_driver(command: list[str], environment: dict[str, str], folder: Path, log: Path) -> DriverProcess:
    """Start a driver in a session of its own, so that no signal to the dispatcher reaches it.

    It does nothing until it is told what to run: the step that makes it ours is a change of the registry, and that may
    fail. If this process dies before, its end of the pipe is closed, and the driver ends.
    """
    with open(log, "ab", opener=open_private) as stream:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
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


def driver_processes(folder: Path) -> Iterator[tuple[Path, DriverProcess]]:
    """The drivers of this user on this machine that leave their exit code below a folder, with the file for it."""
    begin = f"{folder}/".encode()
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):
                words = (place / "cmdline").read_bytes().split(b"\0")
                files = [word for word in words if word.startswith(begin)] if _DRIVER in words else []
                # What a driver forked has its command line, but is no session of its own.
                is_driver = bool(files) and os.getsid(int(place.name)) == int(place.name)
                started = start_time(int(place.name)) if is_driver else None
                if started is not None and place.stat().st_uid == os.geteuid():
                    yield Path(os.fsdecode(files[0])), DriverProcess(int(place.name), started)
