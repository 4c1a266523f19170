"""Records on their way from a running job to the program that started it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

MOST_WAITING = 64
"""How many blocks may wait: a caller that is slow to take its records slows the job instead of filling the memory."""


class HandOver:
    """Blocks of records that one thread gives and another takes, in their order; neither looks at the clock."""

    def __init__(self, most_waiting: int | None = MOST_WAITING) -> None:
        """Let the giver wait while `most_waiting` blocks have not been taken; None for no limit."""
        self._most = most_waiting
        self._blocks: deque[list[Any]] = deque()
        self._changed = threading.Condition()
        self._is_closed = False

    def put(self, records: list[Any]) -> None:
        """Give a block, as soon as there is room; nobody takes what is given after the end."""
        with self._changed:
            self._changed.wait_for(self._has_room)
            if not self._is_closed:
                self._blocks.append(records)
                self._changed.notify_all()

    def close(self) -> None:
        """Nothing more comes; what is there can still be taken."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Any]:
        """Take records until the end."""
        while (block := self._take()) is not None:
            yield from block

    def _take(self) -> list[Any] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._blocks or self._is_closed)
            if not self._blocks:
                return None
            self._changed.notify_all()
            return self._blocks.popleft()

    def _has_room(self) -> bool:
        return self._is_closed or self._most is None or len(self._blocks) < self._most
