"""Metrics of a job's operators by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

UID = "uid"


class OperatorMetrics(dict[str, dict[str, Any]]):
    """Metrics by operator name, including the uid; you can also look up an operator by its uid.

    Operators with the same name get their uid appended: `Map (auto-1c3f5a9b7d20)`.
    """

    @classmethod
    def of(
        cls, figures_by_uid: Mapping[str, Mapping[str, float]], operators: Iterable[tuple[str, str]]
    ) -> OperatorMetrics:
        """Figures by uid, named by pairs of uid and name; a uid without a name stays what it is."""
        names = dict(operators)
        taken = Counter(names.values())
        made = cls()
        for uid, figures in figures_by_uid.items():
            name = names.get(uid, uid)
            is_one_of_many = taken[name] > 1 or name in made
            made[f"{name} ({uid})" if is_one_of_many else name] = {**figures, UID: uid}
        return made

    def __missing__(self, uid: str) -> dict[str, Any]:
        for figures in self.values():
            if figures.get(UID) == uid:
                return figures
        raise KeyError(uid)

    def get(self, name: str, default: Any = None) -> Any:
        """The figures of an operator by its name or uid."""
        try:
            return self[name]
        except KeyError:
            return default
