"""What each job must put out, computed in plain Python, and how far the results of a system are from it.

Some systems keep the windows that are still open when the input ends: those are allowed to be missing. A result without
its key (a bare count) is compared as such.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

from benchmarks.catalogue import Workload
from benchmarks.peers.cep_patterns import COLUMNS, PATTERNS, ValuePattern
from benchmarks.peers.drawn import TWIN_SHIFT, VALUES, key_of, time_of
from benchmarks.peers.reporting import SESSION_GAP_S, SLIDING_S, WINDOW_S
from benchmarks.peers.sql_queries import JOIN_BLOCK, JOIN_STEP

RECORDS = 4_000
KEYS = 50
SETTLED = 0.75
"""Results of so much of the time must be there; systems with batches know late how far they have come."""
BATCHES = 10

Result = tuple[tuple[int, ...], int]
"""The numbers of a result, and the event time from which on it must be there."""


def shortened(workload: Workload) -> Workload:
    """The workload with few keys that are met as often, so that little input makes windows begin and end."""
    batches = {name: {**told, "batch": RECORDS // BATCHES} for name, told in workload.options.items()}
    for system in ("transform_with_state", "spark_native"):
        batches.setdefault(system, {"batch": RECORDS // BATCHES})
    return replace(workload, keys=KEYS, rate=max(workload.rate * KEYS // workload.keys, 1), options=batches)


def differences(workload: Workload, records: int, found: list[list[int]]) -> str | None:
    """None if the results are right, else what is wrong with them."""
    made = list(EXPECTED[workload.job](workload, records))
    if workload.job in ("count", "sql_group") and len(found) < records:
        return _last_counts(made, found)  # a count for each batch, in place of one for each record
    if workload.job == "sql_group" and (told := _last_counts(made, found)):
        return told
    settled = time_of(records - 1, workload.rate) * SETTLED
    shape = _shape(workload, found)
    allowed = Counter(shape(numbers) for numbers, _ in made)
    needed = Counter(shape(numbers) for numbers, final in made if final < settled)
    seen = Counter(shape(tuple(numbers)) for numbers in found)
    wrong, missing = seen - allowed, needed - seen
    if not wrong and not missing:
        return None
    return f"{wrong.total()} wrong results, such as {_some(wrong)}; {missing.total()} missing, such as {_some(missing)}"


def _shape(workload: Workload, found: list[list[int]]) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """What of a result is compared."""
    if workload.job == "timers":
        return lambda numbers: numbers[:1]  # how much a timer finds depends on when the watermark comes
    if workload.job == "sql_group":
        return lambda numbers: numbers[:2]  # sums on the way depend on which reader is ahead
    width = len(found[0]) if found else 0
    return lambda numbers: numbers[len(numbers) - width :]  # a bare count has lost its key


def _some(numbers: Counter[tuple[int, ...]]) -> str:
    return str(next(iter(numbers), None))


def _last_counts(made: list[Result], found: list[list[int]]) -> str | None:
    wanted, seen = ({row[0]: tuple(row[1:]) for row in rows} for rows in ([numbers for numbers, _ in made], found))
    return None if wanted == seen else f"{len(wanted.items() ^ seen.items())} counts differ"


def _records(workload: Workload, count: int, shift: int = 0) -> Iterator[tuple[int, int]]:
    for number in range(count):
        yield key_of(number + shift, workload.keys, workload.zipf), time_of(number, workload.rate)


def _mapped(workload: Workload, count: int) -> Iterator[Result]:
    for key, time in _records(workload, count):
        if (time + 1) % 2 == 0:
            yield (key, time + 1), time


def _filtered(workload: Workload, count: int) -> Iterator[Result]:
    for number, (key, time) in enumerate(_records(workload, count)):
        if number % VALUES % 2 == 0:
            yield (key, time + 1), time


def _counted(workload: Workload, count: int) -> Iterator[Result]:
    counts: Counter[int] = Counter()
    for key, time in _records(workload, count):
        counts[key] += 1
        yield (key, counts[key]), time


def _with_rows(workload: Workload, count: int) -> Iterator[Result]:
    """The value of each record, and that of its key's row in the table."""
    for number, (key, time) in enumerate(_records(workload, count)):
        yield (key, number % VALUES, key % VALUES), time


