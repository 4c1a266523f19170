"""Barrier alignment: a version ends in a task when its barrier has come on every channel.

Rows behind the barrier of one channel wait until the others have caught up, so that each row counts in exactly one
version.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.runtime import rows
from penstock.runtime.rows import ExchangeRow


class BarrierAligner:
    """Puts the rows of many channels into an order in which a barrier stands for all of them.

    Each channel must keep its own order. `held` is how many rows wait behind a barrier just now.
    """

    def __init__(self, channels: int, version: int) -> None:
        """Expect the barrier of `version` on channels 0..channels-1."""
        assert channels > 0, "a task without senders has nothing to align"
        self.version = version
        self._channels = channels
        self._passed: set[int] = set()
        self._held: list[tuple[int, ExchangeRow]] = []

    @property
    def held(self) -> int:
        """How many rows wait behind a barrier."""
        return len(self._held)

    @property
    def is_aligning(self) -> bool:
        """Whether a barrier has come on some channels and not yet on all."""
        return bool(self._passed)

    def take(self, channel: int, row: ExchangeRow) -> Iterator[ExchangeRow]:
        """Yield what may be worked on now: the row, or a barrier once for all channels, and what waited behind it."""
        if channel in self._passed:
            self._held.append((channel, row))
        elif row.kind != rows.BARRIER:
            yield row
        else:
            self._pass(channel, row)
            if len(self._passed) == self._channels:
                yield row
                yield from self._next_version()

    def _pass(self, channel: int, barrier: ExchangeRow) -> None:
        version = rows.decode_number(barrier.payload)
        assert version == self.version, f"barrier {version} on channel {channel}, {self.version} was expected"
        self._passed.add(channel)

    def _next_version(self) -> Iterator[ExchangeRow]:
        self.version += 1
        self._passed.clear()
        waiting, self._held = self._held, []
        for channel, row in waiting:
            yield from self.take(channel, row)


def barrier(target: int, version: int) -> ExchangeRow:
    """The row that ends a version in a channel to task `target`."""
    return ExchangeRow(target, rows.DRIVER, 0, 0, 0, rows.BARRIER, rows.encode_number(version))
