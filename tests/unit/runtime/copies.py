"""Copies of one subtask in several processes: batches run in whichever is chosen, only what was sealed goes on."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle

from penstock.graph.nodes import Role
from penstock.graph.plan import ChainedOperator, InEdge, Vertex
from penstock.runtime import rows
from penstock.runtime.operators import StreamOperator
from penstock.runtime.report import SubtaskEntry
from penstock.runtime.rows import ExchangeRow
from penstock.runtime.subtask import OpenedState, Subtask, TaskSettings
from tests.unit.runtime.rig import Tap


def no_state() -> OpenedState:
    raise AssertionError("no keyed state here")


class Copies:
    """Runs batches of one operator in processes named by letters; each has its copy, made when first needed."""

    def __init__(self, operator: StreamOperator) -> None:
        operators = (
            ChainedOperator("operator", "Counter", operator, None, None, Role.OPERATOR),
            ChainedOperator("tap", "tap", Tap(), 0, None, Role.OPERATOR),
        )
        vertex = Vertex(1, "operator", "Counter", 1, 1, 128, operators, (), (InEdge(0, 0, 0, 1, False, False),))
        self._pickled = cloudpickle.dumps(vertex)
        self._processes: dict[str, Subtask] = {}
        self._entry = SubtaskEntry()
        self._version = -1
        self._tries = 0

    def run(self, process: str, *values: Any, is_lost: bool = False) -> list[Any]:
        """Run the next batch in a process and return what came out; a lost one is never sealed."""
        copy = self.copy(process)
        self._tries += 1
        copy.begin(self._version + 1, f"try {self._tries}", self._entry, no_state)
        block = rows.encode_block(list(values), None, None)
        copy.process(ExchangeRow(0, 1, 0, rows.channel(0, 0, 0), 0, rows.DATA, block))
        report = copy.finish()
        if not is_lost:
            self._entry = report.entry
            self._version += 1
        return self._taken(copy)

    def skip(self) -> None:
        """Seal a batch in which the subtask had nothing to do."""
        self._version += 1

    def copy(self, process: str) -> Subtask:
        """The copy of a process."""
        if process not in self._processes:
            vertex: Vertex = pickle.loads(self._pickled)
            self._processes[process] = Subtask(vertex, 0, TaskSettings("job", 0, 0), lambda: 1_000)
        return self._processes[process]

    def function(self, process: str) -> Any:
        """The user's function in a process."""
        return self.copy(process).head.function  # type: ignore[attr-defined]

    def _taken(self, copy: Subtask) -> list[Any]:
        tap = copy.vertex.operators[1].operator
        assert isinstance(tap, Tap)
        taken, tap.events = tap.events, []
        return [value for value, _ in taken]
