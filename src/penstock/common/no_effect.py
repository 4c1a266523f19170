"""Warnings for calls without effect; Python shows each once per line of the program."""

from __future__ import annotations

import sys
import warnings

ONE_TIMEOUT = "all operators of a job have the same; call set_buffer_timeout of the environment"
SPARK_PLACES = "Spark places tasks; set spark.executor.* instead"


def warn_of_no_effect(call: str, reason: str) -> None:
    """Warn, at the caller's line, that a call has no effect."""
    warnings.warn(f"{call} has no effect: {reason}.", stacklevel=level_of_program())


def level_of_program() -> int:
    """Return the `stacklevel` with which the caller's warning points at the user's line."""
    frame, count = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("penstock."):
        frame, count = frame.f_back, count + 1
    return count
