"""Plays measured cases as jobs: several cases are branches of one job."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.cep import CEP, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.common import WatermarkStrategy
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.data_stream import DataStream
from penstock.errors import PenstockError
from tests.conformance.cep.notation import NotationError, pattern_of

Case = dict[str, Any]
KNOWN = frozenset({"pattern", "skip", "events", "matches", "timeouts", "raises"})
_TIMEOUTS = OutputTag("timeouts")
_EVENT = ("name", "timestamp", "key")


@dataclass
class Played:
    """What a case gave: matches and timeouts, or the error; or why it could not be read."""

    matches: list[str] = field(default_factory=list)
    timeouts: list[str] = field(default_factory=list)
    error: str = ""
    unreadable: str = ""

    def agrees(self, case: Case) -> bool:
        """Whether it is what was measured; the order of matches and of names in a match has no meaning."""
        if self.unreadable:
            return False
        if "raises" in case:
            return bool(self.error)
        kinds = [kind for kind in ("matches", "timeouts") if kind in case]
        return not self.error and all(sorted(getattr(self, kind)) == measured(case[kind]) for kind in kinds)

    def __str__(self) -> str:
        """What was found, in the form of the cases."""
        if self.unreadable or self.error:
            return self.unreadable or f"error: {self.error}"
        shown = {"matches": sorted(self.matches), "timeouts": sorted(self.timeouts)}
        return ", ".join(f"{kind} [{', '.join(found)}]" for kind, found in shown.items())


def measured(found: list[Any]) -> list[str]:
    """Measured matches in the form and order that played ones are compared in."""
    return sorted(json.dumps([sorted(_names(names)), time]) for names, time in found)


def _names(found: Any) -> list[str]:
    """The names of a match: given as a list, or by element."""
    return [name for names in found.values() for name in names] if isinstance(found, dict) else list(found)


def expected(case: Case) -> str:
    """What was measured, in words."""
    if "raises" in case:
        return f"error: {case['raises']}"
    kinds = [kind for kind in ("matches", "timeouts") if kind in case]
    return ", ".join(f"{kind} [{', '.join(measured(case[kind]))}]" for kind in kinds)


class _Show(PatternProcessFunction[Any, Any], TimedOutPartialMatchHandler):
    """Gives the number of the case, what happened, the names of the events and the time."""

    def __init__(self, number: int) -> None:
        self.number = number

    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterator[Any]:
        yield self._shown("matches", match, ctx)

    def process_timed_out_match(self, match: dict[str, list[Any]], ctx: Any) -> None:
        ctx.output(_TIMEOUTS, self._shown("timeouts", match, ctx))

    def _shown(self, kind: str, match: dict[str, list[Any]], ctx: Any) -> tuple[int, str, str]:
        names = sorted(event[0] for events in match.values() for event in events)
        return self.number, kind, json.dumps([names, ctx.timestamp()])


@dataclass(frozen=True)
class _Read:
    """A case that was understood."""

    pattern: Pattern
    events: list[tuple[Any, ...]]

    def stream(self, environment: StreamExecutionEnvironment, watermarks: WatermarkStrategy) -> DataStream:
        environment.set_parallelism(1)  # as measured: events of one time come in the order of the case
        strategy = watermarks.with_timestamp_assigner(lambda event, _: event[1])
        stream = environment.from_collection(self.events).assign_timestamps_and_watermarks(strategy)
        return stream.key_by(lambda event: event[2]) if any(len(event) > 2 for event in self.events) else stream


def play(
    cases: list[Case],
    new_environment: Callable[[], StreamExecutionEnvironment],
    *,
    at_once: int = 40,
    watermarks: WatermarkStrategy | None = None,
) -> list[Played]:
    """Run all cases; those that are to fail at run time run alone, and all of a job that fails.

    Without `watermarks` there is one at the end, as in the measured runs.
    """
    watermarks = WatermarkStrategy.no_watermarks() if watermarks is None else watermarks
    played = [Played() for _ in cases]
    read: dict[int, _Read] = {}
    for number, case in enumerate(cases):
        try:
            read[number] = _read(case)
            CEP.pattern(read[number].stream(new_environment(), watermarks), read[number].pattern)
        except NotationError as error:
            played[number].unreadable = f"cannot be read: {error}"
        except (PenstockError, ValueError) as error:
            played[number].error = str(error)
            read.pop(number, None)
    for numbers in _groups(cases, list(read), at_once):
        _run({number: read[number] for number in numbers}, played, new_environment, watermarks)
    return played


def _read(case: Case) -> _Read:
    if not isinstance(case, dict) or not isinstance(case.get("pattern"), str) or "events" not in case:
        raise NotationError("a case is an object with 'pattern', 'skip', 'events' and what was measured")
    if not {"matches", "timeouts", "raises"} & set(case):
        raise NotationError("the case has no 'matches', 'timeouts' or 'raises'")
    events = [_event(event) for event in case["events"]]
    return _Read(pattern_of(case["pattern"], case.get("skip")), events)


def _event(event: Any) -> tuple[Any, ...]:
    found = [event[part] for part in _EVENT if part in event] if isinstance(event, dict) else event
    if not isinstance(found, list) or len(found) not in (2, 3) or not isinstance(found[1], int):
        raise NotationError(f"the event {event!r} is not [name, timestamp] or [name, timestamp, key]")
    return tuple(found)


def _groups(cases: list[Case], numbers: list[int], at_once: int) -> Iterator[list[int]]:
    alone = [number for number in numbers if "raises" in cases[number]]
    others = [number for number in numbers if "raises" not in cases[number]]
    yield from ([number] for number in alone)
    yield from (others[first : first + at_once] for first in range(0, len(others), at_once))


def _run(
    read: dict[int, _Read],
    played: list[Played],
    new_environment: Callable[[], StreamExecutionEnvironment],
    watermarks: WatermarkStrategy,
) -> None:
    try:
        found = _results(read, new_environment(), watermarks)
    except PenstockError as error:
        if len(read) == 1:
            played[next(iter(read))].error = str(error)
        else:
            for number, case in read.items():
                _run({number: case}, played, new_environment, watermarks)
        return
    for number in read:
        played[number].matches, played[number].timeouts = found[number, "matches"], found[number, "timeouts"]


def _results(
    read: dict[int, _Read], environment: StreamExecutionEnvironment, watermarks: WatermarkStrategy
) -> dict[tuple[int, str], list[str]]:
    shown: list[DataStream] = []
    for number, case in read.items():
        matches = CEP.pattern(case.stream(environment, watermarks), case.pattern).process(_Show(number))
        shown += [matches, matches.get_side_output(_TIMEOUTS)]
    found: dict[tuple[int, str], list[str]] = defaultdict(list)
    with shown[0].union(*shown[1:]).execute_and_collect() as results:
        for number, kind, text in results:
            found[number, kind].append(text)
    return found
