"""Subqueries as joins: IN, EXISTS, scalar ones, LATERAL; correlated ones if they are simple."""

from __future__ import annotations

from sqlglot import exp

from penstock.table.algebra.nodes import Aggregate, JoinKind, PlanNode, Project, Values
from penstock.table.binder.conditions import conjunction, join_of
from penstock.table.binder.decorrelation import NotDecorrelated, decorrelated
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries import QueryBinder
from penstock.table.binder.scopes import OUTER, Scope
from penstock.vocabulary.sql import scalar
from penstock.vocabulary.sql.aggregates import result_type
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import AggregateCall, Call, FieldRef, Literal, TypedExpression, rewritten

__all__ = ["SubqueryBinder"]


class SubqueryBinder:
    """Binds the subqueries of a SELECT whose FROM has a scope."""

    def __init__(self, queries: QueryBinder, scope: Scope) -> None:
        self.queries = queries
        self.scope = scope
        self.problems = queries.session.problems

    # ---- IN and EXISTS ----

    def is_semi_join(self, condition: exp.Expr) -> bool:
        """Whether a condition is IN (SELECT ...), EXISTS, or one of them with NOT."""
        inner = _without_not(condition)[0]
        return isinstance(inner, exp.Exists) or (isinstance(inner, exp.In) and inner.args.get("query") is not None)

    def semi_join(self, plan: PlanNode, condition: exp.Expr, binder: ExpressionBinder) -> PlanNode:
        """The rows of the plan for which the condition holds."""
        inner, is_negated = _without_not(condition)
        query = inner.this if isinstance(inner, exp.Exists) else inner.args["query"]
        right, parts = self._bound(query)
        width = len(plan.types)
        joined_by = [_over_both(each, width) for each in parts]
        if isinstance(inner, exp.In):
            joined_by += self._in_conditions(inner, right, width, binder, is_negated)
        kind = JoinKind.ANTI if is_negated else JoinKind.SEMI
        return join_of(plan, right, kind, conjunction(joined_by))

    def _in_conditions(
        self, node: exp.In, right: PlanNode, width: int, binder: ExpressionBinder, is_negated: bool
    ) -> list[TypedExpression]:
        left = node.this
        values = left.expressions if isinstance(left, exp.Tuple) else [left]
        bound = [binder.value(each) for each in values]
        shown = len(right.types)
        if len(bound) > shown:
            raise self.problems.at(node, f"IN compares {len(bound)} values with {shown} columns of the subquery")
        result = []
        for index, value in enumerate(bound):
            other = FieldRef(width + index, right.types[index].as_plain_time())
            equal = binder.call(node, "=", [value, other])
            if is_negated and equal.type.nullable:
                # NOT IN is not true if one of the values is NULL: then the row is no match to be left out by.
                boolean = LogicalType(Kind.BOOLEAN, True)
                unknown = Call("IS NULL", (equal,), LogicalType(Kind.BOOLEAN, False))
                equal = Call("OR", (equal, unknown), boolean)
            result.append(equal)
        return result

    # ---- scalar subqueries ----

    def scalar(self, plan: PlanNode, node: exp.Expr) -> tuple[PlanNode, TypedExpression]:
        """The plan with the value of a subquery appended, and an expression that reads it."""
        query = node.this if isinstance(node, exp.Subquery) else node
        bound = self.queries.inside(self.scope).bind(query)
        if len(bound.types) != 1:
            raise self.problems.at(node, f"A subquery in an expression needs one column, not {len(bound.types)}")
        is_single = _is_single_row(bound)
        right, parts = self._decorrelated(bound, node)
        if not is_single:
            if parts:
                raise self.problems.at(
                    node, "A correlated subquery in an expression needs an aggregate such as MAX; or write a join"
                )
            right = _single_value(right)
        width = len(plan.types)
        joined = join_of(plan, right, JoinKind.LEFT, conjunction([_over_both(each, width) for each in parts]))
        value: TypedExpression = joined.field(width)
        if parts and _is_count(bound):
            zero = Literal(0, LogicalType(Kind.BIGINT, False))
            value = scalar.call("COALESCE", (value, zero))
        return joined, value

    # ---- LATERAL ----

    def lateral(self, plan: PlanNode, subquery: exp.Expr, kind: JoinKind) -> PlanNode:
        """The plan beside the rows of a subquery that may use its columns."""
        bound = self.queries.inside(self.scope).bind(subquery.this)
        shown = len(bound.types)
        right, parts = self._decorrelated(bound, subquery)
        width = len(plan.types)
        joined = join_of(plan, right, kind, conjunction([_over_both(each, width) for each in parts]))
        kept = range(width + shown)
        if len(joined.types) == width + shown:
            return joined
        return Project(joined, tuple([joined.field(each) for each in kept]), joined.names[: width + shown])

    # ---- correlation ----

    def _bound(self, query: exp.Expr) -> tuple[PlanNode, list[TypedExpression]]:
        inner = query.this if isinstance(query, exp.Subquery) else query
        return self._decorrelated(self.queries.inside(self.scope).bind(inner), query)

    def _decorrelated(self, plan: PlanNode, node: exp.Expr) -> tuple[PlanNode, list[TypedExpression]]:
        try:
            return decorrelated(plan)
        except NotDecorrelated as error:
            raise self.problems.at(
                node,
                f"The subquery uses columns of the query around it in {error}, which is not supported; write a join",
            ) from None


def _without_not(condition: exp.Expr) -> tuple[exp.Expr, bool]:
    is_negated = False
    while isinstance(condition, (exp.Not, exp.Paren)):
        is_negated ^= isinstance(condition, exp.Not)
        condition = condition.this
    return condition, is_negated


def _over_both(condition: TypedExpression, width: int) -> TypedExpression:
    """A condition over inner fields and outer ones as one over left (outer) and right (inner) fields."""

    def change(each: TypedExpression) -> TypedExpression | None:
        if isinstance(each, FieldRef):
            return FieldRef(each.index + width, each.type)
        if isinstance(each, Call) and each.function == OUTER:
            return FieldRef(each.options[0], each.type.as_plain_time())
        return None

    return rewritten(condition, change)


def _is_single_row(plan: PlanNode) -> bool:
    """Whether a query surely has one row: an aggregate without keys."""
    while isinstance(plan, Project):
        plan = plan.input
    return (isinstance(plan, Aggregate) and not plan.keys) or (isinstance(plan, Values) and len(plan.rows) == 1)


def _is_count(plan: PlanNode) -> bool:
    """Whether the only column of a query is the result of COUNT."""
    index = 0
    while isinstance(plan, Project):
        expression = plan.expressions[index]
        if not isinstance(expression, FieldRef):
            return False
        plan, index = plan.input, expression.index
    if not isinstance(plan, Aggregate) or index < len(plan.keys):
        return False
    return plan.calls[index - len(plan.keys)].function == "COUNT"


def _single_value(plan: PlanNode) -> PlanNode:
    types = (plan.types[0],)
    call = AggregateCall("SINGLE_VALUE", (0,), result_type("SINGLE_VALUE", types, False, False), types)
    return Aggregate(plan, (), (call,), (plan.names[0],))
