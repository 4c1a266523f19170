"""Calls between the server and the process of a session: a line of JSON each, both ways over one socket.

Nothing but JSON is sent, so neither side can have the other run something that is not among its handlers.
"""

from __future__ import annotations

import itertools
import json
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from penstock.errors import PenstockError

Handler = Callable[..., Any]
_MOST_CALLS = 64
_GONE = "the process of this session has ended; open another session"


class CallError(PenstockError):
    """A call that failed on the other side, with the HTTP status for it."""

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


class Channel:
    """One end: `call` asks the other side, `run` answers what it asks until it is gone."""

    def __init__(self, connection: socket.socket, handlers: Mapping[str, Handler]) -> None:
        self._connection = connection
        self._handlers = handlers
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._is_over = False
        self._threads = ThreadPoolExecutor(_MOST_CALLS, thread_name_prefix="penstock-sql-call")

    def call(self, name: str, *, seconds: float | None = None, **arguments: Any) -> Any:
        """What the other side answers; raises CallError, or TimeoutError if it takes longer than `seconds`."""
        answer: Future[Any] = Future()
        number = next(self._numbers)
        with self._lock:
            if self._is_over:
                raise CallError(_GONE, 404)
            self._waiting[number] = answer
        try:
            self._ask({"number": number, "call": name, "arguments": arguments})
            return answer.result(seconds)
        finally:
            with self._lock:
                self._waiting.pop(number, None)

    def run(self) -> None:
        """Answer calls until the other side closes the connection or its process ends."""
        try:
            with self._connection.makefile("r", encoding="utf-8") as lines, suppress(OSError, ValueError):
                for line in lines:
                    self._take(json.loads(line))
        finally:
            self._end()

    def close(self) -> None:
        """End both directions; `run` returns here and on the other side."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def _take(self, message: dict[str, Any]) -> None:
        if "call" in message:
            self._threads.submit(self._answer, message)
            return
        with self._lock:
            answer = self._waiting.get(message["number"])
        if answer is None:
            return  # nobody waits for it any more
        if "error" in message:
            answer.set_exception(CallError(message["error"], message["status"]))
        else:
            answer.set_result(message["answer"])

    def _answer(self, message: dict[str, Any]) -> None:
        number = message["number"]
        try:
            told: dict[str, Any] = {"number": number, "answer": self._handlers[message["call"]](**message["arguments"])}
        except Exception as error:
            # Errors of Penstock explain themselves; of others the class says something too.
            text = str(error) if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
            told = {"number": number, "error": text, "status": getattr(error, "status", 400)}
        with suppress(OSError):
            self._send(told)

    def _ask(self, message: dict[str, Any]) -> None:
        try:
            self._send(message)
        except OSError:
            raise CallError(_GONE, 404) from None

    def _send(self, message: dict[str, Any]) -> None:
        line = (json.dumps(message, ensure_ascii=False) + "\n").encode(errors="replace")
        # Not the lock of who waits: a side that is slow to read must not keep the other from reading.
        with self._sending:
            self._connection.sendall(line)

    def _end(self) -> None:
        with self._lock:
            self._is_over = True
            left = list(self._waiting.values())
        for answer in left:
            with suppress(Exception):  # answered in this moment
                answer.set_exception(CallError(_GONE, 404))
        self._connection.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
