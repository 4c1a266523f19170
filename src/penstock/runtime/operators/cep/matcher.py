"""What an event, and the passing of time, does to the partial matches of one key. No clock and no store.

A partial match is a tuple: number of its state, number of its last link in the buffer, time of its first event, time
of its last event, number of its first event. There is always one that has not started yet; a new match may begin with
every event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

from penstock.runtime.operators.cep.automaton import FINAL, PENDING, Automaton
from penstock.runtime.operators.cep.buffer import NO_LINK, DictRows, MatchBuffer
from penstock.runtime.operators.cep.decisions import NO_STATE, Decision, Decisions, Question, Step
from penstock.runtime.operators.cep.order import StartQueue
from penstock.runtime.operators.cep.skipping import AfterMatchSkipStrategy

Partial = tuple[int, int, int, int, float]
Match = dict[str, list[Any]]
Timeout = tuple[Match, int]

NOT_STARTED: Partial = (0, NO_LINK, 0, 0, inf)
first_event_of = itemgetter(4)


class Test(NamedTuple):
    """A condition, ready to be called with an event, and with what is known of the match if it `is_iterative`."""

    call: Callable[..., Any]
    is_iterative: bool


class MatchContext:
    """What an iterative condition may ask: the events that the partial match has taken, and the time."""

    __slots__ = ("_clock", "_found", "_link", "_numbers", "_own_all", "_run", "time")

    def __init__(
        self, names: tuple[str, ...], clock: Callable[[], int], own_all: Callable[[list[Any]], list[Any]]
    ) -> None:
        self._numbers = {name: number for number, name in enumerate(names)}
        self._clock = clock
        # The events stay in the buffer, whatever a condition does to those it is shown.
        self._own_all = own_all
        self._found: dict[str | None, list[Any]] = {}
        self._run: KeyRun | None = None
        self._link = NO_LINK
        self.time = 0

    def show(self, run: KeyRun, link: int) -> None:
        """Be about a partial match from now on."""
        self._run, self._link, self._found = run, link, {}

    def get_events_for_pattern(self, name: str) -> list[Any]:
        """The events that this partial match has taken for an element, in order; empty if there are none."""
        if name not in self._numbers:
            known = ", ".join(self._numbers)
            raise ValueError(f"get_events_for_pattern: the pattern has no element {name!r}; it has {known}.")
        return self._own_all(list(self.events(name)))

    def events(self, name: str | None) -> list[Any]:
        """The same without copies, for code that changes nothing; None: the events of all elements."""
        found = self._found.get(name)
        if found is None:
            assert self._run is not None
            found = self._found[name] = self._run.buffer.events_of(self._link, self._number(name))
        return found

    def last_event(self, name: str | None, offset: int) -> Any:
        """The event so many before the last one of an element, or of any; None if there is none. No copy."""
        assert self._run is not None
        return self._run.buffer.last_event_of(self._link, self._number(name), offset)

    def _number(self, name: str | None) -> int | None:
        # An element that is not there has taken nothing.
        return None if name is None else self._numbers.get(name, -1)

    def timestamp(self) -> int:
        """Time of the event."""
        return self.time

    def current_processing_time(self) -> int:
        """The clock, in milliseconds."""
        return self._clock()


class KeyRun:
    """The partial matches of one key, matches that are complete but held back, and the events they need.

    `size` is the number of links in the buffer; `has_begun` says whether the last event has begun a match. `due`: no
    partial match runs out of time before; None if that has to be found out. `states`: those that partial matches are
    in, in the order of the matches; None likewise.
    """

    __slots__ = ("buffer", "completed", "due", "has_begun", "next_event", "next_link", "partials", "size", "states")

    def __init__(self, buffer: MatchBuffer) -> None:
        self.buffer = buffer
        self.partials = StartQueue(first_event_of, [NOT_STARTED])
        self.completed = StartQueue(first_event_of)
        self.next_event = 1
        self.next_link = 1
        self.size = 0
        self.has_begun = False
        self.due: float | None = None
        self.states: list[int] | None = None

    @staticmethod
    def in_memory() -> KeyRun:
        """A run that keeps what it needs in plain dicts."""
        return KeyRun(MatchBuffer(DictRows(), DictRows(), DictRows(), DictRows()))

    @property
    def is_idle(self) -> bool:
        """Whether no match has started: nothing need be kept."""
        return len(self.partials) == 1 and not self.completed.items


class Matcher:
    """Applies one automaton to runs. `tests` are the automaton's conditions, opened."""

    def __init__(
        self,
        automaton: Automaton,
        skip: AfterMatchSkipStrategy,
        tests: Iterable[Test],
        clock: Callable[[], int] = lambda: 0,
        own_all: Callable[[list[Any]], list[Any]] = list,
    ) -> None:
        self.automaton = automaton
        self.names = automaton.names
        self._skip = skip
        self._is_ordered = skip.is_skip_strategy()
        self._tests = tuple(tests)
        self._iterative = [number for number, test in enumerate(self._tests) if test.is_iterative]
        self._blank: list[bool | None] = [None] * len(self._tests)
        self._truths = self._blank
        self._value: Any = None
        # The condition that raised, by number: whoever tells of the error wants to name it.
        self.failed: int | None = None
        self.context = MatchContext(automaton.names, clock, own_all)
        self._finals = [state.kind == FINAL for state in automaton.states]
        self._pending = [state.kind == PENDING for state in automaton.states]
        self._windows = [state.window for state in automaton.states]
        self._window = inf if automaton.window is None else automaton.window
        self._decisions = Decisions(automaton)
        self._roots = self._decisions.roots
        self.first_asked = self._first_asked()
        self.has_state_windows = any(each is not None for each in self._windows)
        self.has_windows = automaton.window is not None or self.has_state_windows

    # ---- events ----

    def _first_asked(self) -> int | None:
        """The condition without which nothing begins, if it is about the event alone."""
        root = self._roots[0]
        if not isinstance(root, Question) or self._tests[root.number].is_iterative:
            return None
        refused = self._decisions.after(root, False)
        return root.number if isinstance(refused, Decision) and not refused.has_effect else None

    def may_begin(self, values: Iterable[Any]) -> list[bool] | None:
        """Ask for each event whether it may begin a match; None where one question does not tell."""
        if self.first_asked is None:
            return None
        call = self._tests[self.first_asked].call
        truths: list[bool] = []
        try:
            for value in values:
                truths.append(bool(call(value)))
        except Exception:
            self.failed, self._value = self.first_asked, value
            raise
        return truths

    def process(self, run: KeyRun, value: Any, time: int, begins: bool | None = None) -> list[Match] | None:
        """Offer an event to all partial matches; the matches that come out. None: nothing has changed.

        `begins` is what `may_begin` has said of the event, if it was asked.
        """
        self._value, self._truths, self.context.time = value, self._blank.copy(), time
        if begins is not None:
            assert self.first_asked is not None
            self._truths[self.first_asked] = begins
        if self._iterative:
            return self._process_each(run)
        states = run.states
        if states is None:
            states = run.states = list(dict.fromkeys([partial[0] for partial in run.partials.items]))
        decisions = {}
        is_changed = False
        for state in states:
            decision = decisions[state] = self._decision(state)
            is_changed = is_changed or decision[2]
        if not is_changed:
            return None
        return _EventStep(self, run, value, time).apply_by_state(decisions)

    def _process_each(self, run: KeyRun) -> list[Match] | None:
        """The same where conditions on the match itself say something different for each."""
        decided = []
        is_changed = False
        for partial in run.partials.items:
            self.context.show(run, partial[1])
            for number in self._iterative:
                self._truths[number] = None
            decision = self._decision(partial[0])
            is_changed = is_changed or decision[2]
            decided.append((partial, decision))
        if not is_changed:
            return None
        return _EventStep(self, run, self._value, self.context.time).apply(decided)

    def _decision(self, state: int) -> Decision:
        """What the event does in a state; asks conditions as far as needed."""
        node, truths = self._roots[state], self._truths
        while node.__class__ is Question:
            number = node.number
            truth = truths[number]
            if truth is None:
                truth = self._ask(number)
            node = node.answers[truth] or self._decisions.after(node, truth)
        return node  # type: ignore[return-value]

    def _ask(self, number: int) -> bool:
        call, is_iterative = self._tests[number]
        try:
            truth = bool(call(self._value, self.context) if is_iterative else call(self._value))
        except Exception:
            self.failed = number
            raise
        self._truths[number] = truth
        return truth

    def failing_question(self) -> tuple[str, Any] | None:
        """The condition that raised, by the name of its element, and the event that it was asked about."""
        return None if self.failed is None else (self.automaton.asked_for[self.failed], self._value)

    def is_final(self, state: int) -> bool:
        """Whether a match in a state is complete."""
        return self._finals[state]

    # ---- time ----

    def advance(self, run: KeyRun, time: int) -> tuple[list[Match], list[Timeout]] | None:
        """Let time pass: matches that come out by that, and partial matches that have run out of time."""
        if run.due is None or run.due <= time:
            run.due = min(map(self._due, run.partials.items))
        if run.due > time:
            return None
        expired = [partial for partial in run.partials.items if self._due(partial) <= time]
        gone = set(map(id, expired))
        if not self._is_ordered:  # their order in the list is that of rows, not of time
            expired.sort(key=self._due)
        changes = _Changes(self, run, [each for each in run.partials.items if id(each) not in gone])
        timeouts: list[Timeout] = []
        ended = []
        for partial in expired:
            if self._pending[partial[0]]:
                ended.append(partial)
            else:
                timeouts.append((run.buffer.events_by_name(partial[1], self.names), self._timeout_time(partial, time)))
                changes.let_go(partial[1])
        run.due = None
        return changes.finish(ended), timeouts

    def _due(self, partial: Partial) -> float:
        """When a partial match runs out of time."""
        if partial is NOT_STARTED or partial[4] == inf:
            return inf
        window = self._windows[partial[0]]
        due = partial[2] + self._window
        return due if window is None else min(due, partial[3] + window)

    def note_begun(self, run: KeyRun, time: int) -> None:
        """A match has begun at a time."""
        run.has_begun = True
        if run.due is not None and time + self._window < run.due:
            run.due = time + self._window

    def _timeout_time(self, partial: Partial, time: int) -> int:
        window = self._windows[partial[0]]
        if window is not None and partial[3] + window <= time:
            return partial[3] + window
        return int(partial[2] + self._window)

    # ---- for the steps below ----

    @property
    def is_ordered(self) -> bool:
        """Whether the order of partial matches matters, and complete ones may have to wait."""
        return self._is_ordered

    @property
    def skip(self) -> AfterMatchSkipStrategy:
        """What a match that comes out does to others."""
        return self._skip


