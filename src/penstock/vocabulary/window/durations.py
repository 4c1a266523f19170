"""Checks on the lengths of time that assigners and triggers are made from."""

from __future__ import annotations

import warnings
from datetime import timedelta

from penstock.common.constants import MIN_WATERMARK
from penstock.common.no_effect import level_of_program
from penstock.common.time import Duration, Time, to_millis
from penstock.errors import GraphError, LikelyMistakeWarning

__all__ = ["Length", "checked_offset", "checked_timestamp", "positive_millis"]

Length = Duration | Time | timedelta | int

_SHORTEST_LIKELY_MS = 1000
"""A bare number below it more likely counts seconds or minutes than milliseconds."""


def positive_millis(length: Length, owner: str, what: str) -> int:
    """Return a length in milliseconds, refusing those below one."""
    millis = to_millis(length)
    if millis <= 0:
        raise GraphError(f"{owner}: the {what} must be at least one millisecond, got {length!r}")
    if isinstance(length, int) and millis < _SHORTEST_LIKELY_MS:
        warnings.warn(
            f"{owner}: the {what} {length} is taken as milliseconds; write Duration.of_minutes({length}), or "
            f"Duration.of_millis({length}) if that is meant.",
            LikelyMistakeWarning,
            stacklevel=level_of_program(),
        )
    return millis


def checked_offset(offset: Length | None, limit: int, owner: str, what: str) -> int:
    """Return an offset in milliseconds, refusing one as long as what repeats: it would name the same windows again."""
    millis = 0 if offset is None else to_millis(offset)
    if abs(millis) >= limit:
        raise GraphError(
            f"{owner}: the offset must be shorter than the {what}, but {millis} ms is not within {limit} ms; "
            f"use the remainder"
        )
    return millis


def checked_timestamp(timestamp: int | None, owner: str) -> int:
    """Return the timestamp of an element, refusing an element that has none."""
    if timestamp is None or timestamp <= MIN_WATERMARK:
        raise ValueError(
            f"Record has no timestamp, but {owner} assigns windows of event time. Did you forget to call "
            f"assign_timestamps_and_watermarks(...) before the window?"
        )
    return timestamp
