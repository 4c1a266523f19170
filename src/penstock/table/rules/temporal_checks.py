"""What joins FOR SYSTEM_TIME AS OF demand, once their conditions are in place."""

from __future__ import annotations

from penstock.errors import SqlValidationError
from penstock.table.algebra.nodes import PlanNode
from penstock.table.algebra.temporal_nodes import LookupJoin, TemporalJoin
from penstock.table.metadata.keys import smallest, unique_keys
from penstock.table.rules.lookup_access import lookup_access
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef

__all__ = ["check_time_joins"]


def check_time_joins(plan: PlanNode) -> None:
    """Refuse joins with versions without the primary key in their condition, and lookups by nothing."""
    seen: set[PlanNode] = set()
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += node.inputs
            if isinstance(node, TemporalJoin):
                _check_versions(node)
            elif isinstance(node, LookupJoin):
                _check_lookup(node)


def _check_versions(node: TemporalJoin) -> None:
    if not node.right_keys:
        raise SqlValidationError(
            f"Currently the join key in Temporal Table Join can not be empty: ON must say that columns of the left "
            f"side are equal to the primary key of the table. In {node.describe()}"
        )
    keys = unique_keys(node.right)
    if not keys:
        raise SqlValidationError(
            f"Temporal Table Join requires primary key in versioned table, but no primary key can be found: declare "
            f"PRIMARY KEY (...) NOT ENFORCED in the table that is joined, or make a view of its newest rows by "
            f"ROW_NUMBER() OVER (PARTITION BY key ORDER BY time DESC) = 1. In {node.describe()}"
        )
    if not any(key <= set(node.right_keys) for key in keys):
        names = ", ".join(node.right.names[each] for each in smallest(keys) or ())
        raise SqlValidationError(
            f"Temporal table's primary key [{names}] must be included in the equivalence condition of temporal join; "
            f"add that left columns are equal to it to ON. In {node.describe()}"
        )


def _check_lookup(node: LookupJoin) -> None:
    if not lookup_access(node).key_columns:
        table = ".".join(node.scan.table.path)
        raise SqlValidationError(
            f"Temporal table join requires an equality condition on fields of table [{table}]: rows are looked up by "
            f"columns of it that are equal to something of the left row or to a constant, of the same type and without "
            f"a function around them.{_cast_that_helps(node)} In {node.describe()}"
        )


def _cast_that_helps(node: LookupJoin) -> str:
    """What to cast, where a column of the table would have to be cast before it can be compared."""
    for made in lookup_access(node).projections:
        if isinstance(made, Call) and made.function == "CAST" and isinstance(made.arguments[0], FieldRef):
            column = made.arguments[0]
            name, kind = node.scan.names[column.index], column.type.with_nullable(True)
            return f" {name} is {kind}: cast what it is compared with to that."
    return ""
