"""A real Chromium, driven by Playwright; where there is none, the tests say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

REQUIRE = "PENSTOCK_REQUIRE_CHROMIUM"
SCREENSHOTS = "PENSTOCK_SCREENSHOTS"
"""Variable with a folder; set, the tests leave pictures for the documents there."""

WAIT_MS = 60_000
# Without these it asks hosts of its maker at every start.
_OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync")  # fmt: skip


def chromium_path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def running_browser() -> Iterator[Any]:
    path = chromium_path()
    if path is None:
        reason = "no Chromium on this machine: install Debian's package `chromium`"
        if os.environ.get(REQUIRE):
            pytest.fail(f"{reason} ({REQUIRE} is set)")
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_OPTIONS), timeout=WAIT_MS)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page, and what it complained of: errors in its console, scripts that failed, requests to elsewhere."""

    def __init__(self, browser: Any, base: str, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **options})
        self.context.set_default_timeout(WAIT_MS)
        self.page = self.context.new_page()
        self.base = base
        self.complaints: list[str] = []
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        self.page.on("request", self._on_request)

    def _on_console(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(f"console: {message.text}")

    def _on_request(self, request: Any) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.complaints.append(f"request to elsewhere: {request.url}")

    def open(self, place: str) -> Any:
        self.page.goto(f"{self.base}/{place}")
        return self.page

    def close(self) -> None:
        self.context.close()


def picture(page: Any, name: str, **options: Any) -> None:
    """Leave a picture for the documents, if somebody asked for them."""
    folder = os.environ.get(SCREENSHOTS)
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"dashboard_{name}.png", **options)
