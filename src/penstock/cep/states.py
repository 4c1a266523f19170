"""States while an automaton is being built: each knows the states that its edges lead to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.runtime.operators.cep import automaton
from penstock.runtime.operators.cep.automaton import FINAL, NORMAL, PROCEED, STOP, Automaton, Clauses, negated

STOPPED = "stopped"
"""The kind of a state that no match comes back from."""


class State:
    """A state; `element` is the number of the element that an event taken here belongs to."""

    def __init__(self, element: int, kind: str = NORMAL) -> None:
        self.element = element
        self.kind = kind
        self.window: int | None = None
        self.edges: list[Edge] = []

    def add(self, action: int, target: State, clauses: Clauses) -> None:
        """Add an edge; edges are looked at in the order they were added."""
        self.edges.append(Edge(action, target, clauses))

    def forbid(self, taken: Clauses) -> None:
        """Take events from all edges."""
        for edge in self.edges:
            edge.clauses += negated(taken)

    def copy(self) -> State:
        """A state of its own with the same edges."""
        made = State(self.element, self.kind)
        for edge in self.edges:
            made.add(edge.action, made if edge.target is self else edge.target, edge.clauses)
        return made

    def copy_without(self, forgotten: set[State], copies: dict[State, State] | None = None) -> State:
        """A copy without edges to some stop states, also behind its PROCEED edges."""
        copies = {} if copies is None else copies
        made = copies[self] = State(self.element, self.kind)
        for edge in self.edges:
            target = edge.target
            if target in forgotten:
                continue
            if target is self:
                target = made
            elif edge.action == PROCEED and target.kind != STOPPED:
                target = copies.get(target) or target.copy_without(forgotten, copies)
            made.add(edge.action, target, edge.clauses)
        return made


class Edge:
    """What may happen to an event in a state."""

    __slots__ = ("action", "clauses", "target")

    def __init__(self, action: int, target: State, clauses: Clauses) -> None:
        self.action = action
        self.target = target
        self.clauses = clauses


def numbered(
    start: State, names: list[str], conditions: list[Any], window: int | None, asked_for: list[str]
) -> Automaton:
    """The automaton that begins in a state. The numbers depend on the shape of the pattern alone."""
    reachable = list(_reachable(start))
    numbers = {state: number for number, state in enumerate(reachable)}
    states = tuple([automaton.State(state.kind, state.window, _plain_edges(state, numbers)) for state in reachable])
    return Automaton(states, tuple(names), tuple(conditions), window, tuple(asked_for))


def _plain_edges(state: State, numbers: dict[State, int]) -> tuple[automaton.Edge, ...]:
    return tuple(
        [
            automaton.Edge(
                STOP if edge.target.kind == STOPPED else edge.action, numbers[edge.target], state.element, edge.clauses
            )
            for edge in state.edges
        ]
    )


def _reachable(start: State) -> Iterator[State]:
    seen, waiting = {start}, [start]
    for state in waiting:
        yield state
        for edge in state.edges:
            if edge.target not in seen:
                seen.add(edge.target)
                waiting.append(edge.target)


__all__ = ["FINAL", "STOPPED", "Edge", "State", "numbered"]
