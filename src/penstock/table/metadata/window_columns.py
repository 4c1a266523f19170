"""Which columns of a node say the window of a row: what aggregates, joins and ranks of windows are recognised by."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.table.algebra.nodes import (
    Correlate,
    Deduplicate,
    Filter,
    PlanNode,
    Project,
    Rank,
    WindowAggregate,
    WindowJoin,
    WindowProperty,
    WindowTable,
)
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.typed_expressions import FieldRef
from penstock.vocabulary.sql.windows import WindowSpec

__all__ = ["WindowColumns", "window_columns"]


@dataclass(frozen=True)
class WindowColumns:
    """The fields that are the start, end and time of a row's window, and which windows there are."""

    starts: frozenset[int]
    ends: frozenset[int]
    times: frozenset[int]
    window: WindowSpec
    time_type: LogicalType

    def moved(self, places: dict[int, list[int]]) -> WindowColumns:
        """The same after a projection that puts each field to some places."""
        fields = (self.starts, self.ends, self.times)
        starts, ends, times = (frozenset([new for old in each for new in places.get(old, ())]) for each in fields)
        return replace(self, starts=starts, ends=ends, times=times)

    @property
    def is_complete(self) -> bool:
        """Whether start and end are both there."""
        return bool(self.starts and self.ends)


def window_columns(node: PlanNode) -> WindowColumns | None:
    """The window columns of a node; None if its rows belong to no windows."""
    if isinstance(node, WindowTable):
        first = len(node.input.types)
        fields = [frozenset([first + index]) for index in range(3)]
        return WindowColumns(fields[0], fields[1], fields[2], node.window, node.types[first + 2])
    if isinstance(node, Filter):
        return window_columns(node.input)
    if isinstance(node, (Rank, Deduplicate)) and node.window is not None:
        return window_columns(node.input)
    if isinstance(node, Correlate):
        return window_columns(node.input)
    if isinstance(node, WindowJoin):
        return window_columns(node.left)
    if isinstance(node, Project):
        inside = window_columns(node.input)
        return None if inside is None else inside.moved(_places(node))
    if isinstance(node, WindowAggregate):
        return _of_aggregate(node)
    return None


def _places(node: Project) -> dict[int, list[int]]:
    places: dict[int, list[int]] = {}
    for position, expression in enumerate(node.expressions):
        if isinstance(expression, FieldRef):
            places.setdefault(expression.index, []).append(position)
    return places


def _of_aggregate(node: WindowAggregate) -> WindowColumns | None:
    spec = node.spec
    first = len(node.keys) + len(node.calls)
    by_property = {
        each: frozenset([first + index for index, found in enumerate(node.properties) if found is each])
        for each in WindowProperty
    }
    return WindowColumns(
        by_property[WindowProperty.START],
        by_property[WindowProperty.END],
        by_property[WindowProperty.TIME],
        spec,
        node.time_type,
    )
