"""Columns of a table as its owner declared them: read from the source, computed, or from the source's metadata.

Expressions are kept as SQL text, so that a catalog can be written to a file; the planner parses and types them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.vocabulary.sql.logical_types import LogicalType

__all__ = ["Column", "ComputedColumn", "MetadataColumn", "PhysicalColumn", "PrimaryKey", "TableSchema", "WatermarkSpec"]


@dataclass(frozen=True)
class PhysicalColumn:
    """`name TYPE`: a column of what is stored outside."""

    name: str
    type: LogicalType
    comment: str | None = None


@dataclass(frozen=True)
class ComputedColumn:
    """`name AS expression`: computed from other columns when the table is read; sinks do not have it."""

    name: str
    expression: str
    comment: str | None = None


@dataclass(frozen=True)
class MetadataColumn:
    """`name TYPE METADATA FROM 'key' VIRTUAL`: something the connector knows about a row, by its key.

    A virtual one is only read; another is written too.
    """

    name: str
    type: LogicalType
    key: str | None = None
    is_virtual: bool = False
    comment: str | None = None

    @property
    def metadata_key(self) -> str:
        """The connector's name for it."""
        return self.key if self.key is not None else self.name


Column = PhysicalColumn | ComputedColumn | MetadataColumn


@dataclass(frozen=True)
class WatermarkSpec:
    """`WATERMARK FOR column AS expression`."""

    column: str
    expression: str


@dataclass(frozen=True)
class PrimaryKey:
    """`CONSTRAINT name PRIMARY KEY (columns) NOT ENFORCED`; without a name Flink makes one from the columns."""

    columns: tuple[str, ...]
    name: str | None = None

    @property
    def constraint_name(self) -> str:
        """The given name, or Flink's."""
        return self.name or "PK_" + "_".join(self.columns)


@dataclass(frozen=True)
class TableSchema:
    """The columns of a table, in order, with watermark and primary key."""

    columns: tuple[Column, ...]
    watermark: WatermarkSpec | None = None
    primary_key: PrimaryKey | None = None
    indexes: tuple[tuple[str, ...], ...] = field(default=())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(each.name for each in self.columns)

    def column(self, name: str) -> Column | None:
        """The column of a name; None if there is none."""
        return next((each for each in self.columns if each.name == name), None)

    @property
    def physical(self) -> tuple[PhysicalColumn, ...]:
        """The columns that are stored outside."""
        return tuple(each for each in self.columns if isinstance(each, PhysicalColumn))
