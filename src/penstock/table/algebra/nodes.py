"""The nodes of a plan. Each has inputs, a row type and a line that says what it does; none of them ever changes.

Fields are numbers, counted from 0 over the row type of the input (of a join: left fields, then right ones). A node is
equal to itself only, so that what is found out about it can be kept in a dictionary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from penstock.table.algebra.aggregate_nodes import (
    Aggregate,
    Expand,
    Frame,
    GroupWindowAggregate,
    Over,
    Replicate,
    WindowAggregate,
    WindowProperty,
    WindowTable,
)
from penstock.table.algebra.identity_texts import expression_text, field_names, order_text
from penstock.table.algebra.join_nodes import Correlate, IntervalJoin, Join, JoinKind, WindowJoin
from penstock.table.algebra.plan_node import OneInput, PlanNode, unique_names
from penstock.table.algebra.resolved_tables import ResolvedColumn, ResolvedTable
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, TimeAttribute, row_of
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.typed_expressions import TypedExpression

__all__ = [
    "Aggregate",
    "CommonPart",
    "Correlate",
    "Deduplicate",
    "DropUpdateBefore",
    "Expand",
    "Filter",
    "Frame",
    "GroupWindowAggregate",
    "IntervalJoin",
    "Join",
    "JoinKind",
    "Limit",
    "Normalize",
    "Over",
    "PlanNode",
    "Project",
    "Rank",
    "Replicate",
    "Scan",
    "Sink",
    "Sort",
    "Union",
    "Values",
    "WatermarkAssigner",
    "WindowAggregate",
    "WindowJoin",
    "WindowProperty",
    "WindowTable",
    "unique_names",
]


@dataclass(frozen=True, eq=False)
class Scan(PlanNode):
    """The rows of a table as its connector gives them: physical columns, then metadata columns."""

    state_identity = "Scan"

    table: ResolvedTable
    columns: tuple[int, ...]
    """The source columns that are read, by their number among `table.source_columns`."""
    source: Any
    """The connector's side of it: `changelog_kinds` and `stream`."""
    hints: tuple[tuple[str, str], ...] = ()
    """Options that the query gives for itself."""

    @cached_property
    def row_type(self) -> LogicalType:
        """Those columns."""
        columns = [self.table.source_columns[each] for each in self.columns]
        return row_of(tuple([each.name for each in columns]), tuple([each.type for each in columns]))

    def identity_text(self) -> str:
        """The table and the columns that are read."""
        return f"Scan(table=[{'.'.join(self.table.path)}], fields=[{', '.join(self.names)}])"


@dataclass(frozen=True, eq=False)
class Values(PlanNode):
    """Rows that are in the query itself, as internal values."""

    state_identity = "Values"

    rows: tuple[tuple[Any, ...], ...]
    output_type: LogicalType

    @property
    def row_type(self) -> LogicalType:
        """As it was given."""
        return self.output_type

    def identity_text(self) -> str:
        """The rows."""
        return f"Values(tuples=[{', '.join(map(repr, self.rows))}], fields=[{', '.join(self.names)}])"


@dataclass(frozen=True, eq=False)
class Project(OneInput):
    """Expressions over each row."""

    state_identity = "Project"

    expressions: tuple[TypedExpression, ...]
    field_names: tuple[str, ...]

    @cached_property
    def row_type(self) -> LogicalType:
        """The types of the expressions."""
        return row_of(self.field_names, tuple([each.type for each in self.expressions]))

    def identity_text(self) -> str:
        """The expressions with their names."""
        texts = [expression_text(each, self.input.names) for each in self.expressions]
        shown = [text if text == name else f"{text} AS {name}" for text, name in zip(texts, self.names, strict=True)]
        return f"Project(select=[{', '.join(shown)}])"


@dataclass(frozen=True, eq=False)
class CommonPart(Project):
    """All columns of what several INSERTs read: rules stop here, and then it goes. Keys and times pass through it."""

    state_identity = "CommonPart"


@dataclass(frozen=True, eq=False)
class Filter(OneInput):
    """The rows for which a condition is TRUE."""

    state_identity = "Filter"

    condition: TypedExpression

    def identity_text(self) -> str:
        """The condition."""
        return f"Filter(where=[{expression_text(self.condition, self.input.names)}])"


@dataclass(frozen=True, eq=False)
class WatermarkAssigner(OneInput):
    """Makes a column the row time, and watermarks by an expression over the row."""

    state_identity = "WatermarkAssigner"

    rowtime: int
    watermark: TypedExpression

    @cached_property
    def row_type(self) -> LogicalType:
        """That of the input, with the column as row time."""
        types = list(self.input.types)
        types[self.rowtime] = replace(types[self.rowtime], time_attribute=TimeAttribute.ROWTIME)
        return row_of(self.input.names, tuple(types))

    def identity_text(self) -> str:
        """The row time and the expression."""
        text = expression_text(self.watermark, self.input.names)
        return f"WatermarkAssigner(rowtime=[{self.input.names[self.rowtime]}], watermark=[{text}])"


@dataclass(frozen=True, eq=False)
class Union(PlanNode):
    """All rows of several inputs."""

    state_identity = "Union"

    parts: tuple[PlanNode, ...]
    output_type: LogicalType

    @property
    def row_type(self) -> LogicalType:
        """The types that all parts fit in."""
        return self.output_type

    @property
    def inputs(self) -> tuple[PlanNode, ...]:
        """The inputs, whose types are those of the union."""
        return self.parts

    def with_inputs(self, inputs: tuple[PlanNode, ...]) -> Union:
        """The same over other inputs."""
        return replace(self, parts=inputs)

    def identity_text(self) -> str:
        """The fields."""
        return f"Union(all=[true], union=[{', '.join(self.names)}])"


