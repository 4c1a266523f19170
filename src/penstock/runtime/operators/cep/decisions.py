"""What an event does in a state of an automaton, given what its conditions say: trees that are made once.

A condition is asked when its answer is needed and not before, in the order of the edges; a tree has the questions in
that order, and at its ends what is to be done. Nothing here asks a condition.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from penstock.runtime.operators.cep.automaton import FINAL, IGNORE, PENDING, PROCEED, TAKE, Automaton, Clauses, State

Step = tuple[bool, int, int, int]
"""Whether the event is taken, for which element, the state after that, and the final state that is reached at once."""
NO_STATE = -1


class Decision(NamedTuple):
    """The steps in order, whether the event is one that must not come, and whether anything changes at all."""

    steps: list[Step]
    is_stopped: bool
    has_effect: bool


class Question:
    """A condition to ask, by its number; `answers` leads on from no and from yes, as far as it was needed so far."""

    __slots__ = ("answers", "known", "number", "state")

    def __init__(self, number: int, state: int, known: dict[int, bool]) -> None:
        self.number = number
        self.state = state
        self.known = known
        self.answers: list[Question | Decision | None] = [None, None]


class _OpenQuestion(Exception):
    """A decision depends on a condition that was not asked."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Decisions:
    """The trees of an automaton."""

    def __init__(self, automaton: Automaton) -> None:
        self._edges = [state.edges for state in automaton.states]
        self._finals = [state.kind == FINAL for state in automaton.states]
        self._may_finish = [_may_finish(automaton.states, state) for state in automaton.states]
        self.roots = [self._made(state, {}) for state in range(len(automaton.states))]

    def after(self, question: Question, answer: bool) -> Question | Decision:
        """What follows an answer."""
        found = question.answers[answer]
        if found is None:
            found = self._made(question.state, {**question.known, question.number: answer})
            question.answers[answer] = found
        return found

    def possible(self, state: int, known: dict[int, bool]) -> list[Decision]:
        """All that may be decided in a state where only some answers are known."""
        found: list[Decision] = []
        waiting = [self.roots[state]]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Decision):
                found.append(node)
                continue
            answers = (False, True) if node.number not in known else (known[node.number],)
            waiting += [self.after(node, answer) for answer in answers]
        return found

    def _made(self, state: int, known: dict[int, bool]) -> Question | Decision:
        try:
            return self._decided(state, known)
        except _OpenQuestion as question:
            return Question(question.number, state, known)

    def _decided(self, state: int, known: dict[int, bool]) -> Decision:
        steps: list[Step] = []
        is_stopped = False
        # A loop whose elements may all be left out leads back to where it began: nothing new is found there.
        waiting = [(state, frozenset({state}))]
        while waiting:
            here, path = waiting.pop()
            for action, target, element, clauses in self._edges[here]:
                if not _holds(clauses, known):
                    continue
                if action == TAKE:
                    final = self._final_after(target, known) if self._may_finish[target] else NO_STATE
                    steps.append((True, element, target, final))
                elif action == IGNORE:
                    steps.append((False, 0, target, NO_STATE))
                elif action == PROCEED:
                    if target not in path:
                        waiting.append((target, path | {target}))
                else:
                    is_stopped = True
        return Decision(steps, is_stopped, _has_effect(state, steps, is_stopped))

    def _final_after(self, state: int, known: dict[int, bool]) -> int:
        """The final state that a match which has just taken the event is in at once; or none."""
        waiting, seen = [state], {state}
        while waiting:
            for action, target, _, clauses in self._edges[waiting.pop()]:
                if action == PROCEED and target not in seen and _holds(clauses, known):
                    if self._finals[target]:
                        return target
                    seen.add(target)
                    waiting.append(target)
        return NO_STATE


def held_states(automaton: Automaton) -> Iterable[int]:
    """The states that a partial match may wait in, with the one before it has started."""
    found = {0}
    for state in automaton.states:
        found |= {edge.target for edge in state.edges if edge.action in (TAKE, IGNORE)}
    return sorted(number for number in found if automaton.states[number].kind != FINAL)


def minds_time_of_events(automaton: Automaton, *, is_ordered: bool) -> bool:
    """Whether what comes out depends on the moments at which time passes, not only on how far it has come.

    Where a whole match has a limit and nothing else has one, a partial match that runs out is told with the end of its
    own time, whenever that is found out.
    """
    if automaton.window is None and all(state.window is None for state in automaton.states):
        return False
    return is_ordered or any(state.kind == PENDING or state.window is not None for state in automaton.states)


def _holds(clauses: Clauses, known: dict[int, bool]) -> bool:
    for clause in clauses:
        for number, wanted in clause:
            truth = known.get(number)
            if truth is None:
                raise _OpenQuestion(number)
            if truth is wanted:
                break
        else:
            return False
    return True


def _has_effect(state: int, steps: list[Step], is_stopped: bool) -> bool:
    if state == 0:
        return any(step[0] for step in steps)
    return is_stopped or steps != [(False, 0, state, NO_STATE)]


def _may_finish(states: tuple[State, ...], state: State) -> bool:
    """Whether a final state may be reached without an event."""
    seen, waiting = set(), [state]
    while waiting:
        for edge in waiting.pop().edges:
            if edge.action == PROCEED and edge.target not in seen:
                if states[edge.target].kind == FINAL:
                    return True
                seen.add(edge.target)
                waiting.append(states[edge.target])
    return False
