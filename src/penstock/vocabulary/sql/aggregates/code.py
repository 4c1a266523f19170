"""What the code of an aggregate function is made of: slots of an accumulator, views, and lines of Python.

An accumulator of all aggregate calls of an operator is one flat tuple of plain values, its *slots*, so that it can be
typed state, and the code of all calls works on local variables. What grows with the number of values (DISTINCT, MIN
with retraction) is in *views*: maps in keyed state beside the accumulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.common.typeinfo import TypeInformation
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.typed_expressions import AggregateCall

__all__ = ["CallCode", "Compiling", "Slot", "View", "nested"]


@dataclass(frozen=True)
class Slot:
    """A variable of an accumulator: its name in code, its type in state and the text of what it starts with."""

    name: str
    type: TypeInformation
    initial: str = "None"


@dataclass(frozen=True)
class View:
    """A map in keyed state: its name in code and in state, and its types."""

    name: str
    key_type: TypeInformation
    value_type: TypeInformation


@dataclass
class CallCode:
    """The code of one call. Arguments are variables; `merge` adds slots whose names end in `_` to those without.

    `retract` is None if the call cannot take rows back; `merge` None if it cannot be merged.
    """

    slots: list[Slot]
    accumulate: list[str]
    retract: list[str] | None
    value: str
    merge: list[str] | None = None
    views: list[View] = field(default_factory=list)


@dataclass
class Compiling:
    """What a call is compiled in: its number, whether rows may be taken back, and names that code may use."""

    call: AggregateCall
    number: int
    retracts: bool
    scope: dict[str, Any]
    arguments: tuple[str, ...]
    in_over: bool = False

    def slot(self, name: str, type_info: TypeInformation, initial: str = "None") -> Slot:
        """A slot of this call."""
        return Slot(f"{name}{self.number}", type_info, initial)

    def view(self, name: str, key_type: TypeInformation, value_type: TypeInformation) -> View:
        """A view of this call."""
        return View(f"{name}{self.number}", key_type, value_type)

    def known(self, name: str, value: Any) -> str:
        """Let code use an object; the name for it."""
        unique = f"{name}{self.number}"
        self.scope[unique] = value
        return unique

    @property
    def function(self) -> str:
        """The name of the function."""
        return self.call.function

    @property
    def argument_type(self) -> LogicalType:
        """The type of the first argument; where it was not given, that of the result."""
        return self.call.argument_types[0] if self.call.argument_types else self.call.type

    @property
    def argument(self) -> str:
        """The variable of the first argument."""
        return self.arguments[0]


Compiler = Callable[[Compiling], CallCode]


def nested(condition: str, lines: list[str]) -> list[str]:
    """Lines under a condition."""
    return [f"if {condition}:", *("    " + line for line in lines)] if lines else []
