"""A pattern becomes an automaton.

The pattern is worked through from its end: each element is given the state that follows it, its *sink*, and gives
the state at which it is entered. The shape of the automaton decides how many partial matches there are, and with them
which matches and timeouts come out, so it follows what Flink's library was seen to do, oddities included:

- an element that waits keeps an IGNORE edge: none for `next`, "not this event" for `followed_by`, always for
  `followed_by_any`;
- an element that may be left out has a PROCEED edge past it, and waits in a state of its own that has none;
- a loop has a state with TAKE to itself and PROCEED past it, and waits between two repetitions in a state of its own;
- `not_followed_by` is a PROCEED edge to a stop state on each state that waits for what follows it;
- a greedy loop takes from every edge of its sink the events that the loop would take.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.cep.pattern import MalformedPatternError, windows_of
from penstock.cep.states import STOPPED, State, numbered
from penstock.runtime.operators.cep.automaton import (
    ALWAYS,
    FINAL,
    IGNORE,
    PENDING,
    PROCEED,
    TAKE,
    Automaton,
    Clauses,
    negated,
)
from penstock.runtime.operators.cep.elements import ANY, NOT_FOLLOW, NOT_NEXT, STRICT, Element


def compile_pattern(elements: tuple[Element, ...]) -> Automaton:
    """Make the automaton of a pattern that was checked."""
    windows = list(windows_of(elements))
    # As in Flink, `not_followed_by` at the end sees the time that is set there, not on an element before it.
    builder = _Builder(elements, has_window=elements[-1].within_first is not None)
    final = State(-1, FINAL)
    start = builder.sequence(_Place(elements, None, is_first_round=True), final)
    automaton = numbered(start, builder.names, builder.conditions, min(windows, default=None), builder.asked_for)
    _check_windows(automaton)
    return automaton


def _check_windows(automaton: Automaton) -> None:
    whole = automaton.window
    for state in automaton.states:
        if whole is not None and state.window is not None and state.window > whole:
            raise MalformedPatternError(
                f"{state.window} ms between two events is more than the {whole} ms of a whole match: make the time "
                "between events shorter, or within(...) longer."
            )


@dataclass(frozen=True)
class _Place:
    """A sequence that is being compiled: its group, if it is one, and whether this is the group's first round.

    `after` is the element that follows the group, if there is one.
    """

    elements: tuple[Element, ...]
    group: Element | None
    is_first_round: bool
    after: Element | None = None


class _Builder:
    """Makes states; knows the numbers of names and conditions."""

    def __init__(self, elements: Iterable[Element], *, has_window: bool) -> None:
        self.has_window = has_window
        self.names: list[str] = []
        self.conditions: list[Any] = []
        self.asked_for: list[str] = []
        self._numbers: dict[str, int] = {}
        self._has_state: set[str] = set()
        self._stops: dict[str, State] = {}
        self._atoms: dict[int, int] = {}
        self._collect(elements)

    def _collect(self, elements: Iterable[Element]) -> None:
        for element in elements:
            if element.group:
                self._collect(element.group)
            else:
                self._numbers[element.name] = len(self.names)
                self.names.append(element.name)
                self._remember(element.condition, f"the condition of {element.name!r}")
            self._remember(element.until, f"the until condition of {element.name!r}")

    def _remember(self, condition: Any, whose: str) -> None:
        if condition is None:
            return
        number = self._atoms.setdefault(id(condition), len(self.conditions))
        if number < len(self.conditions):
            self.asked_for[number] += f" and {whose}"
        else:
            self.conditions.append(condition)
            self.asked_for.append(whose)

    def atom(self, condition: Any) -> Clauses:
        """The clauses of what a user wrote; no condition always holds."""
        return ALWAYS if condition is None else (((self._atoms[id(condition)], True),),)

    def sequence(self, place: _Place, sink: State) -> State:
        """The entry of a sequence that ends in a sink."""
        for position in reversed(range(len(place.elements))):
            sink = _ElementBuilder(self, place, position).build(sink)
        return sink

    def state(self, element: Element) -> State:
        """A new state of an element."""
        return State(-1 if element.group else self._numbers[element.name])

    def main_state(self, element: Element) -> State:
        """A new state of an element, other than one that only waits: its gap is kept there.

        As in Flink it is not kept in the state that is made first, which is the one before the last repetition.
        """
        state = self.state(element)
        if element.name in self._has_state:
            state.window = element.gap
        self._has_state.add(element.name)
        return state

    def stop(self, element: Element) -> State:
        """The stop state of a negative element: there is one."""
        return self._stops.setdefault(element.name, State(self._numbers[element.name], STOPPED))


class _ElementBuilder:
    """Compiles one element of a sequence."""

    def __init__(self, builder: _Builder, place: _Place, position: int) -> None:
        self.builder = builder
        self.place = place
        self.element = place.elements[position]
        self.position = position
        self.is_head = place.group is not None and position == 0
        # A loop that is greedy and has an end: what its sink was before the loop took events from it.
        self.ungreedy_sink: State | None = None

    # ---- conditions ----

    def _unless_group_ended(self, clauses: Clauses) -> Clauses:
        group = self.place.group
        return clauses if group is None or group.until is None else self._unless(group.until, clauses)

    def _unless(self, until: Any, clauses: Clauses) -> Clauses:
        return negated(self.builder.atom(until)) + clauses

    def _take_of(self, element: Element) -> Clauses:
        return self._unless_group_ended(self.builder.atom(element.condition))

    @property
    def take(self) -> Clauses:
        """When an event belongs to the element."""
        return self._take_of(self.element)

    @property
    def loop_take(self) -> Clauses:
        """The same, not after the end of the loop."""
        return self.take if self.element.until is None else self._unless(self.element.until, self.take)

    @property
    def first_ignore(self) -> Clauses | None:
        """When an event may be passed over before the element's first event; None: never."""
        contiguity = self.element.contiguity
        group = self.place.group
        if self.is_head:
            assert group is not None
            contiguity = group.contiguity if self.place.is_first_round else group.inner
        return self._ignore(contiguity)

    @property
    def inner_ignore(self) -> Clauses | None:
        """When an event may be passed over between two events of the element; None: never."""
        group = self.place.group
        ignore = self._ignore(group.inner if self.is_head and group is not None else self.element.inner)
        if ignore is None or self.element.until is None:
            return ignore
        return self._unless(self.element.until, ignore)

    def _ignore(self, contiguity: str) -> Clauses | None:
        if contiguity == STRICT:
            return None
        passed = ALWAYS if contiguity == ANY else negated(self.builder.atom(self.element.condition))
        return self._unless_group_ended(passed)

    # ---- negative elements ----

    def _nots_before(self) -> list[Element]:
        """The elements that must not come while this one is waited for: behind it, or behind what may be left out."""
        found = []
        for element in reversed(self.place.elements[: self.position]):
            if element.contiguity == NOT_FOLLOW:
                found.append(element)
            elif not element.is_optional:
                break
        return found

    def _add_stops(self, state: State) -> None:
        for element in self._nots_before():
            self._add_stop(state, element)

    def _add_stop(self, state: State, element: Element) -> None:
        state.add(PROCEED, self.builder.stop(element), self._take_of(element))

    def _add_stop_of_next(self, state: State) -> None:
        """A loop that is followed by `not_followed_by` ends at such an event, too; also one at the end of a group."""
        after = self._after
        if after is not None and after.contiguity == NOT_FOLLOW:
            self._add_stop(state, after)

    @property
    def _after(self) -> Element | None:
        """The element that follows this one, or the group that this one ends."""
        elements, following = self.place.elements, self.position + 1
        return elements[following] if following < len(elements) else self.place.after

    def _without_nots(self, sink: State) -> State:
        """The sink for a match in which this element was found: what must not come before it may come now."""
        nots = self._nots_before()
        if not nots or not self.element.is_optional:
            return sink
        return sink.copy_without({self.builder.stop(each) for each in nots})

    # ---- shapes ----

    def build(self, sink: State) -> State:
        """The entry of the element."""
        if self.element.contiguity == NOT_FOLLOW:
            return self._pending() if sink.kind == FINAL and self._ends else sink
        if self.element.contiguity == NOT_NEXT:
            return self._not_next(sink)
        entry = self._repeated(sink) if self.element.is_quantified else self._once(sink)
        self._add_stops(entry)
        return entry

    @property
    def _ends(self) -> bool:
        # At the end of a group without a window, Flink leaves the element out.
        return self.builder.has_window or self.element.within_previous is not None

    def _pending(self) -> State:
        state = self.builder.state(self.element)
        state.kind, state.window = PENDING, self.element.within_previous
        self._add_stop(state, self.element)
        state.add(IGNORE, state, negated(self.take))
        return state

    def _not_next(self, sink: State) -> State:
        state = self.builder.state(self.element)
        state.window = self.element.within_previous
        # At the end of a pattern the event that shows that nothing came is passed over, and completes the match.
        state.add(IGNORE if sink.kind == FINAL else PROCEED, sink, negated(self.take))
        self._add_stop(state, self.element)
        return state

    def _once(self, sink: State) -> State:
        element = self.element
        entry = self._single(sink, sink, self.take, self.first_ignore, may_skip=element.is_optional, is_entry=True)
        if not element.group:
            entry.window = element.within_previous
        return entry

    def _repeated(self, sink: State) -> State:
        element = self.element
        if not element.is_loop:
            assert element.most is not None
            return self._times(sink, sink, element.least, element.most)
        loop = self._loop(self._without_nots(sink))
        return self._times(loop, sink, element.least, element.least)

    def _times(self, sink: State, past: State, least: int, most: int) -> State:
        """So many repetitions in front of a sink; `past` is where a match goes that leaves the rest out."""
        element, take, ignore = self.element, self.loop_take, self.inner_ignore
        if element.is_greedy and least != most:
            sink.forbid(take)
        for _ in range(least, most):
            sink = self._repetition(sink, past, take, ignore, may_skip=True)
        for _ in range(least - 1):
            sink = self._repetition(sink, past, take, ignore, may_skip=False)
        return self._single(sink, past, take, self.first_ignore, may_skip=element.is_optional, is_entry=True)

    def _repetition(self, sink: State, past: State, take: Clauses, ignore: Clauses | None, *, may_skip: bool) -> State:
        state = self._single(sink, past, take, ignore, may_skip=may_skip, is_entry=False)
        self._add_stop_of_next(state)
        return state

    def _single(
        self, sink: State, past: State, take: Clauses, ignore: Clauses | None, *, may_skip: bool, is_entry: bool
    ) -> State:
        """A state that takes one event, or the states of one round of a group."""
        if self.element.group:
            return self._round(sink, past, may_skip=may_skip, is_first=is_entry)
        state, taken = self.builder.main_state(self.element), self._without_nots(sink)
        state.add(TAKE, taken, take)
        if may_skip:
            self._add_skips(state, past)
        if ignore is None:
            return state
        if not may_skip and not self._is_head_of_optional_group():
            state.add(IGNORE, state, ignore)
            return state
        # A match that waits has decided that the element comes: it waits where there is no way past.
        waiting = self.builder.state(self.element)
        waiting.add(TAKE, taken, take)
        waiting.add(IGNORE, waiting, ignore)
        self._add_stops(waiting)
        state.add(IGNORE, waiting, ignore)
        return state

    def _is_head_of_optional_group(self) -> bool:
        group = self.place.group
        return self.is_head and group is not None and self.place.is_first_round and group.is_optional

    def _add_skips(self, state: State, past: State) -> None:
        element, always = self.element, self._unless_group_ended(ALWAYS)
        if not element.is_greedy or element.until is None:
            state.add(PROCEED, past, always)
            return
        ended = self.builder.atom(element.until)
        if self.ungreedy_sink is not None:
            state.add(PROCEED, self.ungreedy_sink, always + ended)
        state.add(PROCEED, past, always + negated(ended))

    def _loop(self, sink: State) -> State:
        element = self.element
        if element.group:
            return self._group_loop(sink)
        state = self.builder.main_state(element)
        if element.is_greedy:
            self.ungreedy_sink = sink.copy() if element.until is not None else None
        self._add_skips(state, sink)
        if element.is_greedy:
            sink.forbid(self.take)
        state.add(TAKE, state, self.loop_take)
        self._add_stop_of_next(state)
        ignore = self.inner_ignore
        if ignore is not None:
            waiting = self.builder.state(element)
            waiting.add(TAKE, state, self.loop_take)
            waiting.add(IGNORE, waiting, ignore)
            state.add(IGNORE, waiting, ignore)
            self._add_stop_of_next(waiting)
        return state

    # ---- groups ----

    def _round(self, sink: State, past: State, *, may_skip: bool, is_first: bool) -> State:
        """One round of a group."""
        entry = self.builder.sequence(_Place(self.element.group, self.element, is_first, self._after), sink)
        if may_skip:
            entry.add(PROCEED, past, ALWAYS)
        return entry

    def _group_loop(self, sink: State) -> State:
        again = self.builder.state(self.element)
        entry = self.builder.sequence(_Place(self.element.group, self.element, False, self._after), again)
        entry.add(PROCEED, sink, ALWAYS)
        again.add(PROCEED, entry, ALWAYS)
        return entry
