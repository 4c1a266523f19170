"""Links between the tasks of continuous mode and the driver: reports and records one way, orders the other.

A task proves that it knows the attempt's secret before anything of it is unpickled.
"""

from __future__ import annotations

import hmac
import pickle
import queue
import secrets
import select
import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock.common.strangers import Strangers
from penstock.runtime.rows import dumps

_LENGTH = struct.Struct(">I")
_NONCE_BYTES = 32
_PATIENCE_SECONDS = 20.0
_LOOK_SECONDS = 0.5
_WAITING_MESSAGES = 64
"""Messages that wait for the driver before tasks have to. A driver is slow if who takes its records is."""

BARRIER = "barrier"
DRAIN = "drain"
END = "end"
BACK = "back"
"""Order that is no order: a receiver has come to a mark; its number and the mark's go with it."""

HIGHEST = "highest"
"""Order: the watermark up to which splits of a source are read goes with it, by source."""

MARKS = "marks"
"""Message of a task: the last mark of each sender that it has come to."""
SPLIT_TIMES = "split times"
"""Message of a task that reads aligned sources: how far their splits have come."""

Order = tuple[str, Any]


@dataclass(frozen=True)
class Address:
    """Where the driver listens, and the secret of the attempt."""

    host: str
    port: int
    secret: bytes


@dataclass(frozen=True)
class Message:
    """Something a task tells: `what` is a word, `floor` and `number` say which task it is."""

    what: str
    floor: int
    number: int
    content: Any = None


class TaskLink:
    """A task's end of its link."""

    def __init__(self, address: Address, floor: int, number: int) -> None:
        """Connect, and prove who it is."""
        self._floor = floor
        self._number = number
        self._socket = socket.create_connection((address.host, address.port), _PATIENCE_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        nonce = _received(self._socket, _NONCE_BYTES)
        self._socket.sendall(hmac.digest(address.secret, nonce, "sha256"))
        self._socket.settimeout(None)
        self.tell("here")

    def tell(self, what: str, content: Any = None) -> None:
        """Send a message to the driver."""
        _send(self._socket, dumps(Message(what, self._floor, self._number, content)))

    def orders(self, patience_seconds: float) -> list[Order]:
        """What the driver wants, waiting for it so long at the most; the end if the driver is gone."""
        found: list[Order] = []
        while select.select([self._socket], [], [], 0.0 if found else patience_seconds)[0]:
            try:
                found.append(pickle.loads(_received_frame(self._socket)))
            except ConnectionError:
                return [*found, (END, 0)]
        return found

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


class Switchboard:
    """The driver's end of all links of an attempt; `messages` has what tasks tell, in the order of arrival."""

    def __init__(self, host: str) -> None:
        """Listen."""
        self._server = socket.create_server((host, 0))
        self.address = Address(host, self._server.getsockname()[1], secrets.token_bytes(32))
        self.messages: queue.Queue[Message] = queue.Queue(_WAITING_MESSAGES)
        self._is_closed = threading.Event()
        self._tasks: dict[tuple[int, int], socket.socket] = {}
        self._open: list[socket.socket] = [self._server]
        self._lock = threading.Lock()
        self._strangers = Strangers()
        threading.Thread(target=self._accept, name="penstock-links", daemon=True).start()

    def order(self, what: str, content: Any = 0) -> None:
        """Tell all source tasks."""
        with self._lock:
            for (floor, _), link in self._tasks.items():
                if floor == 0:
                    _send_order(link, (what, content))

    def close(self) -> None:
        """Hang up on everybody."""
        self._is_closed.set()
        with self._lock:
            for each in self._open:
                with suppress(OSError):  # the other end was first
                    each.shutdown(socket.SHUT_RDWR)  # a thread that waits for something holds a socket open
                each.close()

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._server.accept()
            except OSError:
                return
            with self._lock:
                self._open.append(link)
            self._strangers.add(link)
            threading.Thread(target=self._listen, args=(link,), name="penstock-link", daemon=True).start()

    def _listen(self, link: socket.socket) -> None:
        try:
            is_ours = self._is_ours(link)
            self._strangers.remove(link)
            if not is_ours:
                self._forget(link)
                return
            while True:
                message: Message = pickle.loads(_received_frame(link))
                if message.what == MARKS:
                    self._send_back(message)
                    continue
                if message.what == "here":
                    with self._lock:
                        self._tasks[message.floor, message.number] = link
                self._put(message)
        except (OSError, EOFError):
            self._strangers.remove(link)
            self._forget(link)

    def _forget(self, link: socket.socket) -> None:
        with self._lock:
            if link in self._open:
                self._open.remove(link)
        link.close()

    def _put(self, message: Message) -> None:
        """Hand a message to the driver. As long as there is no room nothing more is read of its task, so it waits."""
        while not self._is_closed.is_set():
            try:
                return self.messages.put(message, timeout=_LOOK_SECONDS)
            except queue.Full:
                continue

    def _send_back(self, message: Message) -> None:
        """Tell senders that a receiver has come to their marks; not by the driver's own thread, which may be busy."""
        with self._lock:
            for sender, number in message.content.items():
                link = self._tasks.get((message.floor - 1, sender))
                if link is not None:
                    _send_order(link, (BACK, (message.number, number)))

    def _is_ours(self, link: socket.socket) -> bool:
        link.settimeout(_PATIENCE_SECONDS)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        nonce = secrets.token_bytes(_NONCE_BYTES)
        link.sendall(nonce)
        proven = hmac.compare_digest(_received(link, 32), hmac.digest(self.address.secret, nonce, "sha256"))
        link.settimeout(None)
        return proven


def _send_order(link: socket.socket, order: Order) -> None:
    try:
        _send(link, pickle.dumps(order))
    except OSError:  # the task has gone: Spark will say why
        return


def _send(link: socket.socket, frame: bytes) -> None:
    link.sendall(_LENGTH.pack(len(frame)) + frame)


def _received_frame(link: socket.socket) -> bytes:
    return _received(link, _LENGTH.unpack(_received(link, _LENGTH.size))[0])


def _received(link: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = link.recv(size - len(parts))
        if not part:
            raise ConnectionError("the other end has hung up")
        parts += part
    return bytes(parts)
