"""The sessions of a gateway: a process each, bounded in number, closed when nobody has asked for them for a while."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.scratch import make_private, open_private
from penstock.server.answers import Refusal
from penstock.server.gateway.channel import CallError, Channel, Handler

MOST_SESSIONS = 20
IDLE_SECONDS = 600.0
_OPEN_SECONDS = 60.0
_CALL_SECONDS = 60.0
_END_SECONDS = 15.0
_LOOK_SECONDS = 1.0


class SessionProcess:
    """A session, and the process that runs its statements."""

    def __init__(self, folder: Path, handlers: Mapping[str, Handler]) -> None:
        """Start the process; its files and its log are in a folder of its own."""
        self.last_used = time.monotonic()
        self._folder = Path(make_private(str(folder)))
        ours, theirs = socket.socketpair()
        with theirs, open(folder / "session.log", "ab", opener=open_private) as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "penstock.cli.sql_gateway", str(theirs.fileno()), str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a signal at the terminal of the server is for the server
            )
        self._channel = Channel(ours, handlers)
        self._reader = threading.Thread(target=self._channel.run, name="penstock-sql-session", daemon=True)
        self._reader.start()

    def call(self, name: str, *, seconds: float = _CALL_SECONDS, **arguments: Any) -> Any:
        """Ask the process; raises Refusal."""
        self.last_used = time.monotonic()
        try:
            return self._channel.call(name, seconds=seconds, **arguments)
        except CallError as error:
            raise Refusal(error.status, str(error)) from None
        finally:
            self.last_used = time.monotonic()

    def touch(self) -> None:
        """Somebody is still there."""
        self.last_used = time.monotonic()

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process and what it runs; one that does not end by itself is killed."""
        self._channel.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(_END_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)


class Sessions:
    """All sessions of a server, by their handles."""

    def __init__(
        self, folder: Path, handlers: Mapping[str, Handler], most: int = MOST_SESSIONS, idle: float = IDLE_SECONDS
    ) -> None:
        """Keep the files of sessions below a folder."""
        self._folder = folder
        self._handlers = handlers
        self._most = most
        self._idle = idle
        self._lock = threading.Lock()
        self._open: dict[str, SessionProcess] = {}
        self._opening = 0
        self._ended = threading.Event()
        self._sweeper = threading.Thread(target=self._sweep, name="penstock-sql-sweep", daemon=True)
        self._sweeper.start()

    def open(self, properties: Mapping[str, str]) -> str:
        """Start a session; returns its handle."""
        with self._lock:
            if len(self._open) + self._opening >= self._most:
                raise Refusal(429, f"{self._most} SQL sessions are open, and no more are allowed: close one first")
            self._opening += 1
        try:
            handle = str(uuid.uuid4())
            session = SessionProcess(self._folder / handle, self._handlers)
            self._or_close(session, lambda: session.call("open", seconds=_OPEN_SECONDS, properties=dict(properties)))
            with self._lock:
                self._open[handle] = session
            return handle
        finally:
            with self._lock:
                self._opening -= 1

    def get(self, handle: str) -> SessionProcess:
        """The session of a handle."""
        with self._lock:
            found = self._open.get(handle)
        if found is None:
            raise Refusal(404, f"there is no SQL session {handle}; it was closed, or timed out")
        return found

    def close(self, handle: str) -> None:
        """End a session, and the queries that it runs."""
        session = self.get(handle)
        with self._lock:
            self._open.pop(handle, None)
        session.close()

    def end(self) -> None:
        """End all of them."""
        self._ended.set()
        with self._lock:
            left, self._open = list(self._open.values()), {}
        threads = [threading.Thread(target=each.close) for each in left]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._sweeper.join()

    def _or_close(self, session: SessionProcess, act: Callable[[], object]) -> None:
        try:
            act()
        except BaseException:
            session.close()
            raise

    def _sweep(self) -> None:
        while not self._ended.wait(min(_LOOK_SECONDS, self._idle / 4)):
            now = time.monotonic()
            with self._lock:
                old = [
                    handle
                    for handle, each in self._open.items()
                    if not each.is_alive() or now - each.last_used > self._idle
                ]
                left = [self._open.pop(handle) for handle in old]
            for each in left:
                each.close()
