"""Connections of who has not shown yet who it is: only so many at once, and the one that has waited longest goes first.

Whoever knows the token shows it within milliseconds, so however many connections somebody else opens, they push out
each other. Each has a thread, of which there are then no more than that.
"""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import suppress
from typing import Any

MOST_STRANGERS = 64


class Strangers:
    """The connections that a listener has taken and does not know yet; from any thread."""

    def __init__(self, most: int = MOST_STRANGERS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._waiting: dict[socket.socket, None] = {}

    def add(self, connection: socket.socket) -> None:
        """Take one more; hangs up on the oldest if there are too many."""
        oldest = None
        with self._lock:
            if len(self._waiting) >= self._most:
                oldest = next(iter(self._waiting))
                del self._waiting[oldest]
            self._waiting[connection] = None
        if oldest is not None:
            with suppress(OSError):  # its thread wakes, and closes it
                oldest.shutdown(socket.SHUT_RDWR)

    def remove(self, connection: socket.socket) -> None:
        """It is known who it is, or it has gone."""
        with self._lock:
            self._waiting.pop(connection, None)


class StrangersServer(socketserver.ThreadingMixIn):
    """Mixed into a server: a thread for each connection, with a limit on those whose handler did not let them in."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.strangers = Strangers()
        super().__init__(*arguments, **named)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread."""
        self.strangers.add(request)
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """What runs in the thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.strangers.remove(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Strangers that hang up are no news."""