def _timed(workload: Workload, count: int) -> Iterator[Result]:
    """At the end of a second the sum of all that a key has had by then."""
    times = defaultdict(list)
    for key, time in _records(workload, count):
        times[key].append(time)
    for key, found in times.items():
        for end in {(time // 1000 + 1) * 1000 for time in found}:
            yield (key, bisect_left(found, end)), end


def _in_windows(size_s: int, slide_s: int) -> Callable[[Workload, int], Iterator[Result]]:
    def expected(workload: Workload, count: int) -> Iterator[Result]:
        counts: Counter[tuple[int, int]] = Counter()
        for key, time in _records(workload, count):
            last = time // 1000 // slide_s * slide_s
            counts.update((key, start) for start in range(last, last - size_s, -slide_s))
        for (key, start), number in counts.items():
            yield (key, number), (start + size_s) * 1000

    return expected


def _summed(size_s: int, slide_s: int) -> Callable[[Workload, int], Iterator[Result]]:
    def expected(workload: Workload, count: int) -> Iterator[Result]:
        windows: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, (key, time) in enumerate(_records(workload, count)):
            last = time // 1000 // slide_s * slide_s
            for start in range(last, last - size_s, -slide_s):
                windows[key, start].append(number % VALUES)
        for (key, start), values in windows.items():
            yield (key, len(values), sum(values)), (start + size_s) * 1000

    return expected


def _grouped(workload: Workload, count: int) -> Iterator[Result]:
    held: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for number, (key, time) in enumerate(_records(workload, count)):
        records, total = held[key]
        held[key] = records + 1, total + number % VALUES
        yield (key, *held[key]), time


def _paired(workload: Workload, count: int) -> Iterator[Result]:
    """Each id is once on either side, somewhere in its block."""
    half = count // 2
    places = {number - number % JOIN_BLOCK + number * JOIN_STEP % JOIN_BLOCK: number for number in range(half)}
    for number in range(half):
        if number in places:
            times = time_of(number, workload.rate), time_of(places[number], workload.rate)
            yield (number, *times), max(times)


def _in_sessions(workload: Workload, count: int) -> Iterator[Result]:
    gap = SESSION_GAP_S * 1000
    open_sessions: dict[int, tuple[int, int]] = {}
    for key, time in _records(workload, count):
        number, last = open_sessions.get(key, (0, time))
        # Windows of one millisecond that touch become one, as in Flink.
        if time - last > gap:
            yield (key, number), last + gap
            number = 0
        open_sessions[key] = number + 1, time
    for key, (number, last) in open_sessions.items():
        yield (key, number), last + gap


def _joined(workload: Workload, count: int) -> Iterator[Result]:
    twins = defaultdict(list)
    for key, time in _records(workload, count // 2, TWIN_SHIFT):
        twins[key].append(time)
    for key, time in _records(workload, count // 2):
        others = twins[key]
        for other in others[bisect_left(others, time - 1000) : bisect_right(others, time + 1000)]:
            yield (key, time, other), max(time, other)


def _matched(pattern: ValuePattern) -> Callable[[Workload, int], Iterator[Result]]:
    def expected(workload: Workload, count: int) -> Iterator[Result]:
        begun: dict[int, list[tuple[int, int]]] = defaultdict(list)  # by key: time of the first event, events so far
        for number, (key, time) in enumerate(_records(workload, count)):
            value, going_on = number % VALUES, []
            for start, length in begun[key]:
                is_next = _is_in(value, pattern.ranges[length])
                if time - start >= pattern.within_s * 1000:
                    continue
                if is_next and length + 1 == len(pattern.ranges):
                    yield (key, start, time), time
                else:
                    going_on.append((start, length + is_next))
            begun[key] = [*going_on, (time, 1)] if _is_in(value, pattern.ranges[0]) else going_on

    return expected


def _is_in(value: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= value < bounds[1]


EXPECTED: dict[str, Callable[[Workload, int], Iterator[Result]]] = {
    "map_filter": _mapped,
    "count": _counted,
    "timers": _timed,
    "tumbling": _in_windows(WINDOW_S, WINDOW_S),
    "tumbling_fields": _summed(WINDOW_S, WINDOW_S),
    "sliding": _in_windows(SLIDING_S, 1),
    "session": _in_sessions,
    "interval_join": _joined,
    "sql_filter": _filtered,
    "sql_tumble": _summed(WINDOW_S, WINDOW_S),
    "sql_hop": _summed(SLIDING_S, 1),
    "sql_group": _grouped,
    "sql_join": _paired,
    "kstreams_count": _counted,
    "kstreams_join": _with_rows,
    **{name + ending: _matched(pattern) for name, pattern in PATTERNS.items() for ending in ("", COLUMNS)},
}
