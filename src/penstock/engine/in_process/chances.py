"""What a cluster leaves to chance, decided for a job in process: where batches end, orders, moves, and deaths.

The engine asks `Chances` at every such point. `penstock.testing` plugs in a kind that lets processes and tasks die.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from penstock.errors import ConfigurationError

if TYPE_CHECKING:  # the test kit loads this module in every run of pytest
    from penstock.runtime.rows import ExchangeRow
    from penstock.runtime.source_tasks import Offset

Item = TypeVar("Item")

_MOVE_RATE = 0.2
_SNAPSHOT_AFTER = 20
# With a seed, so soon that a short test sees chains of change files and snapshots that end them.
_SNAPSHOT_SOON = 3


class ProcessDied(Exception):
    """Raised where the process of a job is to die: a new one goes on, and knows nothing but the checkpoint."""


class Chances:
    """Without a seed, everything is read at once and in the order Spark has; a seed makes choices random, repeatably.

    Nothing dies here. A subclass may raise ProcessDied in `step`, and let tasks die by `loses_task`.
    """

    def __init__(self, seed: int | None = None) -> None:
        """Begin the sequence of choices that belongs to a seed."""
        self.random = None if seed is None else random.Random(seed)

    def step(self, number: int, kind: str, what: object) -> None:
        """Called before each step of a job, counted from 1; `kind` says what is about to be done."""

    def loses_task(self) -> bool:
        """Whether a task that has begun dies, and is run again."""
        return False

    def moves_subtask(self) -> bool:
        """Whether a subtask goes on in another process, with functions opened anew."""
        return self.happens(_MOVE_RATE)

    def happens(self, rate: float) -> bool:
        """Draw whether something happens that has this probability; never without a seed."""
        return self.random is not None and self.random.random() < rate

    def snapshot_after(self) -> int:
        """After how many change files state is written as a whole."""
        return _SNAPSHOT_AFTER if self.random is None else _SNAPSHOT_SOON

    def ordered(self, items: list[Item]) -> list[Item]:
        """Tasks in the order in which they run."""
        return items if self.random is None else self.random.sample(items, len(items))

    def interleaved(self, waiting: list[ExchangeRow]) -> list[ExchangeRow]:
        """Rows in an order that a cluster could bring about: each channel keeps its own."""
        waiting.sort(key=lambda row: (row.seq, row.src))
        if self.random is None:
            return waiting
        channels: dict[int, deque[ExchangeRow]] = {}
        for row in waiting:
            channels.setdefault(row.src, deque()).append(row)
        ordered: list[ExchangeRow] = []
        while channels:
            src = self.random.choice(list(channels))
            ordered.append(channels[src].popleft())
            if not channels[src]:
                del channels[src]
        return ordered

    def cut(self, start: Offset, end: Offset) -> Offset:
        """Where a batch ends that could end at `end`; with a seed, it takes less than there is."""
        from penstock.engine.in_process.cuts import cut_at_random

        if self.random is None or end.draining:
            return end
        shorter = cut_at_random(start, end, self.random)
        return shorter if shorter != start else end


MakeChances = Callable[[int | None, float, tuple[int, ...]], Chances]
_plugged_in: list[MakeChances] = []


def plug_in(make: MakeChances) -> None:
    """Let `make(seed, crash_rate, crash_at)` decide for all jobs whose batches are run one by one."""
    _plugged_in[:] = [make]


def make_chances(seed: int | None, crash_rate: float, crash_at: tuple[int, ...]) -> Chances:
    """The choices of a new job; those that let it die are part of the test kit."""
    if _plugged_in:
        return _plugged_in[0](seed, crash_rate, crash_at)
    if crash_rate or crash_at:
        raise ConfigurationError("crash_rate and crash_at are part of the test kit: import penstock.testing first")
    return Chances(seed)
