"""Plan what several INSERTs of a job have in common as a part of its own, the same for all of them.

Otherwise the filters and unread columns of each INSERT go down into what they share, such as a view, and one part
becomes many, each with state and work of its own. Flink has the same choice under the same key. `Reuse` then makes a
part once for all INSERTs that want its updates told in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

from penstock.table.algebra.nodes import (
    CommonPart,
    Filter,
    Over,
    PlanNode,
    Project,
    Scan,
    Union,
    Values,
    WatermarkAssigner,
    WindowTable,
)
from penstock.table.rules.filters import push_filters
from penstock.table.translation.reuse import Meanings

__all__ = ["with_common_parts"]

_CHEAP = (Scan, Values, Project, Filter, Union, WatermarkAssigner)
"""Steps without state: sharing them alone is not worth reading columns and rows that one INSERT does not need."""
_HALVES = (Over, WindowTable)
"""Steps that rules join with the one above, as ROW_NUMBER with its filter."""


def with_common_parts(plans: Sequence[PlanNode]) -> list[PlanNode]:
    """Return the bound plans of several INSERTs with borders around what they have in common."""
    return _Borders(plans).drawn()


class _Borders:
    """Finds what has several readers, and puts a border around each such part that has state."""

    def __init__(self, plans: Sequence[PlanNode]) -> None:
        self._plans = plans
        self._meanings = Meanings(shares_clock=True)
        self._known: dict[PlanNode, Hashable | None] = {}
        self._readers: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
        self._drawn: dict[PlanNode, PlanNode] = {}
        for number, plan in enumerate(plans):
            self._find_readers(plan, number)

    def drawn(self) -> list[PlanNode]:
        return [self._with_borders(each) for each in self._plans]

    def _meaning(self, node: PlanNode) -> Hashable | None:
        """What a node does with its filters where they belong: the binder has moved some of them already."""
        if node not in self._known:
            self._known[node] = self._meanings.of(push_filters(node))
        return self._known[node]

    def _find_readers(self, node: PlanNode, reader: Hashable) -> None:
        meaning = self._meaning(node)
        if meaning is not None:
            is_known = meaning in self._readers
            self._readers[meaning].add(reader)
            if is_known:
                return
        for each in node.inputs:
            self._find_readers(each, node if meaning is None else meaning)

    def _with_borders(self, node: PlanNode) -> PlanNode:
        if node not in self._drawn:
            inputs = tuple([self._with_borders(each) for each in node.inputs])
            same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
            made = node if same else node.with_inputs(inputs)
            is_part = len(self._readers.get(self._meaning(node), ())) > 1
            if is_part and not isinstance(node, _HALVES) and _keeps_state(node):
                made = CommonPart(made, made.fields, made.names)
            self._drawn[node] = made
        return self._drawn[node]


def _keeps_state(node: PlanNode) -> bool:
    return not isinstance(node, _CHEAP) or any(map(_keeps_state, node.inputs))
