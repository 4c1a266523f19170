"""Views of matches: the row over which measures and conditions of MATCH_RECOGNIZE are evaluated, made by code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.table.aggregate_code import indented, memory_views
from penstock.runtime.operators.table.expressions import block_function
from penstock.runtime.operators.table.operator import Row, defined
from penstock.vocabulary.sql.aggregates.compilation import compiled_aggregates
from penstock.vocabulary.sql.matches import (
    ALL_VARIABLES,
    CURRENT_ROW,
    MatchExpressions,
    Navigation,
    VariableAggregate,
    ViewColumn,
)
from penstock.vocabulary.sql.typed_expressions import AggregateCall

__all__ = ["condition_view", "measure_view"]


class _Code:
    """The text of a function in the making: lines before its result, and what they use."""

    def __init__(self, operator: StreamOperator, zone: str) -> None:
        self._operator = operator
        self._zone = zone
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        self._known: dict[Any, str] = {}

    def name_of(self, key: Any, text: str) -> str:
        """The local variable that has the value of a text, which is evaluated once for a key."""
        if key not in self._known:
            self._known[key] = f"v{len(self._known)}"
            self.lines.append(f"{self._known[key]} = {text}")
        return self._known[key]

    def constant(self, value: Any) -> str:
        """A global variable with a value: names of pattern variables are not put into the text."""
        name = f"c{len(self.scope)}"
        self.scope[name] = value
        return name

    def aggregates(self, columns: Sequence[ViewColumn], rows_of: Callable[[str], str]) -> dict[int, str]:
        """Aggregate the rows of each variable in one go; the texts of results by the number of their column."""
        found: dict[int, str] = {}
        by_variable: dict[str, list[tuple[int, VariableAggregate]]] = {}
        for number, column in enumerate(columns):
            if isinstance(column, VariableAggregate):
                by_variable.setdefault(column.variable, []).append((number, column))
        for variable, calls in by_variable.items():
            function = self.constant(_aggregation(self._operator, [each for _, each in calls], self._zone))
            results = self.name_of(("aggregates", variable), f"{function}({rows_of(variable)})")
            found.update({number: f"{results}[{place}]" for place, (number, _) in enumerate(calls)})
        return found

    def function(self, parameters: str, values: Sequence[str]) -> Callable[..., Row]:
        """The function that makes the view."""
        result = f"return (0, {''.join(value + ', ' for value in values)})"
        return defined([f"def view({parameters}):", *indented([*self.lines, result], 1)], "view", self.scope)


def _field(row: str, column: Navigation) -> str:
    return f"None if {row} is None else {row}[{column.field + 1}]"


def measure_view(
    operator: StreamOperator, expressions: MatchExpressions, zone: str
) -> Callable[[dict[str, list[Row]], int], Row]:
    """What makes the view of a match of its rows by variable, in the order of the pattern, and its time."""
    code = _Code(operator, zone)

    def rows_of(variable: str) -> str:
        if variable == ALL_VARIABLES:
            return code.name_of(ALL_VARIABLES, "[row for rows in match.values() for row in rows]")
        return code.name_of(("rows", variable), f"match.get({code.constant(variable)}, ())")

    results = code.aggregates(expressions.view, rows_of)
    values = []
    for number, column in enumerate(expressions.view):
        if isinstance(column, Navigation):
            rows = rows_of(column.variable)
            place = column.offset if column.is_from_first else -1 - column.offset
            taken = f"{rows}[{place}] if len({rows}) > {column.offset} else None"
            values.append(_field(code.name_of((column.variable, place), taken), column))
        else:
            values.append(results.get(number, "time"))
    return code.function("match, time", values)


def condition_view(
    operator: StreamOperator, expressions: MatchExpressions, defined_variable: str, zone: str
) -> Callable[[Row, Any], Row]:
    """What makes the view of a row that is asked about, and of what a partial match has taken before it."""
    code = _Code(operator, zone)

    def rows_of(variable: str) -> str:
        before = f"context.events({code.constant(None if variable == ALL_VARIABLES else variable)})"
        if variable in (ALL_VARIABLES, defined_variable):  # the row counts as the last of its own variable
            before = f"[*{before}, row]"
        return code.name_of(("rows", variable), before)

    def row_at(column: Navigation) -> str:
        key = (column.variable, column.is_from_first, column.offset)
        if column.variable == CURRENT_ROW:
            return "row"
        if column.is_from_first:
            rows = rows_of(column.variable)
            return code.name_of(key, f"{rows}[{column.offset}] if len({rows}) > {column.offset} else None")
        offset = column.offset - (column.variable in (ALL_VARIABLES, defined_variable))
        variable = code.constant(None if column.variable == ALL_VARIABLES else column.variable)
        return code.name_of(key, f"context.last_event({variable}, {offset})")

    results = code.aggregates(expressions.view, rows_of)
    values = []
    for number, column in enumerate(expressions.view):
        if isinstance(column, Navigation):
            row = row_at(column)
            values.append(f"row[{column.field + 1}]" if row == "row" else _field(row, column))
        else:
            values.append(results[number])
    return code.function("row, context", values)


def _aggregation(
    operator: StreamOperator, aggregates: Sequence[VariableAggregate], zone: str
) -> Callable[[Sequence[Row]], Row]:
    """What aggregates rows: the results of all calls."""
    inputs = [expression for each in aggregates for expression in each.inputs]
    calls, first = [], 0
    for each in aggregates:
        calls.append(_shifted(each.call, first))
        first += len(each.inputs)
    code = compiled_aggregates(calls, [each.type for each in inputs], retracts=False)
    views = memory_views(code.views, code.scope)
    code.scope["_inputs"] = block_function(operator, None, inputs, zone)
    code.scope["_views"] = views
    lines = [
        "def aggregated(rows):",
        "    for view in _views:",
        "        view.clear()",
        f"    {code.names} = {code.initial}",
        "    for row in _inputs(list(rows)):",
        *indented(code.accumulate or ["pass"], 2),
        f"    return ({code.results})",
    ]
    return defined(lines, "aggregated", code.scope)


def _shifted(call: AggregateCall, by: int) -> AggregateCall:
    return replace(
        call,
        arguments=tuple([each + by for each in call.arguments]),
        filter=None if call.filter is None else call.filter + by,
        order=tuple([(field + by, is_descending) for field, is_descending in call.order]),
    )
