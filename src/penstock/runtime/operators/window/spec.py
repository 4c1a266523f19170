"""The specification of a window operator, as one picklable object."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from penstock.runtime.columns import KeyFields
from penstock.vocabulary.commutativity import Order, order_of
from penstock.vocabulary.output_tag import OutputTag
from penstock.vocabulary.window import Evictor, Trigger, WindowAssigner


class Evaluation(enum.Enum):
    """How a fired window becomes output."""

    RESULT = "result"
    """The reduced or aggregated value itself."""
    APPLY = "apply"
    """`function.apply(key, window, inputs)`."""
    APPLY_ALL = "apply all"
    """`function.apply(window, inputs)`."""
    PROCESS = "process"
    """`function.process(key, context, elements)`."""
    PROCESS_ALL = "process all"
    """`function.process(context, elements)`."""


@dataclass(frozen=True)
class WindowSpec:
    """Everything a `WindowOperator` has to know.

    `combine` is a reduce function, a callable of two values or an aggregate function; without one the elements
    themselves are kept. With `takes_partials` some of the values that come in are `Partial` objects. `key_fields` are
    the fields that the key is, if it is known to be nothing else. `order` is what `combine` minds of the order of
    arrival, found where the program is: a function that is imported by name elsewhere may have lost what it said.
    """

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    evaluation: Evaluation
    function: Any = None
    combine: Any = None
    evictor: Evictor[Any, Any] | None = None
    allowed_lateness: int = 0
    late_tag: OutputTag | None = None
    takes_partials: bool = False
    key_fields: KeyFields | None = None
    order: Order = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", order_of(self.combine))
