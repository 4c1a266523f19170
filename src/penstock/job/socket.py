"""The way into a process from another one of the same user: a line of JSON there, a line of JSON back.

What is asked is up to the function that answers. It is a Unix socket
where there can be one, otherwise a port that only this machine reaches. Both sides prove that they know the token of
the job's card, and neither sends it: a socket or port may have come into other hands.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock.common.strangers import Strangers
from penstock.errors import PenstockError

Request = dict[str, Any]
Answer = Callable[[Request], Any]

_REQUEST_BYTES = 64 * 1024
_REQUEST_SECONDS = 10.0
_REPLY_SECONDS = 10.0
_UNIX, _TCP = "unix:", "tcp:"

_log = logging.getLogger(__name__)
_answering: set[threading.Thread] = set()


class JobSocket:
    """Listens for requests and has each answered in a thread of its own, as one may take long."""

    def __init__(self, path: Path, answer: Answer) -> None:
        """Listen at a path, or at a port if there can be no socket."""
        self.token = secrets.token_hex(16)
        self._answer = answer
        self._path = path
        self._listener, self.address = _listen(path)
        self._is_closed = False
        self._strangers = Strangers()
        threading.Thread(target=self._serve, name="penstock-requests", daemon=True).start()

    def close(self) -> None:
        """Take no more requests; those that came are answered."""
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(OSError):
            _connect(self.address, _REPLY_SECONDS).close()  # a thread that accepts is woken by nothing else everywhere
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        with self._listener:
            while True:
                try:
                    connection, _ = self._listener.accept()
                except OSError as error:
                    _log.warning("requests to this job are no longer answered: %s", error)
                    return
                if self._is_closed:
                    connection.close()
                    return
                self._strangers.add(connection)
                thread = threading.Thread(target=self._handle, args=(connection,), name="penstock-request", daemon=True)
                _answering.add(thread)
                thread.start()

    def _handle(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):  # who asked may not wait for the answer
                connection.settimeout(_REQUEST_SECONDS)
                line = _read_line(connection, _REQUEST_BYTES)
                self._strangers.remove(connection)
                reply = self._reply_to(line)
                connection.settimeout(_REPLY_SECONDS)
                connection.sendall(json.dumps(reply).encode() + b"\n")
        finally:
            self._strangers.remove(connection)
            _answering.discard(threading.current_thread())

    def _reply_to(self, line: bytes) -> dict[str, Any]:
        """Whatever happens here is told to who asked; the job has nothing to do with it."""
        try:
            request = json.loads(line)
            nonce, proof = str(request.pop("nonce", "")), str(request.pop("proof", ""))
            if not _is_proof(proof, self.token, nonce, request):
                return {"error": "the request does not contain the token of the job"}
        except (ValueError, AttributeError, TypeError):
            return {"error": "the request is not a line of JSON"}
        try:
            reply = {"result": self._answer(request)}
        except PenstockError as error:
            reply = {"error": str(error)}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        return {**reply, "proof": _proof(self.token, nonce, reply)}


def finish_answers(patience_seconds: float) -> None:
    """Let the answers that are under way be sent: the threads end with the process, whatever they are at."""
    give_up = time.monotonic() + patience_seconds
    for thread in list(_answering):
        thread.join(max(0.0, give_up - time.monotonic()))


def ask(address: str, token: str, request: Request, timeout_seconds: float | None = None) -> Any:
    """Send a request and wait for the answer.

    Raises ConnectionError if nobody is there (any more), TimeoutError if nobody answers in time, and PenstockError with
    the text of a refusal.
    """
    try:
        with _connect(address, timeout_seconds) as connection:
            nonce = secrets.token_hex(16)
            signed = {**request, "nonce": nonce, "proof": _proof(token, nonce, request)}
            connection.sendall(json.dumps(signed).encode() + b"\n")
            line = _read_line(connection, None)
    except FileNotFoundError as error:
        raise ConnectionError(str(error)) from None
    try:
        reply = json.loads(line)
        proof, refusal = str(reply.pop("proof", "")), reply.get("error")
        if refusal is None and not _is_proof(proof, token, nonce, reply):
            raise ValueError
    except (ValueError, AttributeError):
        # Somebody else has the port by now, or the process died while it answered.
        raise ConnectionError(f"{address} does not answer like a job") from None
    if refusal is not None:
        raise PenstockError(refusal)
    return reply["result"]


def _proof(token: str, nonce: str, content: dict[str, Any]) -> str:
    """Shows that whoever wrote the content knows the token, and wrote it for this request."""
    text = json.dumps([nonce, content], sort_keys=True)
    return hmac.new(token.encode(), text.encode(), "sha256").hexdigest()


def _is_proof(proof: str, token: str, nonce: str, content: dict[str, Any]) -> bool:
    return hmac.compare_digest(proof.encode(), _proof(token, nonce, content).encode())


def _listen(path: Path) -> tuple[socket.socket, str]:
    if hasattr(socket, "AF_UNIX"):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(str(path))
            path.chmod(0o600)
            listener.listen()
            return listener, f"{_UNIX}{path}"
        except OSError as error:  # the path is too long, or the file system has no sockets
            listener.close()
            _log.debug("no Unix socket at %s: %s", path, error)
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, f"{_TCP}{listener.getsockname()[1]}"


def _connect(address: str, timeout_seconds: float | None) -> socket.socket:
    if address.startswith(_TCP):
        return socket.create_connection(("127.0.0.1", int(address.removeprefix(_TCP))), timeout_seconds)
    path = address.removeprefix(_UNIX)
    if os.stat(path, follow_symlinks=False).st_uid != os.geteuid():
        raise ConnectionError(f"{path} is not a socket of this user's")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_seconds)
        connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _read_line(connection: socket.socket, most: int | None) -> bytes:
    """What comes up to the end of a line, or of the connection."""
    pieces: list[bytes] = []
    size = 0
    give_up = None if most is None else time.monotonic() + _REQUEST_SECONDS
    while most is None or size < most:
        if give_up is not None and time.monotonic() > give_up:
            raise TimeoutError("the request comes too slowly")
        piece = connection.recv(65536)
        pieces.append(piece)
        size += len(piece)
        if not piece or piece.endswith(b"\n"):
            break
    return b"".join(pieces)
