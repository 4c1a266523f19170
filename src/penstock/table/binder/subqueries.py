"""Subqueries as joins: IN, EXISTS, scalar ones, LATERAL; correlated ones if they are simple."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from penstock.table.algebra.nodes import Aggregate, JoinKind, PlanNode, Project, Values
from penstock.table.binder.conditions import conjunction, join_of, moved
from penstock.table.binder.decorrelation import NotDecorrelated, decorrelated, is_equality
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.grouping import find_aggregates
from penstock.table.binder.queries import QueryBinder, distinct
from penstock.table.binder.scopes import OUTER, Scope
from penstock.table.binder.session import Session
from penstock.vocabulary.sql import scalar
from penstock.vocabulary.sql.aggregates import result_type
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import (
    AggregateCall,
    Call,
    FieldRef,
    Literal,
    TypedExpression,
    fields_of,
    rewritten,
)

__all__ = ["OuterField", "SubqueryBinder", "as_membership", "has_query"]

BOOLEAN = LogicalType(Kind.BOOLEAN, False)
COUNTED = LogicalType(Kind.BIGINT, False)
TRUE = Literal(True, BOOLEAN)
OuterField = Callable[[int, LogicalType], TypedExpression]
"""What a column of the query around is in its plan, by its number in FROM."""


def as_membership(node: exp.Expr) -> exp.Expr:
    """`= ANY (SELECT ...)` and `<> ALL (SELECT ...)` as IN and NOT IN; other nodes as they are."""
    if isinstance(node, (exp.EQ, exp.NEQ)):
        is_negated = isinstance(node, exp.NEQ)
        quantified = node.expression
        if isinstance(quantified, exp.All if is_negated else exp.Any) and quantified.find(exp.Query) is not None:
            query = quantified.this.this if isinstance(quantified.this, exp.Paren) else quantified.this
            found = exp.In(this=node.this, query=query)
            return exp.Not(this=found) if is_negated else found
    return node


def has_query(node: exp.Expr) -> bool:
    """Whether it is IN (SELECT ...) or EXISTS."""
    return isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query") is not None)


def always_holds(node: exp.Expr, session: Session) -> bool:
    """Whether it is EXISTS of an aggregate of all rows, which gives a row even of no rows."""
    query = node.this if isinstance(node, exp.Exists) else None
    if not isinstance(query, exp.Select):
        return False
    if any(query.args.get(key) for key in ("group", "having", "limit", "offset", "qualify")):
        return False
    return bool(find_aggregates(query.expressions, session))


class SubqueryBinder:
    """Binds the subqueries of a SELECT whose FROM has a scope."""

    def __init__(self, queries: QueryBinder, scope: Scope, outer_field: OuterField = FieldRef) -> None:
        self.queries = queries
        self.scope = scope
        self.outer_field = outer_field
        self.problems = queries.session.problems

    # ---- IN and EXISTS ----

    def is_semi_join(self, condition: exp.Expr) -> bool:
        """Whether a condition is IN (SELECT ...), EXISTS, or one of them with NOT."""
        inner = _without_not(condition)[0]
        return has_query(inner) and not always_holds(inner, self.queries.session)

    def tested(self, condition: exp.Expr, binder: ExpressionBinder) -> list[TypedExpression]:
        """The values left of IN."""
        inner = _without_not(condition)[0]
        if not isinstance(inner, exp.In):
            return []
        left = inner.this
        return [binder.value(each) for each in (left.expressions if isinstance(left, exp.Tuple) else [left])]

    def semi_join(
        self, plan: PlanNode, condition: exp.Expr, tested: Sequence[TypedExpression], binder: ExpressionBinder
    ) -> PlanNode:
        """The rows of the plan for which the condition holds."""
        inner, is_negated = _without_not(condition)
        right, parts = self._bound(_query_of(inner))
        width = len(plan.types)
        joined_by = [self._over_both(each, width) for each in parts]
        for equal in self._equalities(inner, tested, right, width, binder):
            if is_negated and equal.type.nullable:
                # NOT IN is not true if one of the values is NULL: then the row is no match to be left out by.
                unknown = Call("IS NULL", (equal,), BOOLEAN)
                equal = Call("OR", (equal, unknown), BOOLEAN.with_nullable(True))
            joined_by.append(equal)
        kind = JoinKind.ANTI if is_negated else JoinKind.SEMI
        return join_of(plan, right, kind, conjunction(joined_by))

    def _equalities(
        self, node: exp.Expr, tested: Sequence[TypedExpression], right: PlanNode, width: int, binder: ExpressionBinder
    ) -> list[TypedExpression]:
        """The values left of IN against the first columns of the subquery, which are right of a plan."""
        shown = len(right.types)
        if len(tested) > shown:
            raise self.problems.at(node, f"IN compares {len(tested)} values with {shown} columns of the subquery")
        others = [FieldRef(width + index, right.types[index].as_plain_time()) for index in range(len(tested))]
        return [binder.call(node, "=", list(pair)) for pair in zip(tested, others, strict=True)]

    # ---- IN and EXISTS as values ----

    def truth(
        self,
        plan: PlanNode,
        node: exp.Expr,
        tested: Sequence[TypedExpression],
        binder: ExpressionBinder,
        is_unknown_false: bool,
    ) -> tuple[PlanNode, TypedExpression]:
        """The plan with what is needed to tell whether IN or EXISTS holds, and an expression that tells it.

        As in Flink: a left join with the distinct values, and for IN a join with how many rows and values there are,
        for without a match it is unknown where one of them is NULL. `is_unknown_false` makes that needless.
        """
        right, parts = self._bound(_query_of(node))
        if any(not is_equality(each) for each in parts):
            raise self.problems.at(
                node, "IN and EXISTS inside of other conditions need equalities to compare with the query around"
            )
        used = sorted({field for each in parts for field in fields_of(each)})
        nullable = [*tested, *right.fields[: len(tested)]]
        counts: list[TypedExpression] = []
        if tested and not is_unknown_false and any(each.type.nullable for each in nullable):
            plan, counts = self._counted(plan, right, used, parts, len(tested))
        columns = [*range(len(tested)), *[each for each in used if each >= len(tested)]]
        values = Project(right, tuple([right.field(each) for each in columns]), tuple([f"$v{n}" for n in columns]))
        if not columns:
            values = Project(right, (TRUE,), ("$v",))
        known = distinct(values)
        flagged = Project(known, (*known.fields, TRUE), (*known.names, "$i"))
        width = len(plan.types)
        places = {column: index for index, column in enumerate(columns)}
        joined_by = [self._over_both(moved(each, places), width) for each in parts]
        joined_by += self._equalities(node, tested, flagged, width, binder) if tested else []
        joined = join_of(plan, flagged, JoinKind.LEFT, conjunction(joined_by))
        is_found = Call("IS NOT NULL", (joined.field(width + len(flagged.types) - 1),), BOOLEAN)
        return joined, is_found if not counts else _three_valued(is_found, tested, counts)

    def _counted(
        self, plan: PlanNode, right: PlanNode, used: list[int], parts: list[TypedExpression], tested: int
    ) -> tuple[PlanNode, list[TypedExpression]]:
        """The plan beside the number of rows of a subquery, and of those whose values are not NULL."""
        columns = [*used, *[each for each in range(tested) if each not in used]]
        values = Project(right, tuple([right.field(each) for each in columns]), tuple([f"$v{n}" for n in columns]))
        places = {column: index for index, column in enumerate(columns)}
        calls = [AggregateCall("COUNT", (), COUNTED, ())]
        for column in range(tested):
            calls.append(AggregateCall("COUNT", (places[column],), COUNTED, (right.types[column],)))
        names = tuple([f"$c{index}" for index in range(len(calls))])
        counted = Aggregate(values, tuple(range(len(used))), tuple(calls), names)
        width = len(plan.types)
        joined_by = [self._over_both(moved(each, places), width) for each in parts]
        joined = join_of(plan, counted, JoinKind.LEFT if parts else JoinKind.INNER, conjunction(joined_by))
        found = [joined.field(width + len(used) + index) for index in range(len(calls))]
        zero = Literal(0, COUNTED)
        return joined, [scalar.call("COALESCE", (each, zero)) if parts else each for each in found]

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
        joined = join_of(plan, right, JoinKind.LEFT, conjunction([self._over_both(each, width) for each in parts]))
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
        is_single = bool(parts) and _is_single_row(bound)
        if is_single:  # an aggregate without keys has a row for every row of the plan, of no rows too
            kind = JoinKind.LEFT
        joined = join_of(plan, right, kind, conjunction([self._over_both(each, width) for each in parts]))
        fields: list[TypedExpression] = [joined.field(each) for each in range(width + shown)]
        for index in range(shown if is_single else 0):
            if _is_count(bound, index):
                fields[width + index] = scalar.call("COALESCE", (fields[width + index], Literal(0, COUNTED)))
        if len(joined.types) == width + shown and tuple(fields) == joined.fields:
            return joined
        return Project(joined, tuple(fields), joined.names[: width + shown])

    # ---- correlation ----

    def _over_both(self, condition: TypedExpression, width: int) -> TypedExpression:
        """A condition over inner fields and outer ones as one over left (outer) and right (inner) fields."""

        def change(each: TypedExpression) -> TypedExpression | None:
            if isinstance(each, FieldRef):
                return FieldRef(each.index + width, each.type)
            if isinstance(each, Call) and each.function == OUTER:
                return self.outer_field(each.options[0], each.type.as_plain_time())
            return None

        return rewritten(condition, change)

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


def _query_of(node: exp.Expr) -> exp.Expr:
    query: exp.Expr = node.this if isinstance(node, exp.Exists) else node.args["query"]
    return query


def _three_valued(
    is_found: TypedExpression, tested: Sequence[TypedExpression], counts: Sequence[TypedExpression]
) -> TypedExpression:
    """Whether a value is among others: unknown if it is NULL, or not found and one of the others is NULL."""
    rows, *values = counts
    missing = [Call("IS NULL", (each,), BOOLEAN) for each in tested if each.type.nullable]
    missing += [Call("<", (each, rows), BOOLEAN) for each in values]
    unknown: TypedExpression = missing[0]
    for each in missing[1:]:
        unknown = Call("OR", (unknown, each), BOOLEAN)
    is_empty = Call("=", (rows, Literal(0, COUNTED)), BOOLEAN)
    nothing, false = Literal(None, BOOLEAN.with_nullable(True)), Literal(False, BOOLEAN)
    parts = (is_empty, false, is_found, TRUE, unknown, nothing, false)
    return Call("CASE", parts, BOOLEAN.with_nullable(True))


def _is_single_row(plan: PlanNode) -> bool:
    """Whether a query surely has one row: an aggregate without keys."""
    while isinstance(plan, Project):
        plan = plan.input
    return (isinstance(plan, Aggregate) and not plan.keys) or (isinstance(plan, Values) and len(plan.rows) == 1)


def _is_count(plan: PlanNode, index: int = 0) -> bool:
    """Whether a column of a query is the result of COUNT."""
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
