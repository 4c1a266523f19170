"""The socket source: at most once, because a socket cannot be read again.

Beside the driver a thread reads the socket and numbers the lines; tasks fetch them from it by number, with a token,
over a connection of their own, so a task that is run again gets the same lines. The token is a part of the source,
which only tasks have, and never of the name of its partition, which metrics and checkpoints tell. Lines die with the
process of the driver: what it had taken and no checkpoint holds is lost, and the next start goes on with what the
socket says then.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import logging
import secrets
import socket
import socketserver
import threading
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.common.strangers import StrangersServer
from penstock.connectors.source import (
    Counted,
    FoundPartition,
    PartitionedSource,
    PartitionEnumerator,
    PartitionItem,
    PartitionRange,
    PartitionReader,
)
from penstock.errors import SourceError

_log = logging.getLogger(__name__)

_HELD_LINES = 1_000_000
"""How many lines may wait before the socket is not read any more, which holds up whoever writes to it."""
_PAUSE_SECONDS = 0.5
_FETCHED = 10_000
_TIMEOUT_SECONDS = 30.0
_PROOF_SECONDS = 5.0
_REQUEST_BYTES = 4096


@dataclass(frozen=True)
class SocketSource(PartitionedSource):
    """Lines of text from a host and port; ends when the other side closes, after `max_retry` attempts to connect again.

    `driver_host` is a name of the driver's machine that tasks on other machines reach it by; without it only tasks on
    the same machine can.
    """

    hostname: str
    port: int
    delimiter: str = "\n"
    max_retry: int = 0
    driver_host: str | None = None
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False, compare=False, kw_only=True)

    def is_bounded(self) -> bool:
        """Nobody knows."""
        return False

    def gives_columns(self) -> bool:
        """Return that records come one by one."""
        return False

    def is_single(self) -> bool:
        """One subtask reads, as in Flink: each would have a connection of its own, and a part of the lines."""
        return True

    def has_stops(self) -> bool:
        """The end of the connection is one."""
        return True

    def finds_later(self) -> bool:
        """Every start has a partition of its own."""
        return True

    def create_enumerator(self, name: str) -> PartitionEnumerator:
        """Connect, and hold what comes."""
        return _SocketEnumerator(self, name)

    def create_reader(self, name: str, subtask: int) -> PartitionReader:
        """Make what fetches lines."""
        return _LineFetcher(name, self.token)


class _HeldLines:
    """Numbered lines that may still be asked for."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._first = 0
        self._changed = threading.Condition()
        self.is_closed = False

    @property
    def end(self) -> int:
        """The number after the last line."""
        with self._changed:
            return self._first + len(self._lines)

    def add(self, lines: list[str]) -> None:
        """Take lines; waits where too many are held."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._lines) < _HELD_LINES or self.is_closed)
            self._lines.extend(lines)

    def drop_before(self, number: int) -> None:
        """Nobody will ask for lines before this one again."""
        with self._changed:
            while self._lines and self._first < number:
                self._lines.popleft()
                self._first += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing comes any more."""
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()

    def some(self, start: int, stop: int) -> list[str]:
        """Lines of a range, as far as they are held."""
        with self._changed:
            held = range(max(start, self._first), min(stop, self._first + len(self._lines), start + _FETCHED))
            return [self._lines[number - self._first] for number in held]


class _Server(StrangersServer, socketserver.TCPServer):
    lines: _HeldLines
    token: str


class _Answer(socketserver.StreamRequestHandler):
    """Gives who proves to know the token a nonce, and then ranges of lines, each for a line of JSON."""

    server: _Server
    timeout = _PROOF_SECONDS

    def handle(self) -> None:
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):  # who is no task of ours is told nothing
            nonce = secrets.token_hex(16)
            self._send(nonce)
            if not hmac.compare_digest(str(self._received()), _proof(self.server.token, nonce)):
                return
            self.server.strangers.remove(self.request)
            self.connection.settimeout(_TIMEOUT_SECONDS)
            while asked := self._received():
                self._send(self.server.lines.some(int(asked["start"]), int(asked["stop"])))

    def _received(self) -> Any:
        line = self.rfile.readline(_REQUEST_BYTES)
        return json.loads(line) if line.endswith(b"\n") else None

    def _send(self, content: object) -> None:
        self.wfile.write(json.dumps(content).encode() + b"\n")
        self.wfile.flush()


def _proof(token: str, nonce: str) -> str:
    return hmac.new(token.encode(), nonce.encode(), "sha256").hexdigest()


