"""The process that small Python processes of Spark are forked from; its argument is the path of its socket.

Spark starts a Python process for every source of every job, and two more for a session. Each would spend most of a
second on imports that are the same for all. This one has done them. A request comes from `fork_client`, with the words,
the folder, the variables and the streams of the process; it gets the exit code when the process has ended, and ends the
process by leaving.

It ends when whoever started it does, which it knows by the end of its input.
"""

from __future__ import annotations

import gc
import importlib
import os
import selectors
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from penstock.engine.spark.startup.fork_client import NUMBER, REFUSED
from penstock.engine.spark.startup.session_config import QUIET_DAEMON, SOURCE_RUNNER
from penstock.engine.spark.startup.worker_daemon import other_threads

_PRELOADED = (SOURCE_RUNNER, "pyspark.sql.worker.create_data_source", "pyspark.sql.worker.lookup_data_sources")
_PRELOADED_OWN = ("penstock.datastream", "penstock.engine.spark.native_source")
_INPUT = 0
_STREAMS = 3
_REQUEST_SECONDS = 10.0
_QUEUED = 64


class Request:
    """The process that a client wants."""

    def __init__(self, client: socket.socket) -> None:
        client.settimeout(_REQUEST_SECONDS)
        head, self.streams, _, _ = socket.recv_fds(client, NUMBER.size, _STREAMS)
        with client.makefile("rb", buffering=0) as stream:
            (length,) = NUMBER.unpack(head)
            order = bytearray()
            while len(order) < length and (part := stream.read(length - len(order))):
                order += part
        client.settimeout(None)
        count, *texts = map(os.fsdecode, bytes(order).split(b"\0"))
        self.words = texts[: int(count)]
        self.folder, *variables = texts[int(count) :]
        self.variables = dict(each.split("=", 1) for each in variables)

    def close(self) -> None:
        """Let go of the streams, which the process has."""
        for stream in self.streams:
            os.close(stream)


def can_be_forked(request: Request) -> bool:
    """Whether the process would be as one that is started: Python reads some variables only when it starts."""
    return (
        len(request.streams) == _STREAMS
        and request.words[:1] == ["-m"]
        and request.words[1] in (SOURCE_RUNNER, QUIET_DAEMON)
        and _read_at_start(request.variables) == _read_at_start(os.environ)
    )


def _read_at_start(variables: Any) -> dict[str, str]:
    return {
        name: value
        for name, value in variables.items()
        if name.startswith("PYTHON") and not name.startswith(("PYTHONPATH", "PYTHON_"))
    }


class ForkServer:
    """Forks a process for every request that it can serve, and tells of its end."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._clients: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._woken, self._waker = socket.socketpair()
        for end in (self._woken, self._waker):
            end.setblocking(False)

    def run(self) -> Request | None:
        """Serve. Returns the request in a process that was forked for it, and None in this one, at its end."""
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._selector.register(_INPUT, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == _INPUT:
                    if not os.read(_INPUT, 1):
                        return None
                elif key.fileobj is self._listener:
                    request = self._served()
                    if request is not None:
                        return request
                elif key.fileobj is self._woken:
                    self._tell_of_ends()
                else:
                    self._end_process(key.data)

    def _served(self) -> Request | None:
        """Take a request; returns it in the process that was forked for it."""
        client, _ = self._listener.accept()
        try:
            request = Request(client)
        except (OSError, struct.error, ValueError):
            client.close()
            return None
        if not can_be_forked(request):
            request.close()
            with suppress(OSError), client:
                client.sendall(NUMBER.pack(REFUSED))
            return None
        process = os.fork()
        if process == 0:
            self._forget(client)
            return request
        request.close()
        self._clients[process] = client
        self._selector.register(client, selectors.EVENT_READ, data=process)
        with suppress(OSError):
            client.sendall(NUMBER.pack(process))
        return None

    def _forget(self, client: socket.socket) -> None:
        """In a process that was forked: have nothing of what belongs to the server."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for held in (client, self._listener, self._woken, self._waker, *self._clients.values()):
            held.close()

    def _tell_of_ends(self) -> None:
        """Give the clients of processes that have ended their exit codes."""
        with suppress(BlockingIOError):
            self._woken.recv(4096)
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                process, status = ended
                client = self._clients.pop(process, None)
                if client is None:
                    continue  # it has left
                self._selector.unregister(client)
                code = os.waitstatus_to_exitcode(status)
                with suppress(OSError), client:
                    client.sendall(NUMBER.pack(code if code >= 0 else 128 - code))

    def _end_process(self, process: int) -> None:
        """A client that leaves was ended by Java: so is the process."""
        client = self._clients.pop(process, None)
        if client is None:
            return  # the process has ended at the same time
        self._selector.unregister(client)
        client.close()
        # It is there until it is waited for, so its number cannot be another's.
        os.kill(process, signal.SIGTERM)


def become(request: Request) -> Callable[[], None]:
    """Make this process what a started one would be; returns what it has to run."""
    for place, stream in enumerate(request.streams):
        os.dup2(stream, place)
        os.close(stream)
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ.clear()
    os.environ.update(request.variables)
    os.chdir(request.folder)
    named = [entry for entry in request.variables.get("PYTHONPATH", "").split(os.pathsep) if entry]
    sys.path[:] = [request.folder, *named, *(entry for entry in sys.path[1:] if entry not in {*before, *named})]
    sys.argv = request.words[1:]
    module = request.words[1]
    if module == SOURCE_RUNNER:
        return _run_source
    return partial(importlib.import_module(module).manage_workers, ends_idle=True)


def _run_source() -> None:
    """What Spark's module does when it is the program."""
    runner = importlib.import_module(SOURCE_RUNNER)
    with runner.get_sock_file_to_executor(timeout=None) as stream:
        runner.main(stream, stream)


def main() -> None:
    """Import, listen, and serve; a process that was forked goes on from here as what it is to be."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as Java and all of its processes do: the program decides
    for name in (*_PRELOADED, *_PRELOADED_OWN):
        importlib.import_module(name)
    if other_threads():
        return  # a process would lack them, with the locks they may hold
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        draft = f"{sys.argv[1]}.draft"
        listener.bind(draft)
        listener.listen(_QUEUED)
        os.rename(draft, sys.argv[1])  # whoever finds it can connect
        request = ForkServer(listener).run()
    if request is not None:
        become(request)()


if __name__ == "__main__":
    main()
