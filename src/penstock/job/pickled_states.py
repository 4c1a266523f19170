"""The warning that states of user functions are pickled, told once for each operator in a job's life."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from penstock.errors import PickledStateWarning
from penstock.graph.plan import JobPlan
from penstock.runtime.report import Report


class PickledStates:
    """Looks for pickled states in what subtasks report."""

    def __init__(self, plan: JobPlan) -> None:
        self._names = {chained.uid: chained.name for vertex in plan.vertices for chained in vertex.operators}
        self._told: dict[str, set[str]] = {}

    def look_at(self, reports: Iterable[Report]) -> None:
        """Warn of what was not told of yet."""
        new: dict[str, set[str]] = {}
        for report in reports:
            for uid, states in report.pickled.items():
                fresh = set(states) - self._told.setdefault(uid, set())
                if fresh:
                    self._told[uid] |= fresh
                    new.setdefault(uid, set()).update(fresh)
        for uid, found in new.items():
            warnings.warn(self._text(uid, sorted(found)), PickledStateWarning, stacklevel=2)

    def _text(self, uid: str, states: list[str]) -> str:
        return (
            f"operator {self._names[uid]!r} (uid {uid!r}) pickles its state {', '.join(map(repr, states))}: the "
            "classes in it must not change then; give its descriptor a type (one of Types.*, a dataclass, a named "
            "tuple or an AvroSchema)"
        )
