"""What a batch takes from the partitions of a source: new ones, fair shares of the others, and who reads what.

For sources of named partitions. A partition shows in an offset, with where it begins, before the
batch that first reads it: so where it begins is logged before it counts, and no later start decides it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from penstock.connectors.source import PartitionedSource, PartitionEnumerator, PartitionRange
from penstock.runtime.source_tasks import Offset, SourceTask, looks_around, pauses_otherwise

Arrived = Callable[[Mapping[str, int]], dict[str, int] | None]

_ASK_MS = 1_000
"""How often ends are asked for where reading does not depend on them: for the lag, and to notice deleted topics."""


@dataclass
class PartitionedVertex:
    """A source vertex that reads named partitions; asks its enumerator, which lives in the process that asks first."""

    vertex: int
    name: str
    source: PartitionedSource
    parallelism: int
    has_idleness: bool
    ends: dict[str, int] = field(default_factory=dict)
    reader: int | None = None
    """Continuous mode: the subtask that asks for itself."""
    arrived: Arrived | None = None
    """Continuous mode: how far that subtask's reader has fetched. Then the enumerator is only asked now and then."""
    asked_ms: int = 0
    """When the enumerator was asked for the ends last."""
    _enumerator: PartitionEnumerator | None = None

    def enumerator(self) -> PartitionEnumerator:
        """What knows the partitions."""
        if self._enumerator is None:
            self._enumerator = self.source.create_enumerator(self.name)
            if self.reader is not None:
                self._enumerator.hurry()
        return self._enumerator

    def concerns(self, name: str) -> bool:
        """Whether the ends of a partition matter to who asks."""
        if self.reader is None or not self.source.reads_partitions_apart():
            return True
        return self.source.owner(name, self.parallelism) == self.reader

    def close(self) -> None:
        """Let go of the enumerator; the next question makes another."""
        enumerator, self._enumerator = self._enumerator, None
        self.ends = {}
        if enumerator is not None:
            enumerator.close()


def advanced_partitions(uid: str, known: PartitionedVertex, end: Offset, limit: int, now_ms: int) -> Offset:
    """An offset with partitions that have turned up, and with those that were there moved on by `limit` in all."""
    before: dict[str, int] | None = end.partitions.get(uid)
    enumerator = known.enumerator()
    stops = _stops(known, enumerator, before or {}, end.stops.get(uid, {}))
    looks = before is None or known.source.finds_later()
    found = enumerator.discover_more(before, stops, now_ms) if looks else {}
    open_partitions = {
        name: at
        for name, at in (before or {}).items()
        if (name not in stops or at < stops[name]) and known.concerns(name)
    }
    paused = end.paused.get(uid, ())
    asked = _asked_for(known, open_partitions, paused, now_ms)
    known.ends = {name: known.ends.get(name, at) for name, at in open_partitions.items() if name not in asked}
    if asked:
        known.asked_ms = now_ms
        known.ends |= {name: min(upper, stops.get(name, upper)) for name, upper in enumerator.ends(asked).items()}
    readable = {name: at for name, at in open_partitions.items() if name not in paused}
    ends = _readable_ends(known, readable, stops)
    paced = ends if known.source.paces_itself() else fair_stops(readable, ends, limit)
    moved = {**(before or {}), **paced}
    new = {name: each for name, each in found.items() if name not in moved}
    moved |= {name: each.start for name, each in new.items()}
    stops = stops | {name: max(each.start, each.stop) for name, each in new.items() if each.stop is not None}
    complete = end.complete
    if known.source.has_stops() and known.source.finds_later() and enumerator.has_found_all(moved, stops):
        complete = tuple(sorted({*complete, uid}))
    return replace(
        end,
        partitions={**end.partitions, uid: moved},
        stops={**end.stops, **({uid: stops} if stops else {})},
        complete=complete,
    )


def _readable_ends(known: PartitionedVertex, readable: dict[str, int], stops: Mapping[str, int]) -> dict[str, int]:
    """Return how far partitions can be read now: what has arrived where the reader knows, else what was asked for."""
    if known.arrived is not None and readable:
        arrived = known.arrived(readable)
        if arrived is not None:
            return {name: min(upper, stops.get(name, upper)) for name, upper in arrived.items()}
        known.arrived = None  # this reader never knows
    return {name: upper for name, upper in known.ends.items() if name in readable}


def _asked_for(
    known: PartitionedVertex, open_partitions: dict[str, int], paused: Collection[str], now_ms: int
) -> dict[str, int]:
    """The partitions whose ends are asked for. Those of paused ones are asked for once, for checks and for the lag.

    Not again: an enumerator may wait as long as nothing is new, or offer a few partitions at a time. A clock that was
    set back must not stop the questions.
    """
    if known.arrived is not None:
        is_due = abs(now_ms - known.asked_ms) >= _ASK_MS or not open_partitions.keys() <= known.ends.keys()
        return open_partitions if is_due else {}
    return {name: at for name, at in open_partitions.items() if name not in paused or name not in known.ends}