class _SocketEnumerator(PartitionEnumerator):
    def __init__(self, source: SocketSource, name: str) -> None:
        self._source = source
        self._name = name
        self._lines = _HeldLines()
        self._partition: str | None = None
        self._server: _Server | None = None
        self._connection: socket.socket | None = None
        self._is_over = threading.Event()

    def discover(self, known: Mapping[str, int] | None, now_ms: int) -> dict[str, FoundPartition]:
        if self._partition is not None:
            return {}
        self._connection = self._connected()
        host = self._source.driver_host or "127.0.0.1"
        self._server = _Server((host, 0), _Answer)
        self._server.lines, self._server.token = self._lines, self._source.token
        # Every start has a name of its own, though it may get the port of one before.
        self._partition = f"{host}:{self._server.server_address[1]}/{secrets.token_hex(4)}"
        threading.Thread(target=self._server.serve_forever, daemon=True, name="penstock-socket-lines").start()
        threading.Thread(target=self._receive, daemon=True, name="penstock-socket").start()
        return {self._partition: FoundPartition(0)}

    def ends(self, positions: Mapping[str, int]) -> dict[str, int]:
        found = dict(positions)
        if self._partition in found:
            # The batch before is final when the next one is planned: what it read is not asked for again.
            self._lines.drop_before(found[self._partition])
            found[self._partition] = self._lines.end
        return found

    def stops(self, names: Collection[str]) -> dict[str, int]:
        """Partitions of earlier starts stop where they are, and this one when the connection has ended."""
        stops = {name: 0 for name in names if name != self._partition}
        if self._is_over.is_set() and self._partition in names:
            assert self._partition is not None
            stops[self._partition] = self._lines.end
        return stops

    def has_found_all(self, known: Mapping[str, int], stops: Mapping[str, int]) -> bool:
        """Whether the connection has ended for good."""
        return self._partition is not None and self._partition in stops

    def close(self) -> None:
        self._lines.close()
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads it, which closes it
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def _connected(self) -> socket.socket:
        where = (self._source.hostname, self._source.port)
        try:
            connection = socket.create_connection(where, timeout=_TIMEOUT_SECONDS)
        except OSError as error:
            raise SourceError(f"source {self._name!r} cannot connect to {where[0]}:{where[1]}: {error}") from None
        connection.settimeout(None)
        return connection

    def _receive(self) -> None:
        attempts = 0
        while not self._lines.is_closed:
            self._read_connection()
            if self._lines.is_closed or 0 <= self._source.max_retry <= attempts:
                break
            attempts += 1
            threading.Event().wait(_PAUSE_SECONDS)
            try:
                self._connection = self._connected()
                attempts = 0
                if self._lines.is_closed:
                    self._connection.close()
            except SourceError as error:
                _log.warning("%s", error)
        self._is_over.set()

    def _read_connection(self) -> None:
        assert self._connection is not None
        delimiter = self._source.delimiter.encode()
        pending = b""
        try:
            while piece := self._connection.recv(1 << 16):
                pending += piece
                *whole, pending = pending.split(delimiter)
                self._lines.add([self._text(line) for line in whole])
        except OSError as error:
            if not self._lines.is_closed:
                _log.warning("source %r: the connection broke: %s", self._name, error)
        finally:
            self._connection.close()
        if pending:
            self._lines.add([self._text(pending)])

    def _text(self, line: bytes) -> str:
        text = line.decode("utf-8", "replace")
        return text.removesuffix("\r") if self._source.delimiter == "\n" else text


class _LineFetcher(PartitionReader):
    def __init__(self, name: str, token: str) -> None:
        self._name = name
        self._token = token

    def read(self, ranges: Sequence[PartitionRange]) -> Iterator[tuple[str, PartitionItem]]:
        for each in ranges:
            at = each.start
            for lines in self._fetched(each):
                at += len(lines)
                yield each.name, (lines, None)
            if at < each.stop:  # they died with the process that held them
                _log.warning("source %r lost %d lines when its driver died", self._name, each.stop - at)
                yield each.name, Counted("lost_records", each.stop - at)

    def _fetched(self, wanted: PartitionRange) -> Iterator[list[str]]:
        address = wanted.name.partition("/")[0]
        host, _, port = address.rpartition(":")
        at = wanted.start
        try:
            with (
                socket.create_connection((host, int(port)), timeout=_TIMEOUT_SECONDS) as connection,
                connection.makefile("rb") as answers,
            ):
                proof = _proof(self._token, json.loads(answers.readline(_REQUEST_BYTES)))
                connection.sendall(json.dumps(proof).encode() + b"\n")
                while at < wanted.stop:
                    request = {"start": at, "stop": wanted.stop}
                    connection.sendall(json.dumps(request).encode() + b"\n")
                    lines: list[str] = json.loads(answers.readline() or b"[]")
                    if not lines:
                        return
                    yield lines
                    at += len(lines)
        except (OSError, ValueError):
            return
