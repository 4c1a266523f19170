"""`ChangelogMode`: which kinds of rows a changelog has."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.types import RowKind
from penstock.table.connectors.contract import ALL_KINDS, INSERTS, UPSERTS

__all__ = ["ChangelogMode"]


@dataclass(frozen=True)
class ChangelogMode:
    """Kinds of rows, by their numbers."""

    kinds: frozenset[int]

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows are only added."""
        return ChangelogMode(INSERTS)

    @staticmethod
    def upsert() -> ChangelogMode:
        """Rows are added, replaced and deleted by key, without the rows before."""
        return ChangelogMode(UPSERTS)

    @staticmethod
    def all() -> ChangelogMode:
        """All kinds."""
        return ChangelogMode(ALL_KINDS)

    @staticmethod
    def of(*kinds: RowKind) -> ChangelogMode:
        """These kinds."""
        return ChangelogMode(frozenset(each.value for each in kinds))
