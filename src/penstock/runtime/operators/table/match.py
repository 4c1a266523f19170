"""MATCH_RECOGNIZE: the pattern operator of CEP on rows, with conditions and measures made of typed expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.common.constants import MAX_WATERMARK
from penstock.runtime.layouts import Layout
from penstock.runtime.operators.cep.matcher import Match, Test, Timeout
from penstock.runtime.operators.cep.operator import PatternOperator, PatternSpec
from penstock.runtime.operators.table.expressions import block_function, row_function
from penstock.runtime.operators.table.match_views import condition_view, measure_view
from penstock.runtime.operators.table.operator import Row, type_texts
from penstock.runtime.operators.table.ordering import sort_key
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.matches import MatchExpressions
from penstock.vocabulary.sql.row_kinds import INSERT

_NO_TIME = (
    "the row has no time: the column that MATCH_RECOGNIZE is ordered by is NULL. Filter such rows out before, with "
    "WHERE ... IS NOT NULL"
)


@dataclass(frozen=True)
class RowCondition:
    """The condition of a pattern variable."""

    variable: str
    expressions: MatchExpressions


class MatchRecognizeOperator(PatternOperator):
    """Emits +I of the fields of the partition and the measures for each match.

    The conditions of `spec` are `RowCondition`s, its comparator the fields that order rows of the same time. Rows have
    their time in `time_field`; None: processing time.
    """

    kind = "match recognize"
    state_identity = "MatchRecognizeOperator"

    def __init__(
        self,
        *,
        spec: PatternSpec,
        partition: tuple[int, ...],
        measures: MatchExpressions,
        types: tuple[LogicalType, ...],
        time_field: int | None,
        zone: str = "UTC",
    ) -> None:
        super().__init__(None, spec)
        self.partition = partition
        self.measures = measures
        self.types = types
        self.time_field = time_field
        self.zone = zone

    def layout(self) -> Layout:
        """The pattern, and the rows that are kept."""
        return {**super().layout(), "types": type_texts(self.types)}

    # ---- conditions, order and measures ----

    def _order(self) -> Callable[[Any], Any] | None:
        if self.spec.comparator is None:
            return None
        key = sort_key(self.spec.comparator)
        return lambda row: key(row[1:])

    def _test(self, condition: Any) -> Test:
        assert isinstance(condition, RowCondition)
        expressions = condition.expressions
        plain = expressions.of_current_row()
        if plain is not None:
            return Test(row_function(self, plain[0], self.zone), False)
        view = condition_view(self, expressions, condition.variable, self.zone)
        holds = row_function(self, expressions.expressions[0], self.zone)
        return Test(lambda row, context: holds(view(row, context)), True)

    def _open_function(self) -> None:
        self._view = measure_view(self, self.measures, self.zone)
        self._measured = block_function(self, None, self.measures.expressions, self.zone)

    # ---- rows ----

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Take rows, each with the time that it holds."""
        if self.time_field is not None:
            place = self.time_field + 1
            timestamps = [row[place] for row in values]
            if None in timestamps:
                row = next(row for row in values if row[place] is None)
                raise self.failure(ValueError(_NO_TIME), "processing a row", row)
        super().process_block(values, timestamps, keys)

    def _emit_matches(self, matches: list[Match], timestamp: int) -> None:
        for match in matches:
            self._matches.inc()
            self._collector.collect(self._row_of(match, timestamp))

    def _emit_timeouts(self, timeouts: list[Timeout]) -> None:
        self._timeouts.inc(len(timeouts))

    def _row_of(self, match: Match, timestamp: int) -> Row:
        rows = list(match.values())
        if timestamp == MAX_WATERMARK and self.time_field is not None:
            # At the end of the input a match that waited for another one is let out at no time in particular.
            timestamp = rows[-1][-1][self.time_field + 1]
        (measured,) = self._measured([self._view(match, timestamp)])
        first = rows[0][0]
        return (INSERT, *[first[each + 1] for each in self.partition], *measured[1:])
