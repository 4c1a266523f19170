"""Windows: the operator that assigns, keeps, fires and removes them, whatever their kind."""

from __future__ import annotations

from penstock.runtime.operators.window.operator import WindowOperator
from penstock.runtime.operators.window.partials import Partial
from penstock.runtime.operators.window.spec import Evaluation, WindowSpec

__all__ = ["Evaluation", "Partial", "WindowOperator", "WindowSpec"]
