"""Functions between elements of DataStreams and rows of tables, picklable: what converts is made where it runs."""

from __future__ import annotations

from typing import Any

from penstock.common.column_block import ColumnBlock, ColumnMap
from penstock.table.external_columns import internal_columns, internal_refusal
from penstock.vocabulary.sql.external_values import external_row, internal_row
from penstock.vocabulary.sql.logical_types import LogicalType

__all__ = ["ToElement", "ToNarrowElement", "ToRow"]


class ToRow(ColumnMap):
    """Makes `(kind, *fields)` of a Row, tuple or dict; `only_inserts`: whatever the kind of the Row."""

    def __init__(self, row_type: LogicalType, only_inserts: bool = False) -> None:
        """Take the type of the rows."""
        self.row_type = row_type
        self.only_inserts = only_inserts
        self._convert: Any = None

    def __getstate__(self) -> tuple[LogicalType, bool]:
        """Plain data."""
        return self.row_type, self.only_inserts

    def __setstate__(self, state: tuple[LogicalType, bool]) -> None:
        """Be made again."""
        self.row_type, self.only_inserts = state
        self._convert = None

    def __call__(self, element: Any) -> tuple[Any, ...]:
        """Convert an element."""
        if self._convert is None:
            self._convert = internal_row(self.row_type)
        row: tuple[Any, ...] = self._convert(element)
        return (0, *row[1:]) if self.only_inserts else row

    def refusal(self) -> str | None:
        """Refuse types that blocks of columns cannot have."""
        return internal_refusal(self.row_type)

    def map_columns(self, block: ColumnBlock) -> ColumnBlock | None:
        """Convert a block: elements that are columns are insertions."""
        return internal_columns(block, self.row_type)


class ToElement:
    """Makes a Row, with names and kind, of `(kind, *fields)`."""

    def __init__(self, row_type: LogicalType) -> None:
        """Take the type of the rows."""
        self.row_type = row_type
        self._convert: Any = None

    def __getstate__(self) -> LogicalType:
        """Plain data."""
        return self.row_type

    def __setstate__(self, state: LogicalType) -> None:
        """Be made again."""
        self.row_type, self._convert = state, None

    def __call__(self, row: tuple[Any, ...]) -> Any:
        """Convert a row."""
        if self._convert is None:
            self._convert = external_row(self.row_type)
        return self._convert(row)


class ToNarrowElement(ToElement):
    """The same for rows with more columns than the element has fields: the last ones are left out."""

    def __call__(self, row: tuple[Any, ...]) -> Any:
        """Convert a row."""
        return super().__call__(row[: 1 + len(self.row_type.names)])
