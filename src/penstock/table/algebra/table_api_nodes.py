"""Steps that SQL has no words for: table aggregates, windows of counted rows, the rows that a bounded job ends with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.table.algebra.identity_texts import call_text, field_names
from penstock.table.algebra.plan_node import OneInput
from penstock.vocabulary.sql.logical_types import LogicalType, row_of
from penstock.vocabulary.sql.typed_expressions import AggregateCall

__all__ = ["CountWindowAggregate", "FinalRows", "TableAggregate"]


@dataclass(frozen=True, eq=False)
class TableAggregate(OneInput):
    """The rows that a table aggregate function makes of each group, made anew with each row: keys, then its columns."""

    state_identity = "TableAggregate"

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    """One call, whose type is the row of its columns."""
    column_names: tuple[str, ...]

    @cached_property
    def row_type(self) -> LogicalType:
        """Keys, then the columns of the function."""
        keys = [self.input.types[each].as_plain_time() for each in self.keys]
        names = field_names(self.keys, self.input.names) + self.column_names
        return row_of(names, (*keys, *self.calls[0].type.parts))

    def identity_text(self) -> str:
        """The keys and the call."""
        keys = ", ".join(field_names(self.keys, self.input.names))
        return f"GroupTableAggregate(groupBy=[{keys}], select=[{call_text(self.calls[0], self.input.names)}])"


@dataclass(frozen=True, eq=False)
class CountWindowAggregate(OneInput):
    """Aggregates of `size` rows of a key, put out with every `slide` rows: keys, then results."""

    state_identity = "CountWindowAggregate"

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    call_names: tuple[str, ...]
    size: int
    slide: int

    @cached_property
    def row_type(self) -> LogicalType:
        """Keys, then results."""
        keys = [self.input.types[each].as_plain_time() for each in self.keys]
        names = field_names(self.keys, self.input.names) + self.call_names
        return row_of(names, (*keys, *[each.type for each in self.calls]))

    def identity_text(self) -> str:
        """Keys, window and calls."""
        keys = ", ".join(field_names(self.keys, self.input.names))
        calls = ", ".join(call_text(each, self.input.names) for each in self.calls)
        return f"CountWindowAggregate(groupBy=[{keys}], size=[{self.size}], slide=[{self.slide}], select=[{calls}])"


@dataclass(frozen=True, eq=False)
class FinalRows(OneInput):
    """The rows that are there when a bounded input has ended: what a table is in batch mode."""

    state_identity = "FinalRows"

    def identity_text(self) -> str:
        """That it is the end."""
        return "FinalRows()"
