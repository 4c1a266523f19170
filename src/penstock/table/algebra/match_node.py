"""MATCH_RECOGNIZE as a node of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from penstock.table.algebra.identity_texts import call_text, expression_text, field_names, order_text
from penstock.table.algebra.plan_node import OneInput
from penstock.table.sql.places import Place
from penstock.vocabulary.sql.logical_types import LogicalType, TimeAttribute, row_of
from penstock.vocabulary.sql.matches import (
    ALL_VARIABLES,
    CURRENT_ROW,
    MatchExpressions,
    MatchSkip,
    Navigation,
    PatternElement,
    VariableAggregate,
    ViewColumn,
)
from penstock.vocabulary.sql.ordering import SortField

__all__ = ["Match"]


@dataclass(frozen=True, eq=False)
class Match(OneInput):
    """A row for each match of a row pattern: the fields of its partition, then its measures."""

    state_identity = "Match"

    partition: tuple[int, ...]
    order: tuple[SortField, ...]
    """A time attribute, ascending; then what orders rows of the same time."""
    elements: tuple[PatternElement, ...]
    definitions: tuple[tuple[str, MatchExpressions], ...]
    """The conditions of variables; one that has none takes every row."""
    measures: MatchExpressions
    measure_names: tuple[str, ...]
    skip: MatchSkip
    within_ms: int | None = None
    place: Place | None = None
    """Where the clause begins, for errors."""

    @property
    def is_event_time(self) -> bool:
        """Whether the row time orders rows."""
        return self.input.types[self.order[0].index].time_attribute is TimeAttribute.ROWTIME

    @cached_property
    def row_type(self) -> LogicalType:
        """The partition, then the measures."""
        names = field_names(self.partition, self.input.names) + self.measure_names
        partition = [self.input.types[each].as_plain_time() for each in self.partition]
        return row_of(names, (*partition, *[each.type for each in self.measures.expressions]))

    def identity_text(self) -> str:
        """All clauses."""
        names = self.input.names
        measures = [
            f"{text} AS {name}" for text, name in zip(_texts(self.measures, names), self.measure_names, strict=True)
        ]
        defined = [f"{variable}={_texts(each, names)[0]}" for variable, each in self.definitions]
        by = f"partitionBy=[{', '.join(field_names(self.partition, names))}], " if self.partition else ""
        within = "" if self.within_ms is None else f", within=[{self.within_ms} ms]"
        return (
            f"Match({by}orderBy=[{order_text(self.order, names)}], measures=[{', '.join(measures)}], "
            f"rowsPerMatch=[ONE ROW PER MATCH], after=[{self.skip}], pattern=[{' '.join(map(str, self.elements))}]"
            f"{within}, define=[{', '.join(defined)}])"
        )


def _texts(expressions: MatchExpressions, names: Sequence[str]) -> list[str]:
    columns = [_column_text(each, names) for each in expressions.view]
    return [expression_text(each, columns) for each in expressions.expressions]


def _column_text(column: ViewColumn, names: Sequence[str]) -> str:
    if isinstance(column, Navigation):
        field = _qualified(column.variable, names)[column.field]
        if column.variable == CURRENT_ROW:
            return field
        return f"{'FIRST' if column.is_from_first else 'LAST'}({field}, {column.offset})"
    if isinstance(column, VariableAggregate):
        inputs = [expression_text(each, _qualified(column.variable, names)) for each in column.inputs]
        return call_text(column.call, inputs)
    return "MATCH_ROWTIME()"


def _qualified(variable: str, names: Sequence[str]) -> Sequence[str]:
    return names if variable in (ALL_VARIABLES, CURRENT_ROW) else [f"{variable}.{each}" for each in names]
