"""Binding of what SQL has no words for: table aggregates, and aggregates of windows of counted rows."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.table.algebra.nodes import PlanNode, Project
from penstock.table.algebra.table_api_nodes import CountWindowAggregate, TableAggregate
from penstock.table.binder.aggregates import aggregate_call
from penstock.table.binder.columns import ColumnList
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.grouping import find_aggregates
from penstock.table.binder.scopes import Relation, Scope
from penstock.table.binder.session import Session
from penstock.table.binder.user_functions import user_arguments
from penstock.vocabulary.sql.typed_expressions import AggregateCall, TypedExpression
from penstock.vocabulary.sql.user_functions import USER_FUNCTION, UserFunction

__all__ = ["bind_count_window", "bind_table_aggregate"]


def _binder(session: Session, plan: PlanNode) -> ExpressionBinder:
    return ExpressionBinder(session, Scope((Relation(None, plan.names, plan.types),)))


def bind_table_aggregate(
    session: Session,
    plan: PlanNode,
    call: exp.Func,
    function: UserFunction,
    keys: Sequence[exp.Expr],
    names: Sequence[str],
) -> PlanNode:
    """The rows of a table aggregate function beside the keys of its groups."""
    binder, columns = _binder(session, plan), ColumnList()
    places = tuple([columns.add(binder.value(each)) for each in keys])
    columns.seal()
    arguments = tuple([columns.append(each) for each in user_arguments(binder, call, function)])
    types = tuple([columns.columns[each].type for each in arguments])
    made = function.row_type
    bound = AggregateCall(USER_FUNCTION, arguments, made, types, options=(function,))
    return TableAggregate(columns.project(plan), places, (bound,), tuple(names) or made.names)


def bind_count_window(
    session: Session,
    plan: PlanNode,
    items: Sequence[exp.Expr],
    keys: Sequence[exp.Expr],
    size: int,
    slide: int,
) -> PlanNode:
    """A select list over windows of counted rows of each key."""
    binder, columns = _binder(session, plan), ColumnList()
    bound_keys = [binder.value(each) for each in keys]
    places = tuple([columns.append(each) for each in bound_keys])
    columns.seal()
    found = find_aggregates(items, session)
    calls = [aggregate_call(each, binder, columns, is_grouped=True) for each in found]
    names = tuple([f"EXPR${index}" for index in range(len(calls))])
    made = CountWindowAggregate(columns.project(plan), places, tuple(calls), names, size, slide)
    answers = {id(each): made.field(len(places) + index) for index, each in enumerate(found)}

    def answer(node: exp.Expr) -> TypedExpression | None:
        if id(node) in answers:
            return answers[id(node)]
        if not isinstance(node, exp.Column):
            return None
        bound = binder.value(node)
        if bound not in bound_keys:
            raise session.problems.at(
                node, f"Column '{node.name}' is neither grouped nor aggregated; add it to group_by, or aggregate it"
            )
        return made.field(bound_keys.index(bound))

    over = ExpressionBinder(session, Scope((Relation(None, made.names, made.types),)), answer)
    return Project(made, tuple([over.bind(each.this) for each in items]), tuple([each.alias for each in items]))
