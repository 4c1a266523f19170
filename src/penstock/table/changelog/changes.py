"""First step of the inference, from the sources up: which changes each node makes."""

from __future__ import annotations

from penstock.errors import SqlValidationError
from penstock.table.algebra.changelog_nodes import FromChangelog, ToChangelog
from penstock.table.algebra.match_node import Match
from penstock.table.algebra.nodes import (
    Aggregate,
    Deduplicate,
    GroupWindowAggregate,
    Join,
    JoinKind,
    Limit,
    Normalize,
    Over,
    PlanNode,
    Rank,
    Scan,
    Sort,
    Union,
    Values,
    WindowAggregate,
    WindowTable,
)
from penstock.table.algebra.table_api_nodes import CountWindowAggregate, FinalRows, TableAggregate
from penstock.table.algebra.temporal_nodes import LookupJoin, TemporalJoin
from penstock.table.changelog.modes import ALL_CHANGES, INSERTS, Change, changes_of
from penstock.table.sql.places import shown

__all__ = ["ChangeFinder"]


class ChangeFinder:
    """Finds the changes of nodes, each once."""

    def __init__(self) -> None:
        self._found: dict[PlanNode, frozenset[Change]] = {}

    def of(self, node: PlanNode) -> frozenset[Change]:
        """The changes that a node may put out."""
        known = self._found.get(node)
        if known is None:
            known = self._found[node] = self._find(node)
        return known

    def is_append(self, node: PlanNode) -> bool:
        """Whether a node only adds rows."""
        return self.of(node) == INSERTS

    def _find(self, node: PlanNode) -> frozenset[Change]:
        if isinstance(node, Scan):
            return changes_of(node.source.changelog_kinds)
        if isinstance(node, Values):
            return INSERTS
        if isinstance(node, ToChangelog):
            self.of(node.input)
            return INSERTS
        if isinstance(node, FromChangelog):
            self._need_append(node, self.of(node.input))
            return changes_of(frozenset(kind for _, kind in node.kinds))
        if isinstance(node, TableAggregate):
            self.of(node.input)
            return frozenset([Change.INSERT, Change.DELETE])
        if isinstance(node, (CountWindowAggregate, FinalRows, WindowAggregate, GroupWindowAggregate)):
            self.of(node.input)
            return INSERTS
        if isinstance(node, Aggregate):
            return self._aggregate(node)
        if isinstance(node, Join):
            return self._join(node)
        if isinstance(node, Match):
            return self._match(node)
        if isinstance(node, (Over, Sort, Rank, Deduplicate, Limit, WindowTable)):
            return self._by_time(node)
        if isinstance(node, Normalize):
            self.of(node.input)
            return ALL_CHANGES
        if isinstance(node, Union):
            return frozenset().union(*[self.of(each) for each in node.parts])
        return self.of(node.inputs[0])

    def _aggregate(self, node: Aggregate) -> frozenset[Change]:
        inside = self.of(node.input)
        if not node.calls and inside == INSERTS:
            return INSERTS  # DISTINCT of rows that stay: each is put out once
        found = {Change.INSERT, Change.UPDATE} if node.calls else {Change.INSERT}
        if Change.UPDATE in inside or Change.DELETE in inside:
            found.add(Change.DELETE)
        return frozenset(found)

    def _join(self, node: Join) -> frozenset[Change]:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node, (TemporalJoin, LookupJoin)):
            return left  # what changes on the right later changes no result
        if not node.is_regular:
            self._need_append(node, left | right)
            return INSERTS
        return left | right if node.kind in (JoinKind.INNER, JoinKind.SEMI) else ALL_CHANGES

    def _by_time(self, node: PlanNode) -> frozenset[Change]:
        inside = self.of(node.inputs[0])
        if isinstance(node, Over) and node.time_attribute is None:
            return ALL_CHANGES
        if isinstance(node, Rank) and node.window is None:
            return ALL_CHANGES
        if isinstance(node, Limit):
            return ALL_CHANGES if node.order or inside != INSERTS else INSERTS
        if isinstance(node, Deduplicate) and node.window is None:
            self._need_append(node, inside)
            return ALL_CHANGES if node.keeps_last else INSERTS
        if isinstance(node, WindowTable):
            return inside
        self._need_append(node, inside)
        return INSERTS

    def _match(self, node: Match) -> frozenset[Change]:
        changes = self.of(node.input)
        if changes != INSERTS:
            message = (
                f"MATCH_RECOGNIZE takes rows that are only inserted, but its input {_told(changes)}; aggregate by "
                "windows before it, or keep the query below it free of updates"
            )
            line, column = (0, 0) if node.place is None else (node.place.line, node.place.column)
            raise SqlValidationError(shown(message, node.place), line, column)
        return INSERTS

    def _need_append(self, node: PlanNode, changes: frozenset[Change]) -> None:
        if changes != INSERTS:
            made = _told(changes)
            raise SqlValidationError(
                f"{node.describe()} takes rows that are only inserted, but its input {made}; aggregate by windows, or "
                f"keep the query below it free of updates."
            )


def _told(changes: frozenset[Change]) -> str:
    return " and ".join(f"{each.value}s" for each in (Change.UPDATE, Change.DELETE) if each in changes)
