"""What all nodes of a plan have. A node is equal to itself only, so that what is known of it can be kept by it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.typed_expressions import FieldRef

__all__ = ["OneInput", "PlanNode", "maybe_null", "unique_names"]


class PlanNode:
    """A step of a plan."""

    @property
    def inputs(self) -> tuple[PlanNode, ...]:
        """What it reads."""
        return ()

    def with_inputs(self, inputs: tuple[PlanNode, ...]) -> PlanNode:
        """The same step reading something else of the same shape."""
        assert not inputs
        return self

    @property
    @abstractmethod
    def row_type(self) -> LogicalType:
        """Names and types of what it puts out."""

    @abstractmethod
    def identity_text(self) -> str:
        """Return what the node does, without its inputs: the text that its uid is a digest of, in version 1.

        State of a query is found by it, so it stays as it is: to show people something else, override `describe`.
        Another text would be version 2, and uids would have to be looked up by both.
        """

    def describe(self) -> str:
        """Return one line for people: plans, names of operators, messages."""
        return self.identity_text()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields it puts out."""
        return self.row_type.names

    @property
    def types(self) -> tuple[LogicalType, ...]:
        """Types of the fields it puts out."""
        return self.row_type.parts

    def field(self, index: int) -> FieldRef:
        """An expression that reads one of its fields."""
        return FieldRef(index, self.types[index])

    @property
    def fields(self) -> tuple[FieldRef, ...]:
        """Expressions that read all of its fields."""
        return tuple([FieldRef(index, each) for index, each in enumerate(self.types)])


@dataclass(frozen=True, eq=False)
class OneInput(PlanNode):
    """A step that reads one input."""

    input: PlanNode

    @property
    def inputs(self) -> tuple[PlanNode, ...]:
        """The input."""
        return (self.input,)

    def with_inputs(self, inputs: tuple[PlanNode, ...]) -> Self:
        """The same step reading another input."""
        (only,) = inputs
        return self if only is self.input else replace(self, input=only)

    @property
    def row_type(self) -> LogicalType:
        """That of the input, unless the step changes it."""
        return self.input.row_type


def unique_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Names of which each is used once: later ones get a number, as Flink's planner gives them."""
    taken: set[str] = set()
    result = []
    for name in names:
        unique, number = name, 0
        while unique in taken:
            unique, number = f"{name}{number}", number + 1
        taken.add(unique)
        result.append(unique)
    return tuple(result)


def maybe_null(each: LogicalType, is_padded: bool) -> LogicalType:
    """The type with NULL if a join may put it there."""
    return each.with_nullable(True) if is_padded else each
