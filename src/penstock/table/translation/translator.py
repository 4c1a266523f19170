"""Makes the operators of a plan; for each kind of node a module beside this has a function that gives its stream."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from penstock.datastream.stream import DataStream, add_operator
from penstock.errors import SqlValidationError
from penstock.graph.nodes import Edge, Exchange, Partitioning
from penstock.runtime.operators import table as operators
from penstock.table.algebra import nodes
from penstock.table.algebra.changelog_nodes import FromChangelog, ToChangelog
from penstock.table.algebra.match_node import Match
from penstock.table.algebra.nodes import PlanNode
from penstock.table.algebra.table_api_nodes import CountWindowAggregate, FinalRows, TableAggregate
from penstock.table.algebra.temporal_nodes import LookupJoin, TemporalJoin
from penstock.table.changelog.inference import InferredPlan
from penstock.table.changelog.modes import ChangelogMode
from penstock.table.order_of_changes import parallelism_after
from penstock.table.translation.aggregates import (
    count_window,
    group_aggregate,
    group_window,
    over_aggregate,
    table_aggregate,
    window_aggregate,
    window_table,
)
from penstock.table.translation.joins import interval_join, regular_join, window_join
from penstock.table.translation.ordered_rows import deduplicate, limit_rows, match_rows, sort_rows, top_n
from penstock.table.translation.reuse import Meanings, Reuse
from penstock.table.translation.rows import (
    correlate,
    drop_update_before,
    expand,
    filter_rows,
    final_rows,
    from_changelog,
    normalize,
    projection,
    replicate,
    scan_table,
    to_changelog,
    union_all,
    values_rows,
    watermark_assigner,
)
from penstock.table.translation.settings import TableSettings
from penstock.table.translation.time_joins import lookup_join, temporal_join
from penstock.table.translation.uids import Uids

__all__ = ["Translator"]

NAME_LENGTH = 80


class Translator:
    """Translates one plan into the graph of an environment; what several nodes read is made once.

    `reuse` has what other plans of the same job have made.
    """

    def __init__(
        self, plan: InferredPlan, environment: Any, settings: TableSettings, reuse: Reuse | None = None
    ) -> None:
        self.plan = plan
        self.environment = environment
        self.settings = settings
        self.uids = Uids()
        self.reuse = Reuse() if reuse is None else reuse
        self._meanings = Meanings(plan.modes, shares_clock=settings.shares_parts)
        self._streams: dict[PlanNode, DataStream] = {}
        self._readers: defaultdict[Hashable, set[Hashable]] = defaultdict(set)

    def stream(self, node: PlanNode) -> DataStream:
        """The stream of a node's rows."""
        made = self._streams.get(node)
        if made is None:
            meaning = self._meanings.of(node) if self.settings.reuses_parts else None
            made = self.reuse.known(meaning)
            if made is None:
                made = self.reuse.keep(meaning, self._translated(node))
            self._streams[node] = made
        return made

    def _translated(self, node: PlanNode) -> DataStream:
        translate = TRANSLATIONS.get(type(node))
        if translate is None:
            raise SqlValidationError(f"{node.describe()} cannot be run yet.")
        return translate(self, node)

    def is_read_once(self, node: PlanNode) -> bool:
        """Whether one operator reads a node: nobody else does, nor a node that does the same."""
        if not self._readers:
            self._find_readers(self.plan.root)
        return len(self._readers[self._identity(node)]) == 1

    def _find_readers(self, node: PlanNode) -> None:
        for each in node.inputs:
            readers = self._readers[self._identity(each)]
            is_new = not readers
            readers.add(self._identity(node))
            if is_new:
                self._find_readers(each)

    def _identity(self, node: PlanNode) -> Hashable:
        meaning = self._meanings.of(node) if self.settings.reuses_parts else None
        return id(node) if meaning is None else meaning

    def mode(self, node: PlanNode) -> ChangelogMode:
        """The changelog mode of a node."""
        return self.plan.modes[node]

    def has_changes(self, node: PlanNode) -> bool:
        """Whether a node puts out more than insertions."""
        return not self.mode(node).is_append

    # ---- operators ----

    def then(
        self,
        node: PlanNode,
        operator: Any,
        edges: tuple[Edge, ...],
        part: str = "",
        column_names: tuple[str, ...] | None = None,
    ) -> DataStream:
        """Append an operator to the graph; what it reads is called as in the inputs of the node, unless said."""
        if column_names is None:
            column_names = tuple([name for each in node.inputs for name in each.row_type.names])
        operator.column_names = column_names
        text = node.describe()
        text = f"{part.capitalize()}{text}" if part == "local" else text
        name = text if len(text) <= NAME_LENGTH else text[: NAME_LENGTH - 3] + "..."
        uid = self.uids.uid(node, self.environment.graph, part)
        settings = {"uid": uid, "description": text, "parallelism": parallelism_after(self.environment.graph, edges)}
        return add_operator(self.environment, name, operator, edges, None, is_checked=False, **settings)

    def forward(self, node: PlanNode, operator: Any, source: PlanNode, part: str = "") -> DataStream:
        """An operator that reads its input where it is."""
        return self.then(node, operator, self.stream(source).edges, part, source.row_type.names)

    def keyed(self, node: PlanNode, operator: Any, source: PlanNode, keys: Sequence[int], part: str = "") -> DataStream:
        """An operator that reads its input by key."""
        edges = self.keyed_edges(self.stream(source), keys)
        return self.then(node, operator, edges, part, source.row_type.names)

    @staticmethod
    def keyed_edges(stream: DataStream, keys: Sequence[int]) -> tuple[Edge, ...]:
        """The edges of a stream, dealt out by fields."""
        return stream.edges_with(Partitioning(Exchange.KEYED, operators.RowKey(*keys)))

    def two_inputs(self, node: nodes.Join, operator: Any) -> DataStream:
        """An operator that reads the inputs of a join by its keys."""
        left = self.keyed_edges(self.stream(node.left), node.left_keys)
        right = self.keyed_edges(self.stream(node.right), node.right_keys)
        return self.then(node, operator, left + tuple([replace(each, input_index=1) for each in right]))


TRANSLATIONS: dict[type[PlanNode], Callable[[Translator, Any], DataStream]] = {
    nodes.Scan: scan_table,
    nodes.Values: values_rows,
    nodes.WatermarkAssigner: watermark_assigner,
    nodes.Project: projection,
    nodes.Filter: filter_rows,
    nodes.Union: union_all,
    nodes.Correlate: correlate,
    nodes.Expand: expand,
    nodes.Replicate: replicate,
    nodes.Aggregate: group_aggregate,
    nodes.WindowAggregate: window_aggregate,
    nodes.GroupWindowAggregate: group_window,
    nodes.WindowTable: window_table,
    nodes.Over: over_aggregate,
    nodes.Join: regular_join,
    nodes.IntervalJoin: interval_join,
    nodes.WindowJoin: window_join,
    TemporalJoin: temporal_join,
    LookupJoin: lookup_join,
    nodes.Rank: top_n,
    nodes.Limit: limit_rows,
    nodes.Sort: sort_rows,
    nodes.Deduplicate: deduplicate,
    Match: match_rows,
    nodes.Normalize: normalize,
    nodes.DropUpdateBefore: drop_update_before,
    TableAggregate: table_aggregate,
    CountWindowAggregate: count_window,
    FinalRows: final_rows,
    ToChangelog: to_changelog,
    FromChangelog: from_changelog,
}
