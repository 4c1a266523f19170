"""Binding of aggregate calls: DISTINCT, FILTER, ORDER BY inside, and JSON's own words."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from penstock.errors import PenstockError
from penstock.table.binder.columns import ColumnList
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.function_calls import function_name
from penstock.table.binder.session import Session
from penstock.table.binder.user_functions import is_user_aggregate, user_function, user_taken
from penstock.vocabulary.sql import scalar
from penstock.vocabulary.sql.aggregates import AGGREGATE_FUNCTIONS, result_type
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.typed_expressions import AggregateCall, Call, TypedExpression
from penstock.vocabulary.sql.user_functions import USER_FUNCTION

__all__ = ["aggregate_call", "aggregate_name", "is_aggregate"]

SYNONYMS = {"VARIANCE_POP": "VAR_POP", "STDDEV_SAMP": "STDDEV_SAMP", "VARIANCE_SAMP": "VAR_SAMP"}
ONLY_OVER = frozenset(["LAG", "LEAD", "ROW_NUMBER", "RANK", "DENSE_RANK", "CUME_DIST", "PERCENT_RANK", "NTILE"])
WRAPPERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


def aggregate_name(node: exp.Expr) -> str:
    """The name of a function as the catalog of aggregates has it."""
    name = function_name(node)
    return SYNONYMS.get(name, name)


def is_aggregate(node: exp.Expr, session: Session) -> bool:
    """Whether a node is a call of an aggregate function, with what may be around it."""
    if isinstance(node, WRAPPERS):
        return is_aggregate(node.this, session)
    if not isinstance(node, exp.Func):
        return False
    of_user = user_function(node, session)
    if of_user is not None:
        return is_user_aggregate(of_user)
    name = aggregate_name(node)
    return name in AGGREGATE_FUNCTIONS and name not in ONLY_OVER


def aggregate_call(node: exp.Expr, binder: ExpressionBinder, columns: ColumnList, is_grouped: bool) -> AggregateCall:
    """The call of an aggregate; its arguments become columns."""
    chosen: int | None = None
    order: tuple[tuple[int, bool], ...] = ()
    call = node
    options: list[Any] = []
    while isinstance(call, WRAPPERS):
        if isinstance(call, exp.Filter):
            chosen = columns.add(binder.condition(call.expression.this, "FILTER"))
        elif isinstance(call, exp.WithinGroup):
            order = _order(call.expression, binder, columns)
        elif isinstance(call, exp.RespectNulls):
            options.append("RESPECT NULLS")
        call = call.this
    of_user = user_function(call, binder.session)
    name = aggregate_name(call) if of_user is None else USER_FUNCTION
    arguments = [each for each in _arguments(call) if not isinstance(each, (exp.Var, exp.Star))]
    is_distinct = any(isinstance(each, exp.Distinct) for each in arguments)
    values: list[exp.Expr] = []
    for each in arguments:
        for part in each.expressions if isinstance(each, exp.Distinct) else [each]:
            if isinstance(part, exp.Order):
                order = _order(part, binder, columns)
                part = part.this
            values.append(part)
    bound = _as_json(name, [binder.value(each) for each in values])
    if of_user is not None:
        bound = list(user_taken(binder, node, of_user, bound))
    numbers = [columns.add(each) for each in bound]
    types = tuple([columns.columns[each].type for each in numbers])
    words = [each.name.upper() for each in call.args.get("clauses") or () if isinstance(each, exp.Var)]
    options += [" ".join(words)] if words else []
    if of_user is not None:
        return AggregateCall(name, tuple(numbers), of_user.result_type, types, is_distinct, chosen, order, (of_user,))
    found = _result_type(node, name, types, is_distinct, is_grouped, binder)
    if chosen is not None and name not in ("COUNT",):
        found = found.with_nullable(True)
    return AggregateCall(name, tuple(numbers), found, types, is_distinct, chosen, order, tuple(options))


def _as_json(name: str, values: list[TypedExpression]) -> list[TypedExpression]:
    """The arguments of an aggregate; the last one of JSON_OBJECTAGG and JSON_ARRAYAGG as the text of a JSON value."""
    if name not in ("JSON_OBJECTAGG", "JSON_ARRAYAGG") or not values:
        return values
    *keys, value = values
    is_json = isinstance(value, Call) and value.function in ("JSON_OBJECT", "JSON_ARRAY", "JSON_QUERY")
    return [*keys, value if is_json else scalar.call("JSON_STRING", (value,))]


def _arguments(call: exp.Expr) -> list[exp.Expr]:
    if isinstance(call, exp.Anonymous):
        return list(call.expressions)
    found = [] if call.this is None else [call.this]
    keys = [key for key in call.arg_types if key != "this"]
    for key in keys:
        value = call.args.get(key)
        if isinstance(value, exp.Expr):
            found.append(value)
        elif isinstance(value, list):
            found += value
    return found


def _order(node: exp.Expr, binder: ExpressionBinder, columns: ColumnList) -> tuple[tuple[int, bool], ...]:
    return tuple([(columns.add(binder.value(each.this)), bool(each.args.get("desc"))) for each in node.expressions])


def _result_type(
    node: exp.Expr,
    name: str,
    types: tuple[LogicalType, ...],
    is_distinct: bool,
    is_grouped: bool,
    binder: ExpressionBinder,
) -> LogicalType:
    try:
        return result_type(name, types, is_distinct, is_grouped)
    except PenstockError as error:
        raise binder.session.problems.at(node, str(error)) from None
