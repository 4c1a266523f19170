"""How a Top-N can keep its rows: by appending, by updating in place, or by taking rows back."""

from __future__ import annotations

from penstock.runtime.operators.table import RankStrategy
from penstock.table.algebra.nodes import Aggregate, Filter, Limit, PlanNode, Project, Rank
from penstock.table.changelog.changes import ChangeFinder
from penstock.table.metadata.keys import keys_in_partition, upsert_keys
from penstock.vocabulary.sql.ordering import SortField
from penstock.vocabulary.sql.typed_expressions import FieldRef

__all__ = ["rank_strategies"]

RISING = frozenset(["COUNT", "MAX"])
FALLING = frozenset(["MIN"])


def rank_strategies(node: Rank | Limit, changes: ChangeFinder) -> list[RankStrategy]:
    """The strategies that are right for a node, the cheapest first."""
    if changes.is_append(node.input):
        return [RankStrategy.APPEND]
    partition = node.partition if isinstance(node, Rank) else ()
    keys = keys_in_partition(upsert_keys(node.input), partition)
    if keys and all(_only_improves(node.input, each, changes) for each in node.order):
        return [RankStrategy.UPDATE, RankStrategy.RETRACT]
    return [RankStrategy.RETRACT]


def _only_improves(node: PlanNode, field: SortField, changes: ChangeFinder) -> bool:
    """Whether updates of a row only ever move it to the front: a count that grows, ordered descending."""
    index = field.index
    while isinstance(node, (Project, Filter)):
        if isinstance(node, Project):
            expression = node.expressions[index]
            if not isinstance(expression, FieldRef):
                return False
            index = expression.index
        node = node.input
    if not isinstance(node, Aggregate) or not changes.is_append(node.input) or index < len(node.keys):
        return False
    function = node.calls[index - len(node.keys)].function
    return function in (RISING if field.descending else FALLING)
