"""Tools for tests: operators and whole jobs driven by hand, without Java, on the code that Spark runs."""

from __future__ import annotations

from penstock.testing.clock import ManualClock
from penstock.testing.collecting import CollectSink
from penstock.testing.harness import HarnessSnapshot, KeyedHarness, KeyedProcessHarness, OperatorHarness, ProcessHarness
from penstock.testing.in_process import InjectedCrash, InProcessJobClient, InProcessOptions
from penstock.testing.script import Clock, Cut, Element, Fail, Idle, Pause, ScriptedFailure, ScriptedSource

__all__ = [
    "Clock",
    "CollectSink",
    "Cut",
    "Element",
    "Fail",
    "HarnessSnapshot",
    "Idle",
    "InProcessJobClient",
    "InProcessOptions",
    "InjectedCrash",
    "KeyedHarness",
    "KeyedProcessHarness",
    "ManualClock",
    "OperatorHarness",
    "Pause",
    "ProcessHarness",
    "ScriptedFailure",
    "ScriptedSource",
]
