"""Lines of text from a socket, for experiments; like `socketTextStream` in Java."""

from __future__ import annotations

from penstock.connectors import socket_source
from penstock.errors import ConfigurationError

__all__ = ["SocketTextSource"]


class SocketTextSource(socket_source.SocketSource):
    """Reads lines of text from a socket, at most once."""

    def __init__(
        self,
        hostname: str,
        port: int,
        delimiter: str = "\n",
        max_retry: int = 0,
        driver_host: str | None = None,
    ) -> None:
        """Set host and port; `max_retry` -1 reconnects forever, 0 ends with the connection."""
        if not isinstance(hostname, str) or not hostname:
            raise ConfigurationError(f"SocketTextSource: hostname must be a string, got {hostname!r}")
        if not isinstance(port, int) or isinstance(port, bool) or not 0 < port < 65536:
            raise ConfigurationError(f"SocketTextSource: port must be a number from 1 to 65535, got {port!r}")
        if not isinstance(delimiter, str) or not delimiter:
            raise ConfigurationError(f"SocketTextSource: delimiter must be a non-empty string, got {delimiter!r}")
        if not isinstance(max_retry, int) or isinstance(max_retry, bool) or max_retry < -1:
            raise ConfigurationError(f"SocketTextSource: max_retry must be -1 or more, got {max_retry!r}")
        super().__init__(hostname, port, delimiter, max_retry, driver_host)