class _Changes:
    """What becomes of a run: its new partial matches, the references to links, the matches that come out."""

    def __init__(self, matcher: Matcher, run: KeyRun, partials: list[Partial]) -> None:
        self._matcher = matcher
        self._run = run
        self._deltas: dict[int, int] = {}
        self.partials: StartQueue = StartQueue(first_event_of)
        for partial in partials:
            self.keep(partial)

    def keep(self, partial: Partial) -> None:
        """Add a partial match."""
        if self._matcher.is_ordered:
            self.partials.add(partial)
        else:
            self.partials.items.append(partial)

    def refer(self, link: int) -> None:
        """One more match needs a link."""
        self._deltas[link] = self._deltas.get(link, 0) + 1

    def let_go(self, link: int) -> None:
        """One match less needs a link."""
        self._deltas[link] = self._deltas.get(link, 0) - 1

    def finish(self, completed: list[Partial]) -> list[Match]:
        """Emit what is complete, then remove what no match needs any more; the matches that come out."""
        run, matches = self._run, []
        if self._matcher.is_ordered:
            for match in completed:
                run.completed.add(match)
            matches = self._emit_in_order()
        else:
            for match in completed:
                matches.append(self._events(match))
                self.let_go(match[1])
        run.partials, run.states = self.partials, None
        if self._matcher.has_state_windows:
            run.due = None
        run.size -= run.buffer.change(self._deltas)
        return matches

    def _events(self, match: Partial) -> Match:
        return self._run.buffer.events_by_name(match[1], self._matcher.names)

    def _emit_in_order(self) -> list[Match]:
        """A match waits as long as one that started earlier may still come out."""
        completed, matches = self._run.completed, []
        while completed.items:
            partial = self.partials.first()
            if partial is not None and partial[4] < completed.first()[4]:
                break
            match = completed.take()
            matches.append(self._events(match))
            self._prune(match)
            self.let_go(match[1])
        return matches

    def _prune(self, match: Partial) -> None:
        matcher, run = self._matcher, self._run
        links = list(run.buffer.way_back(match[1]))
        links.reverse()
        bound = matcher.skip.first_to_stay(links, matcher.names)
        if bound is not None:
            for gone in self.partials.keep(lambda other: other[4] >= bound):
                self.let_go(gone[1])
            for gone in run.completed.keep(lambda other: other[4] >= bound):
                self.let_go(gone[1])


