"""Random programs of functions that change whatever they can lay hands on, against a run that copies everything."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row
from penstock.datastream import DataStream, KeyedProcessFunction, OutputTag, ProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

SIDE = OutputTag("side")
Records = list[Any]


def change(record: Any) -> Any:
    """Change a record at its surface and in its depth."""
    record["n"] += 1
    record["deep"].append(record["n"])
    return record


def frozen(record: Any) -> Any:
    """What a record comes to, so that it can be compared and sorted."""
    return record["n"], tuple(record["deep"])


class Spread(ProcessFunction):
    """Emits its record twice, changed in between and afterwards, and to the side."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value
        ctx.output(SIDE, change(value))
        yield change(value)
        change(value)


class Rolling(KeyedProcessFunction):
    """Keeps records in all kinds of state; changes them before, between and after."""

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", add))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.list.add(value)
        self.sum.add(value)
        held = self.value.value() or change(value)
        yield change(held)
        self.value.update(held)
        self.map.put(1, held)
        change(held)
        yield change(self.map.get(1))
        for each in (*self.list.get(), *self.map.values(), self.sum.get()):
            yield change(each)


def add(first: Any, second: Any) -> Any:
    first["n"] += second["n"]
    first["deep"] += second["deep"]
    return first


# Each step: on a stream, and on a list of records with copies wherever a record passes from hand to hand.


def mapped(stream: DataStream) -> list[DataStream]:
    return [stream.map(change)]


def mapped_copies(records: Records) -> list[Records]:
    return [[change(copy.deepcopy(record)) for record in records]]


def filtered(stream: DataStream) -> list[DataStream]:
    return [stream.filter(lambda record: change(record)["n"] % 3 > 0)]


def filtered_copies(records: Records) -> list[Records]:
    changed = [change(copy.deepcopy(record)) for record in records]
    return [[record for record in changed if record["n"] % 3]]


def spread(stream: DataStream) -> list[DataStream]:
    main = stream.process(Spread())
    return [main, main.get_side_output(SIDE)]


def spread_copies(records: Records) -> list[Records]:
    main, side = [], []
    for record in copy.deepcopy(records):
        main.append(copy.deepcopy(record))
        side.append(copy.deepcopy(change(record)))
        main.append(copy.deepcopy(change(record)))
    return [main, side]


def rolled(stream: DataStream) -> list[DataStream]:
    return [stream.key_by(lambda record: 0).process(Rolling())]


def rolled_copies(records: Records) -> list[Records]:
    copied = copy.deepcopy
    value: Any = None
    total: Any = None
    listed: list[Any] = []
    out: list[Any] = []
    for record in copied(records):
        listed.append(copied(record))
        total = copied(record) if total is None else add(total, copied(record))
        held = change(record) if value is None else copied(value)
        out.append(copied(change(held)))
        value = copied(held)
        entry = copied(held)
        out.append(change(copied(entry)))
        out += [change(copied(each)) for each in (*listed, entry, total)]
    return [out]


def reduced(stream: DataStream) -> list[DataStream]:
    return [stream.key_by(lambda record: 0).reduce(add)]


def reduced_copies(records: Records) -> list[Records]:
    total: Any = None
    out: list[Any] = []
    for record in copy.deepcopy(records):
        total = record if total is None else add(total, record)
        out.append(copy.deepcopy(total))
    return [out]


STEPS: list[tuple[Callable[[DataStream], list[DataStream]], Callable[[Records], list[Records]]]] = [
    (mapped, mapped_copies),
    (filtered, filtered_copies),
    (spread, spread_copies),
    (rolled, rolled_copies),
    (reduced, reduced_copies),
]
KINDS: list[Callable[[int], Any]] = [lambda n: {"n": n, "deep": [n]}, lambda n: Row(n=n, deep=[n])]


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 50)), min_size=1, max_size=6),
    make=st.sampled_from(KINDS),
    numbers=st.lists(st.integers(0, 5), min_size=1, max_size=5),
    has_chaining=st.booleans(),
    cuts=st.one_of(st.none(), st.integers(0, 1000)),
)
def test_programs_that_change_everything_give_what_copies_give(
    steps: list[tuple[int, int]], make: Any, numbers: list[int], has_chaining: bool, cuts: int | None
) -> None:
    environment = StreamExecutionEnvironment.in_process(cuts).set_parallelism(1)
    if not has_chaining:
        environment.disable_operator_chaining()
    streams = [environment.from_collection([make(n) for n in numbers])]
    expected = [[make(n) for n in numbers]]
    for step, place in steps:
        chosen = place % len(streams)  # one that others may read too
        if len(expected[chosen]) > 60:
            continue
        streams += STEPS[step][0](streams[chosen])
        expected += STEPS[step][1](expected[chosen])
    ends = [stream.map(lambda record, at=at: (at, *frozen(record))) for at, stream in enumerate(streams)]
    found = list(ends[0].union(*ends[1:]).execute_and_collect() if len(ends) > 1 else ends[0].execute_and_collect())
    wanted = [(at, *frozen(record)) for at, records in enumerate(expected) for record in records]
    assert sorted(found) == sorted(wanted)
