"""Joins, and rows beside what a table function makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

from penstock.table.algebra.identity_texts import expression_text, field_names
from penstock.table.algebra.plan_node import OneInput, PlanNode, maybe_null, unique_names
from penstock.vocabulary.sql.logical_types import LogicalType, TimeAttribute, row_of
from penstock.vocabulary.sql.typed_expressions import TypedExpression
from penstock.vocabulary.sql.user_functions import USER_FUNCTION

__all__ = ["Correlate", "IntervalJoin", "Join", "JoinKind", "WindowJoin"]


class JoinKind(Enum):
    """Which rows a join puts out."""

    INNER = "InnerJoin"
    LEFT = "LeftOuterJoin"
    RIGHT = "RightOuterJoin"
    FULL = "FullOuterJoin"
    SEMI = "LeftSemiJoin"
    ANTI = "LeftAntiJoin"

    @property
    def pads_left(self) -> bool:
        """Whether rows may come out with NULL for the left fields."""
        return self in (JoinKind.RIGHT, JoinKind.FULL)

    @property
    def pads_right(self) -> bool:
        """Whether rows may come out with NULL for the right fields."""
        return self in (JoinKind.LEFT, JoinKind.FULL)

    @property
    def shows_right(self) -> bool:
        """Whether the right fields come out at all."""
        return self not in (JoinKind.SEMI, JoinKind.ANTI)


@dataclass(frozen=True, eq=False)
class Join(PlanNode):
    """A regular join of two inputs that may both update.

    `left_keys` and `right_keys` are the fields that must be equal, in pairs; `null_safe` says of each pair whether NULL
    equals NULL. `condition` is what else must hold, over left and right fields.
    """

    state_identity = "Join"

    left: PlanNode
    right: PlanNode
    kind: JoinKind
    left_keys: tuple[int, ...] = ()
    right_keys: tuple[int, ...] = ()
    null_safe: tuple[bool, ...] = ()
    condition: TypedExpression | None = None
    ttls_ms: tuple[int | None, int | None] = field(default=(None, None), kw_only=True)
    """How long rows of each side are kept, where a hint says so."""

    @property
    def inputs(self) -> tuple[PlanNode, ...]:
        """Left and right."""
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[PlanNode, ...]) -> Join:
        """The same over other inputs."""
        left, right = inputs
        return self if left is self.left and right is self.right else replace(self, left=left, right=right)

    @cached_property
    def row_type(self) -> LogicalType:
        """Left fields, then right ones; those of a side that may be missing allow NULL."""
        left = [maybe_null(each, self.kind.pads_left) for each in self.left.types]
        right = [maybe_null(each, self.kind.pads_right) for each in self.right.types]
        if self.is_regular:  # rows come whenever a partner does, so that times are no longer in step with watermarks
            left, right = ([each.as_plain_time() for each in side] for side in (left, right))
        if not self.kind.shows_right:
            return row_of(self.left.names, tuple(left))
        return row_of(unique_names(self.left.names + self.right.names), tuple(left + right))

    @property
    def both_types(self) -> tuple[LogicalType, ...]:
        """The types that the condition sees."""
        return self.left.types + self.right.types

    @property
    def is_regular(self) -> bool:
        """Whether times play no part in it."""
        return type(self) is Join

    def identity_text(self) -> str:
        """The kind, the keys and the rest of the condition."""
        left, right = field_names(self.left_keys, self.left.names), field_names(self.right_keys, self.right.names)
        equal = [f"{a} = {b}" for a, b in zip(left, right, strict=True)]
        both = unique_names(self.left.names + self.right.names)
        rest = [] if self.condition is None else [expression_text(self.condition, both)]
        return f"Join(joinType=[{self.kind.value}], where=[{' AND '.join(equal + rest) or 'true'}])"


@dataclass(frozen=True, eq=False)
class IntervalJoin(Join):
    """A join of rows whose times are near: `lower_ms <= left time - right time <= upper_ms`. Results are final.

    `condition` has all that must hold besides equal keys and the interval.
    """

    state_identity = "IntervalJoin"

    left_time: int = 0
    right_time: int = 0
    lower_ms: int = 0
    upper_ms: int = 0

    @property
    def is_event_time(self) -> bool:
        """Whether row times are meant."""
        return self.left.types[self.left_time].time_attribute is TimeAttribute.ROWTIME

    def identity_text(self) -> str:
        """The join and the interval."""
        interval = f"windowBounds=[lower={self.lower_ms}, upper={self.upper_ms}]"
        return super().identity_text().replace("Join(", "IntervalJoin(", 1)[:-1] + f", {interval})"


@dataclass(frozen=True, eq=False)
class WindowJoin(Join):
    """A join of rows of the same window; results are final. The windows are not among the keys."""

    state_identity = "WindowJoin"

    left_window: tuple[int, int] = (0, 0)
    right_window: tuple[int, int] = (0, 0)
    zone: str | None = None

    def identity_text(self) -> str:
        """The join."""
        return super().identity_text().replace("Join(", "WindowJoin(", 1)


@dataclass(frozen=True, eq=False)
class Correlate(OneInput):
    """Each row beside the rows that a table function makes of it.

    `function` is a name of the runtime's table functions (`UNNEST`), `arguments` are expressions over the input.
    """

    state_identity = "Correlate"

    function: str
    arguments: tuple[TypedExpression, ...]
    function_type: LogicalType
    is_left: bool = False
    options: tuple[Any, ...] = ()

    @cached_property
    def row_type(self) -> LogicalType:
        """The fields of the input, then those of the function."""
        made = [maybe_null(each, self.is_left) for each in self.function_type.parts]
        names = unique_names(self.input.names + self.function_type.names)
        return row_of(names, self.input.types + tuple(made))

    def identity_text(self) -> str:
        """The function."""
        arguments = ", ".join(expression_text(each, self.input.names) for each in self.arguments)
        kind = JoinKind.LEFT if self.is_left else JoinKind.INNER
        name = self.options[0] if self.function == USER_FUNCTION else self.function
        return f"Correlate(invocation=[{name}({arguments})], joinType=[{kind.value}])"
