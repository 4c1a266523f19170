"""`ExplainDetail`: what more `explain` may tell."""

from __future__ import annotations

import enum

__all__ = ["ExplainDetail"]


class ExplainDetail(enum.Enum):
    """Kept for PyFlink programs: changelog modes are always shown, costs and advice never."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3
