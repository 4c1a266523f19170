"""Garbage collection in worker processes: what lives as long as the process is kept out of it.

Spark's daemon has a worker collect all garbage after every task, which with the modules of a job in memory takes some
50 ms: the larger half of a tiny batch. So objects that survived a slow collection are frozen (`gc.freeze`): the
next ones do not look at them. Now and then all are let go, so that cycles that became garbage meanwhile go too.
"""

from __future__ import annotations

import gc
import time
from typing import Any

from penstock.engine.spark.startup.fast_start import is_fast
from penstock.engine.spark.startup.worker_memory import keep_freed_memory

_SLOW_SECONDS = 0.004
_THAW_SECONDS = 600.0
_OLDEST = 2
# A block of records is some ten thousand objects, all of them alive: to look through them after every 700 new ones, as
# Python does by itself, is most of what it costs to make them.
_YOUNG_OBJECTS = 50_000


class WorkerGarbage:
    """Watches the collections of a process, and freezes what makes them slow."""

    def __init__(self) -> None:
        self._started = 0.0
        self._was_slow = False
        self._thawed = time.monotonic()
        self.freezes = 0

    def on_collection(self, phase: str, info: dict[str, Any]) -> None:
        """A callback of `gc`: note how long full collections take."""
        if info["generation"] != _OLDEST:
            return
        if phase == "start":
            self._started = time.perf_counter()
        elif time.perf_counter() - self._started > _SLOW_SECONDS:
            self._was_slow = True

    def on_task(self) -> None:
        """At the start of a task: freeze what the last collection looked through, or let all go in its time."""
        now = time.monotonic()
        if now - self._thawed > _THAW_SECONDS:
            gc.unfreeze()
            self._thawed = now
            self._was_slow = False
        elif self._was_slow:
            # Just collected: next to nothing that is alive now is garbage.
            gc.freeze()
            self.freezes += 1
            self._was_slow = False


_garbage: WorkerGarbage | None = None


def keep_collections_short() -> None:
    """Call it at the start of every task of a worker process; it does nothing where fast start is off."""
    global _garbage
    if not is_fast():
        return
    if _garbage is None:
        _garbage = WorkerGarbage()
        gc.callbacks.append(_garbage.on_collection)
        gc.set_threshold(_YOUNG_OBJECTS, *gc.get_threshold()[1:])
        keep_freed_memory()
    _garbage.on_task()
