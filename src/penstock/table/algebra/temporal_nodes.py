"""Joins with a table as it was at the time of a row, or as it is when the row comes: FOR SYSTEM_TIME AS OF."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from penstock.table.algebra.identity_texts import expression_text
from penstock.table.algebra.join_nodes import Join
from penstock.table.algebra.lookup_options import NO_OPTIONS, LookupOptions
from penstock.table.algebra.nodes import Filter, Project, Scan
from penstock.table.algebra.plan_node import PlanNode
from penstock.vocabulary.sql.logical_types import LogicalType, row_of

__all__ = ["LookupJoin", "TemporalJoin"]


@dataclass(frozen=True, eq=False)
class TemporalJoin(Join):
    """Each left row beside the version that the right table had at the row's time."""

    state_identity = "TemporalJoin"

    left_time: int = 0
    right_time: int = 0

    @cached_property
    def row_type(self) -> LogicalType:
        """As of any join; the time of a version is older than the watermark, so that it is a row time no more."""
        both, width = super().row_type, len(self.left.types)
        return row_of(both.names, both.parts[:width] + tuple([each.as_plain_time() for each in both.parts[width:]]))

    def identity_text(self) -> str:
        """The join and its times."""
        times = f"{self.left.names[self.left_time]}, {self.right.names[self.right_time]}"
        return super().identity_text().replace("Join(", "TemporalJoin(", 1)[:-1] + f", times=[{times}])"


@dataclass(frozen=True, eq=False)
class LookupJoin(Join):
    """Each left row beside the rows that a table outside has for it when it comes.

    `right` is no input: its rows are never read as a stream. It is a scan with projections and filters above it, which
    say what is done with rows that are found.
    """

    state_identity = "LookupJoin"

    options: LookupOptions = NO_OPTIONS

    @property
    def inputs(self) -> tuple[PlanNode, ...]:
        """The left side."""
        return (self.left,)

    def with_inputs(self, inputs: tuple[PlanNode, ...]) -> LookupJoin:
        """The same over another left side."""
        (left,) = inputs
        return self if left is self.left else replace(self, left=left)

    @property
    def scan(self) -> Scan:
        """The table that is looked up."""
        node = self.right
        while not isinstance(node, Scan):
            (node,) = node.inputs
        return node

    def identity_text(self) -> str:
        """The join, the table and what is done with its rows."""
        steps, node = [], self.right
        while not isinstance(node, Scan):
            if isinstance(node, Filter):
                steps.append(f"where=[{expression_text(node.condition, node.input.names)}]")
            elif isinstance(node, Project):
                texts = [expression_text(each, node.input.names) for each in node.expressions]
                steps.append(f"select=[{', '.join(texts)}]")
            (node,) = node.inputs
        table = ", ".join([f"table=[{'.'.join(node.table.path)}]", *reversed(steps)])
        hint = "" if self.options == NO_OPTIONS else f", hint=[{self.options}]"
        return super().identity_text().replace("Join(", f"LookupJoin({table}, ", 1)[:-1] + hint + ")"