def _stops(
    known: PartitionedVertex, enumerator: PartitionEnumerator, before: Mapping[str, int], told: dict[str, int]
) -> dict[str, int]:
    """Where partitions stop, as it was decided; a job that goes on from a savepoint may have got or lost its stops."""
    if not known.source.ends_partitions():
        return {}
    if not known.source.has_stops():
        return told
    undecided = [name for name in before if name not in told]
    if not undecided:
        return told
    return told | {name: max(before[name], stop) for name, stop in enumerator.stops(undecided).items()}


def fair_stops(positions: Mapping[str, int], ends: Mapping[str, int], limit: int) -> dict[str, int]:
    """How far each partition is read: what those with little leave over goes to those with much, none is left out.

    >>> fair_stops({"a": 0, "b": 10, "c": 0}, {"a": 5, "b": 1000, "c": 1000}, 25)
    {'a': 5, 'b': 20, 'c': 10}
    """
    waiting = sorted((ends.get(name, at) - at, name) for name, at in positions.items())
    waiting = [(lag, name) for lag, name in waiting if lag > 0]
    stops = dict(positions)
    for done, (lag, name) in enumerate(waiting):
        taken = min(lag, max(1, limit // (len(waiting) - done)))
        stops[name] += taken
        limit -= taken
    return stops


def partition_tasks(uid: str, known: PartitionedVertex, start: Offset, end: Offset) -> list[SourceTask]:
    """What the subtasks of a source have to do in a batch between two offsets."""
    if start.draining:
        return []  # it had ended before
    before: dict[str, int] = start.partitions.get(uid, {})
    after: dict[str, int] = end.partitions.get(uid, {})
    mine: list[list[str]] = [[] for _ in range(known.parallelism)]
    for name in sorted(after):
        mine[known.source.owner(name, known.parallelism)].append(name)
    lags = {name: max(0, known.ends[name] - after[name]) for name in after if name in known.ends}
    # One task does not know how much waits for the others.
    pending = sum(lags.values()) if lags and known.reader is None else None
    told: dict[str, int] = end.stops.get(uid, {}) if known.source.ends_partitions() else {}
    tasks: list[SourceTask] = []
    for subtask, names in enumerate(mine):
        stops = {name: told[name] for name in names if name in told}
        if start.begun and _may_end(uid, known, start, end) and _all_at(stops, before, names):
            continue  # it had ended before
        ends = end.draining or (_may_end(uid, known, end, end) and _all_at(stops, after, names))
        decided = start.stops.get(uid, {})
        ranges = tuple(_ranges(names, before, after, stops, decided, is_first=not start.begun))
        if known.source.begins_when_read():
            ranges = tuple(each for each in ranges if each.start < each.stop or each.ends)
        looks = looks_around(start, end) or pauses_otherwise(uid, start, end)
        is_poked = not start.begun or (known.has_idleness and looks)
        if ranges or ends or is_poked:
            theirs = {name: lags[name] for name in names if name in lags}
            has_unread = known.source.begins_when_read() and not _all_at(stops, after, names)
            task = SourceTask(known.vertex, subtask, ends=ends, ranges=ranges, lags=theirs, pending=pending)
            paused = tuple(name for name in end.paused.get(uid, ()) if name in names)
            tasks.append(replace(task, has_unread=has_unread, paused=paused))
    return tasks


def _may_end(uid: str, known: PartitionedVertex, at: Offset, end: Offset) -> bool:
    """Whether at an offset no partition was to be found any more."""
    if known.source.has_stops() and known.source.finds_later():
        return uid in at.complete
    return known.source.has_stops() and uid in end.partitions


def _all_at(stops: Mapping[str, int], positions: Mapping[str, int], names: list[str]) -> bool:
    return all(name in stops and positions.get(name, -1) >= stops[name] for name in names)


def _ranges(
    names: list[str],
    before: Mapping[str, int],
    after: Mapping[str, int],
    stops: Mapping[str, int],
    decided: Mapping[str, int],
    *,
    is_first: bool,
) -> list[PartitionRange]:
    """What a subtask reads: partitions that move, and without anything to read those that are new or end just now."""
    found: list[PartitionRange] = []
    for name in names:
        first, last = before.get(name, after[name]), after[name]
        ends = name in stops and last >= stops[name]
        if last > first or name not in before or is_first or (ends and name not in decided):
            found.append(PartitionRange(name, first, last, ends))
    return found
