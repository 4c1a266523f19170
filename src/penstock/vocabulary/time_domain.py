"""The two kinds of time a timer can follow."""

from __future__ import annotations

import enum

__all__ = ["TimeDomain"]


class TimeDomain(enum.Enum):
    """Whether a timer fires by the watermark or by the clock."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
