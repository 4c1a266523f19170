"""Runs the matching core by hand, in event time, with one watermark at the end."""

from __future__ import annotations

import json
from typing import Any

from penstock.cep import Pattern
from penstock.cep.compilation import compile_pattern
from penstock.cep.pattern import check_pattern
from penstock.common.constants import MAX_WATERMARK
from penstock.runtime.operators.cep.conditions import test_of as condition_test
from penstock.runtime.operators.cep.matcher import KeyRun, Match, Matcher


def matcher_of(pattern: Pattern) -> Matcher:
    automaton = compile_pattern(check_pattern(pattern))
    tests = [condition_test(condition) for condition in automaton.conditions]
    return Matcher(automaton, pattern.get_after_match_skip_strategy(), tests)


class Core:
    """One run, with what has come out of it."""

    def __init__(self, pattern: Pattern) -> None:
        self.matcher = matcher_of(pattern)
        self.run = KeyRun.in_memory()
        self.matches: list[tuple[Match, int]] = []
        self.timeouts: list[tuple[Match, int]] = []

    def offer(self, event: Any, time: int) -> None:
        self.matches += [(match, time) for match in self.matcher.process(self.run, event, time) or ()]

    def advance(self, time: int) -> None:
        matches, timeouts = self.matcher.advance(self.run, time) or ((), ())
        self.matches += [(match, time) for match in matches]
        self.timeouts += timeouts

    def play(self, events: list[Any]) -> Core:
        """Offer pairs of name and time in order of time, then let all time pass."""
        for time in sorted({time for _, time in events}):
            self.advance(time)
            for event in events:
                if event[1] == time:
                    self.offer(tuple(event), time)
        self.advance(MAX_WATERMARK)
        return self

    @property
    def rows(self) -> int:
        """How many objects are kept."""
        buffer: Any = self.run.buffer
        return sum(map(len, (buffer.links, buffer.events, buffer.shared_links, buffer.shared_events)))


def shown(found: list[tuple[Match, int]]) -> list[str]:
    """Matches as measured cases have them, in an order of their own."""
    return sorted(
        json.dumps([sorted(event[0] for events in match.values() for event in events), time]) for match, time in found
    )
