"""Tools for tests: operators and whole jobs driven by hand, without Java, on the code that Spark runs."""

from __future__ import annotations

from penstock.testing.clock import ManualClock
from penstock.testing.harness import HarnessSnapshot, KeyedHarness, KeyedProcessHarness, OperatorHarness, ProcessHarness

__all__ = [
    "HarnessSnapshot",
    "KeyedHarness",
    "KeyedProcessHarness",
    "ManualClock",
    "OperatorHarness",
    "ProcessHarness",
]
