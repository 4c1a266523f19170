"""OVER in the order of time: rows wait until their time has come, in processing time mostly not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.typeinfo import Types
from penstock.runtime.operators.table.aggregate_code import bind_views, indented, valuing_lines
from penstock.runtime.operators.table.operator import Row, defined
from penstock.runtime.operators.table.sessions import LATE_RECORDS
from penstock.state.timers import EVENT, PROCESSING, Timer
from penstock.vocabulary.sql.aggregates.compilation import AggregateCode, compiled_aggregates
from penstock.vocabulary.sql.row_kinds import INSERT
from penstock.vocabulary.sql.state_types import row_state_type

if TYPE_CHECKING:
    from penstock.runtime.operators.table.over_aggregate import OverAggregateOperator

_CLEANUP = b"cleanup"


class OverTime:
    """The rows and accumulators of each key.

    `waiting` has rows by the time they wait for. `past` has the rows that may have to be taken back: by time for RANGE,
    by number for ROWS, whose next number is in `counted`. An accumulator is that of the last row emitted.
    """

    def __init__(self, operator: OverAggregateOperator) -> None:
        is_bounded = operator.preceding is not None
        self._operator = operator
        code = compiled_aggregates(operator.aggregates, operator.input_types, retracts=is_bounded, in_over=True)
        rows = FrozenListTypeInfo(row_state_type(operator.input_types))
        self._accumulator = operator.value_state("_accumulators", code.state_type())
        self._views = bind_views(operator, code)
        self._waits = operator.is_event_time or (is_bounded and not operator.is_rows)
        self._waiting = operator.map_state("_waiting_rows", Types.LONG(), rows, 0) if self._waits else None
        self._past = operator.map_state("_past_rows", Types.LONG(), rows) if is_bounded else None
        is_late_by_row = is_bounded and operator.is_event_time
        self._last = operator.value_state("_last_time", Types.LONG()) if is_late_by_row else None
        self._counted = operator.value_state("_row_count", Types.LONG()) if is_bounded and operator.is_rows else None
        self._add = defined(_changing(code, "add", code.accumulate), "add", code.scope)
        self._take_back = defined(_changing(code, "take_back", code.retract), "take_back", code.scope)
        self._values = defined(valuing_lines(code), "values", code.scope)
        self._late = operator.context.metrics.counter(LATE_RECORDS)
        self._domain = EVENT if operator.is_event_time else PROCESSING

    # ---- rows come ----

    def take(self, rows: list[Row], keys: list[Any]) -> list[Row]:
        """Keep rows for their time, or give the results at once."""
        operator, consumed = self._operator, iter(rows)
        results: list[Row] = []
        try:
            for _, row in zip(operator.backend.walk(keys), consumed, strict=False):
                if self._waits:
                    self._keep(row)
                else:
                    self._emit_rows([row[1:]], results)
        except Exception as error:
            raise operator.record_failure(error, rows, consumed) from None
        return results

    def _keep(self, row: Row) -> None:
        operator, waiting = self._operator, self._waiting
        assert waiting is not None
        if operator.is_event_time:
            assert operator.time_field is not None
            time = row[operator.time_field + 1]
            if time is None or self._is_late(time):
                self._late.inc()
                return
            due = time
        else:
            time = operator.context.clock()
            due = time + 1
        held = waiting.held(time)
        if held is None:
            operator.timers.register(self._domain, due)
        waiting.hold(time, (*(held or ()), row[1:]))

    def _is_late(self, time: int) -> bool:
        """As in Flink: with bounds a row is late if a later one of its key is out, else if the watermark has passed."""
        if self._last is None:
            return time <= self._operator.watermark
        last = self._last.held()
        return last is not None and time <= last

    # ---- their time comes ----

    def fire(self, due: Iterable[Timer]) -> list[Row]:
        """The results of rows whose time has come."""
        results: list[Row] = []
        waiting = self._waiting
        assert waiting is not None
        for timestamp, key, namespace in due:
            self._operator.backend.set_key(key)
            if namespace == _CLEANUP:
                self._clean_up(timestamp)
                continue
            time = timestamp if self._operator.is_event_time else timestamp - 1
            rows = waiting.held(time)
            if rows is None:
                continue
            waiting.remove(time)
            if self._last is not None:
                self._last.hold(time)
            if self._operator.is_rows:
                self._emit_rows(rows, results)
            else:
                self._emit_range(time, rows, results)
        return results

    def _emit_rows(self, rows: Iterable[Row], results: list[Row]) -> None:
        """Add rows one by one, each with its own results."""
        accumulator, limit = self._accumulator.held(), self._operator.preceding
        for fields in rows:
            accumulator = self._add(accumulator, (INSERT, *fields))
            if self._past is not None and self._counted is not None and limit is not None:
                number = self._counted.held() or 0
                leaving = self._past.held(number - limit - 1)
                if leaving is not None:
                    accumulator = self._take_back(accumulator, (INSERT, *leaving[0]))
                    self._past.remove(number - limit - 1)
                self._past.hold(number, (fields,))
                self._counted.hold(number + 1)
            results.append((INSERT, *fields, *self._values(accumulator)))
        self._accumulator.hold(accumulator)

    def _emit_range(self, time: int, rows: tuple[Row, ...], results: list[Row]) -> None:
        """Add rows of one time together: they have the same results."""
        accumulator = self._accumulator.held()
        if self._past is not None and self._operator.preceding is not None:
            accumulator = self._without_past(accumulator, time - self._operator.preceding)
            self._past.hold(time, rows)
            self._operator.timers.register(self._domain, time + self._operator.preceding + 1, _CLEANUP)
        for fields in rows:
            accumulator = self._add(accumulator, (INSERT, *fields))
        values = self._values(accumulator)
        self._accumulator.hold(accumulator)
        results += [(INSERT, *fields, *values) for fields in rows]

    def _without_past(self, accumulator: Any, first: int) -> Any:
        assert self._past is not None
        for time, rows in self._past.held_items():
            if time >= first:
                break
            for fields in rows:
                accumulator = self._take_back(accumulator, (INSERT, *fields))
            self._past.remove(time)
        return accumulator

    def _clean_up(self, time: int) -> None:
        """Forget a key none of whose rows can take part any more."""
        assert self._past is not None and self._operator.preceding is not None
        first = time - self._operator.preceding
        accumulator = self._without_past(self._accumulator.held(), first)
        is_empty = next(iter(self._past.held_items()), None) is None
        self._accumulator.hold(None if is_empty else accumulator)
        if is_empty and self._last is not None:
            self._last.hold(None)
        if is_empty:
            for view in self._views:
                view.clear()


def _changing(code: AggregateCode, name: str, lines: list[str]) -> list[str]:
    return [
        f"def {name}(accumulator, row):",
        f"    {code.names} = {code.initial} if accumulator is None else accumulator",
        *indented(lines, 1),
        f"    return {code.names}",
    ]
