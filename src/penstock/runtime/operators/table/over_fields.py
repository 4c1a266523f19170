"""OVER in the order of other fields than time: rows that come later may change the results of rows that are out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.typeinfo import Types
from penstock.runtime.operators.table.aggregate_code import folding_lines, memory_views, valuing_lines
from penstock.runtime.operators.table.operator import Row, defined
from penstock.runtime.operators.table.ordering import sort_key
from penstock.vocabulary.sql.aggregates.compilation import AggregateCode, compiled_aggregates
from penstock.vocabulary.sql.aggregates.result_types import AggregateError
from penstock.vocabulary.sql.row_kinds import DELETE, UPDATE_AFTER, UPDATE_BEFORE
from penstock.vocabulary.sql.state_types import row_state_type
from penstock.vocabulary.sql.typed_expressions import AggregateCall

if TYPE_CHECKING:
    from penstock.runtime.operators.table.over_aggregate import OverAggregateOperator

Fields = tuple[Any, ...]
Result = tuple[Fields, Any]
"""The results of a row and the accumulator behind them."""

_RANKS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK"})


class OverFields:
    """All rows of each key, by the number of their arrival; results are computed anew for each change."""

    def __init__(self, operator: OverAggregateOperator) -> None:
        self._operator = operator
        self._ranks = [call.function if call.function in _RANKS else None for call in operator.aggregates]
        calls = [call for call in operator.aggregates if call.function not in _RANKS]
        code = _code(calls, operator)
        self._views = memory_views(code.views, code.scope)
        self._rows = operator.map_state("_rows", Types.LONG(), row_state_type(operator.input_types))
        self._next = operator.value_state("_next_number", Types.LONG())
        self._sort_key = sort_key(operator.sort_fields)
        self._fold = defined(folding_lines(code, retracts=False), "fold", code.scope)
        self._values = defined(valuing_lines(code), "values", code.scope)

    def take(self, rows: list[Row], keys: list[Any]) -> list[Row]:
        """Add and take back rows; the changes of results."""
        operator, consumed = self._operator, iter(rows)
        results: list[Row] = []
        try:
            for _, row in zip(operator.backend.walk(keys), consumed, strict=False):
                if row[0] & 1:
                    self._retract(row[1:], results)
                else:
                    self._add(row[0], row[1:], results)
        except Exception as error:
            raise operator.record_failure(error, rows, consumed) from None
        return results

    def _add(self, kind: int, fields: Fields, results: list[Row]) -> None:
        before = self._results()
        number = self._next.held() or 0
        self._rows.hold(number, fields)
        self._next.hold(number + 1)
        after = self._results()
        results.append((kind, *fields, *after[number][0]))
        self._emit_changes(before, after, results)

    def _retract(self, fields: Fields, results: list[Row]) -> None:
        number = next((at for at, held in self._rows.held_items() if held == fields), None)
        if number is None:
            return
        before = self._results()
        self._rows.remove(number)
        results.append((DELETE, *fields, *before[number][0]))
        after = self._results()
        if after:
            self._emit_changes(before, after, results)
        else:
            self._next.hold(None)

    def _emit_changes(self, before: dict[int, Result], after: dict[int, Result], results: list[Row]) -> None:
        """Emit rows whose accumulator has changed: Flink makes AVG and SUM of counts and sums, and compares those."""
        for number, made in after.items():
            was = before.get(number)
            if was is not None and was != made:
                fields = self._rows.held(number)
                if self._operator.generate_update_before:
                    results.append((UPDATE_BEFORE, *fields, *was[0]))
                results.append((UPDATE_AFTER, *fields, *made[0]))

    def _results(self) -> dict[int, Result]:
        """The results of each row, in order."""
        for view in self._views:
            view.clear()
        ordered = sorted((self._sort_key(fields), number, fields) for number, fields in self._rows.held_items())
        found: dict[int, Result] = {}
        accumulator, at, groups = None, 0, 0
        while at < len(ordered):
            stop = at + 1
            if not self._operator.is_rows:  # rows that are equal in the order share their results
                while stop < len(ordered) and ordered[stop][0] == ordered[at][0]:
                    stop += 1
            for _, _, fields in ordered[at:stop]:
                accumulator = self._fold(accumulator, (0, *fields))
            groups += 1
            values = self._with_ranks(self._values(accumulator), at + 1, groups)
            made = (values, accumulator)
            found.update(dict.fromkeys([number for _, number, _ in ordered[at:stop]], made))
            at = stop
        return found

    def _with_ranks(self, values: Fields, rank: int, dense: int) -> Fields:
        remaining = iter(values)
        return tuple(
            [next(remaining) if name is None else dense if name == "DENSE_RANK" else rank for name in self._ranks]
        )


def _code(calls: list[AggregateCall], operator: OverAggregateOperator) -> AggregateCode:
    """Code that counts values as it would with retraction, so that a change of the count is seen, where it can."""
    try:
        return compiled_aggregates(calls, operator.input_types, retracts=True, in_over=True)
    except AggregateError:
        return compiled_aggregates(calls, operator.input_types, retracts=False, in_over=True)
