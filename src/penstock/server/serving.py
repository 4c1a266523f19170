"""Serving an application over HTTP: where it listens, and what it refuses to listen to."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn

from penstock.errors import ConfigurationError
from penstock.http_limits import LimitedProtocol
from penstock.server.access import Access
from penstock.server.app import create_app
from penstock.server.cluster_routes import ServerFacts
from penstock.server.job_views import ClientView, SingleJob
from penstock.tokens import Role

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi import FastAPI

    from penstock.job.announcing import AnnouncedJob

_START_SECONDS = 30.0


@dataclass(frozen=True)
class Place:
    """Where a server listens, and with which certificate."""

    host: str = "127.0.0.1"
    port: int = 0
    certificate: str | None = None
    key: str | None = None

    @property
    def has_tls(self) -> bool:
        """Whether what is sent is encrypted."""
        return self.certificate is not None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def check(self, access: Access) -> None:
        """Refuse to be reached by others without a token and without TLS."""
        if not self.is_loopback and (access.is_open or not self.has_tls):
            missing = " and ".join(
                word for word, lacks in (("a token", access.is_open), ("TLS", not self.has_tls)) if lacks
            )
            raise ConfigurationError(
                f"the server does not listen on {self.host} without {missing}: other machines can reach it there. "
                "Give --tls-certificate and --tls-key (and keep the token), or listen on 127.0.0.1 behind a proxy"
            )

    def check_certificate(self) -> None:
        """Refuse TLS that cannot work."""
        if self.certificate is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key)
            except (ssl.SSLError, OSError) as error:
                raise ConfigurationError(
                    f"{self.certificate} and {self.key} cannot be used as certificate and key: {error}; give PEM files "
                    "that belong together"
                ) from None

    def listen(self) -> socket.socket:
        """Take the port; port 0 takes a free one."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((self.host, self.port))
        except OSError as error:
            listener.close()
            raise ConfigurationError(
                f"the server cannot listen on {self.host}:{self.port}: {error.strerror}; choose another --port or "
                "--host"
            ) from None
        listener.listen(128)
        return listener

    def url(self, listener: socket.socket) -> str:
        """The URL of what listens here."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.has_tls else 'http'}://{name}:{listener.getsockname()[1]}"


class HttpServer:
    """An application that listens; `url` is known as soon as this is made."""

    def __init__(self, app: FastAPI, place: Place, listener: socket.socket | None = None) -> None:
        self._listener = listener or place.listen()
        self.url = place.url(self._listener)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=LimitedProtocol,
                log_level="warning",
                access_log=False,
                lifespan="off",
                server_header=False,
                ssl_certfile=place.certificate,
                ssl_keyfile=place.key,
                timeout_graceful_shutdown=3,
                limit_concurrency=500,
                h11_max_incomplete_event_size=64 * 1024,
            )
        )
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Serve until `stop` or a signal."""
        self._server.run(sockets=[self._listener])

    def start(self) -> None:
        """Serve in a thread until `stop`; returns when requests are answered."""
        started = threading.Event()
        startup = self._server.startup

        async def told_startup(*args: Any, **kwargs: Any) -> None:
            await startup(*args, **kwargs)
            started.set()

        self._server.startup = told_startup  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self.run, name="penstock-server", daemon=True)
        self._thread.start()
        started.wait(_START_SECONDS)

    def stop(self) -> None:
        """End; waits for the thread if there is one."""
        self._server.should_exit = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_START_SECONDS)


@dataclass(frozen=True)
class ServedJob:
    """A job whose pages are served by this process; `link` opens them without asking for a token, for some minutes."""

    url: str
    link: str
    stop: Callable[[], None]


def serve_job(
    client: AnnouncedJob,
    port: int = 0,
    *,
    access: Access,
    pages: Path | None = None,
) -> ServedJob:
    """Serve one job of this process on loopback, without a dispatcher, until it is stopped."""
    place = Place(port=port)
    place.check(access)
    server = HttpServer(create_app(SingleJob(ClientView(client)), access, ServerFacts(), pages=pages), place)
    server.start()
    return ServedJob(server.url, login_link(server.url, access), server.stop)


def login_link(url: str, access: Access, role: Role = Role.OPERATE) -> str:
    """A link that opens the pages of a server; good for some minutes."""
    return url if access.is_open else f"{url}/login?code={access.new_link_code(role)}"
