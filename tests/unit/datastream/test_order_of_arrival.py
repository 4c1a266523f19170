"""Functions that mind the order of arrival get it, in windows of every kind, aggregated in two phases or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Configuration, WatermarkStrategy
from penstock.common.watermark_strategy import Watermark
from penstock.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from penstock.datastream.window import (
    CumulativeEventTimeWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.testing import Cut, Element, ScriptedSource

Record = tuple[str, int, int]
"""Key, number in the order of arrival, timestamp."""


class Joined(AggregateFunction):
    """The numbers of all elements, in the order they were added."""

    def create_accumulator(self) -> tuple[int, ...]:
        return ()

    def add(self, value: Record, accumulator: tuple[int, ...]) -> tuple[int, ...]:
        return (*accumulator, value[1])

    def get_result(self, accumulator: tuple[int, ...]) -> tuple[int, ...]:
        return accumulator

    def merge(self, acc_a: tuple[int, ...], acc_b: tuple[int, ...]) -> tuple[int, ...]:
        return acc_a + acc_b


class Sloppy(Joined):
    """As many are written: `merge` is there, but only by name; windows that do not merge never call it."""

    def merge(self, acc_a: tuple[int, ...], acc_b: tuple[int, ...]) -> tuple[int, ...]:
        return acc_a


def joined(first: Any, second: Any) -> Any:
    return (first[0], f"{first[1]},{second[1]}", second[2])


class WithWindow(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        for element in elements:
            yield key, context.window().start, context.window().end, element


ASSIGNERS = {
    "tumbling": TumblingEventTimeWindows.of(10),
    "sliding": SlidingEventTimeWindows.of(10, 5),
    "sliding by a third": SlidingEventTimeWindows.of(10, 4),
    "cumulative": CumulativeEventTimeWindows.of(20, 5),
    "session": EventTimeSessionWindows.with_gap(3),
}
FOLDS: dict[str, tuple[Any, Callable[[list[Record]], Any]]] = {
    "last": (lambda a, b: b, lambda records: records[-1]),
    "first": (lambda a, b: a, lambda records: records[0]),
    "joined": (joined, lambda records: _joined_by_hand(records)),
    "aggregate": (Joined(), lambda records: tuple(record[1] for record in records)),
    "aggregate without merge": (Sloppy(), lambda records: tuple(record[1] for record in records)),
}
BUILT_IN: dict[str, Callable[[list[Record]], Any]] = {
    "sum": lambda records: (*records[0][:2], sum(record[2] for record in records)),
    "min": lambda records: (*records[0][:2], min(record[2] for record in records)),
    "max_by": lambda records: max(records, key=lambda record: record[2]),  # the first of several
}


def _joined_by_hand(records: list[Record]) -> Any:
    if len(records) == 1:
        return records[0]
    return (records[0][0], ",".join(str(record[1]) for record in records), records[-1][2])


def run(steps: list[Any], assigner: Any, two_phase: str, seed: int, build: Callable[[Any], Any]) -> list[Any]:
    configuration = Configuration().set_string("penstock.window.two-phase", two_phase)
    env = StreamExecutionEnvironment.in_process(seed, configuration=configuration).set_parallelism(1)
    source = env.from_source(ScriptedSource(steps), WatermarkStrategy.no_watermarks(), "script")
    windowed = source.key_by(lambda record: record[0]).window(assigner)
    return sorted(build(windowed).execute_and_collect(), key=repr)


def in_time(drawn: list[tuple[str, int, bool, bool]]) -> tuple[list[Any], list[Record]]:
    """A script whose elements come out of order but never late, and its elements in the order of arrival."""
    steps: list[Any] = []
    records: list[Record] = []
    watermark = -1
    for number, (key, ahead, is_marked, is_cut) in enumerate(drawn):
        record = (key, number, watermark + 1 + ahead)
        records.append(record)
        steps.append(Element(record, record[2]))
        if is_marked:
            watermark = max(watermark, min(max(each[2] for each in records) - 4, watermark + 9), 0)
            steps.append(Watermark(watermark))
        if is_cut:
            steps.append(Cut())
    return steps, records


def expected(records: list[Record], assigner: Any, fold: Callable[[list[Record]], Any]) -> list[Any]:
    windows: dict[tuple[str, int, int], list[Record]] = {}
    for record in records:
        for window in assigner.assign_windows(record, record[2], None):
            windows.setdefault((record[0], window.start, window.end), []).append(record)
    return sorted(((*place, fold(held)) for place, held in windows.items()), key=repr)


DRAWN = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 14), st.booleans(), st.booleans()), max_size=25)
# Arrivals in a later pane, an earlier one and the first again, in one window.
OUT_OF_ORDER = [("a", 7, False, False), ("a", 2, False, False), ("a", 8, False, False), ("a", 3, False, True)]


KINDS = [kind for kind in ASSIGNERS if kind != "session"]
MODES = ["auto", "on", "off"]


def check_fold(kind: str, fold: str, two_phase: str, drawn: Any, seed: int) -> None:
    if fold == "aggregate without merge" and kind == "tumbling" and two_phase == "on":
        return  # asked for, in the configuration, and merge() is what it needs
    function, by_hand = FOLDS[fold]
    steps, records = in_time(drawn)

    def build(windowed: Any) -> Any:
        method = windowed.aggregate if isinstance(function, AggregateFunction) else windowed.reduce
        return method(function, WithWindow())

    found = run(steps, ASSIGNERS[kind], two_phase, seed, build)
    assert found == expected(records, ASSIGNERS[kind], by_hand)


def check_built_in(kind: str, method: str, two_phase: str, drawn: Any, seed: int) -> None:
    steps, _ = in_time(drawn)
    windows: dict[Any, list[Record]] = {}
    for index, step in enumerate(steps):
        if isinstance(step, Element):
            key, number, time = step.value
            record = (key, number, time // 3 * 3)  # ties, so that it matters which came first
            steps[index] = Element(record, time)
            for window in ASSIGNERS[kind].assign_windows(record, time, None):
                windows.setdefault((key, window.start, window.end), []).append(record)
    found = run(steps, ASSIGNERS[kind], two_phase, seed, lambda windowed: getattr(windowed, method)(2))
    assert found == sorted(map(BUILT_IN[method], windows.values()), key=repr)


@pytest.mark.parametrize("two_phase", MODES)
@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("kind", KINDS)
def test_elements_that_come_back_to_an_earlier_pane_keep_their_place(kind: str, fold: str, two_phase: str) -> None:
    check_fold(kind, fold, two_phase, OUT_OF_ORDER, 0)


@settings(max_examples=40)
@given(
    kind=st.sampled_from(KINDS),
    fold=st.sampled_from(sorted(FOLDS)),
    two_phase=st.sampled_from(MODES),
    drawn=DRAWN,
    seed=st.integers(0, 99),
)
def test_elements_of_one_sender_are_combined_as_they_came(
    kind: str, fold: str, two_phase: str, drawn: Any, seed: int
) -> None:
    check_fold(kind, fold, two_phase, drawn, seed)


@pytest.mark.parametrize("two_phase", MODES)
@pytest.mark.parametrize("method", BUILT_IN)
@pytest.mark.parametrize("kind", KINDS)
def test_built_in_aggregations_of_a_pane_that_comes_back(kind: str, method: str, two_phase: str) -> None:
    check_built_in(kind, method, two_phase, OUT_OF_ORDER, 0)


@settings(max_examples=40)
@given(
    kind=st.sampled_from(KINDS),
    method=st.sampled_from(sorted(BUILT_IN)),
    two_phase=st.sampled_from(MODES),
    drawn=DRAWN,
    seed=st.integers(0, 99),
)
def test_which_element_a_built_in_aggregation_keeps_goes_by_arrival(
    kind: str, method: str, two_phase: str, drawn: Any, seed: int
) -> None:
    check_built_in(kind, method, two_phase, drawn, seed)


@settings(max_examples=15)
@given(drawn=DRAWN, seed=st.integers(0, 99))
def test_a_session_that_only_grows_has_its_elements_as_they_came(drawn: Any, seed: int) -> None:
    # Each within the gap of the one before: no two sessions are ever joined, of which Flink gives no order.
    steps: list[Any] = []
    records: list[Record] = []
    time = 100
    for number, (key, ahead, _, is_cut) in enumerate(drawn):
        time += ahead % 3 - 1
        records.append((key, number, time))
        steps += [Element(records[-1], time), *([Cut()] if is_cut else [])]
    assigner = EventTimeSessionWindows.with_gap(100)
    found = run(steps, assigner, "auto", seed, lambda windowed: windowed.reduce(joined))
    by_key = {key: [record for record in records if record[0] == key] for key, _, _ in records}
    assert found == sorted(map(_joined_by_hand, by_key.values()), key=repr)


@settings(max_examples=15)
@given(drawn=DRAWN, seed=st.integers(0, 99), slide=st.sampled_from([0, 2]))
def test_count_windows_have_their_elements_as_they_came(drawn: Any, seed: int, slide: int) -> None:
    steps, records = in_time(drawn)
    env = StreamExecutionEnvironment.in_process(seed).set_parallelism(1)
    source = env.from_source(ScriptedSource(steps), WatermarkStrategy.no_watermarks(), "script")
    counted = source.key_by(lambda record: record[0]).count_window(3, slide).reduce(joined)
    wanted = []
    for key in "ab":
        held = [record for record in records if record[0] == key]
        wanted += [_joined_by_hand(held[at : at + 3]) for at in range(0, len(held) - 2, slide or 3)]
    assert sorted(counted.execute_and_collect(), key=repr) == sorted(wanted, key=repr)


@settings(max_examples=15)
@given(drawn=DRAWN, seed=st.integers(0, 99))
def test_a_rolling_reduce_has_its_elements_as_they_came(drawn: Any, seed: int) -> None:
    steps, records = in_time(drawn)
    env = StreamExecutionEnvironment.in_process(seed).set_parallelism(1)
    source = env.from_source(ScriptedSource(steps), WatermarkStrategy.no_watermarks(), "script")
    rolled = list(source.key_by(lambda record: record[0]).reduce(joined).execute_and_collect())
    for key in "ab":
        held = [record for record in records if record[0] == key]
        wanted = [_joined_by_hand(held[: upto + 1]) for upto in range(len(held))]
        assert [each for each in rolled if each[0] == key] == wanted
