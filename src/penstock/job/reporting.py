"""A driver that reports to a server on another machine: what it knows, and what it did of what was asked of it.

The driver calls the server and not the other way round, so it needs no port of its own and may be behind a firewall.
A server that is away is no trouble to the job: the driver goes on calling.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from penstock.errors import ConfigurationError
from penstock.tokens import TOKEN

REPORT_TO = "PENSTOCK_REPORT_TO"
"""Variable with the URL of the server that the jobs of a process report to."""

_EVERY_SECONDS = 2.0
_CALL_SECONDS = 10.0

_log = logging.getLogger(__name__)


def check_report_url(url: str) -> str:
    """A URL to report to; a token is sent over loopback or TLS only."""
    parts = urlsplit(url)
    is_loopback = parts.hostname in ("localhost", "::1") or str(parts.hostname).startswith("127.")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback):
        raise ConfigurationError(f"jobs do not report to {url!r}: it must be https://, or http:// on this machine")
    return f"{parts.scheme}://{parts.netloc}"


class Reporter:
    """Calls the server every few seconds, in a thread, until the job has ended and the server has heard of it."""

    def __init__(
        self, url: str, document: Callable[[], dict[str, Any]], answer: Callable[[dict[str, Any]], Any]
    ) -> None:
        """Tell what `document` gives; have `answer` do what is asked."""
        self._url = f"{check_report_url(url)}/v1/penstock/drivers"
        self._document = document
        self._answer = answer
        self._outcomes: list[dict[str, Any]] = []
        self._taken: set[str] = set()
        self._working: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._is_over = False
        self._is_away = False
        self._thread = threading.Thread(target=self._run, name="penstock-reports", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """The job has ended: its thread says so, when what was asked of the job is answered."""
        self._is_over = True
        self._wake.set()

    def finish(self) -> None:
        """The process ends: wait until the server has heard of the end of the job."""
        if self._is_over:
            self._thread.join(3 * _CALL_SECONDS)

    def _run(self) -> None:
        while not self._is_over:
            self._report()
            self._wake.wait(_EVERY_SECONDS)
            self._wake.clear()
        for thread in self._working:
            thread.join(_CALL_SECONDS)
        self._report()

    def _report(self) -> None:
        with self._lock:
            outcomes, self._outcomes = self._outcomes, []
        try:
            told = self._call({"document": self._document(), "outcomes": outcomes})
            self._is_away = False
        except Exception as error:
            with self._lock:
                self._outcomes = outcomes + self._outcomes
            if not self._is_away:
                _log.warning("the server %s does not take the report of this job: %s", self._url, error)
            self._is_away = True
            return
        for request in told.get("requests", ()):
            if request["id"] not in self._taken:
                self._taken.add(request["id"])
                thread = threading.Thread(target=self._do, args=(request,), name="penstock-request", daemon=True)
                self._working.append(thread)
                thread.start()

    def _do(self, request: dict[str, Any]) -> None:
        outcome: dict[str, Any] = {"id": request["id"]}
        try:
            outcome["result"] = self._answer(request["content"])
        except Exception as error:
            outcome["error"] = str(error)
        with self._lock:
            self._outcomes.append(outcome)
        self._wake.set()

    def _call(self, body: dict[str, Any]) -> Any:
        request = urllib.request.Request(self._url, json.dumps(body).encode(), {"content-type": "application/json"})
        token = os.environ.get(TOKEN)
        if token:
            request.add_unredirected_header("authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, timeout=_CALL_SECONDS) as answer:
            return json.load(answer)
