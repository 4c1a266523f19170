"""A table whose columns have types and whose expressions are bound: what plans read and write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.vocabulary.sql.logical_types import LogicalType, row_of
from penstock.vocabulary.sql.typed_expressions import TypedExpression

__all__ = ["ResolvedColumn", "ResolvedTable"]


@dataclass(frozen=True)
class ResolvedColumn:
    """A column; computed by `expression` over the source columns, or known to the connector by `metadata_key`."""

    name: str
    type: LogicalType
    expression: TypedExpression | None = None
    metadata_key: str | None = None
    is_virtual: bool = False
    """A metadata column that cannot be written."""

    @property
    def is_computed(self) -> bool:
        """Whether an expression makes it."""
        return self.expression is not None

    @property
    def is_persisted(self) -> bool:
        """Whether it is written."""
        return self.expression is None and not self.is_virtual


@dataclass(frozen=True, eq=False)
class ResolvedTable:
    """A table of the catalog.

    `watermark` is an expression over all columns, for the column `rowtime`. `primary_key` are numbers of columns.
    """

    path: tuple[str, ...]
    columns: tuple[ResolvedColumn, ...]
    primary_key: tuple[int, ...] = ()
    rowtime: int | None = None
    watermark: TypedExpression | None = None
    options: tuple[tuple[str, str], ...] = ()
    origin: Any = None
    """The entry of the catalog."""

    @property
    def source_columns(self) -> tuple[ResolvedColumn, ...]:
        """What a connector gives: physical columns, then metadata columns."""
        physical = [each for each in self.columns if not each.is_computed and each.metadata_key is None]
        return (*physical, *[each for each in self.columns if each.metadata_key is not None])

    @property
    def physical_type(self) -> LogicalType:
        """The row type of the physical columns."""
        columns = [each for each in self.columns if not each.is_computed and each.metadata_key is None]
        return row_of(tuple([each.name for each in columns]), tuple([each.type for each in columns]))

    @property
    def persisted_columns(self) -> tuple[ResolvedColumn, ...]:
        """What an INSERT fills, in the order of the declaration."""
        return tuple([each for each in self.columns if each.is_persisted])

    @property
    def row_type(self) -> LogicalType:
        """All columns."""
        return row_of(tuple([each.name for each in self.columns]), tuple([each.type for each in self.columns]))
