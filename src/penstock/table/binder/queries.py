"""Binding of whole queries: SELECT, VALUES, set operations, WITH, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from penstock.table.algebra.nodes import (
    Aggregate,
    Join,
    JoinKind,
    Limit,
    PlanNode,
    Project,
    Replicate,
    Sort,
    Union,
    Values,
)
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.scopes import Relation, Scope
from penstock.table.binder.session import Session
from penstock.vocabulary.sql import scalar
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.typed_expressions import AggregateCall, Call, FieldRef, Literal, TypedExpression
from penstock.vocabulary.sql.user_functions import user_functions_in

__all__ = ["QueryBinder", "renamed"]

NO_ROWS_TYPE = row_of((), ())
BIGINT = LogicalType(Kind.BIGINT, False)
BOOLEAN = LogicalType(Kind.BOOLEAN, False)


@dataclass(frozen=True)
class QueryBinder:
    """Binds queries; `outer` is the scope around a subquery, `named` what WITH has given names to."""

    session: Session
    outer: Scope | None = None
    named: Mapping[str, PlanNode] = field(default_factory=dict)

    def bind(self, query: exp.Expr) -> PlanNode:
        """The plan of a query."""
        binder = self._with_named(query)
        if isinstance(query, exp.Subquery):
            return binder._ordered(query, binder.bind(query.this))
        if isinstance(query, exp.Select):
            return binder._select(query)
        if isinstance(query, exp.Values):
            return binder._ordered(query, binder.values(query))
        if isinstance(query, exp.SetOperation):
            return binder._ordered(query, binder._set_operation(query))
        if isinstance(query, exp.Table):
            from penstock.table.binder.relations import RelationBinder

            return RelationBinder(binder).table(query)[0]
        raise self.session.problems.at(query, f"{type(query).__name__.upper()} is not supported as a query")

    def inside(self, scope: Scope) -> QueryBinder:
        """A binder for subqueries that may use the names of a scope."""
        return QueryBinder(self.session, scope, self.named)

    def expressions(self, scope: Scope) -> ExpressionBinder:
        """A binder for expressions over a scope."""
        return ExpressionBinder(self.session, scope)

    def _with_named(self, query: exp.Expr) -> QueryBinder:
        clause = query.args.get("with_") or query.args.get("with")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise self.session.problems.at(clause, "WITH RECURSIVE is not supported, as in Flink's streaming mode")
        binder = self
        for each in clause.expressions:
            plan = binder.bind(each.this)
            columns = each.args["alias"].args.get("columns") or ()
            plan = renamed(plan, [column.name for column in columns], binder, each) if columns else plan
            binder = QueryBinder(self.session, self.outer, {**binder.named, each.alias: plan})
        return binder

    def _select(self, query: exp.Select) -> PlanNode:
        from penstock.table.binder.selects import SelectBinder

        return SelectBinder(self, query).bind()

    # ---- VALUES ----

    def values(self, node: exp.Values) -> PlanNode:
        """The rows of VALUES."""
        binder = self.expressions(Scope((), self.outer))
        rows = [self._row_of(each, binder) for each in node.expressions]
        if len({len(row) for row in rows}) != 1:
            raise self.session.problems.at(node, "All rows of VALUES need the same number of values")
        types = [self.common(node, [row[index].type for row in rows]) for index in range(len(rows[0]))]
        names = tuple([f"EXPR${index}" for index in range(len(types))])
        cast = [tuple([binder.cast(node, each, to) for each, to in zip(row, types, strict=True)]) for row in rows]
        folded = [tuple(map(_folded, row)) for row in cast]
        row_type = row_of(names, tuple(types))
        if all(isinstance(each, Literal) for row in folded for each in row):
            return Values(tuple([tuple([each.value for each in row]) for row in folded]), row_type)  # type: ignore[union-attr]
        parts = tuple([_aligned(Project(one_row(), row, names), types, binder, node) for row in cast])
        return parts[0] if len(parts) == 1 else Union(parts, row_type)

    @staticmethod
    def _row_of(node: exp.Expr, binder: ExpressionBinder) -> list[TypedExpression]:
        is_row = isinstance(node, (exp.Tuple, exp.Struct)) or (isinstance(node, exp.Anonymous) and node.name == "ROW")
        if isinstance(node, exp.Paren):
            node, is_row = node.this, False
        return [binder.value(each) for each in (node.expressions if is_row else [node])]

    def common(self, node: exp.Expr, types: Sequence[LogicalType]) -> LogicalType:
        """The type that values of several types can all have."""
        found = scalar.common_type([each.as_plain_time() for each in types])
        if found is None:
            texts = " and ".join(dict.fromkeys(str(each) for each in types))
            raise self.session.problems.at(node, f"{texts} have no type in common; cast one of them")
        if found.kind is Kind.CHAR and len({each.parameters for each in types if each.kind is Kind.CHAR}) > 1:
            found = replace(found, kind=Kind.VARCHAR)  # texts of several lengths are not padded
        return found.with_nullable(any(each.nullable or each.kind is Kind.NULL for each in types))

    # ---- set operations ----

    def _set_operation(self, node: exp.SetOperation) -> PlanNode:
        left, right = self.bind(node.this), self.bind(node.expression)
        if len(left.types) != len(right.types):
            raise self.session.problems.at(
                node,
                f"Both sides of {type(node).__name__.upper()} need the same number of columns: the left one has "
                f"{len(left.types)}, the right one {len(right.types)}",
            )
        types = [self._common_of_sides(node, *pair) for pair in zip(left.types, right.types, strict=True)]
        binder = self.expressions(Scope(()))
        left, right = (_aligned(each, types, binder, node) for each in (left, right))
        is_distinct = bool(node.args.get("distinct", True))
        if isinstance(node, exp.Union):
            united = Union(_flat(left) + _flat(right), row_of(left.names, tuple(types)))
            return distinct(united) if is_distinct else united
        return self._semi_or_anti(node, left, right, is_distinct)

    def _common_of_sides(self, node: exp.Expr, left: LogicalType, right: LogicalType) -> LogicalType:
        if left.same_but_for_null(right) and left.time_attribute is right.time_attribute:
            return left.with_nullable(left.nullable or right.nullable)
        return self.common(node, [left, right])

    def _semi_or_anti(self, node: exp.Expr, left: PlanNode, right: PlanNode, is_distinct: bool) -> PlanNode:
        if not is_distinct:
            return _counted(node, left, right)
        keys = tuple(range(len(left.types)))
        kind = JoinKind.SEMI if isinstance(node, exp.Intersect) else JoinKind.ANTI
        return distinct(Join(left, right, kind, keys, keys, (True,) * len(keys)))

    # ---- ORDER BY, LIMIT ----

    def _ordered(self, node: exp.Expr, plan: PlanNode) -> PlanNode:
        order = node.args.get("order")
        fields = [] if order is None else [self.sort_field(each, plan) for each in order.expressions]
        return self.limited(node, plan, tuple(fields))

    def sort_field(self, ordered: exp.Expr, plan: PlanNode) -> SortField:
        """An element of ORDER BY over the columns of a plan: a name or a number."""
        binder = self.expressions(Scope((Relation(None, plan.names, plan.types),)))
        key = ordered.this
        if isinstance(key, exp.Literal) and not key.is_string:
            return sort_direction(ordered, self.position(key, len(plan.types)))
        bound = binder.bind(key)
        if not isinstance(bound, FieldRef):
            raise self.session.problems.at(ordered, "ORDER BY of a set operation needs a column of its result")
        return sort_direction(ordered, bound.index)

    def position(self, node: exp.Expr, width: int) -> int:
        """A number that stands for a column of the result, counted from 0."""
        number = int(node.name) if node.name.isdigit() else 0
        if not 1 <= number <= width:
            raise self.session.problems.at(node, f"ORDER BY {node.name}: there are columns 1 to {width}")
        return number - 1

    def limited(self, node: exp.Expr, plan: PlanNode, order: tuple[SortField, ...]) -> PlanNode:
        """The plan with the order, and with the LIMIT, OFFSET or FETCH of a query."""
        limit, offset = node.args.get("limit"), node.args.get("offset")
        if limit is None and offset is None:
            return Sort(plan, order) if order else plan
        fetch = None if limit is None else self._count(limit, limit.args.get("count") or limit.args.get("expression"))
        skipped = 0 if offset is None else self._count(offset, offset.args["expression"])
        return Limit(plan, skipped, fetch, order)

    def _count(self, clause: exp.Expr, count: exp.Expr | None) -> int:
        if count is None or not count.name.isdigit():
            raise self.session.problems.at(clause, "LIMIT, OFFSET and FETCH need a number")
        return int(count.name)


def sort_direction(ordered: exp.Expr, index: int) -> SortField:
    """A field with the direction of ORDER BY; NULL is the lowest value unless NULLS FIRST or LAST says otherwise."""
    descending = bool(ordered.args.get("desc"))
    nulls_first = ordered.args.get("nulls_first")
    default_first = not descending
    if nulls_first is None or bool(nulls_first) == default_first:
        return SortField(index, descending)
    return SortField(index, descending, not nulls_first)


def one_row() -> Values:
    """A table of one row without columns: what SELECT without FROM reads."""
    return Values(((),), NO_ROWS_TYPE)


def distinct(plan: PlanNode) -> Aggregate:
    """Each row once."""
    return Aggregate(plan, tuple(range(len(plan.types))), (), ())


def _counted(node: exp.Expr, left: PlanNode, right: PlanNode) -> PlanNode:
    """INTERSECT ALL and EXCEPT ALL: each row as often as the counts of both sides say."""
    width = len(left.types)
    nullable = BIGINT.with_nullable(True)
    sides = []
    for plan, marks in ((left, (1, None)), (right, (None, 1))):
        flags = tuple([Literal(each, nullable) for each in marks])
        sides.append(Project(plan, (*plan.fields, *flags), (*left.names, "$l", "$r")))
    types = [
        one.with_nullable(one.nullable or other.nullable) for one, other in zip(left.types, right.types, strict=True)
    ]
    both = Union(tuple(sides), row_of(sides[0].names, (*types, nullable, nullable)))
    calls = tuple([AggregateCall("COUNT", (width + each,), BIGINT, (nullable,)) for each in range(2)])
    grouped = Aggregate(both, tuple(range(width)), calls, ("$lc", "$rc"))
    ours, theirs = grouped.field(width), grouped.field(width + 1)
    is_fewer = Call("<", (ours, theirs), BOOLEAN)
    if isinstance(node, exp.Intersect):
        times: TypedExpression = Call("CASE", (is_fewer, ours, theirs), BIGINT)
    else:
        more = scalar.call("-", (ours, theirs))
        times = Call("CASE", (is_fewer, Literal(0, BIGINT), more), BIGINT)
    return Replicate(Project(grouped, (*grouped.fields[:width], times), (*left.names, "$n")))


def renamed(plan: PlanNode, names: Sequence[str], binder: QueryBinder, node: exp.Expr) -> PlanNode:
    """The plan with other names for its columns."""
    if len(names) != len(plan.types):
        raise binder.session.problems.at(
            node, f"{len(names)} column names are given for a table of {len(plan.types)} columns"
        )
    return plan if tuple(names) == plan.names else Project(plan, plan.fields, tuple(names))


def _aligned(plan: PlanNode, types: Sequence[LogicalType], binder: ExpressionBinder, node: exp.Expr) -> PlanNode:
    """The plan with its columns cast where they are of other types, whether NULL is allowed apart."""
    changed = [
        each
        if each.type.same_but_for_null(to) and each.type.time_attribute is to.time_attribute
        else binder.cast(node, each, to.with_nullable(each.type.nullable))
        for each, to in zip(plan.fields, types, strict=True)
    ]
    return plan if tuple(changed) == plan.fields else Project(plan, tuple(changed), plan.names)


def _flat(plan: PlanNode) -> tuple[PlanNode, ...]:
    return plan.parts if isinstance(plan, Union) else (plan,)


def _folded(expression: TypedExpression) -> TypedExpression:
    if isinstance(expression, Literal) or user_functions_in(expression):
        return expression
    return scalar.constant(expression) or expression
