"""Warnings about operators that subtasks report, each given once in a job's life."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from penstock.errors import LikelyMistakeWarning, PickledStateWarning
from penstock.graph.plan import JobPlan
from penstock.runtime.report import Report


class OperatorWarnings:
    """Looks for warnings in what subtasks report: states that are pickled, and likely mistakes."""

    def __init__(self, plan: JobPlan) -> None:
        self._names = {chained.uid: chained.name for vertex in plan.vertices for chained in vertex.operators}
        self._told: set[tuple[str, str]] = set()

    def look_at(self, reports: Iterable[Report]) -> None:
        """Give the warnings that were not given yet."""
        pickled: dict[str, list[str]] = {}
        for report in reports:
            for uid, states in report.pickled.items():
                pickled.setdefault(uid, []).extend([name for name in states if self._is_new(uid, name)])
            for uid, texts in report.likely_mistakes.items():
                for text in texts:
                    if self._is_new(uid, text):
                        warnings.warn(f"{self._described(uid)}: {text}", LikelyMistakeWarning, stacklevel=2)
        for uid, names in pickled.items():
            if names:
                warnings.warn(self._pickled_text(uid, sorted(names)), PickledStateWarning, stacklevel=2)

    def _is_new(self, uid: str, what: str) -> bool:
        if (uid, what) in self._told:
            return False
        self._told.add((uid, what))
        return True

    def _described(self, uid: str) -> str:
        return f"operator {self._names[uid]!r} (uid {uid!r})"

    def _pickled_text(self, uid: str, states: list[str]) -> str:
        return (
            f"{self._described(uid)} pickles its state {', '.join(map(repr, states))}: the "
            "classes in it must not change then; give its descriptor a type (one of Types.*, a dataclass, a named "
            "tuple or an AvroSchema)"
        )
