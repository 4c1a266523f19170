"""Row-based operations: functions that get whole rows, and whose rows become columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.binder.table_aggregates import bind_table_aggregate
from penstock.table.binder.user_functions import user_function
from penstock.table.column_choices import aliased, chosen, column, named, without_alias
from penstock.table.expression import Expression
from penstock.table.planner import PlannedTable
from penstock.table.table_queries import PROPERTIES, Source, is_window, nodes_of
from penstock.table.udf import UserDefinedFunctionWrapper
from penstock.table.window import GroupWindow
from penstock.vocabulary.sql.logical_types import Kind
from penstock.vocabulary.sql.user_functions import FunctionKind

__all__ = ["aggregated", "call_of", "flat_aggregated", "flat_mapped", "mapped", "selected"]

MADE = "$made"


def call_of(given: Any, source: Source) -> tuple[exp.Expr, tuple[str, ...]]:
    """The call of a user function, and the names for its columns; a function without arguments gets whole rows."""
    if isinstance(given, UserDefinedFunctionWrapper):
        fields = source.names
        function = replace(given.user_function, takes_row=True, row_names=fields)
        call = exp.Anonymous(this=function.name, expressions=[column(each) for each in fields])
        call.set("function", function)
        return call, function.aliases
    if not isinstance(given, Expression):
        raise SqlValidationError(f"Expected a user function or a call of one, got {given!r}.")
    node = given._node
    names = () if not isinstance(node, exp.Alias) else (node.alias, *(node.args.get("more") or ()))
    return without_alias(node), tuple(names)


def mapped(source: Source, given: Any) -> PlannedTable:
    """One row for each row."""
    call, names = call_of(given, source)
    plan = source.bound([aliased(call, MADE)]).plan
    return _spread(Source(source.environment, plan), [], names)


def flat_mapped(source: Source, given: Any) -> PlannedTable:
    """Any number of rows for each row."""
    call, names = call_of(given, source)
    joined = source.lateral(call, (), "INNER").plan
    made = joined.names[len(source.names) :]
    shown = names or made
    whole = Source(source.environment, joined)
    if len(shown) != len(made):
        raise SqlValidationError(f"flat_map: {len(shown)} names are given for {len(made)} columns.")
    return whole.bound([aliased(column(each), name) for each, name in zip(made, shown, strict=True)])


def aggregated(source: Source, given: Any, keys: Sequence[exp.Expr], window: GroupWindow | None) -> PlannedTable:
    """The keys, one row of an aggregate function, and what is known of the window."""
    source, plain = source.with_keys(keys)
    call, names = call_of(given, source)
    kept = [each for each in plain if window is None or not is_window(each, window)]
    items = named([*kept, aliased(call, MADE)])
    shown = [each.alias for each in items[:-1]]
    if window is not None:
        items += [aliased(window.node(word), _property_name(window, word)) for word in _words(source, window)]
        plain = [window.node() if is_window(each, window) else each for each in plain]
    plan = source.bound(items, group=exp.Group(expressions=[each.copy() for each in plain])).plan
    hidden = [each for each in plan.names if each.startswith("$window")]
    return _spread(Source(source.environment, plan), shown, names, hidden)


def flat_aggregated(source: Source, given: Any, keys: Sequence[exp.Expr]) -> PlannedTable:
    """The keys, and the rows of a table aggregate function."""
    source, plain = source.with_keys(keys)
    call, names = call_of(given, source)
    function = user_function(call, source.environment.session())
    if not isinstance(call, exp.Func) or function is None or function.kind is not FunctionKind.TABLE_AGGREGATE:
        raise SqlValidationError("flat_aggregate needs a table aggregate function: make one with udtaf().")
    session = source.environment.session()
    plan = bind_table_aggregate(session, source.plan, call, function, plain, names)
    return PlannedTable(plan, session.context)


def selected(
    source: Source, made: PlannedTable, expressions: Iterable[Any], window: GroupWindow | None
) -> PlannedTable:
    """A select list over the columns of a function; properties of the window are hidden columns by now."""
    whole = Source(source.environment, made.plan)
    visible = [each for each in whole.names if not each.startswith("$window")]
    items = named(chosen(nodes_of(expressions), visible, whole.type_of))
    if window is None:
        return whole.bound(items)

    def change(each: exp.Expr) -> exp.Expr:
        if isinstance(each, exp.Anonymous) and each.this in PROPERTIES and is_window(each.expressions[0], window):
            return column(_property_name(window, PROPERTIES[each.this]))
        return each

    return whole.bound([each.transform(change) for each in items])


def unique_beside(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Names of columns that no key has; Flink gives those that one has a number."""
    found: list[str] = []
    for name in names:
        unique, number = name, 0
        while unique in (*taken, *found):
            unique, number = f"{name}_{number}", number + 1
        found.append(unique)
    return found


def _words(source: Source, window: GroupWindow) -> list[str]:
    attribute = source.type_of(window.time._node).time_attribute
    is_rowtime = attribute is not None and attribute.value == "ROWTIME"
    return ["_START", "_END", "_ROWTIME" if is_rowtime else "_PROCTIME"]


def _property_name(window: GroupWindow, word: str) -> str:
    return f"$window{word}"


def _spread(source: Source, before: Sequence[str], names: Sequence[str], behind: Sequence[str] = ()) -> PlannedTable:
    """The fields of the row that a function made as columns, beside others."""
    made = source.plan.types[source.names.index(MADE)]
    others = [aliased(column(each), each) for each in before]
    hidden = [aliased(column(each), each) for each in behind]
    if made.kind is not Kind.ROW:
        name = names[0] if names else "f0" if not before else "_c0"
        return source.bound([*others, aliased(column(MADE), name), *hidden])
    shown = names or unique_beside(made.names, before)
    if len(shown) != len(made.names):
        raise SqlValidationError(f"{len(shown)} names are given for the {len(made.names)} columns of the function.")
    fields = [
        aliased(exp.Dot(this=exp.Paren(this=column(MADE)), expression=exp.to_identifier(field, quoted=True)), name)
        for field, name in zip(made.names, shown, strict=True)
    ]
    return source.bound([*others, *fields, *hidden])
