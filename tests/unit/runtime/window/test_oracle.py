"""The window operator against an oracle that sees the whole input at once, on random input cut at random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, NamedTuple

import pytest

from penstock.datastream import AggregateFunction, OutputTag, ProcessWindowFunction
from penstock.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.runtime.operators.window import Evaluation, WindowOperator, WindowSpec
from penstock.testing import KeyedHarness, StreamRecord
from tests.unit.runtime.window.oracle import Advance, Arrival, Firing, Windows, expected

LATE = OutputTag("late")
EXAMPLES = 70
SOAK_EXAMPLES = 20_000

Record = tuple[str, tuple[int, ...]]
"""The key, and the places of the elements that it stands for."""


class Show(ProcessWindowFunction):
    """Tells the window and the elements it was given."""

    def process(self, key: str, context: Any, elements: Iterable[Record]) -> Iterator[Any]:
        window = context.window()
        yield key, window.start, window.end, tuple(place for element in elements for place in element[1])


class Gather(AggregateFunction):
    """Gathers in lists that it changes in place."""

    def create_accumulator(self) -> list[Any]:
        return ["", []]

    def add(self, value: Record, accumulator: list[Any]) -> list[Any]:
        accumulator[0] = value[0]
        accumulator[1].extend(value[1])
        return accumulator

    def get_result(self, accumulator: list[Any]) -> Record:
        return accumulator[0], tuple(accumulator[1])

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        acc_a[0] = acc_a[0] or acc_b[0]
        acc_a[1].extend(acc_b[1])
        return acc_a


def joined(left: Record, right: Record) -> Record:
    return left[0], left[1] + right[1]


class Cut(NamedTuple):
    """What happens before an action: it joins the block, starts one, or is seen by a fresh copy of the operator."""

    starts_block: bool
    restores: bool


class Program(NamedTuple):
    """One random case."""

    windows: Windows
    function: str
    actions: list[Arrival | Advance]
    cuts: list[Cut]


def drawn_windows(rng: Random) -> Windows:
    kind = rng.choice(["tumbling", "sliding", "session", "cumulative"])
    second = rng.randint(1, 8)
    size = second * rng.randint(1, 3) if kind == "cumulative" else rng.randint(1, 6 if kind == "session" else 15)
    bound = second if kind == "sliding" else size
    offset = 0 if kind == "session" else rng.randint(1 - bound, bound - 1)
    trigger = rng.choice(["default", "default", "default", "purging", "count", "purging count", "continuous"])
    return Windows(kind, size, second, offset, rng.choice([0, 0, 2, 10, 30]), trigger, rng.randint(1, 4))


def drawn_action(rng: Random) -> Arrival | Advance:
    """Elements crowd together, so that they meet; one in four is a watermark, mostly a small step ahead of them."""
    if rng.random() < 0.25:
        return Advance(rng.choice([rng.randint(0, 20), rng.randint(0, 30), rng.randint(-12, 60)]))
    return Arrival(rng.choice("aab"), rng.choice([rng.randint(0, 15), rng.randint(0, 30), rng.randint(-12, 50)]))


def drawn(rng: Random) -> Program:
    actions = [drawn_action(rng) for _ in range(rng.randint(1, 30))]
    cuts = [rng.choice([Cut(False, False), Cut(False, False), Cut(True, False), Cut(True, True)]) for _ in actions]
    return Program(drawn_windows(rng), rng.choice(["process", "evict", "reduce", "aggregate"]), actions, cuts)


def spec(asked: Windows, function: str, tag: OutputTag | None) -> WindowSpec:
    assigner: Any = {
        "tumbling": lambda: TumblingEventTimeWindows.of(asked.size, asked.offset),
        "sliding": lambda: SlidingEventTimeWindows.of(asked.size, asked.second, asked.offset),
        "session": lambda: EventTimeSessionWindows.with_gap(asked.size),
        "cumulative": lambda: CumulativeEventTimeWindows.of(asked.size, asked.second, asked.offset),
    }[asked.kind]()
    trigger: Any = EventTimeTrigger.create()
    if asked.counts:
        trigger = CountTrigger.of(asked.number)
    elif asked.trigger == "continuous":
        trigger = ContinuousEventTimeTrigger.of(asked.number)
    if asked.purges:
        trigger = PurgingTrigger.of(trigger)
    combine = {"reduce": joined, "aggregate": Gather()}.get(function)
    evictor: Any = CountEvictor.of(1000) if function == "evict" else None
    return WindowSpec(assigner, trigger, Evaluation.PROCESS, Show(), combine, evictor, asked.lateness, tag)


class Run:
    """An operator that is fed a program; keeps what comes out by the places of what was fed."""

    def __init__(self, program: Program, tag: OutputTag | None) -> None:
        self.fed: list[tuple[range, list[StreamRecord]]] = []
        self.late: list[StreamRecord] = []
        self.dropped = 0
        self._operator = WindowOperator(spec(program.windows, program.function, tag))
        self._tags = [LATE] if tag else []
        self._harness = self._fresh().open()
        self._feed_all(program)
        self._harness.end_input()
        self._note(range(len(program.actions), len(program.actions) + 1))
        self.timers, self.entries = self._harness.num_event_time_timers(), self._harness.num_keyed_state_entries()
        self._leave()

    def _fresh(self) -> KeyedHarness:
        return KeyedHarness(self._operator, key=lambda record: record[0], side_outputs=self._tags)

    def _feed_all(self, program: Program) -> None:
        block: list[int] = []
        for place, (action, cut) in enumerate(zip(program.actions, program.cuts, strict=True)):
            if block and (cut.starts_block or isinstance(action, Advance)):
                self._feed_block(program, block)
                block = []
            if cut.restores:
                self._restore()
            if isinstance(action, Advance):
                self._harness.process_watermark(action.watermark)
                self._note(range(place, place + 1))
            else:
                block.append(place)
        if block:
            self._feed_block(program, block)

    def _feed_block(self, program: Program, places: list[int]) -> None:
        arrivals = [action for action in program.actions[places[0] : places[-1] + 1] if isinstance(action, Arrival)]
        records = [
            ((arrival.key, (place,)), arrival.timestamp) for arrival, place in zip(arrivals, places, strict=True)
        ]
        self._harness.process_elements(records)
        self._note(range(places[0], places[-1] + 1))

    def _note(self, places: range) -> None:
        self.fed.append((places, self._harness.output()))
        for tag in self._tags:
            self.late += self._harness.side_output(tag)
        self._harness.clear_output()

    def _restore(self) -> None:
        snapshot = self._harness.snapshot()
        self._leave()
        self._harness = self._fresh()
        self._harness.restore(snapshot)
        self._harness.open()

    def _leave(self) -> None:
        self.dropped += self._harness.late_records_dropped()
        self._harness.close()


def shown(firing: Firing) -> StreamRecord:
    return StreamRecord((firing.key, firing.start, firing.end, firing.elements), firing.end - 1)


def in_known_order(program: Program, record: StreamRecord) -> StreamRecord:
    """Merging leaves the order of elements open, of sessions as of the parts that sliding windows share."""
    if program.windows.kind == "session" or (program.windows.kind == "sliding" and program.function != "process"):
        key, start, end, places = record.value
        return StreamRecord((key, start, end, tuple(sorted(places))), record.timestamp)
    return record


def check(program: Program) -> None:
    wanted = expected(program.windows, program.actions)
    run = Run(program, LATE)
    for places, records in run.fed:
        due = [shown(firing) for firing in wanted.firings if firing.place in places]
        assert Counter(in_known_order(program, record) for record in records) == Counter(due), places
    late = [
        StreamRecord((program.actions[place].key, (place,)), program.actions[place].timestamp) for place in wanted.late
    ]
    assert sorted(run.late, key=lambda record: record.value[1]) == late
    assert (run.timers, run.entries, run.dropped) == (0, 0, 0)


def check_seed(seed: int) -> None:
    program = drawn(Random(seed))
    try:
        check(program)
    except BaseException:
        print(f"{program}\nrepeat with --seed {seed}")
        raise


def test_windows_fire_as_the_oracle_says_and_leave_nothing(seed: int) -> None:
    for number in range(EXAMPLES):
        check_seed(seed + number)


def test_late_records_that_nobody_asks_for_are_counted(seed: int) -> None:
    programs = [drawn(Random(seed + number)) for number in range(15)]
    lost = [len(expected(program.windows, program.actions).late) for program in programs]
    assert [Run(program, None).dropped for program in programs] == lost


@pytest.mark.soak
def test_many_windows_fire_as_the_oracle_says(seed: int) -> None:
    for number in range(SOAK_EXAMPLES):
        check_seed(seed + number)
