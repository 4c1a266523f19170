"""Numbers that have a meaning of their own in the model."""

from __future__ import annotations

MIN_WATERMARK = -(2**63)
"""No event time is known yet."""

MAX_WATERMARK = 2**63 - 1
"""The end of event time: nothing can be later."""
