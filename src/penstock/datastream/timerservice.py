"""TimerService, under PyFlink's path; defined in `penstock.vocabulary.timerservice`."""

from __future__ import annotations

from penstock.vocabulary.timerservice import (
    TimerService,
)

__all__ = [
    "TimerService",
]