@dataclass(frozen=True, eq=False)
class Sort(OneInput):
    """All rows in an order: by a row time ascending first, or of a bounded input."""

    state_identity = "Sort"

    order: tuple[SortField, ...]

    def identity_text(self) -> str:
        """The order."""
        return f"Sort(orderBy=[{order_text(self.order, self.input.names)}])"


@dataclass(frozen=True, eq=False)
class Limit(OneInput):
    """The first rows, in an order if there is one."""

    state_identity = "Limit"

    offset: int
    fetch: int | None
    order: tuple[SortField, ...] = ()

    def identity_text(self) -> str:
        """The order and the numbers."""
        order = f"orderBy=[{order_text(self.order, self.input.names)}], " if self.order else ""
        name = "SortLimit" if self.order else "Limit"
        return f"{name}({order}offset=[{self.offset}], fetch=[{self.fetch}])"


@dataclass(frozen=True, eq=False)
class Rank(OneInput):
    """The rows of each partition whose place in an order is between two numbers, with the place if it is asked for.

    With `window` (start and end fields) the partitions are those of windows, and are put out when a window ends.
    """

    state_identity = "Rank"

    partition: tuple[int, ...]
    order: tuple[SortField, ...]
    first: int
    last: int
    shows_rank: bool
    rank_name: str = "w0$o0"
    window: tuple[int, int] | None = None
    window_fields: frozenset[int] = frozenset()
    """All fields that say the window, among them those of the partition."""
    zone: str | None = None

    @cached_property
    def row_type(self) -> LogicalType:
        """The fields of the input, and the place."""
        if not self.shows_rank:
            return self.input.row_type
        names = unique_names((*self.input.names, self.rank_name))
        return row_of(names, (*self.input.types, LogicalType(Kind.BIGINT, False)))

    def identity_text(self) -> str:
        """Partition, order, places."""
        by = ", ".join(field_names(self.partition, self.input.names))
        order = order_text(self.order, self.input.names)
        name = "Rank" if self.window is None else "WindowRank"
        return (
            f"{name}(rankFunction=[ROW_NUMBER], rankRange=[rankStart={self.first}, rankEnd={self.last}], "
            f"partitionBy=[{by}], orderBy=[{order}])"
        )


@dataclass(frozen=True, eq=False)
class Deduplicate(OneInput):
    """The first or last row of each key by a time attribute; with `window`, of each key and window."""

    state_identity = "Deduplicate"

    keys: tuple[int, ...]
    time: int
    keeps_last: bool
    window: tuple[int, int] | None = None
    zone: str | None = None

    @property
    def is_event_time(self) -> bool:
        """Whether the row time orders rows."""
        return self.input.types[self.time].time_attribute is TimeAttribute.ROWTIME

    def identity_text(self) -> str:
        """Keys, which row, by what time."""
        keys = ", ".join(field_names(self.keys, self.input.names))
        kept = "LastRow" if self.keeps_last else "FirstRow"
        time = "ROWTIME" if self.is_event_time else "PROCTIME"
        name = "Deduplicate" if self.window is None else "WindowDeduplicate"
        return f"{name}(keep=[{kept}], key=[{keys}], order=[{time}])"


@dataclass(frozen=True, eq=False)
class Normalize(OneInput):
    """Makes a complete changelog of upserts by key, or of one that may repeat itself."""

    state_identity = "Normalize"

    keys: tuple[int, ...]
    condition: TypedExpression | None = None
    """Rows that do not meet it are no rows of the table."""
    is_needed: bool = False
    """Whether the input may repeat itself, so that it is needed whoever reads the result."""

    def identity_text(self) -> str:
        """The keys and the condition."""
        keys = ", ".join(field_names(self.keys, self.input.names))
        where = "" if self.condition is None else f", condition=[{expression_text(self.condition, self.input.names)}]"
        return f"ChangelogNormalize(key=[{keys}]{where})"


@dataclass(frozen=True, eq=False)
class DropUpdateBefore(OneInput):
    """Leaves out the rows that only take an update back."""

    state_identity = "DropUpdateBefore"

    def identity_text(self) -> str:
        """Its name."""
        return "DropUpdateBefore"


@dataclass(frozen=True, eq=False)
class Sink(OneInput):
    """What a table takes: the fields of the input are the `columns`."""

    state_identity = "Sink"

    table: ResolvedTable
    sink: Any
    columns: tuple[ResolvedColumn, ...]
    """Physical columns, then metadata columns in the order in which the connector lists them."""
    conflict: str | None = None
    """What ON CONFLICT says."""
    materializes: bool = False
    """Whether rows are kept by primary key, because the changelog is by another key."""

    @property
    def primary_key(self) -> tuple[int, ...]:
        """The fields of the table's primary key."""
        names = [each.name for each in self.columns]
        return tuple([names.index(self.table.columns[each].name) for each in self.table.primary_key])

    def identity_text(self) -> str:
        """The table."""
        extra = ", upsertMaterialize=[true]" if self.materializes else ""
        return f"Sink(table=[{'.'.join(self.table.path)}], fields=[{', '.join(self.names)}]{extra})"
