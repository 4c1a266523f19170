"""The graph that windows leave behind, and every mistake that is refused at the call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import cloudpickle
import pytest

from penstock.common import Configuration, Duration, Time
from penstock.common.typeinfo import Types
from penstock.datastream import OutputTag, StreamExecutionEnvironment, commutative
from penstock.datastream.aggregations import RollingExtreme, RollingExtremeBy, RollingSum
from penstock.datastream.data_stream import DataStream, KeyedStream
from penstock.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    WindowFunction,
)
from penstock.datastream.window import (
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    NeverTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.datastream.windowed_stream import AllWindowedStream, WindowedStream
from penstock.errors import ConfigurationError, GraphError
from penstock.graph.nodes import Exchange, Node
from penstock.runtime.operators.window import Evaluation, WindowOperator, WindowSpec
from penstock.runtime.operators.window.local import KeyOfPart, LocalWindowAggregation

LATE = OutputTag("late")
MINUTE = TumblingEventTimeWindows.of(Time.minutes(1))


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Larger(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return max(value1, value2)


class LargerWithOpen(Larger):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.name = runtime_context.get_task_name()


class Apply(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> list[Any]:
        return [key]


class ApplyAll(AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Iterable[Any]) -> list[Any]:
        return [window]


class Process(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> list[Any]:
        return [key]


class ProcessAll(ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Iterable[Any]) -> list[Any]:
        return [context]


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.fixture
def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))


@pytest.fixture
def keyed(pairs: DataStream) -> KeyedStream:
    return pairs.key_by(lambda pair: pair[0], Types.STRING())


def node_of(stream: DataStream) -> Node:
    return stream.environment.graph.nodes[stream.edges[0].source_id]


def spec_of(stream: DataStream) -> WindowSpec:
    operator = node_of(stream).operator
    assert isinstance(operator, WindowOperator)
    return operator.spec


def local_of(stream: DataStream) -> Node | None:
    """The node that aggregates in front of the exchange, if there is one."""
    sender = stream.environment.graph.nodes[node_of(stream).inputs[0].source_id]
    return sender if isinstance(sender.operator, LocalWindowAggregation) else None


# ---- what is built ----


def test_settings_end_in_the_operator(keyed: KeyedStream) -> None:
    trigger, evictor = CountTrigger.of(3), CountEvictor.of(2)
    windowed = keyed.window(MINUTE)
    assert windowed.trigger(trigger).evictor(evictor).allowed_lateness(5).side_output_late_data(LATE) is windowed
    function = Process()
    result = windowed.process(function, Types.STRING())
    spec = spec_of(result)
    assert spec == WindowSpec(MINUTE, trigger, Evaluation.PROCESS, function, None, evictor, 5, LATE)
    assert node_of(result).name == "TumblingEventTimeWindows, Process"
    assert result.get_type() == Types.STRING()
    (edge,) = node_of(result).inputs
    assert edge.partitioning.exchange is Exchange.KEYED
    assert edge.partitioning.key_selector is keyed.key_selector
    assert edge.partitioning.key_type == Types.STRING()


EVALUATIONS: list[tuple[Callable[[WindowedStream], DataStream], Evaluation, type | None, type | None, str]] = [
    (lambda w: w.reduce(max), Evaluation.RESULT, None, type(max), "Reduce"),
    (lambda w: w.reduce(Larger(), Apply()), Evaluation.APPLY, Apply, Larger, "Reduce"),
    (lambda w: w.reduce(Larger(), Process()), Evaluation.PROCESS, Process, Larger, "Reduce"),
    (lambda w: w.aggregate(Count()), Evaluation.RESULT, None, Count, "Aggregate"),
    (lambda w: w.aggregate(Count(), Apply(), Types.INT()), Evaluation.APPLY, Apply, Count, "Aggregate"),
    (lambda w: w.aggregate(Count(), Process()), Evaluation.PROCESS, Process, Count, "Aggregate"),
    (lambda w: w.apply(Apply()), Evaluation.APPLY, Apply, None, "Apply"),
    (lambda w: w.process(Process()), Evaluation.PROCESS, Process, None, "Process"),
    (lambda w: w.sum(1), Evaluation.RESULT, None, RollingSum, "Sum"),
    (lambda w: w.min(1), Evaluation.RESULT, None, RollingExtreme, "Min"),
    (lambda w: w.max(1), Evaluation.RESULT, None, RollingExtreme, "Max"),
    (lambda w: w.min_by(1), Evaluation.RESULT, None, RollingExtremeBy, "Min By"),
    (lambda w: w.max_by(1), Evaluation.RESULT, None, RollingExtremeBy, "Max By"),
]


@pytest.mark.parametrize(("build", "evaluation", "function", "combine", "name"), EVALUATIONS)
def test_every_evaluation(
    keyed: KeyedStream, build: Any, evaluation: Evaluation, function: Any, combine: Any, name: str
) -> None:
    result = build(keyed.window(MINUTE))
    spec = spec_of(result)
    assert (spec.evaluation, spec.trigger.__class__) == (evaluation, EventTimeTrigger)
    assert type(spec.function) is (function or type(None))
    assert type(spec.combine) is (combine or type(None))
    assert node_of(result).name == f"TumblingEventTimeWindows, {name}"
    assert not node_of(result).is_single
    cloudpickle.dumps(node_of(result).operator)


def test_extremes_look_for_the_right_end(keyed: KeyedStream) -> None:
    windowed = keyed.window(MINUTE)
    combines = [spec_of(stream).combine for stream in (windowed.min(1), windowed.max(1), windowed.max_by("x"))]
    assert combines == [RollingExtreme(1), RollingExtreme(1, largest=True), RollingExtremeBy("x", largest=True)]


@pytest.mark.parametrize(
    ("build", "evaluation"),
    [
        (lambda w: w.apply(ApplyAll()), Evaluation.APPLY_ALL),
        (lambda w: w.process(ProcessAll()), Evaluation.PROCESS_ALL),
        (lambda w: w.aggregate(Count(), ApplyAll()), Evaluation.APPLY_ALL),
        (lambda w: w.reduce(max, ProcessAll()), Evaluation.PROCESS_ALL),
        (lambda w: w.sum(1), Evaluation.RESULT),
    ],
)
def test_windows_of_a_whole_stream_run_in_one_subtask(pairs: DataStream, build: Any, evaluation: Evaluation) -> None:
    result = build(pairs.key_by(lambda pair: pair[0]).window_all(GlobalWindows.create()))
    assert node_of(result).is_single
    assert spec_of(result).evaluation is evaluation
    partitioning = node_of(result).inputs[0].partitioning
    assert partitioning.exchange is Exchange.KEYED
    assert partitioning.key_selector is not None
    assert {partitioning.key_selector(value) for value in ("a", 1, None)} == {0}
    with pytest.raises(GraphError, match="can only run with parallelism 1"):
        result.set_parallelism(2)


def test_types(keyed: KeyedStream, pairs: DataStream) -> None:
    windowed = keyed.window(MINUTE)
    assert windowed.get_input_type() == pairs.get_type()
    assert windowed.get_execution_environment() is pairs.environment
    assert windowed.reduce(max).get_type() == pairs.get_type()
    assert windowed.sum(1).get_type() == pairs.get_type()
    assert windowed.reduce(max, Apply()).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert windowed.reduce(max, None, Types.INT()).get_type() == Types.INT()
    assert windowed.aggregate(Count(), output_type=Types.INT()).get_type() == Types.INT()


def test_count_windows(keyed: KeyedStream, pairs: DataStream) -> None:
    for result in (keyed.count_window(3).sum(1), pairs.count_window_all(3).sum(1)):
        assert isinstance(spec_of(result).assigner, CountTumblingWindowAssigner)
    sliding = spec_of(keyed.count_window(4, 2).sum(1)).assigner
    assert isinstance(sliding, CountSlidingWindowAssigner)
    assert (sliding.window_size, sliding.window_slide) == (4, 2)


@pytest.mark.parametrize("lateness", [1500, Duration.of_millis(1500), Time.milliseconds(1500), timedelta(seconds=1.5)])
def test_lateness_is_written_in_any_way(keyed: KeyedStream, lateness: Any) -> None:
    assert spec_of(keyed.window(MINUTE).allowed_lateness(lateness).sum(1)).allowed_lateness == 1500


def test_what_has_no_meaning_for_the_windows_is_accepted_as_in_flink(keyed: KeyedStream) -> None:
    by_clock = keyed.window(TumblingProcessingTimeWindows.of(5)).allowed_lateness(5).side_output_late_data(LATE)
    assert spec_of(by_clock.sum(1)).allowed_lateness == 5
    assert spec_of(keyed.window(GlobalWindows.create()).allowed_lateness(5).sum(1)).allowed_lateness == 5


# ---- what is refused ----


MISTAKES: list[tuple[Callable[[Any], Any], str]] = [
    (lambda w: w.trigger(CountTrigger), "trigger: expected a Trigger"),
    (lambda w: w.evictor(CountTrigger.of(1)), "evictor: expected an Evictor"),
    (lambda w: w.allowed_lateness(-1), "allowed_lateness: the allowed lateness cannot be negative, got -1"),
    (lambda w: w.allowed_lateness("5 s"), "allowed_lateness: expected milliseconds or a Duration, got '5 s'"),
    (lambda w: w.side_output_late_data("late"), "side_output_late_data: expected an OutputTag, got 'late'"),
    (lambda w: w.two_phase("on"), "two_phase: expected True or False, got 'on'"),
    (lambda w: w.reduce(None), "reduce: expected a ReduceFunction or a callable, got None"),
    (lambda w: w.reduce(Count()), "reduce: expected a ReduceFunction or a callable"),
    (lambda w: w.reduce(Larger), r"reduce: pass an instance, Larger\(\)"),
    (lambda w: w.reduce(max, max), "reduce: window_function must be a WindowFunction or a ProcessWindowFunction"),
    (
        lambda w: w.reduce(max, ApplyAll()),
        r"derives from AllWindowFunction, but after window\(\) it must be",
    ),
    (lambda w: w.reduce(max, None, "INT"), "reduce: output_type is of unknown type 'INT'"),
    (lambda w: w.aggregate(max), "aggregate: expected a AggregateFunction"),
    (lambda w: w.aggregate(Count(), None, int), "aggregate: accumulator_type is of unknown type"),
    (lambda w: w.apply(Process()), r"apply: Process is a ProcessWindowFunction; pass it to process\(\)"),
    (lambda w: w.process(Apply()), r"process: Apply is a WindowFunction; pass it to apply\(\)"),
    (lambda w: w.process(ProcessAll()), r"after window\(\) it must be a ProcessWindowFunction"),
    (lambda w: w.apply(max), "apply: expected a WindowFunction, got"),
    (lambda w: w.process(Process), r"process: pass an instance, Process\(\)"),
    (lambda w: w.sum(-1), "sum: a field is a name or a position"),
    (lambda w: w.max_by(1.5), "max_by: a field is a name or a position"),
]


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_a_mistake_is_refused(keyed: KeyedStream, call: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        call(keyed.window(MINUTE))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.key_by(len).window(5), "window: expected a WindowAssigner such as .* got 5"),
        (lambda s: s.window_all(TumblingEventTimeWindows), "window_all: expected a WindowAssigner"),
        (lambda s: s.key_by(len).count_window(0), "count_window: the size must be .* 1 or more, got 0"),
        (lambda s: s.count_window_all(True), "count_window_all: the size must be"),
        (lambda s: s.key_by(len).count_window(3, -1), "count_window: the slide must be .*, got -1"),
        (lambda s: s.window_all(MINUTE).apply(Apply()), r"after window_all\(\) it must be a AllWindowFunction"),
        (lambda s: s.window_all(MINUTE).apply(ProcessAll()), r"apply: ProcessAll is .* pass it to process\(\)"),
        (
            lambda s: s.key_by(len).window(EventTimeSessionWindows.with_gap(5)).trigger(NeverTrigger()),
            r"windows of EventTimeSessionWindows merge, but NeverTrigger cannot.*can_merge\(\)",
        ),
    ],
)
def test_a_mistake_about_windows_is_refused(pairs: DataStream, call: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        call(pairs)


# ---- aggregation in front of the exchange ----


def test_reduce_aggregates_in_front_of_the_exchange_unasked(keyed: KeyedStream) -> None:
    result = keyed.window(MINUTE).side_output_late_data(LATE).sum(1)
    local = local_of(result)
    assert local is not None
    assert spec_of(result).takes_partials
    assert local.name == "TumblingEventTimeWindows, Sum (local)"
    assert local.is_single, "as its sender, so that they share a vertex"
    assert (local.operator.minds_late, local.operator.is_pure) == (True, True)
    assert local.operator.key_selector is keyed.key_selector
    assert local.inputs[0].partitioning.exchange is Exchange.FORWARD
    (edge,) = node_of(result).inputs
    assert edge.partitioning.exchange is Exchange.KEYED
    assert isinstance(edge.partitioning.key_selector, KeyOfPart)
    assert edge.partitioning.key_type == Types.STRING()
    cloudpickle.dumps(local.operator)


def test_windows_of_a_whole_stream_aggregate_in_front_too(pairs: DataStream) -> None:
    result = pairs.map(lambda pair: pair).set_parallelism(3).window_all(MINUTE).reduce(commutative(max))
    local = local_of(result)
    assert local is not None
    assert (local.parallelism, local.is_single, local.operator.is_pure) == (3, False, False)
    assert not local.operator.minds_late
    assert node_of(result).is_single


AUTOMATIC: list[tuple[Callable[[KeyedStream], DataStream], bool]] = [
    (lambda k: k.window(MINUTE).reduce(max), False),
    (lambda k: k.window(MINUTE).reduce(commutative(max)), True),
    (lambda k: k.window(MINUTE).reduce(commutative(Larger()), Process()), True),
    (lambda k: k.window(MINUTE).max_by(1), True),
    (lambda k: k.window(MINUTE).two_phase().reduce(max), True),
    (lambda k: k.window(SlidingEventTimeWindows.of(10, 5)).max(1), True),
    (lambda k: k.window(MINUTE).trigger(EventTimeTrigger.create()).max(1), True),
    (lambda k: k.window(MINUTE).reduce(LargerWithOpen()), False),
    (lambda k: k.window(MINUTE).aggregate(Count()), False),
    (lambda k: k.window(MINUTE).two_phase(False).max(1), False),
    (lambda k: k.window(MINUTE).two_phase().aggregate(Count()), True),
    (lambda k: k.window(MINUTE).two_phase().reduce(LargerWithOpen()), True),
    (lambda k: k.window(MINUTE).trigger(CountTrigger.of(2)).max(1), False),
    (lambda k: k.window(MINUTE).evictor(CountEvictor.of(2)).max(1), False),
    (lambda k: k.window(EventTimeSessionWindows.with_gap(5)).max(1), False),
    (lambda k: k.window(SlidingEventTimeWindows.of(5, 10)).max(1), False),
    (lambda k: k.window(MINUTE).process(Process()), False),
]


@pytest.mark.parametrize(("build", "expected"), AUTOMATIC)
def test_where_it_is_done(keyed: KeyedStream, build: Any, expected: bool) -> None:
    result = build(keyed)
    assert (local_of(result) is not None) is expected
    assert spec_of(result).takes_partials is expected


@pytest.mark.parametrize(
    ("mode", "reduces", "aggregates", "sessions"),
    [
        ("auto", True, False, False),
        ("on", True, True, False),
        ("true", True, True, False),
        ("off", False, False, False),
        ("false", False, False, False),
    ],
)
def test_the_configuration_says_where(mode: str, reduces: bool, aggregates: bool, sessions: bool) -> None:
    configuration = Configuration().set_string("penstock.window.two-phase", mode)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    keyed = env.from_collection([("a", 1)]).key_by(lambda pair: pair[0])
    built = [
        keyed.window(MINUTE).max(1),
        keyed.window(MINUTE).aggregate(Count()),
        keyed.window(EventTimeSessionWindows.with_gap(5)).max(1),
    ]
    assert [local_of(stream) is not None for stream in built] == [reduces, aggregates, sessions]
    assert local_of(keyed.window(MINUTE).two_phase(False).max(1)) is None
    assert local_of(keyed.window(MINUTE).two_phase(True).max(1)) is not None


def test_the_configuration_is_checked() -> None:
    configuration = Configuration().set_string("penstock.window.two-phase", "sometimes")
    with pytest.raises(ConfigurationError, match=r"'penstock.window.two-phase' is 'sometimes'.* auto, on, off"):
        StreamExecutionEnvironment.get_execution_environment(configuration)


def test_unasked_only_where_it_can_share_the_vertex_of_its_sender(env: StreamExecutionEnvironment) -> None:
    def windowed(stream: DataStream) -> WindowedStream:
        return stream.key_by(lambda pair: pair[0]).window(MINUTE)

    pairs = env.from_collection([("a", 1)])
    both = pairs.union(env.from_collection([("b", 2)]))
    apart = pairs.map(lambda pair: pair).disable_chaining()
    assert local_of(windowed(both).max(1)) is None
    assert local_of(windowed(apart).max(1)) is None
    local = local_of(windowed(both).two_phase().max(1))
    assert local is not None
    assert [edge.source_id for edge in local.inputs] == [edge.source_id for edge in both.edges]
    assert local_of(windowed(pairs.rebalance()).max(1)) is not None
    env.disable_operator_chaining()
    assert local_of(windowed(pairs).max(1)) is None


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda k: k.window(MINUTE).two_phase().process(Process()), "its function needs every element"),
        (lambda k: k.window(MINUTE).two_phase().apply(Apply()), r"use reduce\(\) or aggregate\(\)"),
        (lambda k: k.window(MINUTE).two_phase().evictor(CountEvictor.of(1)).sum(1), "CountEvictor needs every"),
        (lambda k: k.window(MINUTE).two_phase().trigger(CountTrigger.of(1)).sum(1), "only EventTimeTrigger does not"),
        (lambda k: k.window(EventTimeSessionWindows.with_gap(5)).two_phase().sum(1), "EventTimeSessionWindows"),
        (
            lambda k: k.window(TumblingProcessingTimeWindows.of(5)).two_phase().sum(1),
            "only tumbling, cumulative and sliding",
        ),
        (lambda k: k.window(SlidingEventTimeWindows.of(5, 6)).two_phase().sum(1), "with a slide up to their size"),
    ],
)
def test_asked_for_where_it_is_impossible_it_is_refused_with_the_reason(
    keyed: KeyedStream, build: Any, reason: str
) -> None:
    with pytest.raises(GraphError, match=rf"two_phase: '.*' cannot aggregate before the exchange, because .*{reason}"):
        build(keyed)


def test_the_classes_are_where_pyflink_has_them() -> None:
    from penstock.datastream import data_stream

    assert data_stream.WindowedStream is WindowedStream
    assert data_stream.AllWindowedStream is AllWindowedStream
