"""Tools for tests: operators and whole jobs driven by hand, without Java, on the code that Spark runs.

Names are loaded when they are first used: pytest imports this package for the plugin in every run, also of tests that
have nothing to do with Penstock.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from penstock.engine.in_process.chances import Chances, plug_in

if TYPE_CHECKING:
    from penstock.engine.in_process.client import InProcessJobClient
    from penstock.engine.in_process.clock import ManualClock
    from penstock.engine.in_process.options import InProcessOptions
    from penstock.testing.bare import play_bare
    from penstock.testing.collecting import CollectSink
    from penstock.testing.crashes import InjectedCrash
    from penstock.testing.harness import (
        HarnessSnapshot,
        KeyedHarness,
        KeyedProcessHarness,
        OperatorHarness,
        ProcessHarness,
        StreamRecord,
    )
    from penstock.testing.partitions import ScriptedPartitions
    from penstock.testing.players import play_in_process, play_together, play_with_seed
    from penstock.testing.script import Clock, Cut, Element, Fail, Idle, Pause, ScriptedFailure, ScriptedSource
    from penstock.testing.transcripts import End, Input, Left, On, Step, Transcript, TranscriptMismatch
    from penstock.testing.two_input_harness import (
        CoProcessHarness,
        KeyedCoProcessHarness,
        KeyedTwoInputHarness,
        TwoInputHarness,
    )

__all__ = [
    "Clock",
    "CoProcessHarness",
    "CollectSink",
    "Cut",
    "Element",
    "End",
    "Fail",
    "HarnessSnapshot",
    "Idle",
    "InProcessJobClient",
    "InProcessOptions",
    "InjectedCrash",
    "Input",
    "KeyedCoProcessHarness",
    "KeyedHarness",
    "KeyedProcessHarness",
    "KeyedTwoInputHarness",
    "Left",
    "ManualClock",
    "On",
    "OperatorHarness",
    "Pause",
    "ProcessHarness",
    "ScriptedFailure",
    "ScriptedPartitions",
    "ScriptedSource",
    "Step",
    "StreamRecord",
    "Transcript",
    "TranscriptMismatch",
    "TwoInputHarness",
    "play_bare",
    "play_in_process",
    "play_together",
    "play_with_seed",
]

_NAMES_BY_MODULE = {
    "penstock.engine.in_process.client": ("InProcessJobClient",),
    "penstock.engine.in_process.clock": ("ManualClock",),
    "penstock.engine.in_process.options": ("InProcessOptions",),
    "penstock.testing.bare": ("play_bare",),
    "penstock.testing.collecting": ("CollectSink",),
    "penstock.testing.crashes": ("InjectedCrash",),
    "penstock.testing.harness": (
        "HarnessSnapshot",
        "KeyedHarness",
        "KeyedProcessHarness",
        "OperatorHarness",
        "ProcessHarness",
        "StreamRecord",
    ),
    "penstock.testing.partitions": ("ScriptedPartitions",),
    "penstock.testing.players": ("play_in_process", "play_together", "play_with_seed"),
    "penstock.testing.script": (
        "Clock",
        "Cut",
        "Element",
        "Fail",
        "Idle",
        "Pause",
        "ScriptedFailure",
        "ScriptedSource",
    ),
    "penstock.testing.transcripts": ("End", "Input", "Left", "On", "Step", "Transcript", "TranscriptMismatch"),
    "penstock.testing.two_input_harness": (
        "CoProcessHarness",
        "KeyedCoProcessHarness",
        "KeyedTwoInputHarness",
        "TwoInputHarness",
    ),
}
_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a public name on its first use."""
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULE_BY_NAME[name]), name)
    globals()[name] = value
    return value


def _with_crashes(seed: int | None, crash_rate: float, crash_at: tuple[int, ...]) -> Chances:
    from penstock.testing.crashes import Crashes

    return Crashes(seed, crash_rate, crash_at)


# The engine knows nothing of this package; from here on, jobs whose batches are run one by one can be made to crash.
plug_in(_with_crashes)
