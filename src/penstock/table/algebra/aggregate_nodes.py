"""Aggregates: by key, by window, over the rows before; and the window functions they go with."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from penstock.table.algebra.identity_texts import call_text, field_names, order_text
from penstock.table.algebra.plan_node import OneInput, PlanNode, maybe_null, unique_names
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, TimeAttribute, row_of
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.typed_expressions import AggregateCall
from penstock.vocabulary.sql.windows import WindowSpec

__all__ = [
    "Aggregate",
    "Expand",
    "Frame",
    "GroupWindowAggregate",
    "Over",
    "Replicate",
    "WindowAggregate",
    "WindowProperty",
    "WindowTable",
]


@dataclass(frozen=True, eq=False)
class Aggregate(OneInput):
    """Aggregates by key, updated with each row: the fields `keys`, then the results of `calls`."""

    state_identity = "Aggregate"

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    call_names: tuple[str, ...]
    ttl_ms: int | None = field(default=None, kw_only=True)
    """How long a group is kept, where a hint says so."""

    @cached_property
    def row_type(self) -> LogicalType:
        """Keys, then results."""
        names = field_names(self.keys, self.input.names) + self.call_names
        keys = [self.input.types[each].as_plain_time() for each in self.keys]
        return row_of(names, (*keys, *[each.type for each in self.calls]))

    def identity_text(self) -> str:
        """The keys and the calls."""
        return f"GroupAggregate({_by(self.keys, self.input)}{_selected(self)})"


@dataclass(frozen=True, eq=False)
class Expand(OneInput):
    """One row for each grouping set: fields that are in no group of it are NULL; then the number of the set."""

    state_identity = "Expand"

    groups: tuple[tuple[int, ...], ...]
    key_fields: tuple[int, ...]
    """All fields that are a key of some group."""
    id_name: str = "$e"

    @cached_property
    def row_type(self) -> LogicalType:
        """The fields of the input, keys with NULL, and the number of the grouping set."""
        types = [maybe_null(each, index in self.key_fields) for index, each in enumerate(self.input.types)]
        return row_of((*self.input.names, self.id_name), (*types, LogicalType(Kind.BIGINT, False)))

    def identity_text(self) -> str:
        """The grouping sets."""
        sets = ", ".join("{" + ", ".join(field_names(each, self.input.names)) + "}" for each in self.groups)
        return f"Expand(groupingSets=[{sets}])"


@dataclass(frozen=True, eq=False)
class Replicate(OneInput):
    """Each row as often as its last field, a BIGINT, says; without that field."""

    state_identity = "Replicate"

    @cached_property
    def row_type(self) -> LogicalType:
        """The fields but for the last one."""
        return row_of(self.input.names[:-1], self.input.types[:-1])

    def identity_text(self) -> str:
        """The field that is counted by."""
        return f"ReplicateRows(times=[{self.input.names[-1]}])"


class WindowProperty(Enum):
    """A column that says which window a row belongs to."""

    START = "window_start"
    END = "window_end"
    TIME = "window_time"


@dataclass(frozen=True, eq=False)
class WindowTable(OneInput):
    """A window table function: each row once for each of its windows, with the columns that say which."""

    state_identity = "WindowTable"

    window: WindowSpec
    time: int
    partition: tuple[int, ...] = ()

    @cached_property
    def row_type(self) -> LogicalType:
        """The fields of the input, then those of the window."""
        time_type = self.input.types[self.time]
        edge = LogicalType(Kind.TIMESTAMP, False, (3,))
        names = unique_names((*self.input.names, "window_start", "window_end", "window_time"))
        return row_of(names, (*self.input.types, edge, edge, time_type.not_null()))

    @property
    def is_event_time(self) -> bool:
        """Whether windows go by row time."""
        return self.input.types[self.time].time_attribute is TimeAttribute.ROWTIME

    def identity_text(self) -> str:
        """The window."""
        return f"WindowTableFunction(window=[{window_text(self.window, self.input.names[self.time])}])"


@dataclass(frozen=True, eq=False)
class WindowAggregate(OneInput):
    """Aggregates by key and window, put out once, when the window ends.

    With `time` the operator assigns windows itself by that field; without it, `start` and `end` are the fields that say
    which window of `spec` a row belongs to. Puts out keys, results, then the `properties`.
    """

    state_identity = "WindowAggregate"

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    call_names: tuple[str, ...]
    spec: WindowSpec
    time: int | None
    start: int | None
    end: int | None
    properties: tuple[WindowProperty, ...]
    property_names: tuple[str, ...]
    time_type: LogicalType

    @cached_property
    def row_type(self) -> LogicalType:
        """Keys, results, properties of the window."""
        edge = LogicalType(Kind.TIMESTAMP, False, (3,))
        types = [self.input.types[each] for each in self.keys] + [each.type for each in self.calls]
        types += [self.time_type if each is WindowProperty.TIME else edge for each in self.properties]
        names = field_names(self.keys, self.input.names) + self.call_names + self.property_names
        return row_of(names, tuple(types))

    @property
    def is_event_time(self) -> bool:
        """Whether windows go by row time."""
        return self.time_type.time_attribute is not TimeAttribute.PROCTIME

    def identity_text(self) -> str:
        """Keys, window and calls."""
        if self.time is not None:
            text = window_text(self.spec, self.input.names[self.time])
        else:
            fields = [self.input.names[each] for each in (self.start, self.end) if each is not None]
            text = f"window of [{', '.join(fields)}]"
        properties = ", ".join(self.property_names)
        return f"WindowAggregate({_by(self.keys, self.input)}window=[{text}], {_selected(self)}, with=[{properties}])"


@dataclass(frozen=True, eq=False)
class GroupWindowAggregate(OneInput):
    """A window of GROUP BY, as in `GROUP BY TUMBLE(ts, ...)`: keys, results, then `properties`.

    Properties are words: `start`, `end`, `rowtime`, `proctime`.
    """

    state_identity = "GroupWindowAggregate"

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    call_names: tuple[str, ...]
    window: WindowSpec
    time: int
    properties: tuple[str, ...]
    property_names: tuple[str, ...]

    @cached_property
    def row_type(self) -> LogicalType:
        """Keys, results, properties of the window."""
        types = [self.input.types[each] for each in self.keys] + [each.type for each in self.calls]
        types += [self.property_type(each) for each in self.properties]
        names = field_names(self.keys, self.input.names) + self.call_names + self.property_names
        return row_of(names, tuple(types))

    def property_type(self, name: str) -> LogicalType:
        """The type of an auxiliary function."""
        if name in ("rowtime", "proctime"):
            return self.input.types[self.time].not_null()
        return LogicalType(Kind.TIMESTAMP, False, (3,))

    @property
    def is_event_time(self) -> bool:
        """Whether windows go by row time."""
        return self.input.types[self.time].time_attribute is TimeAttribute.ROWTIME

    def identity_text(self) -> str:
        """Keys, window and calls."""
        text = window_text(self.window, self.input.names[self.time])
        properties = ", ".join(self.properties)
        return (
            f"GroupWindowAggregate({_by(self.keys, self.input)}window=[{text}], "
            f"properties=[{properties}], {_selected(self)})"
        )


@dataclass(frozen=True)
class Frame:
    """Which rows before the current one an OVER aggregate sees; `preceding` None means all of them.

    A distance is a number of rows, or milliseconds for `is_rows` False.
    """

    is_rows: bool
    preceding: int | None


@dataclass(frozen=True, eq=False)
class Over(OneInput):
    """Aggregates over the rows before each row: the fields of the input, then the results."""

    state_identity = "Over"

    partition: tuple[int, ...]
    order: tuple[SortField, ...]
    frame: Frame
    calls: tuple[AggregateCall, ...]
    call_names: tuple[str, ...]

    @cached_property
    def row_type(self) -> LogicalType:
        """The fields of the input, then the results."""
        names = unique_names(self.input.names + self.call_names)
        return row_of(names, self.input.types + tuple([each.type for each in self.calls]))

    @property
    def time_attribute(self) -> TimeAttribute | None:
        """What kind of time orders the rows, None if a value does."""
        return self.input.types[self.order[0].index].time_attribute if self.order else None

    def identity_text(self) -> str:
        """Partition, order, frame and calls."""
        unit = "ROWS" if self.frame.is_rows else "RANGE"
        begin = "UNBOUNDED" if self.frame.preceding is None else self.frame.preceding
        by = f"partitionBy=[{', '.join(field_names(self.partition, self.input.names))}], " if self.partition else ""
        order = order_text(self.order, self.input.names)
        window = f"{unit} BETWEEN {begin} PRECEDING AND CURRENT ROW"
        return f"OverAggregate({by}orderBy=[{order}], window=[{window}], {_selected(self)})"


def window_text(window: WindowSpec, time: str) -> str:
    """A window as Flink's plans show it, with lengths in milliseconds."""
    lengths = f"{window.size_ms} ms" if not window.slide_ms else f"{window.size_ms} ms, {window.slide_ms} ms"
    offset = f", offset {window.offset_ms} ms" if window.offset_ms else ""
    return f"{window.kind.value}(time_col=[{time}], {lengths}{offset})"


def _by(keys: tuple[int, ...], node: PlanNode) -> str:
    return f"groupBy=[{', '.join(field_names(keys, node.names))}], " if keys else ""


def _selected(node: Aggregate | WindowAggregate | GroupWindowAggregate | Over) -> str:
    texts = [
        f"{call_text(call, node.input.names)} AS {name}" for call, name in zip(node.calls, node.call_names, strict=True)
    ]
    return f"select=[{', '.join(texts)}]"
