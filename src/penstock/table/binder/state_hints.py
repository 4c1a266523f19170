"""The hint STATE_TTL: how long the state of a query is kept, by the tables it is made of."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.errors import ConfigurationError
from penstock.graph.setting_values import duration_ms
from penstock.table.algebra.nodes import Aggregate, Join, PlanNode, Project
from penstock.table.binder.function_calls import function_name
from penstock.table.binder.problems import Problems
from penstock.table.binder.scopes import Scope

__all__ = ["StateHints"]


class StateHints:
    """The times of `SELECT /*+ STATE_TTL('orders' = '1 d') */`, by name or alias of a table."""

    def __init__(self, select: exp.Select, problems: Problems) -> None:
        """Read the hints of a SELECT."""
        self._times: dict[str, int] = {}
        self._node, self._problems = select.args.get("hint"), problems
        for call in self._node.expressions if self._node is not None else ():
            if function_name(call) != "STATE_TTL":
                continue
            for each in call.expressions:
                if not isinstance(each, exp.EQ):
                    raise problems.at(each, "STATE_TTL needs pairs such as 'orders' = '1 d'")
                self._times[each.this.name] = self._millis(each)
        self._unused = set(self._times)

    def _millis(self, pair: exp.Expr) -> int:
        try:
            return duration_ms(pair.expression.name)
        except (ConfigurationError, ValueError) as error:
            raise self._problems.at(pair, f"STATE_TTL: {error}") from None

    def _of(self, scope: Scope) -> int | None:
        """The time of the only table of a scope."""
        if not self._times or len(scope.relations) != 1:
            return None
        name = scope.relations[0].alias or ""
        self._unused.discard(name)
        return self._times.get(name)

    def on_join(self, plan: PlanNode, left: Scope, right: Scope) -> PlanNode:
        """The plan of a join with the times of its sides."""
        times = (self._of(left), self._of(right))
        if times == (None, None):
            return plan
        if isinstance(plan, Project):
            return replace(plan, input=self.on_join(plan.input, left, right))
        return replace(plan, ttls_ms=times) if isinstance(plan, Join) else plan

    def on_groups(self, plan: PlanNode, scope: Scope) -> PlanNode:
        """The plan of GROUP BY with the time of what is grouped."""
        time = self._of(scope)
        return replace(plan, ttl_ms=time) if time is not None and isinstance(plan, Aggregate) else plan

    def check(self, scope: Scope) -> None:
        """Refuse names that are no tables of FROM."""
        known = {each.alias for each in scope.relations}
        wrong = sorted(self._unused - known)
        if wrong and self._node is not None:
            raise self._problems.at(self._node, f"STATE_TTL names '{wrong[0]}', which is no table of FROM")
