"""A pattern as an automaton, as plain data: states with a number, and edges that an event may take.

What a pattern becomes is decided in `penstock.cep.compilation`; what is done with an event in
`penstock.runtime.operators.cep.matcher`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

TAKE = 0
"""The event becomes part of the match."""
IGNORE = 1
"""The event is passed over."""
PROCEED = 2
"""The state is left without the event, which is offered to the next state."""
STOP = 3
"""The match has met what it must not have, and is gone."""

NORMAL = "normal"
FINAL = "final"
"""The match is complete."""
PENDING = "pending"
"""The match is complete if time runs out before something comes that must not."""

Literal = tuple[int, bool]
Clauses = tuple[tuple[Literal, ...], ...]
"""When an edge may be taken: in each clause at least one condition, given by its number, is as wanted."""
ALWAYS: Clauses = ()


class Edge(NamedTuple):
    """What may happen to an event in a state; `element` is the number of the element that it is taken for."""

    action: int
    target: int
    element: int
    clauses: Clauses


class State(NamedTuple):
    """Where a partial match may be; `window`: for how many milliseconds after its last event (None: no limit)."""

    kind: str
    window: int | None
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Automaton:
    """A compiled pattern; a match begins in the first state.

    `names` are the names of its elements by number, `conditions` what users wrote, by number, and `window` the time
    from the first event of a match to its last in milliseconds. `asked_for` says in words whose a condition is.
    """

    states: tuple[State, ...]
    names: tuple[str, ...]
    conditions: tuple[Any, ...]
    window: int | None = None
    asked_for: tuple[str, ...] = ()


def negated(clauses: Clauses) -> Clauses:
    """What holds when some clauses do not."""
    result: list[tuple[Literal, ...]] = [()]
    for clause in clauses:
        result = [(*so_far, (atom, not wanted)) for so_far in result for atom, wanted in clause]
    return tuple(result)
