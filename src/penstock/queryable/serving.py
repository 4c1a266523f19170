"""A query server of its own: replicas behind HTTP, on loopback and with a token unless told otherwise."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

import penstock
from penstock.errors import ConfigurationError
from penstock.http_limits import LimitedProtocol
from penstock.queryable.replicas import Replicas
from penstock.queryable.router import queryable_router
from penstock.queryable.tokens import TokenGuard

DEFAULT_PORT = 8087
# Threads take turns this often: a read must not wait for the thread that follows a job.
_SWITCH_SECONDS = 0.0005


@dataclass(frozen=True)
class Listening:
    """Where to listen, and who may ask."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    tokens: tuple[str, ...] = ()
    certificate: str | None = None
    key: str | None = None

    def check(self) -> None:
        """Refuse to be asked without a token, and to be reached from elsewhere without TLS."""
        if not self.tokens:
            raise ConfigurationError("a query server needs a token")
        if is_loopback(self.host):
            return
        if self.certificate is None:
            raise ConfigurationError(
                f"{self.host} can be reached from elsewhere: give --tls-certificate and --tls-key, or listen on "
                "127.0.0.1 behind a proxy that has TLS"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def query_app(replicas: Replicas, tokens: Sequence[str]) -> TokenGuard:
    """The application: the API below /queryable, and its description at /docs."""
    app = FastAPI(title="Penstock queryable state", version=penstock.__version__)
    app.include_router(queryable_router(replicas))
    return TokenGuard(app, tokens)


def query_server(replicas: Replicas, listening: Listening) -> uvicorn.Server:
    """A server that is ready to run; `run()` serves until it is told to stop."""
    listening.check()
    sys.setswitchinterval(_SWITCH_SECONDS)
    config = uvicorn.Config(
        query_app(replicas, listening.tokens),
        host=listening.host,
        port=listening.port,
        log_level="warning",
        access_log=False,
        ssl_certfile=listening.certificate,
        ssl_keyfile=listening.key,
        lifespan="off",
        http=LimitedProtocol,
        limit_concurrency=500,
        h11_max_incomplete_event_size=64 * 1024,
    )
    return uvicorn.Server(config)
