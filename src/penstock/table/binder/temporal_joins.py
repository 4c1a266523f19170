"""Binding of `JOIN table FOR SYSTEM_TIME AS OF left.time`: a join with versions, or a lookup."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.table.algebra.join_nodes import Join, JoinKind
from penstock.table.algebra.lookup_options import LookupOptions
from penstock.table.algebra.nodes import Filter, Normalize, PlanNode, Project, Scan, WatermarkAssigner
from penstock.table.algebra.temporal_nodes import LookupJoin, TemporalJoin
from penstock.table.binder.problems import Problems
from penstock.vocabulary.sql.logical_types import LogicalType, TimeAttribute
from penstock.vocabulary.sql.typed_expressions import FieldRef, TypedExpression

__all__ = ["TimeOfJoin", "time_join"]


@dataclass(frozen=True)
class TimeOfJoin:
    """What FOR SYSTEM_TIME AS OF says: its place in the text, and the time as an expression over the left side."""

    node: exp.Expr
    time: TypedExpression
    options: LookupOptions
    """What a LOOKUP hint says about the table."""


def time_join(left: PlanNode, right: PlanNode, kind: JoinKind, given: TimeOfJoin, problems: Problems) -> Join:
    """The join without its condition, which is to be put into it."""
    time = given.time
    attribute = time.type.time_attribute
    if not isinstance(time, FieldRef) or attribute is None:
        raise problems.at(
            given.node,
            "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time attribute field: "
            "name a column of the left side that is its row time (WATERMARK FOR ...) or AS PROCTIME()",
        )
    if kind not in (JoinKind.INNER, JoinKind.LEFT):
        raise problems.at(
            given.node,
            f"Temporal table join currently only supports INNER JOIN and LEFT JOIN, but was {kind.name} JOIN; the "
            f"table with FOR SYSTEM_TIME AS OF stands on the right",
        )
    if attribute is TimeAttribute.ROWTIME:
        return TemporalJoin(
            left, right, kind, left_time=time.index, right_time=_version_time(right, time.type, given, problems)
        )
    return LookupJoin(left, _looked_up(right, given, problems), kind, options=given.options)


def _version_time(right: PlanNode, left_time: LogicalType, given: TimeOfJoin, problems: Problems) -> int:
    """The field with the time of a version."""
    found = [index for index, each in enumerate(right.types) if each.time_attribute is TimeAttribute.ROWTIME]
    if not found:
        raise problems.at(
            given.node,
            "Event-Time Temporal Table Join requires both primary key and row time attribute in versioned table, but "
            "no row time attribute can be found: declare WATERMARK FOR ... in the table that is joined, and select "
            "that column in a view",
        )
    kinds = [replace(each, time_attribute=None) for each in (left_time, right.types[found[0]])]
    if kinds[0].kind is not kinds[1].kind:
        raise problems.at(
            given.node,
            f"Event-Time Temporal Table Join requires same rowtime type in left table and versioned table, but the "
            f"rowtime types are {kinds[0]} and {kinds[1]}; cast one of them in a computed column, before its WATERMARK",
        )
    return found[0]


def _looked_up(right: PlanNode, given: TimeOfJoin, problems: Problems) -> PlanNode:
    """The plan of the right side without what only a stream of its rows would need."""
    if isinstance(right, (Normalize, WatermarkAssigner)):
        return _looked_up(right.input, given, problems)
    if isinstance(right, (Project, Filter)):
        return right.with_inputs((_looked_up(right.input, given, problems),))
    if isinstance(right, Scan) and getattr(right.source, "can_be_looked_up", False):
        return right
    what = f"table {'.'.join(right.table.path)}" if isinstance(right, Scan) else "this query"
    raise problems.at(
        given.node,
        f"Processing-time temporal join is not supported yet, as in Flink: by a processing time, only tables can be "
        f"joined whose connector looks rows up by key (jdbc, python-lookup), and {what} is none. Join a versioned "
        f"table by row time instead",
    )
