"""Requests that never end, and connections that say nothing: they keep nobody out, and cost little."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from penstock import http_limits
from penstock.server.app import create_app
from penstock.server.job_views import EndedView, SingleJob
from penstock.server.serving import HttpServer, Place
from tests.spark.waiting import wait_until
from tests.unit.server.serving_jobs import READ, two_tokens
from tests.unit.server.test_documents import document


@pytest.fixture
def server() -> Iterator[HttpServer]:
    app = create_app(SingleJob(EndedView(document("a"))), two_tokens())
    made = HttpServer(app, Place())
    made.start()
    yield made
    made.stop()


def connected(server: HttpServer) -> socket.socket:
    parts = urlsplit(server.url)
    return socket.create_connection((str(parts.hostname), int(parts.port or 0)), 60)


def is_answered(server: HttpServer) -> bool:
    request = urllib.request.Request(f"{server.url}/jobs", headers={"authorization": f"Bearer {READ}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return bool(answer.status == 200)


HEAD = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\nx"


@pytest.mark.parametrize("begin", [b"", b"GET /jobs HTTP/1.1\r\nHost: local", HEAD])
def test_requests_that_never_end_keep_nobody_out(server: HttpServer, begin: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(520):
            stack.enter_context(connected(server)).sendall(begin)
        assert is_answered(server)


@pytest.mark.parametrize(
    ("open_ones", "closing", "tasks", "limit"),
    [(3, 0, 0, 5), (4, 3, 0, None), (4, 0, 9, None), (5, 0, 0, 5), (5, 4, 9, 5)],
)
def test_connections_that_were_hung_up_on_do_not_count(
    open_ones: int, closing: int, tasks: int, limit: int | None
) -> None:
    """They and their tasks are there for a moment longer; meanwhile honest requests were refused with 503."""
    connections = [
        SimpleNamespace(transport=SimpleNamespace(is_closing=lambda is_closing=is_closing: is_closing))
        for is_closing in (False,) * open_ones + (True,) * closing
    ]
    config = SimpleNamespace(limit_concurrency=5)
    protocol: Any = SimpleNamespace(config=config, connections=connections, tasks=range(tasks))
    assert http_limits.LimitedProtocol._limit(protocol) == limit


@pytest.mark.parametrize("begin", [b"", b"GET /jobs HTTP/1.1\r\nHost: local", HEAD])
def test_a_request_that_does_not_come_in_time_is_hung_up_on(
    server: HttpServer, begin: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_limits, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(http_limits, "BODY_SECONDS", 0.1)
    with connected(server) as slow:
        slow.sendall(begin)
        with suppress(ConnectionResetError):  # another way to be hung up on
            assert slow.recv(4096) == b""


def test_a_connection_that_is_used_again_and_again_stays(server: HttpServer) -> None:
    request = f"GET /jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {READ}\r\n\r\n".encode()
    with connected(server) as one:
        for _ in range(5):
            one.sendall(request)
            wait_until(lambda: one.recv(65536).startswith(b"HTTP/1.1 200"), "it is answered")
