"""`RuntimeExecutionMode`, how a job treats its input."""

from __future__ import annotations

import enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(enum.Enum):
    """Results as they change, final results only, or whichever fits the sources."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
