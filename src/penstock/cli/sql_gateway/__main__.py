"""Serves one session, given the number of a socket and a folder, until the other side of the socket is gone."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from typing import Any

from penstock.cli.sql_gateway.gateway_session import GatewaySession
from penstock.cli.sql_shell.script import told_error
from penstock.server.gateway.channel import CallError, Channel

_END_SECONDS = 10.0
ENGINE = {"penstock.engine": "in-process"}
"""What queries run on unless a client says otherwise: a session is there in a second, and needs no Java."""


class _Server:
    """The server, as a session sees it."""

    def __init__(self) -> None:
        self.channel: Channel | None = None

    def submit(self, program: str) -> str:
        """Have a program run as a job."""
        return str(self._call("submit", program=program))

    def await_end(self, job: str) -> None:
        """Wait for the end of a job."""
        self._call("await_end", job=job)

    def jobs(self, job: str | None) -> list[list[str]]:
        """The jobs of the server."""
        return list(self._call("jobs", job=job))

    def stop_job(self, job: str, with_savepoint: bool, with_drain: bool) -> str | None:
        """End a job."""
        path = self._call("stop_job", job=job, with_savepoint=with_savepoint, with_drain=with_drain)
        return None if path is None else str(path)

    def _call(self, name: str, **arguments: Any) -> Any:
        assert self.channel is not None
        return self.channel.call(name, **arguments)


class _Process:
    """The handlers of the calls; `open` comes first."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._session: GatewaySession | None = None

    def handlers(self) -> dict[str, Any]:
        """By the names of the calls."""
        names = ("config", "execute", "configure", "complete", "status", "fetch", "cancel", "close")
        return {"open": self._open, **{name: self._later(name) for name in names}}

    def end(self) -> None:
        """End all that runs."""
        if self._session is not None:
            self._session.end()

    def _open(self, properties: dict[str, str]) -> None:
        self._session = GatewaySession({**ENGINE, **properties}, self._server)

    def _later(self, name: str) -> Any:
        def handle(**arguments: Any) -> Any:
            if self._session is None:
                raise CallError("the session is not open", 404)
            try:
                return getattr(self._session, name)(**arguments)
            except CallError:
                raise
            except Exception as error:
                raise CallError(told_error(error)) from error

        return handle


def main(descriptor: int, folder: str) -> None:
    """Run until the socket is closed; what has not ended some seconds later ends with the process.

    The folder of the session is removed here: a server that was killed cannot do it.
    """
    server = _Server()
    process = _Process(server)
    server.channel = Channel(socket.socket(fileno=descriptor), process.handlers())
    server.channel.run()
    # Spark's JVM reads our standard input to its end, so it ends with this process too.
    guard = threading.Timer(_END_SECONDS, os._exit, args=(1,))
    guard.daemon = True
    guard.start()
    try:
        process.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
