"""Kinds of changes as the inference speaks of them, and the mode of a changelog."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from penstock.vocabulary.sql.row_kinds import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

__all__ = ["ALL_CHANGES", "INSERTS", "Change", "ChangelogMode", "Updates", "changes_of", "kinds_of"]


class Change(Enum):
    """What may happen to the rows of a table."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


INSERTS = frozenset([Change.INSERT])
ALL_CHANGES = frozenset(Change)


class Updates(Enum):
    """How an update is told: not at all (there are none), by the new row only, or by the old one and the new one."""

    NONE = "none"
    AFTER = "after"
    BOTH = "both"


@dataclass(frozen=True)
class ChangelogMode:
    """The kinds of rows in a changelog; `deletes_by_key` says that a -D row may have its key only."""

    kinds: frozenset[int]
    deletes_by_key: bool = False

    @staticmethod
    def of(changes: frozenset[Change], updates: Updates, deletes_by_key: bool = False) -> ChangelogMode:
        """The mode of a node that makes some changes."""
        kinds = {INSERT} if Change.INSERT in changes else set()
        if Change.UPDATE in changes:
            kinds |= {UPDATE_AFTER} if updates is Updates.AFTER else {UPDATE_BEFORE, UPDATE_AFTER}
        if Change.DELETE in changes:
            kinds.add(DELETE)
        return ChangelogMode(frozenset(kinds), deletes_by_key and DELETE in kinds)

    @property
    def is_append(self) -> bool:
        """Whether rows are only ever added."""
        return self.kinds == {INSERT}

    @property
    def has_update_before(self) -> bool:
        """Whether an update takes the old row back first."""
        return UPDATE_BEFORE in self.kinds

    def __str__(self) -> str:
        """As Flink's EXPLAIN shows it."""
        names = {INSERT: "I", UPDATE_BEFORE: "UB", UPDATE_AFTER: "UA", DELETE: "PD" if self.deletes_by_key else "D"}
        return ",".join(names[each] for each in (INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE) if each in self.kinds)


def changes_of(kinds: Iterable[int]) -> frozenset[Change]:
    """The changes that kinds of rows tell of."""
    found = set()
    for kind in kinds:
        if kind == INSERT:
            found.add(Change.INSERT)
        else:
            found.add(Change.DELETE if kind == DELETE else Change.UPDATE)
    return frozenset(found)


def kinds_of(changes: frozenset[Change]) -> frozenset[int]:
    """All kinds of rows that may tell of some changes."""
    return ChangelogMode.of(changes, Updates.BOTH).kinds
