"""Whoever emits, receives or keeps an object has it to himself, in programs that change what they let go of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Row, Time, WatermarkStrategy
from penstock.common.column_block import ColumnBlock
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.runtime.output import Output

SIDE = OutputTag("side")
NUMBERS = [1, 2, 3]
SUMS = [1, 3, 6]


@dataclass
class Count:
    """A record with a field of its own and a list in another."""

    n: int
    seen: list[int] = field(default_factory=list)


@pytest.fixture(params=["one batch", "cut anywhere"])
def environment(request: pytest.FixtureRequest, seed: int) -> StreamExecutionEnvironment:
    made = StreamExecutionEnvironment.in_process(seed) if request.param == "cut anywhere" else None
    environment = made or StreamExecutionEnvironment.in_process()
    return environment.set_parallelism(1)


def results(stream: DataStream) -> list[Any]:
    return list(stream.execute_and_collect())


def plus(record: Any, amount: int) -> Any:
    """Change a record of any of the kinds below in place."""
    if isinstance(record, list):
        record[0] += amount
    elif isinstance(record, Count):
        record.n += amount
        record.seen.append(amount)
    elif isinstance(record, tuple):
        plus(record[0], amount)
    else:
        record["n"] += amount
    return record


def number(record: Any) -> Any:
    if isinstance(record, (list, tuple)):
        return number(record[0])
    if isinstance(record, int):
        return record
    return record.n if isinstance(record, Count) else record["n"]


MAKERS = {
    "dict": lambda: {"n": 0},
    "row": lambda: Row(n=0),
    "list": lambda: [0],
    "dataclass": lambda: Count(0),
    "tuple of a dict": lambda: ({"n": 0},),
    "nested": lambda: {"n": 0, "inner": {"n": []}},
}


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param]


class _Keyed(KeyedProcessFunction):
    def __init__(self, make: Any) -> None:
        self.make = make

    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value", None))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", None))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", None, None))


class InValueState(_Keyed):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        held = self.value.value() or self.make()
        plus(held, value)
        self.value.update(held)
        yield held


class InListState(_Keyed):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        held = self.list.get()
        record = held[0] if held else self.make()
        plus(record, value)
        self.list.update([record])
        yield record


class InMapState(_Keyed):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        record = self.map.get("only") or self.make()
        plus(record, value)
        self.map.put("only", record)
        yield record


class InField(_Keyed):
    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self.record = self.make()

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        if value == 1:
            self.record = self.make()
        yield plus(self.record, value)


@pytest.mark.parametrize("function", [InValueState, InListState, InMapState])
@pytest.mark.parametrize("chained", [False, True])
def test_what_was_emitted_does_not_change_with_the_state(
    environment: StreamExecutionEnvironment, make: Any, function: Any, chained: bool
) -> None:
    stream = environment.from_collection(NUMBERS).key_by(lambda value: 0).process(function(make))
    if chained:
        stream = stream.map(lambda record: plus(record, 0))
    assert [number(record) for record in results(stream)] == SUMS


def test_what_was_emitted_does_not_change_with_a_field_of_the_function(make: Any) -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    stream = environment.from_collection(NUMBERS).key_by(lambda value: 0).process(InField(make))
    assert [number(record) for record in results(stream)] == SUMS


class Again(ProcessFunction):
    """Emits one record three times, changed in between, also to the side."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for _ in range(3):
            plus(value, 1)
            ctx.output(SIDE, value)
            yield value


def test_a_record_that_is_changed_and_emitted_again_leaves_the_earlier_ones_alone(
    environment: StreamExecutionEnvironment, make: Any
) -> None:
    main = environment.from_collection([0]).map(lambda value: make()).process(Again())
    side = main.get_side_output(SIDE).map(lambda record: ("side", number(record)))
    both = main.map(lambda record: plus(record, 100)).map(lambda record: ("main", number(record))).union(side)
    assert sorted(results(both)) == [("main", n) for n in (101, 102, 103)] + [("side", n) for n in (1, 2, 3)]


class OneObject(MapFunction):
    """Returns the same object each time."""

    def __init__(self, make: Any) -> None:
        self.make = make

    def open(self, runtime_context: RuntimeContext) -> None:
        self.record = self.make()

    def map(self, value: int) -> Any:
        if value == 1:
            self.record = self.make()
        return plus(self.record, value)


def test_a_map_may_return_one_object_for_all_records(make: Any) -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    stream = environment.from_collection(NUMBERS).map(OneObject(make))
    assert [number(record) for record in results(stream)] == SUMS


def test_a_filter_may_change_what_it_has_let_through_before() -> None:
    class Last:
        def __init__(self) -> None:
            self.last: Any = None

        def __call__(self, record: Any) -> bool:
            if self.last is not None:
                self.last["n"] = -1
            self.last = record
            return True

    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    stream = environment.from_collection(NUMBERS).map(lambda n: {"n": n}).filter(Last())
    assert [number(record) for record in results(stream)] == NUMBERS


