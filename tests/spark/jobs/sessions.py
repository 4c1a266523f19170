"""What the session branch of the counting job is to compute: the time of each record, and what any run must hold to.

When a session fires, and how often, depends on how the input was cut into batches. So the oracle checks what holds
whatever the cuts: `wrong` for any part of the output, `missing` for the whole of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from tests.spark.jobs.counting import Event, event

GAP_MS = 500
# Every record is within it: a record lags behind the newest of its split by less than what the watermark does not.
LATENESS_MS = 4_000
_LATE_SHARE = 4

Firing = dict[str, Any]
Session = tuple[int, int, int, tuple[int, ...]]


def lag(value: Event) -> int:
    """By how much a record is behind its time: a share of them is, most by more than the watermark waits."""
    amount = value[2]
    return amount * 4 if amount % _LATE_SHARE == 0 else 0


def time_of(value: Event) -> int:
    """Event time in this branch."""
    return value[3] + LATENESS_MS - lag(value)


def firing(key: int, start: int, end: int, numbers: list[int]) -> Firing:
    """The output for a session that fires."""
    return {"kind": "session", "key": key, "start": start, "end": end, "numbers": numbers}


def expected(count: int) -> list[Session]:
    """The sessions of a whole run, from all records at once."""
    times: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for value in map(event, range(count)):
        times[value[1]].append((time_of(value), value[0]))
    return [session for key, each in times.items() for session in _sessions(key, sorted(each))]


def _sessions(key: int, records: list[tuple[int, int]]) -> Iterator[Session]:
    cuts = [index for index, (a, b) in enumerate(pairwise(records), 1) if b[0] - a[0] > GAP_MS]
    for first, last in pairwise([0, *cuts, len(records)]):
        part = records[first:last]
        yield key, part[0][0], part[-1][0] + GAP_MS, tuple(sorted(number for _, number in part))


def wrong(firings: list[Firing], count: int) -> Iterator[str]:
    """What cannot be, however the input was cut and whatever is still to come."""
    found = Counter(map(_session, firings))
    yield from (f"{session} fired {times} times" for session, times in found.items() if times > 1)
    for session in found:
        yield from _wrong_in(session, count)
    for key, sessions in _by_key(found).items():
        for session, parts in _growth(sessions)[0]:
            for part in parts:
                if not set(part[3]) <= set(session[3]):
                    yield f"key {key}: {session} has only some records of {part}"


def missing(firings: list[Firing], count: int) -> Iterator[str]:
    """What lacks at the end: the last firings are the sessions, and some of them came from earlier ones."""
    last: set[Session] = set()
    refired = merged = 0
    for sessions in _by_key(set(map(_session, firings))).values():
        growth, remaining = _growth(sessions)
        last |= remaining
        refired += sum(len(parts) == 1 for _, parts in growth)
        merged += sum(len(parts) > 1 for _, parts in growth)
    due = set(expected(count))
    yield from (f"{session} is not among the last firings" for session in due - last)
    yield from (f"{session} is a last firing, but no session" for session in last - due)
    if not refired or not merged:
        yield f"the run shows little: {refired} sessions fired again, {merged} merged after they had fired"


def _wrong_in(session: Session, count: int) -> Iterator[str]:
    key, start, end, numbers = session
    values = [event(number) for number in numbers]
    strangers = [value[0] for value in values if value[1] != key or not 0 <= value[0] < count]
    if strangers:
        yield f"{session} has records {strangers}, which are not of the key"
    if len(set(numbers)) < len(numbers):
        yield f"{session} has a record twice"
    times = sorted(map(time_of, values))
    if (start, end) != (times[0], times[-1] + GAP_MS):
        yield f"{session} is not from its first record at {times[0]} to the gap after its last at {times[-1]}"
    if any(b - a > GAP_MS for a, b in pairwise(times)):
        yield f"{session} has a gap in it"


def _growth(sessions: list[Session]) -> tuple[list[tuple[Session, set[Session]]], set[Session]]:
    """For firings of a key: those that share records with smaller ones, with the largest of these; and the last."""
    owner: dict[int, Session] = {}
    growth = []
    for session in sorted(sessions, key=lambda each: len(each[3])):
        numbers = session[3]
        parts = {owner[number] for number in numbers if number in owner}
        if parts:
            growth.append((session, parts))
        owner.update(dict.fromkeys(numbers, session))
    return growth, set(owner.values())


def _by_key(sessions: Iterable[Session]) -> dict[int, list[Session]]:
    grouped: dict[int, list[Session]] = defaultdict(list)
    for session in sessions:
        grouped[session[0]].append(session)
    return grouped


def _session(record: Firing) -> Session:
    return record["key"], record["start"], record["end"], tuple(record["numbers"])
