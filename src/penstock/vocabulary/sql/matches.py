"""MATCH_RECOGNIZE as plain data: the elements of a row pattern, and expressions over the rows of a match.

An expression over a match is one over a row that is made for it, its *view* of the match: the fields it navigates to,
the results of its aggregates, and the time of the match.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.vocabulary.sql.typed_expressions import (
    AggregateCall,
    FieldRef,
    TypedExpression,
    fields_of,
    rewritten,
)

__all__ = [
    "ALL_VARIABLES",
    "CURRENT_ROW",
    "MatchExpressions",
    "MatchSkip",
    "MatchTime",
    "Navigation",
    "PatternElement",
    "VariableAggregate",
    "ViewColumn",
]

ALL_VARIABLES = "*"
"""Stands for all rows of a match, whatever their variables."""
CURRENT_ROW = ""
"""Stands for the row that a condition is asked about, and no other."""


@dataclass(frozen=True)
class PatternElement:
    """A variable of a row pattern that is taken `least` to `most` times (None: without end), strictly in a row."""

    variable: str
    least: int = 1
    most: int | None = 1
    is_reluctant: bool = False

    @property
    def is_quantified(self) -> bool:
        """Whether it is more than a plain variable."""
        return (self.least, self.most) != (1, 1)

    @property
    def is_greedy(self) -> bool:
        """Whether it takes all it can. There is no choice for an exact number, and Flink has none for `?`."""
        is_choice = self.most != self.least and (self.least, self.most) != (0, 1)
        return is_choice and not self.is_reluctant

    def __str__(self) -> str:
        """As it is written in PATTERN."""
        if not self.is_quantified:
            return self.variable
        marks = {(0, None): "*", (1, None): "+", (0, 1): "?"}
        most = "" if self.most is None else str(self.most)
        bounds = f"{{{self.least}}}" if self.least == self.most else f"{{{self.least},{most}}}"
        return self.variable + marks.get((self.least, self.most), bounds) + ("?" if self.is_reluctant else "")


@dataclass(frozen=True)
class Navigation:
    """A field of one row of a variable: of the row so many places behind its first, or before its last, if it is there.

    In a condition the row that is asked about counts as the last one of its own variable, and of all of them.
    """

    variable: str
    field: int
    offset: int = 0
    is_from_first: bool = False


@dataclass(frozen=True)
class VariableAggregate:
    """An aggregate over the rows of a variable: the call aggregates the values of `inputs`, expressions over a row."""

    variable: str
    inputs: tuple[TypedExpression, ...]
    call: AggregateCall


@dataclass(frozen=True)
class MatchTime:
    """The time of a match: that of the row that completed it."""


ViewColumn = Navigation | VariableAggregate | MatchTime


@dataclass(frozen=True)
class MatchExpressions:
    """Expressions over a view of a match; `view` says what its columns are."""

    view: tuple[ViewColumn, ...]
    expressions: tuple[TypedExpression, ...]

    @property
    def fields(self) -> frozenset[int]:
        """The fields of rows that are read."""
        found: set[int] = set()
        for each in self.view:
            if isinstance(each, Navigation):
                found.add(each.field)
            elif isinstance(each, VariableAggregate):
                found.update(field for one in each.inputs for field in fields_of(one))
        return frozenset(found)

    def moved(self, places: Mapping[int, int]) -> MatchExpressions:
        """The same over rows whose fields have other numbers."""

        def move(part: TypedExpression) -> TypedExpression | None:
            return replace(part, index=places[part.index]) if isinstance(part, FieldRef) else None

        def moved_column(column: ViewColumn) -> ViewColumn:
            if isinstance(column, Navigation):
                return replace(column, field=places[column.field])
            if isinstance(column, VariableAggregate):
                return replace(column, inputs=tuple([rewritten(each, move) for each in column.inputs]))
            return column

        return replace(self, view=tuple(map(moved_column, self.view)))

    def of_current_row(self) -> tuple[TypedExpression, ...] | None:
        """The expressions over the row itself that is asked about, if they read nothing else; else None."""
        fields: list[int] = []
        for each in self.view:
            if not isinstance(each, Navigation) or each.variable != CURRENT_ROW:
                return None
            fields.append(each.field)

        def read(part: TypedExpression) -> TypedExpression | None:
            return replace(part, index=fields[part.index]) if isinstance(part, FieldRef) else None

        return tuple([rewritten(each, read) for each in self.expressions])


@dataclass(frozen=True)
class MatchSkip:
    """Where the search goes on after a match: PAST LAST ROW, TO NEXT ROW, or at the FIRST or LAST row of a variable."""

    where: str = "TO NEXT ROW"
    variable: str | None = None

    def __str__(self) -> str:
        """As it is written in AFTER MATCH."""
        return f"SKIP {self.where}" if self.variable is None else f"SKIP TO {self.where} {self.variable}"
