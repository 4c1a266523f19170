"""The page of one job for Prometheus, at a port of its own on this machine."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from penstock.common.strangers import StrangersServer
from penstock.errors import PenstockError
from penstock.metrics.prometheus import exposition, library

HOST = "127.0.0.1"
_PATHS = ("/metrics", "/")
_HOST_NAME = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
_REQUEST_SECONDS = 10.0

_log = logging.getLogger(__name__)


class MetricsEndpoint:
    """Answers GET /metrics with the figures of a job, from threads of its own, until it is closed."""

    def __init__(self, ports: range, document: Callable[[], dict[str, Any]]) -> None:
        """Listen at the first of some ports that is free, on loopback only."""
        library()  # refused here rather than at the first scrape
        self._server = _first_free(ports, _handler(document))
        self.port = self._server.server_port
        thread = threading.Thread(target=self._server.serve_forever, name="penstock-metrics", daemon=True)
        thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def serve_metrics(
    ports: range | None, document: Callable[[], dict[str, Any]], ended: Future[Any], job_name: str
) -> MetricsEndpoint | None:
    """Let Prometheus read the figures of a job until it ends; a job whose port is taken runs all the same."""
    if ports is None:
        return None
    try:
        endpoint = MetricsEndpoint(ports, document)
    except (OSError, PenstockError) as error:
        _log.warning("job %r has no page for Prometheus: %s", job_name, error)
        return None
    _log.info("metrics of job %r are at http://%s:%d/metrics", job_name, HOST, endpoint.port)
    ended.add_done_callback(lambda _: endpoint.close())
    return endpoint


def _first_free(ports: range, handler: type[BaseHTTPRequestHandler]) -> HTTPServer:
    taken: OSError | None = None
    for port in ports:
        try:
            return _Server((HOST, port), handler)
        except OSError as error:
            taken = error
    shown = str(ports[0]) if len(ports) == 1 else f"{ports[0]} to {ports[-1]}"
    raise OSError(f"no port of {shown} is free ({taken})")


class _Server(StrangersServer, HTTPServer):
    """Who sends no request is hung up on."""


def _handler(document: Callable[[], dict[str, Any]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _REQUEST_SECONDS

        def do_GET(self) -> None:
            if _HOST_NAME.fullmatch(self.headers.get("Host", HOST)) is None:
                # The page of another site, whose name leads here.
                self.send_error(421, "this page does not go by that host name")
                return
            if self.path.partition("?")[0] not in _PATHS:
                self.send_error(404, "there is only /metrics here")
                return
            try:
                body, kind = exposition([document()])
            except Exception as error:  # Prometheus notes that the scrape failed; the log says why
                _log.warning("metrics cannot be told: %s", error, exc_info=True)
                self.send_error(500, "metrics cannot be told; the log of the job says why")
                return
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            """Scrapes are not news."""

    return Handler
