"""A projection in the making: the columns that aggregates and windows need, each once."""

from __future__ import annotations

from penstock.table.algebra.nodes import PlanNode, Project, unique_names
from penstock.vocabulary.sql.typed_expressions import FieldRef, TypedExpression

__all__ = ["ColumnList"]


class ColumnList:
    """Expressions over a plan, which `project` makes columns of."""

    def __init__(self, columns: tuple[TypedExpression, ...] = ()) -> None:
        self.columns: list[TypedExpression] = list(columns)
        self._shared_from = 0

    def append(self, expression: TypedExpression) -> int:
        """Add a column, even if there is one like it; its number."""
        self.columns.append(expression)
        return len(self.columns) - 1

    def add(self, expression: TypedExpression) -> int:
        """The number of the column of an expression, which is added if it is new."""
        for index in range(self._shared_from, len(self.columns)):
            if self.columns[index] == expression:
                return index
        return self.append(expression)

    def seal(self) -> None:
        """From now on, do not share the columns there are: grouping sets put NULL into keys, not into arguments."""
        self._shared_from = len(self.columns)

    def project(self, plan: PlanNode) -> PlanNode:
        """The columns of a plan."""
        if tuple(self.columns) == plan.fields:
            return plan
        names = [
            plan.names[each.index] if isinstance(each, FieldRef) else f"$f{index}"
            for index, each in enumerate(self.columns)
        ]
        return Project(plan, tuple(self.columns), unique_names(tuple(names)))
