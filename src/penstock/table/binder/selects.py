"""Binding of a SELECT: FROM, WHERE, GROUP BY, HAVING, OVER, the list itself, DISTINCT, ORDER BY."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.table.algebra.nodes import Filter, PlanNode, Project
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.grouping import Grouping, find_aggregates
from penstock.table.binder.lookup_hints import LookupHints
from penstock.table.binder.over import add_over, find_windows
from penstock.table.binder.problems import near_names
from penstock.table.binder.queries import QueryBinder, distinct, one_row, sort_direction
from penstock.table.binder.relations import RelationBinder, retyped
from penstock.table.binder.scopes import Scope
from penstock.table.binder.state_hints import StateHints
from penstock.table.binder.subqueries import SubqueryBinder, always_holds, as_membership, has_query
from penstock.table.rules.filters import push_filters
from penstock.table.rules.rewriting import rewritten_plan
from penstock.table.rules.time_joins import recognise_time_join
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.typed_expressions import Literal, TypedExpression

__all__ = ["SelectBinder"]


class SelectBinder:
    """Binds one SELECT. `plan` grows by what expressions need (subqueries as joins): fields are only ever appended."""

    def __init__(self, queries: QueryBinder, select: exp.Select) -> None:
        self.queries = queries
        self.session = queries.session
        select.transform(as_membership, copy=False)
        self.select = select
        self.plan: PlanNode = one_row()
        self.scope = Scope((), queries.outer)
        self.answers: dict[int, TypedExpression] = {}
        """Bound parts (aggregates, OVER), by the id of their node."""
        self.grouping: Grouping | None = None
        self.hints = StateHints(select, self.session.problems)
        self._plain_truths: set[int] = set()
        """Ids of IN (SELECT ...) of which it does not matter whether they are unknown or false."""

    def bind(self) -> PlanNode:
        """The plan of the SELECT."""
        self._refuse_unsupported()
        source = self.select.args.get("from_") or self.select.args.get("from")
        if source is not None:
            lookups = LookupHints(self.select.args.get("hint"), self.session.problems)
            relations = RelationBinder(self.queries, self.hints, lookups)
            self.plan, self.scope = relations.from_clause(source, self.select.args.get("joins") or ())
            self.hints.check(self.scope)
            lookups.check_used()
        if self.select.args.get("where") is not None:
            self._filter(self.select.args["where"].this, "WHERE")
        self._recognise_joins()
        self._group()
        if self.select.args.get("having") is not None:
            self._filter(self.select.args["having"].this, "HAVING")
        self._over()
        return self._projected()

    def _refuse_unsupported(self) -> None:
        for key, what in (("qualify", "QUALIFY"), ("laterals", "LATERAL VIEW")):
            if self.select.args.get(key):
                raise self.session.problems.at(self.select.args[key], f"{what} is not supported")

    # ---- expressions ----

    def binder(self) -> ExpressionBinder:
        """A binder for expressions at the present stage: over FROM, or over the groups once there are any."""
        return ExpressionBinder(self.session, self.scope, self._answer)

    def _answer(self, node: exp.Expr) -> TypedExpression | None:
        known = self.answers.get(id(node))
        if known is not None:
            return known
        if isinstance(node, (exp.Subquery, exp.Select)):
            self.plan, value = self._subqueries().scalar(self.plan, node)
        elif always_holds(node, self.session):
            value = Literal(True, LogicalType(Kind.BOOLEAN, False))
        elif has_query(node):
            tested = self._subqueries().tested(node, self.binder())
            is_unknown_false = id(node) in self._plain_truths
            self.plan, value = self._subqueries().truth(self.plan, node, tested, self.binder(), is_unknown_false)
        else:
            return None if self.grouping is None else self.grouping.answer(node)
        self.answers[id(node)] = value
        return value

    def _subqueries(self) -> SubqueryBinder:
        if self.grouping is None:
            return SubqueryBinder(self.queries, self.scope)
        return SubqueryBinder(self.queries, self.scope, self.grouping.outer_field)

    def _filter(self, condition: exp.Expr, clause: str) -> None:
        subqueries = self._subqueries()
        for part in _parts_of_and(condition):
            if subqueries.is_semi_join(part):
                tested = subqueries.tested(part, self.binder())  # may append to the plan
                self.plan = subqueries.semi_join(self.plan, part, tested, self.binder())
                continue
            self._plain_truths.update(map(id, _plain_truths(part)))
            bound = self.binder().condition(part, clause)
            self.plan = Filter(self.plan, bound)

    def _recognise_joins(self) -> None:
        """Find joins by time among those of FROM: their rows keep their time attributes, which other steps need."""
        if not self.select.args.get("joins") or self.queries.outer is not None:
            return
        self.plan = rewritten_plan(push_filters(self.plan), recognise_time_join)
        self.scope = retyped(self.scope, self.plan)

    # ---- groups ----

    def _group(self) -> None:
        listed = [*self.select.expressions, self.select.args.get("having"), self.select.args.get("order")]
        aggregates = find_aggregates([each for each in listed if each is not None], self.session)
        group = self.select.args.get("group")
        if group is None and not aggregates:
            return
        grouping = Grouping(self.session, self.binder(), group, aggregates)
        self.plan = self.hints.on_groups(grouping.plan(lambda: self.plan), self.scope)
        self.answers.update(grouping.answers)
        self.grouping = grouping

    def _over(self) -> None:
        windows = find_windows(self.select)
        if not windows:
            return
        named = {each.name: each for each in self.select.args.get("windows") or ()}
        self.plan, answers = add_over(self.plan, windows, named, self.binder())
        self.answers.update(answers)

    # ---- the list ----

    def _projected(self) -> PlanNode:
        expressions: list[TypedExpression] = []
        names: list[str] = []
        for item in self.select.expressions:
            for name, bound in self._item(item, len(expressions)):
                expressions.append(bound)
                names.append(name)
        order = self._order(names, expressions)
        hidden = len(expressions) - len(names)
        all_names = (*names, *[f"$s{index}" for index in range(hidden)])
        plan: PlanNode = Project(self.plan, tuple(expressions), all_names)
        if self.select.args.get("distinct") is not None:
            if hidden:
                raise self.session.problems.at(
                    self.select.args["order"], "SELECT DISTINCT can only be ordered by what it selects"
                )
            plan = distinct(plan)
        plan = self.queries.limited(self.select, plan, order)
        return plan if not hidden else Project(plan, plan.fields[: len(names)], tuple(names))

    def _item(self, item: exp.Expr, position: int) -> Iterator[tuple[str, TypedExpression]]:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            yield from self._star(item)
        elif isinstance(item, exp.Alias):
            yield item.alias, self.binder().bind(item.this)
        else:
            yield _name_of(item, position), self.binder().bind(item)

    def _star(self, item: exp.Expr) -> Iterator[tuple[str, TypedExpression]]:
        if self.grouping is not None:
            raise self.session.problems.at(item, "* cannot be used with GROUP BY; name the columns")
        owners = list(self.scope.relations)
        if isinstance(item, exp.Column):
            prefix = [part.name for part in item.parts[:-1]]
            owners = [each for each in owners if each.answers_to(prefix)]
            if not owners:
                known = [each.alias for each in self.scope.relations if each.alias]
                hint = near_names(prefix[-1], known)
                raise self.session.problems.at(item, f"There is no table '{prefix[-1]}' in FROM.{hint}")
        else:
            yield from self.scope.merged.items()
        for owner in owners:
            for index, name in enumerate(owner.names):
                is_merged = not isinstance(item, exp.Column) and (name in owner.hidden or name in self.scope.merged)
                if not is_merged:
                    yield name, owner.field(index)

    # ---- ORDER BY ----

    def _order(self, names: list[str], expressions: list[TypedExpression]) -> tuple[SortField, ...]:
        """The order by numbers of `expressions`, to which those that are not in the list are appended."""
        order = self.select.args.get("order")
        if order is None:
            return ()
        return tuple([sort_direction(each, self._sort_key(each, names, expressions)) for each in order.expressions])

    def _sort_key(self, ordered: exp.Expr, names: list[str], expressions: list[TypedExpression]) -> int:
        key = ordered.this
        if isinstance(key, exp.Literal) and not key.is_string:
            return self.queries.position(key, len(names))
        if isinstance(key, exp.Column) and len(key.parts) == 1 and names.count(key.name) == 1:
            return names.index(key.name)
        bound = self.binder().bind(key)
        if bound not in expressions:
            expressions.append(bound)
        return expressions.index(bound)


def _parts_of_and(condition: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.And):
        yield from _parts_of_and(condition.this)
        yield from _parts_of_and(condition.expression)
    elif isinstance(condition, exp.Paren) and isinstance(condition.this, (exp.And, exp.Paren)):
        yield from _parts_of_and(condition.this)
    else:
        yield condition


def _plain_truths(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of a condition that only count if they are true: not those below NOT, CASE or a comparison."""
    if isinstance(condition, (exp.And, exp.Or)):
        yield from _plain_truths(condition.this)
        yield from _plain_truths(condition.expression)
    elif isinstance(condition, exp.Paren):
        yield from _plain_truths(condition.this)
    else:
        yield condition


def _name_of(item: exp.Expr, position: int) -> str:
    """The name of a column that was given none: that of the column it is, or Flink's `EXPR$0`."""
    if isinstance(item, exp.Column):
        return str(item.name)
    if isinstance(item, exp.Dot):
        return str(item.expression.name)
    if isinstance(item, exp.Paren):
        return _name_of(item.this, position)
    return f"EXPR${position}"
