"""Types of state that change between two starts on Spark: refused before anything runs, or gone on with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Types
from penstock.datastream import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.errors import CheckpointError, PickledStateWarning
from penstock.testing import CollectSink
from tests.spark.conftest import NewEnvironment


@dataclass
class Old:
    count: int


@dataclass
class New:
    count: float
    note: str = "new"


@dataclass
class Wrong:
    count: str


class Counting(KeyedProcessFunction):
    """Counts in state of the class it is given, and keeps what it saw in state without a type."""

    def __init__(self, cls: Any) -> None:
        self.cls = cls

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held = runtime_context.get_state(ValueStateDescriptor("held", self.cls))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        held = self.held.value() or self.cls(0)
        held.count += 1
        self.held.update(held)
        self.seen.add(value)
        yield ctx.get_current_key(), held


def test_changed_types_are_checked_before_the_job_starts(new_environment: NewEnvironment, tmp_path: Path) -> None:
    def run(cls: Any, values: int, checkpoint: str, **settings: Any) -> list[Any]:
        environment = new_environment(1, checkpoint=checkpoint, **settings)
        numbers = environment.from_collection(list(range(values)), Types.LONG()).uid("numbers")
        sink = CollectSink()
        numbers.key_by(lambda n: n % 2).process(Counting(cls)).uid("counting").name("Counting").add_sink(sink)
        environment.execute("types")
        return sorted(sink.results)

    with pytest.warns(PickledStateWarning, match=r"operator 'Counting' \(uid 'counting'\) pickles its state 'seen':"):
        assert run(Old, 2, "ck") == [(0, Old(1)), (1, Old(1))]
    refusal = (
        r"state 'held' of operator 'Counting' \(uid 'counting'\) cannot resume .*field 'count' was LONG and is STRING"
    )
    with pytest.raises(CheckpointError, match=refusal):
        run(Wrong, 2, "ck")
    recovery = {"execution.state-recovery.path": str(tmp_path / "ck")}
    with pytest.raises(CheckpointError, match=refusal):
        run(Wrong, 4, "next", **recovery)
    assert run(New, 4, "next", **recovery) == [(0, New(2.0)), (1, New(2.0))]
