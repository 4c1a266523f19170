"""How long a checkpoint may take in continuous mode, and how many may fail in a row.

A checkpoint that takes too long counts as failed, once for every span of the time-out; it may still become final, for
its barrier is in the stream and goes on. Only when more have failed than are tolerated, the job fails, and is restarted
from the last final version.
"""

from __future__ import annotations

import logging

from penstock.errors import CheckpointError
from penstock.graph.declared_settings import CHECKPOINT_TIMEOUT, TOLERABLE_FAILURES

_log = logging.getLogger(__name__)


class CheckpointPatience:
    """Watches the checkpoints of one attempt; times are by the monotonic clock."""

    def __init__(self, timeout_ms: int, tolerable: int) -> None:
        self._timeout = timeout_ms / 1000
        self._tolerable = tolerable
        self._began: float | None = None
        self._failed = 0

    def on_barrier(self, now: float) -> None:
        """A checkpoint has begun."""
        self._began, self._failed = now, 0

    def on_final(self) -> None:
        """The checkpoint is final."""
        self._began = None

    def is_due(self, now: float) -> bool:
        """Whether the checkpoint has failed once more."""
        return self._began is not None and now - self._began >= self._timeout * (self._failed + 1)

    def give_up_or_wait(self, version: int, waits_for: str) -> None:
        """Note a failure; raises CheckpointError if it is one too many."""
        self._failed += 1
        text = (
            f"checkpoint {version} is not complete after {self._timeout * self._failed:g} s ({CHECKPOINT_TIMEOUT}): "
            f"it waits for {waits_for}"
        )
        if self._failed > self._tolerable:
            raise CheckpointError(
                f"{text}. Look what takes these so long, raise the time-out, or tolerate more failures with "
                f"{TOLERABLE_FAILURES}"
            )
        _log.warning("%s; %d of %d failures that are tolerated", text, self._failed, self._tolerable)