@pytest.mark.parametrize("has_chaining", [True, False])
@pytest.mark.parametrize("first_is_exchanged", [True, False])
def test_branches_are_apart(
    environment: StreamExecutionEnvironment, make: Any, has_chaining: bool, first_is_exchanged: bool
) -> None:
    if not has_chaining:
        environment.disable_operator_chaining()
    common = environment.from_collection(NUMBERS).map(lambda n: plus(make(), n))
    first = common.key_by(lambda record: 0) if first_is_exchanged else common
    branches = [
        first.map(lambda record: ("first", number(plus(record, 10)))),
        common.map(lambda record: ("second", number(plus(record, 20)))),
        common.filter(lambda record: plus(record, 40) is not None).map(lambda record: ("third", number(record))),
    ]
    expected = [(name, n + by) for name, by in (("first", 10), ("second", 20), ("third", 40)) for n in NUMBERS]
    assert sorted(results(branches[0].union(*branches[1:]))) == sorted(expected)


def test_a_stream_united_with_itself_has_records_of_its_own(environment: StreamExecutionEnvironment, make: Any) -> None:
    stream = environment.from_collection(NUMBERS).map(lambda n: plus(make(), n))
    both = stream.union(stream).map(lambda record: number(plus(record, 10)))
    assert sorted(results(both)) == sorted([11, 12, 13] * 2)


def test_a_collection_may_hold_one_object_twice(environment: StreamExecutionEnvironment, make: Any) -> None:
    record = plus(make(), 1)
    stream = environment.from_collection([record, record, record]).map(lambda each: number(plus(each, 10)))
    assert results(stream) == [11, 11, 11]
    assert number(record) == 1


class InPlace(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return plus(value1, number(value2))


class Gather(AggregateFunction):
    """Elements in a list that is changed in place, and is the result."""

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, a: Any, b: Any) -> Any:
        a.extend(b)
        return a


def test_a_reduce_may_change_and_return_its_first_argument(environment: StreamExecutionEnvironment, make: Any) -> None:
    stream = environment.from_collection(NUMBERS).map(lambda n: plus(make(), n)).key_by(lambda record: 0)
    assert [number(record) for record in results(stream.reduce(InPlace()))] == SUMS


def test_what_comes_after_a_reduce_may_change_its_results(environment: StreamExecutionEnvironment, make: Any) -> None:
    stream = environment.from_collection(NUMBERS).map(lambda n: plus(make(), n)).key_by(lambda record: 0)
    changed = stream.reduce(InPlace()).map(lambda record: number(plus(record, 100)))
    assert results(changed) == [101, 103, 106]


class Combined(_Keyed):
    """Reducing and aggregating state; what they give is emitted, then changed, and so is what they were given."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.reducing = runtime_context.get_reducing_state(ReducingStateDescriptor("reducing", InPlace(), None))
        self.aggregating = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("aggregating", Gather(), None)
        )

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        record = plus(self.make(), value)
        self.reducing.add(record)
        self.aggregating.add(record)
        plus(record, 1000)
        reduced, gathered = self.reducing.get(), self.aggregating.get()
        yield reduced, gathered
        plus(reduced, 1000)
        for each in gathered:
            plus(each, 1000)
        gathered.clear()


def test_reducing_and_aggregating_state_share_nothing(environment: StreamExecutionEnvironment, make: Any) -> None:
    stream = environment.from_collection(NUMBERS).key_by(lambda value: 0).process(Combined(make))
    found = [(number(reduced), [number(each) for each in gathered]) for reduced, gathered in results(stream)]
    assert found == [(1, [1]), (3, [1, 2]), (6, [1, 2, 3])]


class ChangedAfterwards(_Keyed):
    """Changes what it put into state, and what it got from there, without putting it back."""

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        seen = [self.value.value(), self.map.get("a"), *self.list.get(), *(held for _, held in self.map.items())]
        yield [number(each) for each in seen if each is not None]
        for each in seen:
            if each is not None:
                plus(each, 1000)
        record = plus(self.make(), value)
        self.value.update(record)
        self.map.put("a", record)
        self.map.put_all({"b": record})
        self.list.update([record, record])
        self.list.add(record)
        plus(record, 1000)


def test_state_changes_by_its_methods_only(environment: StreamExecutionEnvironment, make: Any) -> None:
    stream = environment.from_collection(NUMBERS).key_by(lambda value: 0).process(ChangedAfterwards(make))
    assert results(stream) == [[], [1] * 7, [2] * 7]


class Keep(_Keyed):
    """Puts its input into state and emits it."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield " ".join(str(number(each)) for each in self.list.get())
        self.list.add(value)
        yield value


