"""Flow control of continuous mode: how much a task may have under way to the tasks that take from it.

Buffers between tasks are counted in bytes, and hold minutes of work for a slow function: a barrier would wait behind
all of it. So a sender puts a mark behind every piece of work. Receivers tell it when they have come to the mark, and
the sender waits while several marks are out. Pieces grow while marks come back soon, and shrink when they take long:
what is under way is a matter of tenths of a second, however fast or slow the receivers are.
"""

from __future__ import annotations

from collections import deque

from penstock.runtime import rows
from penstock.runtime.rows import ExchangeRow

MARKS_OUT = 3
"""How many pieces may be under way."""
FIRST_PIECE = 16
LARGEST_PIECE = 1 << 20
_PIECE_SECONDS = 0.1
"""After so long a piece ends, whatever its size."""
_SOON_SECONDS = 0.1
_LATE_SECONDS = 0.25


class FlowWindow:
    """Says whether a task may go on. What a unit of work is, records or blocks, is the task's own matter."""

    def __init__(self, receivers: int) -> None:
        """Send to tasks 0..receivers-1; without any, nothing is ever in the way."""
        self._back = [0] * receivers
        self._out: deque[tuple[int, float, int]] = deque()
        self._marks = 0
        self._done = 0
        self._began: float | None = None
        self.piece = FIRST_PIECE

    @property
    def is_open(self) -> bool:
        """Whether more may be sent."""
        return len(self._out) < MARKS_OUT

    @property
    def room(self) -> int:
        """How many units may be done before the next mark."""
        return LARGEST_PIECE if not self._back else max(1, self.piece - self._done)

    def on_work(self, units: int, now: float) -> None:
        """Note work whose results are sent to the receivers; `now` is by the monotonic clock."""
        self._done += units
        if self._began is None:
            self._began = now

    def wants_mark(self, now: float) -> bool:
        """Whether the piece is complete: the results of all work so far are to be sent, and a mark behind them."""
        if not self._back or self._began is None:
            return False
        return self._done >= self.piece or now - self._began >= _PIECE_SECONDS

    def mark(self, now: float) -> int:
        """End the piece; returns the number of the mark that is to be sent to all receivers."""
        self._marks += 1
        self._out.append((self._marks, now, self._done))
        self._done, self._began = 0, None
        return self._marks

    def on_back(self, receiver: int, number: int, now: float) -> None:
        """A receiver has come to a mark, and so to all before it."""
        self._back[receiver] = max(self._back[receiver], number)
        passed = min(self._back)
        while self._out and self._out[0][0] <= passed:
            _, sent, size = self._out.popleft()
            self._learn(size, now - sent)

    def _learn(self, size: int, seconds: float) -> None:
        if seconds > _LATE_SECONDS:
            self.piece = max(1, min(self.piece, int(size * _SOON_SECONDS / seconds)))
        elif seconds < _SOON_SECONDS and size >= self.piece:
            self.piece = min(self.piece * 2, LARGEST_PIECE)


def mark_rows(sender: int, receivers: int, number: int) -> list[ExchangeRow]:
    """The rows of a mark: `src` says which task of the floor sent it."""
    payload = rows.encode_number(number)
    return [ExchangeRow(target, rows.DRIVER, 0, sender, 0, rows.MARK, payload) for target in range(receivers)]
