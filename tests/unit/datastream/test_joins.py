"""Joins in the fluent API: what they add to the graph, what they refuse, and what user code sees of the elements."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common import Duration, Time, Types
from penstock.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from penstock.datastream import (
    CoGroupFunction,
    DataStream,
    FlatJoinFunction,
    KeyedStream,
    OutputTag,
    ProcessJoinFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.joined_streams import JoinedWindows
from penstock.datastream.window import (
    CountEvictor,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    NeverTrigger,
    TumblingEventTimeWindows,
)
from penstock.errors import GraphError
from penstock.graph.nodes import Exchange, Node
from penstock.runtime.operators.interval_join import IntervalJoinSpec
from penstock.runtime.operators.window_join import CoGroupEvaluation

TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))
LATE, LATE_TOO = OutputTag("late"), OutputTag("late too")


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left, right


class Reduce(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


@pytest.fixture
def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.in_process()


def stream_of(environment: StreamExecutionEnvironment, *elements: Any) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    return environment.from_collection(list(elements)).assign_timestamps_and_watermarks(strategy)


def keyed(environment: StreamExecutionEnvironment) -> KeyedStream:
    return environment.from_collection([("k", 1)]).key_by(0)


def last_node(environment: StreamExecutionEnvironment) -> Node:
    return list(environment.graph.nodes.values())[-1]


# ---- interval join ----


def test_an_interval_join_is_one_node_with_two_keyed_inputs(environment: StreamExecutionEnvironment) -> None:
    left, right = keyed(environment), keyed(environment)
    joined = left.interval_join(right).in_event_time().between(-5, 5).process(Pairs(), Types.STRING())
    node = last_node(environment)
    assert (joined.get_name(), joined.get_type()) == ("Interval Join", Types.STRING())
    assert [(edge.source_id, edge.input_index) for edge in node.inputs] == [
        (left.edges[0].source_id, 0),
        (right.edges[0].source_id, 1),
    ]
    assert {edge.partitioning.exchange for edge in node.inputs} == {Exchange.KEYED}
    assert node.operator.spec == IntervalJoinSpec(-5, 5)


@pytest.mark.parametrize("lower", [-2_000, Time.seconds(-2), Duration.of_seconds(-2), datetime.timedelta(seconds=-2)])
def test_settings_of_an_interval_join_reach_its_operator(environment: StreamExecutionEnvironment, lower: Any) -> None:
    joined = keyed(environment).interval_join(keyed(environment)).between(lower, 7)
    joined.lower_bound_exclusive().upper_bound_exclusive().lower_bound_exclusive()
    joined.side_output_left_late_data(LATE).side_output_right_late_data(LATE_TOO).process(Pairs())
    expected = IntervalJoinSpec(-1_999, 6, left_late_tag=LATE, right_late_tag=LATE_TOO)
    assert last_node(environment).operator.spec == expected


@pytest.mark.parametrize(
    ("set_type", "outer"),
    [
        (lambda joined: joined.left_outer(), (True, False)),
        (lambda joined: joined.right_outer(), (False, True)),
        (lambda joined: joined.full_outer(), (True, True)),
    ],
)
def test_the_type_of_an_interval_join(
    environment: StreamExecutionEnvironment, set_type: Callable[[Any], Any], outer: tuple[bool, bool]
) -> None:
    set_type(keyed(environment).interval_join(keyed(environment)).between(0, 1)).process(Pairs())
    spec = last_node(environment).operator.spec
    assert (spec.left_outer, spec.right_outer) == outer


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda left, right: left.interval_join(right.map(str)), "interval_join: both streams must be keyed"),
        (lambda left, _: left.interval_join(keyed(StreamExecutionEnvironment.in_process())), "different environments"),
        (lambda left, right: left.interval_join(right).in_processing_time(), "needs event time"),
        (lambda left, right: left.interval_join(right).between(1, 0), "between: lower_bound must not be above"),
        (lambda left, right: left.interval_join(right).between("1", 2), "between: lower_bound must be milliseconds"),
        (lambda left, right: left.interval_join(right).between(1, 2.5), "between: upper_bound must be milliseconds"),
        (
            lambda left, right: left.interval_join(right).between(0, 1).side_output_left_late_data("late"),
            "side_output_left_late_data: expected an OutputTag",
        ),
        (
            lambda left, right: left.interval_join(right).between(0, 1).process(lambda left, right: left),
            "process: expected a ProcessJoinFunction",
        ),
        (lambda left, right: left.interval_join(right).between(0, 1).process(Pairs), "pass an instance"),
        (lambda left, right: left.interval_join(right).between(0, 1).process(Pairs(), str), "output_type"),
    ],
)
def test_an_interval_join_that_cannot_work_is_refused(
    environment: StreamExecutionEnvironment, build: Callable[..., Any], complaint: str
) -> None:
    with pytest.raises(GraphError, match=complaint):
        build(keyed(environment), keyed(environment))


# ---- window join and co-group ----


def windows(
    environment: StreamExecutionEnvironment,
    assigner: Any = TEN,
    first: Any = (),
    second: Any = (),
    method: str = "join",
) -> JoinedWindows:
    streams = [stream_of(environment, *(elements or [("k", 1)])) for elements in (first, second)]
    return getattr(streams[0], method)(streams[1]).where(0).equal_to(0).window(assigner)


def test_elements_are_tagged_where_they_are_made_and_meet_in_one_keyed_operator(
    environment: StreamExecutionEnvironment,
) -> None:
    first = environment.from_collection([("k", 1)]).map(tuple).set_parallelism(3)
    second = environment.from_collection([("k", 1)])
    joined = first.join(second.rebalance()).where(0).equal_to(0).window(TEN).apply(max, Types.INT())
    *_, tag1, tag2, node = environment.graph.nodes.values()
    assert (tag1.parallelism, tag2.is_single) == (3, True)
    assert [edge.source_id for edge in node.inputs] == [tag1.id, tag2.id]
    assert {(edge.partitioning.exchange, edge.input_index) for edge in node.inputs} == {(Exchange.KEYED, 0)}
    assert {edge.partitioning.exchange for tag in (tag1, tag2) for edge in tag.inputs} == {Exchange.FORWARD}
    assert (joined.get_name(), joined.get_type()) == ("TumblingEventTimeWindows, Join", Types.INT())


def test_the_window_operator_knows_built_in_parts_by_their_type(environment: StreamExecutionEnvironment) -> None:
    windows(environment).trigger(EventTimeTrigger.create()).evictor(CountEvictor.of(3)).allowed_lateness(7).apply(max)
    spec = last_node(environment).operator.spec
    assert [type(part) for part in (spec.assigner, spec.trigger, spec.evictor)] == [
        TumblingEventTimeWindows,
        EventTimeTrigger,
        CountEvictor,
    ]
    assert spec.allowed_lateness == 7


def results(joined: DataStream) -> list[Any]:
    with joined.execute_and_collect() as collected:
        return list(collected)


def test_an_assigner_that_looks_at_elements_sees_them_as_they_are(environment: StreamExecutionEnvironment) -> None:
    sessions = DynamicEventTimeSessionWindows.with_dynamic_gap(lambda value: value[2])
    first = [("k", 0, 5), ("k", 20, 9)]
    second = [("k", 4, 1), ("k", 28, 5)]
    joined = windows(environment, sessions, first, second).apply(lambda left, right: (left[1], right[1]))
    assert sorted(results(joined)) == [(0, 4), (20, 28)]


class Collecting(CoGroupFunction):
    """Opened and closed with the operator; emits by a collector."""

    def open(self, runtime_context: Any) -> None:
        self.name = runtime_context.get_task_name()

    def co_group(self, first: list[Any], second: list[Any], out: Any) -> None:
        out.collect((self.name, len(first), len(second)))


def test_a_co_group_function_is_opened_and_may_take_a_collector(environment: StreamExecutionEnvironment) -> None:
    grouped = windows(environment, first=[("k", 1), ("k", 2), ("j", 3)], method="co_group").apply(Collecting())
    assert sorted(results(grouped)) == [
        ("TumblingEventTimeWindows, CoGroup", 1, 0),
        ("TumblingEventTimeWindows, CoGroup", 2, 1),
    ]


def test_a_function_is_closed_with_its_operator() -> None:
    closed = []
    function = Collecting()
    function.close = lambda: closed.append(True)  # type: ignore[method-assign]
    CoGroupEvaluation(function).close()
    assert closed == [True]


class PuttingIn(Evictor):
    def evict_before(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        elements.append(7)

    def evict_after(self, elements: list[Any], size: int, window: Any, evictor_context: Any) -> None:
        pass


class Numbers(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return first[1]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda joined: joined.evictor(PuttingIn()).apply(max), "may only remove elements.*added 7"),
        (lambda joined: joined.apply(Numbers()), "join returned a int; yield"),
    ],
)
def test_user_code_that_goes_wrong_in_a_window_is_named(
    environment: StreamExecutionEnvironment, make: Callable[[Any], DataStream], complaint: str
) -> None:
    with pytest.raises(Exception, match=complaint):
        results(make(windows(environment)))


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda first, second: first.join([second]), "join: expected a DataStream"),
        (lambda first, _: first.co_group(keyed(StreamExecutionEnvironment.in_process())), "different environments"),
        (lambda first, second: first.join(second).where(2.5), "where: expected a callable"),
        (lambda first, second: first.join(second).where(0, str), "where: key_type"),
        (lambda first, second: first.join(second).where(0).equal_to([]), "equal_to: give at least one field"),
        (
            lambda first, second: first.join(second).where(0, Types.INT()).equal_to(0, Types.STRING()),
            "equal_to: the keys are of different types",
        ),
        (lambda first, second: first.join(second).where(0).equal_to(0).window(10), "window: expected a WindowAssigner"),
    ],
)
def test_streams_that_cannot_meet_are_refused(
    environment: StreamExecutionEnvironment, build: Callable[..., Any], complaint: str
) -> None:
    with pytest.raises(GraphError, match=complaint):
        build(keyed(environment), keyed(environment))


@pytest.mark.parametrize(
    ("method", "build", "complaint"),
    [
        ("join", lambda joined: joined.trigger("every minute"), "trigger: expected a Trigger"),
        ("join", lambda joined: joined.evictor(3), "evictor: expected an Evictor"),
        ("join", lambda joined: joined.allowed_lateness(-1).apply(max), "allowed_lateness"),
        ("join", lambda joined: joined.apply(Reduce()), "apply: expected a JoinFunction or a callable"),
        ("join", lambda joined: joined.apply(Numbers), "pass an instance"),
        ("join", lambda joined: joined.apply(max, str), "output_type"),
        ("join", lambda joined: joined.apply(lambda left, right, out: out.collect(left)), "from FlatJoinFunction to"),
        ("co_group", lambda joined: joined.apply(Numbers()), "apply: expected a CoGroupFunction or a callable"),
    ],
)
def test_windows_of_two_streams_that_cannot_work_are_refused(
    environment: StreamExecutionEnvironment, method: str, build: Callable[[Any], Any], complaint: str
) -> None:
    with pytest.raises(GraphError, match=complaint):
        build(windows(environment, method=method))


def test_a_trigger_that_cannot_merge_is_refused_for_sessions(environment: StreamExecutionEnvironment) -> None:
    class Plain(NeverTrigger):
        def can_merge(self) -> bool:
            return False

    sessions = windows(environment, EventTimeSessionWindows.with_gap(Time.seconds(1)))
    with pytest.raises(GraphError, match="merge"):
        sessions.trigger(Plain()).apply(max)
