"""What expressions take from outside of their row: the clock, the time zone of the session, the watermark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.errors import EvaluationError

__all__ = ["EvaluationContext"]


def _no_clock() -> int:
    raise EvaluationError("the current time was asked for where no clock is: compile the expression with a context")


def _no_watermark() -> int | None:
    return None


@dataclass(frozen=True)
class EvaluationContext:
    """The surroundings of an expression, given where it is compiled.

    `clock` gives milliseconds since 1970, `watermark` the current one or None; both are asked when a row is computed.
    `time_zone` is the session's, by its name.
    """

    clock: Callable[[], int] = _no_clock
    time_zone: str = "UTC"
    watermark: Callable[[], int | None] = _no_watermark
    database: str = "default_database"