def test_what_is_changed_downstream_stays_as_it_was_in_state(
    environment: StreamExecutionEnvironment, make: Any
) -> None:
    stream = environment.from_collection(NUMBERS).map(lambda n: plus(make(), n)).key_by(lambda record: 0)
    kept = stream.process(Keep(make)).map(lambda each: each if isinstance(each, str) else number(plus(each, 10)))
    assert results(kept) == ["", 11, "1", 12, "1 2", 13]


class Spoil(ProcessWindowFunction):
    """Emits the numbers of its elements, and an element, then changes all of them."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        elements = list(elements)
        yield context.window().start, [number(element) for element in elements]
        for element in elements:
            plus(element, 1000)


def timed(environment: StreamExecutionEnvironment, make: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value * 1000)
    stream = environment.from_collection(NUMBERS).assign_timestamps_and_watermarks(strategy)
    return stream.map(lambda n: plus(make(), n)).key_by(lambda record: 0)


def test_sliding_windows_have_elements_of_their_own(environment: StreamExecutionEnvironment, make: Any) -> None:
    windows = timed(environment, make).window(SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1)))
    assert sorted(results(windows.process(Spoil()))) == [(0, [1]), (1000, [1, 2]), (2000, [2, 3]), (3000, [3])]


@pytest.mark.parametrize("combine", [InPlace(), lambda a, b: plus(a, number(b))])
def test_sliding_windows_reduce_in_place(environment: StreamExecutionEnvironment, make: Any, combine: Any) -> None:
    windows = timed(environment, make).window(SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1)))
    assert sorted(number(each) for each in results(windows.reduce(combine))) == [1, 3, 3, 5]


def test_elements_of_a_window_that_stays_are_not_changed_by_its_function(make: Any) -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    stream = environment.from_collection([(1, 0), (9, 5000), (2, 500), (3, 600)])
    configured = stream.assign_timestamps_and_watermarks(strategy).map(lambda value: plus(make(), value[0]))
    windows = configured.key_by(lambda record: 0).window(TumblingEventTimeWindows.of(Time.seconds(1)))
    found = results(windows.allowed_lateness(100_000).process(Spoil()))
    assert sorted(found)[-1] == (5000, [9])
    assert [1, 2, 3] in [numbers for _, numbers in found]


class SpoilPair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield number(left), number(right)
        plus(left, 1000)
        plus(right, 1000)


def test_an_interval_join_gives_each_pair_records_of_its_own(
    environment: StreamExecutionEnvironment, make: Any
) -> None:
    left, right = timed(environment, make), timed(environment, make)
    joined = left.interval_join(right).between(Time.seconds(-5), Time.seconds(5)).process(SpoilPair())
    assert sorted(results(joined)) == [(a, b) for a in NUMBERS for b in NUMBERS]


def test_a_window_join_gives_each_pair_records_of_its_own(environment: StreamExecutionEnvironment, make: Any) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value * 1000)
    numbers = environment.from_collection(NUMBERS).assign_timestamps_and_watermarks(strategy)
    left, right = (numbers.map(lambda n: plus(make(), n)) for _ in range(2))
    joined = left.join(right).where(lambda record: 0).equal_to(lambda record: 0)
    pairs = joined.window(TumblingEventTimeWindows.of(Time.seconds(60))).apply(
        lambda first, second: (number(plus(first, 10)), number(plus(second, 10)))
    )
    assert sorted(results(pairs)) == [(a + 10, b + 10) for a in NUMBERS for b in NUMBERS]


@pytest.mark.parametrize("form", ["dict", "row"])
def test_columns_become_objects_of_their_own_for_each_reader(form: str) -> None:
    block = ColumnBlock(pa.RecordBatch.from_pydict({"n": [1, 2, 3]}), form)
    output, seen = Output(), [_Changer(), _Changer()]
    for each in seen:
        output.add_chained(None, each)  # type: ignore[arg-type]
    output.emit(block, None)
    assert [each.seen for each in seen] == [[2, 3, 4], [2, 3, 4]]
    assert [number(record) for record in block.apart().values()] == NUMBERS


class _Changer:
    def receive(self, values: Any, timestamps: Any, keys: Any) -> None:
        self.seen = [number(plus(record, 1)) for record in values.values()]


def test_object_reuse_hands_the_object_itself_on() -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    environment.get_config().enable_object_reuse()
    stream = environment.from_collection([0]).map(lambda value: {"n": 0}).process(Again())
    assert [record["n"] for record in results(stream)] == [3, 3, 3]


def test_object_reuse_can_be_taken_back() -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(1)
    environment.get_config().enable_object_reuse()
    environment.get_config().disable_object_reuse()
    stream = environment.from_collection([0]).map(lambda value: {"n": 0}).process(Again())
    assert [record["n"] for record in results(stream)] == [1, 2, 3]
