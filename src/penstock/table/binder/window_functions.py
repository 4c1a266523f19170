"""Window table functions in FROM: `TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTE))`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.table.algebra.nodes import PlanNode, WindowTable
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.group_windows import interval_millis, window_zone
from penstock.table.binder.problems import near_names
from penstock.table.binder.scopes import Relation, Scope
from penstock.table.sql.nodes import TableArgument
from penstock.vocabulary.sql.windows import WindowKind, WindowSpec

if TYPE_CHECKING:
    from penstock.table.binder.relations import RelationBinder

__all__ = ["WINDOW_FUNCTIONS", "bind_window_function"]

WINDOW_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
"""By name, the parameters in their order."""


def bind_window_function(relations: RelationBinder, name: str, call: exp.Expr) -> PlanNode:
    """The plan of a window table function over its table."""
    problems = relations.session.problems
    given = _by_parameter(relations, name, call)
    for parameter in WINDOW_FUNCTIONS[name]:
        if parameter not in given and parameter != "OFFSET":
            raise problems.at(call, f"{name} needs an argument {parameter}: {', '.join(WINDOW_FUNCTIONS[name])}")
    source, _ = relations.relation(given["DATA"])
    binder = relations.queries.expressions(Scope((Relation(None, source.names, source.types),)))
    time = _time_column(binder, name, given["TIMECOL"], source)
    lengths = {key: interval_millis(given[key], binder) for key in given if key not in ("DATA", "TIMECOL", "_KEY")}
    window = WindowSpec(
        WindowKind(name),
        size_ms=lengths["GAP"] if name == "SESSION" else lengths["SIZE"],
        slide_ms=lengths.get("SLIDE", lengths.get("STEP", 0)),
        offset_ms=lengths.get("OFFSET", 0),
        zone=window_zone(source.field(time), binder),
    )
    _check_lengths(relations, call, window)
    return WindowTable(source, window, time, _partition(given["DATA"], binder))


def _by_parameter(relations: RelationBinder, name: str, call: exp.Expr) -> dict[str, exp.Expr]:
    parameters = WINDOW_FUNCTIONS[name]
    given: dict[str, exp.Expr] = {}
    for position, argument in enumerate(call.expressions):
        if isinstance(argument, exp.Kwarg):
            parameter = argument.this.name.upper()
            if parameter not in parameters:
                hint = near_names(parameter, parameters)
                raise relations.session.problems.at(argument, f"{name} has no parameter {parameter}.{hint}")
            given[parameter] = argument.expression
        elif position >= len(parameters):
            raise relations.session.problems.at(argument, f"{name} takes {', '.join(parameters)}")
        else:
            given[parameters[position]] = argument
    return given


def _time_column(binder: ExpressionBinder, name: str, descriptor: exp.Expr, source: PlanNode) -> int:
    column = descriptor.expressions[0] if descriptor.expressions else descriptor
    column_name = column.name
    if column_name not in source.names:
        hint = near_names(column_name, source.names)
        raise binder.session.problems.at(descriptor, f"There is no column '{column_name}' here.{hint}")
    time = source.names.index(column_name)
    if source.types[time].time_attribute is None:
        raise binder.session.problems.at(
            descriptor,
            f"{name} needs a time attribute, but '{column_name}' is {source.types[time]}; declare a WATERMARK for the "
            f"column in its table, or use a column that is PROCTIME()",
        )
    return time


def _partition(data: exp.Expr, binder: ExpressionBinder) -> tuple[int, ...]:
    if not isinstance(data, TableArgument):
        return ()
    fields = [binder.bind(each) for each in data.args.get("partition_by") or ()]
    return tuple([each.index for each in fields])  # type: ignore[union-attr]


def _check_lengths(relations: RelationBinder, call: exp.Expr, window: WindowSpec) -> None:
    if window.size_ms <= 0 or window.slide_ms < 0:
        raise relations.session.problems.at(call, "The lengths of a window must be above 0")
    if window.kind is WindowKind.CUMULATE and window.size_ms % window.slide_ms:
        raise relations.session.problems.at(
            call, f"The size of CUMULATE ({window.size_ms} ms) must be a multiple of its step ({window.slide_ms} ms)"
        )
