"""Saying that a call does nothing here, and why; Python shows it once for each line of the program."""

from __future__ import annotations

import sys
import warnings

IN_BLOCKS = "records travel in blocks, which are sent when a batch has produced them"
SPARK_PLACES = "Spark places tasks; spark.executor.* says what they get"


def warn_of_no_effect(call: str, reason: str) -> None:
    """Warn, in the name of the program's own line, that a call promises what does not happen."""
    frame, count = sys._getframe(0), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("penstock."):
        frame, count = frame.f_back, count + 1
    warnings.warn(f"{call} has no effect: {reason}.", stacklevel=count)
