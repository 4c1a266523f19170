"""Writes the files of versions beside the work of a task."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait


class StateWriter:
    """One thread that does what it is given, in order. A failure stays until `check` raises it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-state")
        self._pending: list[Future[None]] = []

    def write_later(self, write: Callable[[], None]) -> None:
        """Do it beside the work."""
        self._pending.append(self._thread.submit(write))

    def wait_for_writes(self) -> None:
        """Return when nothing is written any more."""
        wait(self._pending)

    def check(self) -> None:
        """Raise what made a write fail."""
        while self._pending and self._pending[0].done():
            self._pending.pop(0).result()
