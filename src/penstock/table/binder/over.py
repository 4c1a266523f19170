"""Binding of OVER: aggregates and ranks over the rows before each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import PenstockError
from penstock.table.algebra.nodes import Frame, Over, PlanNode
from penstock.table.binder.aggregates import aggregate_name
from penstock.table.binder.columns import ColumnList
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.group_windows import as_time
from penstock.table.binder.queries import sort_direction
from penstock.table.binder.user_functions import is_user_aggregate, user_function, user_taken
from penstock.vocabulary.sql.aggregates import AGGREGATE_FUNCTIONS, result_type
from penstock.vocabulary.sql.logical_types import Kind
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.typed_expressions import AggregateCall, Literal, TypedExpression
from penstock.vocabulary.sql.user_functions import USER_FUNCTION

__all__ = ["add_over", "find_windows"]

ROW_FUNCTIONS = frozenset(["ROW_NUMBER"])


def find_windows(select: exp.Expr) -> list[exp.Window]:
    """The OVER expressions of a SELECT list and its ORDER BY, those of subqueries apart."""
    found: list[exp.Window] = []

    def look(node: exp.Expr) -> None:
        if isinstance(node, exp.Window):
            found.append(node)
        elif not isinstance(node, (exp.Query, exp.Subquery)):
            for child in node.iter_expressions():
                look(child)

    order = select.args.get("order")
    for each in [*select.expressions, *([] if order is None else [order])]:
        look(each)
    return found


@dataclass(frozen=True)
class _Spec:
    partition: tuple[int, ...]
    order: tuple[SortField, ...]
    frame: Frame


def add_over(
    plan: PlanNode, windows: list[exp.Window], named: Mapping[str, exp.Expr], binder: ExpressionBinder
) -> tuple[PlanNode, dict[int, TypedExpression]]:
    """The plan with a column for each OVER, and those columns by the id of their node."""
    columns = ColumnList(plan.fields)
    groups: dict[_Spec, list[AggregateCall]] = {}
    places: list[tuple[exp.Window, _Spec, int]] = []
    for window in windows:
        definition = _definition(window, named, binder)
        call = _call(window, binder, columns)
        spec = _spec(definition, call.function, binder, columns)
        calls = groups.setdefault(spec, [])
        if call not in calls:
            calls.append(call)
        places.append((window, spec, calls.index(call)))
    result = columns.project(plan)
    firsts: dict[_Spec, int] = {}
    for number, (spec, calls) in enumerate(groups.items()):
        firsts[spec] = len(result.types)
        names = tuple([f"w{number}$o{index}" for index in range(len(calls))])
        result = Over(result, spec.partition, spec.order, spec.frame, tuple(calls), names)
    return result, {id(window): result.field(firsts[spec] + index) for window, spec, index in places}


def _definition(window: exp.Window, named: Mapping[str, exp.Expr], binder: ExpressionBinder) -> exp.Expr:
    alias = window.args.get("alias")
    if alias is None:
        return window
    if alias.name not in named:
        raise binder.session.problems.at(window, f"There is no WINDOW named '{alias.name}' in this SELECT")
    return named[alias.name]


def _call(window: exp.Window, binder: ExpressionBinder, columns: ColumnList) -> AggregateCall:
    node = window.this
    options: tuple[str, ...] = ()
    chosen = None
    while isinstance(node, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        if isinstance(node, exp.Filter):
            chosen = columns.add(binder.condition(node.expression.this, "FILTER"))
        else:
            options = ("RESPECT NULLS",) if isinstance(node, exp.RespectNulls) else ("IGNORE NULLS",)
        node = node.this
    of_user = user_function(node, binder.session)
    name = aggregate_name(node) if of_user is None else USER_FUNCTION
    if of_user is not None and not is_user_aggregate(of_user):
        raise binder.session.problems.at(window, f"{of_user.name} is a {of_user.kind.value}; OVER needs an aggregate")
    if of_user is None and name not in AGGREGATE_FUNCTIONS:
        raise binder.session.problems.at(window, f"{name} cannot be used with OVER")
    values = _values(node)
    is_distinct = any(isinstance(each, exp.Distinct) for each in values)
    flat = [part for each in values for part in (each.expressions if isinstance(each, exp.Distinct) else [each])]
    bound = [binder.value(each) for each in flat if not isinstance(each, exp.Star)]
    if of_user is not None:
        bound = list(user_taken(binder, window, of_user, bound))
    numbers = tuple([columns.add(each) for each in bound])
    types = tuple([columns.columns[each].type for each in numbers])
    if of_user is not None:
        return AggregateCall(name, numbers, of_user.result_type, types, is_distinct, chosen, (), (of_user,))
    try:
        found = result_type(name, types, is_distinct)
    except PenstockError as error:
        raise binder.session.problems.at(window, str(error)) from None
    return AggregateCall(name, numbers, found, types, is_distinct, chosen, (), options)


def _values(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    found = []
    for key in node.arg_types:
        value = node.args.get(key)
        if isinstance(value, exp.Expr):
            found.append(value)
        elif isinstance(value, list):
            found += [each for each in value if isinstance(each, exp.Expr)]
    return found


def _spec(definition: exp.Expr, function: str, binder: ExpressionBinder, columns: ColumnList) -> _Spec:
    partition = tuple([columns.add(binder.bind(each)) for each in definition.args.get("partition_by") or ()])
    order = definition.args.get("order")
    fields = [
        sort_direction(each, columns.add(as_time(binder.bind(each.this), binder)))
        for each in ([] if order is None else order.expressions)
    ]
    return _Spec(partition, tuple(fields), _frame(definition, function, binder))


def _frame(definition: exp.Expr, function: str, binder: ExpressionBinder) -> Frame:
    spec = definition.args.get("spec")
    if spec is None:
        return Frame(is_rows=function in ROW_FUNCTIONS, preceding=None)
    is_rows = spec.args.get("kind") == "ROWS"
    end = spec.args.get("end")
    if end is not None and end != "CURRENT ROW":
        raise binder.session.problems.at(definition, "OVER only looks back: its frame must end with CURRENT ROW")
    start = spec.args.get("start")
    if start == "UNBOUNDED":
        return Frame(is_rows, None)
    if start == "CURRENT ROW":
        return Frame(is_rows, 0)
    if spec.args.get("start_side") != "PRECEDING" or not isinstance(start, exp.Expr):
        raise binder.session.problems.at(definition, "OVER only looks back: its frame must begin with PRECEDING")
    bound = binder.bind(start)
    wanted = (Kind.INTEGER, Kind.BIGINT) if is_rows else (Kind.INTERVAL_MILLIS,)
    if not isinstance(bound, Literal) or bound.type.kind not in wanted:
        raise binder.session.problems.at(
            definition, "ROWS needs a number of rows, RANGE an INTERVAL of days to seconds"
        )
    return Frame(is_rows, bound.value)