class _EventStep(_Changes):
    """Applies what was decided for one event."""

    def __init__(self, matcher: Matcher, run: KeyRun, value: Any, time: int) -> None:
        super().__init__(matcher, run, [])
        self._value = value
        self._time = time
        self._event = run.next_event
        self._links = 0
        self._completed: list[Partial] = []

    def apply_by_state(self, decisions: dict[int, Decision]) -> list[Match]:
        """Make the new partial matches where the state of one decides; the matches that come out."""
        items = self._run.partials.items
        if self._matcher.is_ordered:
            return self.apply([(partial, decisions[partial[0]]) for partial in items])
        self._run.has_begun = False
        stay = self.partials.items.append
        for partial in items:
            decision = decisions[partial[0]]
            if not decision[2]:
                stay(partial)
            elif partial[4] == inf:
                self._begin(decision[0], decision[1])
            else:
                self._go_on(partial, decision[0], decision[1])
        return self._finished()

    def apply(self, decided: list[tuple[Partial, Decision]]) -> list[Match]:
        """Make the new partial matches; the matches that come out."""
        self._run.has_begun = False
        for partial, (steps, is_stopped, _) in decided:
            if partial[4] == inf:
                self._begin(steps, is_stopped)
            else:
                self._go_on(partial, steps, is_stopped)
        return self._finished()

    def _finished(self) -> list[Match]:
        run = self._run
        if self._links:
            run.next_event += 1
            run.size += self._links
            run.buffer.events.hold(self._event, self._value)
            if self._links > 1:
                run.buffer.shared_events.hold(self._event, self._links)
        return self.finish(self._completed)

    def _begin(self, steps: list[Step], is_stopped: bool) -> None:
        for is_taken, element, target, final in steps:
            if is_taken:
                self._take(NOT_STARTED, element, target, final, self._event, self._time, is_stopped=is_stopped)
        self.keep(NOT_STARTED)

    def _go_on(self, partial: Partial, steps: list[Step], is_stopped: bool) -> None:
        state, link, start_time, last_time, first = partial
        is_kept = False
        for is_taken, element, target, final in steps:
            if is_taken:
                self._take(partial, element, target, final, first, start_time, is_stopped=is_stopped)
            elif self._matcher.is_final(target):
                self.refer(link)
                self._completed.append((target, link, start_time, last_time, first))
            elif not is_stopped:
                if target == state and not is_kept:
                    is_kept = True
                    self.keep(partial)
                else:
                    self.refer(link)
                    self.keep((target, link, start_time, last_time, first))
        if not is_kept:
            self.let_go(link)

    def _take(
        self,
        partial: Partial,
        element: int,
        target: int,
        final: int,
        first: float,
        start_time: int,
        *,
        is_stopped: bool,
    ) -> None:
        """Make the match in which the event was taken, unless another path has met what must not come."""
        is_final = self._matcher.is_final(target)
        goes_on = not is_final and not is_stopped
        holders = goes_on + is_final + (final != NO_STATE)
        if not holders:
            return
        link = self._link(element, partial[1], holders)
        if goes_on:
            self.keep((target, link, start_time, self._time, first))
            if partial is NOT_STARTED:
                self._matcher.note_begun(self._run, start_time)
        if is_final:
            self._completed.append((target, link, start_time, self._time, first))
        if final != NO_STATE:
            self._completed.append((final, link, start_time, self._time, first))

    def _link(self, element: int, before: int, holders: int) -> int:
        run = self._run
        link = run.next_link
        run.next_link += 1
        run.buffer.links.hold(link, (element, self._event, before))
        self._links += 1
        self._deltas[link] = holders - 1  # the first reference is not counted
        if before != NO_LINK:
            self.refer(before)
        return link
