"""The inference of changelog modes: from what sources give and sinks take to the mode of each node.

Changes are found from the sources up (`changes`). Then, from the end of the plan down, each node is asked to tell
updates in the way its consumer wants: by the new row only if that can be, else by the old one and the new one.
Last, deletes are asked for by key only where the consumer takes that, which may make a ChangelogNormalize needless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import SqlValidationError
from penstock.runtime.operators.table import RankStrategy
from penstock.table.algebra.nodes import (
    Correlate,
    DropUpdateBefore,
    Expand,
    Filter,
    Join,
    Limit,
    Normalize,
    PlanNode,
    Project,
    Rank,
    Replicate,
    Scan,
    Union,
    Values,
    WatermarkAssigner,
    WindowTable,
)
from penstock.table.algebra.temporal_nodes import LookupJoin, TemporalJoin
from penstock.table.changelog.changes import ChangeFinder
from penstock.table.changelog.modes import Change, ChangelogMode, Updates
from penstock.table.changelog.rank_strategies import rank_strategies
from penstock.table.metadata.keys import Keys, keys_in_partition, upsert_keys
from penstock.vocabulary.sql.row_kinds import UPDATE_BEFORE
from penstock.vocabulary.sql.typed_expressions import fields_of

__all__ = ["InferredPlan", "infer_changelog"]


@dataclass(frozen=True)
class InferredPlan:
    """A plan with the changelog mode of each of its nodes, and the strategies of its ranks."""

    root: PlanNode
    modes: dict[PlanNode, ChangelogMode]
    strategies: dict[PlanNode, RankStrategy]


def infer_changelog(
    root: PlanNode, updates: Sequence[Updates] = (Updates.BOTH,), allows_deletes_by_key: bool = False
) -> InferredPlan:
    """The plan with modes; `updates` are the ways in which the consumer takes updates, the preferred one first."""
    return _Inference().run(root, updates, allows_deletes_by_key)


class _Inference:
    def __init__(self) -> None:
        self.changes = ChangeFinder()
        self.updates: dict[PlanNode, Updates] = {}
        self.by_key: dict[PlanNode, bool] = {}
        self.strategies: dict[PlanNode, RankStrategy] = {}
        self._done: dict[tuple[PlanNode, Updates], PlanNode | None] = {}
        self._done_deletes: dict[tuple[PlanNode, bool], PlanNode | None] = {}

    def run(self, root: PlanNode, updates: Sequence[Updates], allows_by_key: bool) -> InferredPlan:
        for wanted in updates:
            told = self.tell_updates(root, wanted)
            if told is None:
                continue
            for by_key in (True, False) if allows_by_key and wanted is Updates.AFTER else (False,):
                done = self.tell_deletes(told, by_key)
                if done is not None:
                    return InferredPlan(done, self._modes(done), self.strategies)
        raise SqlValidationError(
            "A source gives updates without the rows before them, and has no primary key by which they could be found; "
            "declare a PRIMARY KEY (...) NOT ENFORCED for its table."
        )

    def _modes(self, root: PlanNode) -> dict[PlanNode, ChangelogMode]:
        modes: dict[PlanNode, ChangelogMode] = {}

        def visit(node: PlanNode) -> None:
            if node not in modes:
                told = self.updates.get(node, Updates.BOTH)
                modes[node] = ChangelogMode.of(self.changes.of(node), told, self.by_key.get(node, False))
                for each in node.inputs:
                    visit(each)

        visit(root)
        return modes

    # ---- updates ----

    def tell_updates(self, node: PlanNode, wanted: Updates) -> PlanNode | None:
        """The node with inputs such that it tells updates as wanted; None if that cannot be."""
        if Change.UPDATE not in self.changes.of(node):
            wanted = Updates.NONE
        key = (node, wanted)
        if key not in self._done:
            self._done[key] = self._tell(node, wanted)
        return self._done[key]

    def _tell(self, node: PlanNode, wanted: Updates) -> PlanNode | None:
        if isinstance(node, Scan):
            return self._scan(node, wanted)
        if isinstance(node, Values):
            return self._told(node, wanted)
        if isinstance(node, Normalize):
            return self._with_inputs(node, [Updates.AFTER], wanted)
        if isinstance(node, Join) and node.is_regular:
            return self._with_inputs(node, self._join_inputs(node, wanted), wanted)
        if isinstance(node, TemporalJoin):
            return self._temporal_join(node, wanted)
        if isinstance(node, Rank) or (isinstance(node, Limit) and node.order):
            return self._rank(node, wanted)
        if isinstance(node, Filter) and wanted is Updates.AFTER and not is_by_key(node):
            return None
        if isinstance(node, Replicate) and wanted is Updates.AFTER:
            return None  # how often the row was there before is known from the row before only
        if _passes_on(node):
            return self._with_inputs(node, [wanted] * len(node.inputs), wanted)
        return self._with_inputs(node, [Updates.BOTH] * len(node.inputs), wanted)

    def _told(self, node: PlanNode, wanted: Updates) -> PlanNode:
        self.updates[node] = wanted
        return node

    def _scan(self, node: Scan, wanted: Updates) -> PlanNode | None:
        has_before = UPDATE_BEFORE in node.source.changelog_kinds
        given = Updates.BOTH if has_before else Updates.AFTER
        if wanted is Updates.BOTH and not has_before:
            return None
        self.updates[node] = Updates.NONE if wanted is Updates.NONE else given
        if wanted is Updates.AFTER and has_before:
            return self._told(DropUpdateBefore(node), wanted)
        return node

    def _with_inputs(self, node: PlanNode, wanted_of: Sequence[Updates], wanted: Updates) -> PlanNode | None:
        inputs = [self.tell_updates(each, how) for each, how in zip(node.inputs, wanted_of, strict=True)]
        if any(each is None for each in inputs):
            return None
        made = node.with_inputs(tuple([each for each in inputs if each is not None]))
        return self._told(made, wanted)

    def _join_inputs(self, node: Join, wanted: Updates) -> list[Updates]:
        is_after = wanted is Updates.AFTER
        return [Updates.AFTER if is_after and is_kept else Updates.BOTH for is_kept in _keys_kept(node)]

    def _temporal_join(self, node: TemporalJoin, wanted: Updates) -> PlanNode | None:
        """Left changes pass; a version replaces the one before it, so that nobody has to take that back."""
        _check_versions(node, self.changes)
        for versions in (Updates.AFTER, Updates.BOTH):
            made = self._with_inputs(node, [wanted, versions], wanted)
            if made is not None:
                return made
        return None

    def _rank(self, node: Rank | Limit, wanted: Updates) -> PlanNode | None:
        for strategy in rank_strategies(node, self.changes):
            inside = {
                RankStrategy.APPEND: Updates.NONE,
                RankStrategy.UPDATE: Updates.AFTER,
                RankStrategy.RETRACT: Updates.BOTH,
            }[strategy]
            made = self._with_inputs(node, [inside], wanted)
            if made is not None:
                self.strategies[made] = strategy
                return made
        return None

    # ---- deletes ----

    def tell_deletes(self, node: PlanNode, by_key: bool) -> PlanNode | None:
        """The node with inputs such that its deletes have all fields, or may have their key only."""
        key = (node, by_key)
        if key not in self._done_deletes:
            self._done_deletes[key] = self._tell_deletes(node, by_key)
        return self._done_deletes[key]

    def _tell_deletes(self, node: PlanNode, by_key: bool) -> PlanNode | None:
        if isinstance(node, Scan):
            gives_key = bool(getattr(node.source, "deletes_by_key", False)) and Change.DELETE in self.changes.of(node)
            self.by_key[node] = gives_key
            return None if gives_key and not by_key else node
        if isinstance(node, Normalize):
            return self._normalize(node, by_key)
        if isinstance(node, Filter) and by_key and not is_by_key(node) and Change.DELETE in self.changes.of(node):
            return None
        if isinstance(node, Join) and node.is_regular:
            wanted = [by_key and is_kept for is_kept in _keys_kept(node)]
        elif _passes_on(node) and not isinstance(node, LookupJoin):  # which may need other fields to look up by
            wanted = [by_key] * len(node.inputs)
        else:
            wanted = [False] * len(node.inputs)
        return self._deleting(node, wanted)

    def _deleting(self, node: PlanNode, wanted: Sequence[bool]) -> PlanNode | None:
        inputs = [self.tell_deletes(each, how) for each, how in zip(node.inputs, wanted, strict=True)]
        if any(each is None for each in inputs):
            return None
        made = node.with_inputs(tuple([each for each in inputs if each is not None]))
        self._take_over(node, made)
        passes = _passes_on(node) or (isinstance(node, Join) and node.is_regular)
        self.by_key[made] = passes and any(self.by_key.get(each, False) for each in made.inputs)
        return made

    def _take_over(self, node: PlanNode, made: PlanNode) -> None:
        if made is not node:
            self.updates[made] = self.updates.get(node, Updates.NONE)
            if node in self.strategies:
                self.strategies[made] = self.strategies[node]

    def _normalize(self, node: Normalize, by_key: bool) -> PlanNode | None:
        is_upsert = self.updates.get(node) is not Updates.BOTH
        if is_upsert and node.condition is None and not node.is_needed:
            plain = self.tell_deletes(node.input, by_key)
            if plain is not None:
                return plain
        inside = self.tell_deletes(node.input, True)
        if inside is None:
            return None
        made = node.with_inputs((inside,))
        self._take_over(node, made)
        self.by_key[made] = False
        return made


def _passes_on(node: PlanNode) -> bool:
    """Whether a node puts out the changes of its input as they come."""
    steps = (Filter, Project, WatermarkAssigner, Union, Correlate, Expand, Replicate, WindowTable, DropUpdateBefore)
    kinds = (*steps, LookupJoin)
    return isinstance(node, kinds)


def is_by_key(node: Filter) -> bool:
    """Whether a condition is on an upsert key: then an update cannot change what it says of a row."""
    fields = set(fields_of(node.condition))
    return any(fields <= key for key in upsert_keys(node.input))


def _check_versions(node: TemporalJoin, changes: ChangeFinder) -> None:
    """Refuse a condition on versions: one that does not meet it would seem to have been deleted from its start on."""
    waiting: list[PlanNode] = [node.right]
    while waiting:
        each = waiting.pop()
        is_filter = isinstance(each, Filter) and not is_by_key(each) and not changes.is_append(each.input)
        if is_filter or (isinstance(each, Normalize) and each.condition is not None):
            raise SqlValidationError(
                f"Filter is not allowed for right changelog input of event time temporal join, it will corrupt the "
                f"versioning of data: put the condition into ON, or into WHERE after the join. The filter is "
                f"{each.describe()}"
            )
        waiting += each.inputs if isinstance(each, (Filter, Project, WatermarkAssigner, Normalize)) else ()


def _keys_kept(node: Join) -> list[bool]:
    """Of each side: whether an update stays with its join key, because a key of the side has the join key in it."""
    sides: list[tuple[Keys, tuple[int, ...]]] = [
        (upsert_keys(node.left), node.left_keys),
        (upsert_keys(node.right), node.right_keys),
    ]
    return [bool(keys_in_partition(keys, fields)) for keys, fields in sides]
