"""Tables that are grouped, windowed or aggregated, and wait for `select`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.table_queries import is_window, nodes_of
from penstock.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from penstock.table.expression import Expression
    from penstock.table.table import Table

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "WindowGroupedTable",
]


class GroupedTable:
    """Groups of rows; `select` makes a row of each."""

    def __init__(self, table: Table, keys: Sequence[exp.Expr]) -> None:
        """Made by `Table.group_by`."""
        self._table = table
        self._keys = list(keys)

    def select(self, *fields: Expression) -> Table:
        """Keys and aggregates."""
        return self._table._with(self._table._source.grouped(self._keys, fields))

    def aggregate(self, func: Any) -> AggregatedTable:
        """One row for each group, made by an aggregate function."""
        return AggregatedTable(self._table, func, self._keys)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """Any number of rows for each group, made by a table aggregate function."""
        return FlatAggregateTable(self._table, func, self._keys)


class GroupWindowedTable:
    """Rows in windows; `group_by` must name the window."""

    def __init__(self, table: Table, window: GroupWindow) -> None:
        """Made by `Table.window`."""
        self._table = table
        self._window = window

    def group_by(self, *fields: Expression) -> WindowGroupedTable:
        """Groups by the window's alias, and other expressions."""
        keys = nodes_of(fields)
        if not any(is_window(each, self._window) for each in keys):
            raise SqlValidationError(
                f"group_by behind window(...) needs the window too: group_by(col('{self._window.name}'), ...)."
            )
        return WindowGroupedTable(self._table, keys, self._window)


class WindowGroupedTable:
    """Groups of rows in windows; `select` makes a row of each when its window is over."""

    def __init__(self, table: Table, keys: Sequence[exp.Expr], window: GroupWindow) -> None:
        """Made by `GroupWindowedTable.group_by`."""
        self._table = table
        self._keys = list(keys)
        self._window = window

    def select(self, *fields: Expression) -> Table:
        """Keys, aggregates, and properties of the window: `col("w").start`, `.end`, `.rowtime`, `.proctime`."""
        return self._table._with(self._table._source.grouped(self._keys, fields, self._window))

    def aggregate(self, func: Any) -> AggregatedTable:
        """One row for each group, made by an aggregate function."""
        return AggregatedTable(self._table, func, self._keys, self._window)


class OverWindowedTable:
    """Rows with the rows before them; `select` may use aggregates with `over(alias)`."""

    def __init__(self, table: Table, windows: Sequence[OverWindow]) -> None:
        """Made by `Table.over_window`."""
        self._table = table
        self._windows = list(windows)

    def select(self, *fields: Expression) -> Table:
        """Columns, and aggregates over the windows."""
        return self._table._with(self._table._source.over(self._windows, fields))


class AggregatedTable:
    """The columns of an aggregate function beside the keys of its groups."""

    def __init__(
        self, table: Table, function: Any, keys: Sequence[exp.Expr], window: GroupWindow | None = None
    ) -> None:
        """Made by `aggregate`."""
        self._table = table
        self._function = function
        self._keys = list(keys)
        self._window = window

    def select(self, *fields: Expression) -> Table:
        """Some of them, and expressions of them."""
        from penstock.table.row_based import aggregated, selected

        plan = aggregated(self._table._source, self._function, self._keys, self._window)
        return self._table._with(selected(self._table._source, plan, fields, self._window))


class FlatAggregateTable:
    """The columns of a table aggregate function beside the keys of its groups."""

    def __init__(
        self, table: Table, function: Any, keys: Sequence[exp.Expr], window: GroupWindow | None = None
    ) -> None:
        """Made by `flat_aggregate`."""
        self._table = table
        self._function = function
        self._keys = list(keys)

    def select(self, *fields: Expression) -> Table:
        """Some of them, and expressions of them."""
        from penstock.table.row_based import flat_aggregated, selected

        plan = flat_aggregated(self._table._source, self._function, self._keys)
        return self._table._with(selected(self._table._source, plan, fields, None))
