"""How a function says that order does not matter to it, and what becomes of windows then."""

from __future__ import annotations

import operator
from typing import Any

import cloudpickle
import pytest

from penstock.common import WatermarkStrategy
from penstock.datastream import (
    AggregateFunction,
    DataStream,
    ReduceFunction,
    StreamExecutionEnvironment,
    commutative,
    count,
)
from penstock.datastream.window import CumulativeEventTimeWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.errors import GraphError
from penstock.runtime.operators import LocalWindowAggregation
from penstock.vocabulary.commutativity import Order, order_of
from penstock.vocabulary.field_aggregation import FieldAggregation

SLIDING = SlidingEventTimeWindows.of(10, 5)


class Larger(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return max(value1, value2)


@commutative
class Largest(Larger):
    pass


class Last(AggregateFunction):
    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_b


def node_of(stream: DataStream) -> Any:
    return stream.environment.graph.nodes[stream.edges[0].source_id]


def test_nothing_is_taken_for_granted() -> None:
    assert [order_of(each) for each in (max, Larger(), Last(), lambda a, b: a + b, None)] == [Order.ALL] * 5
    assert order_of(FieldAggregation((count(),))) is Order.NONE


def test_functions_classes_and_built_ins_can_say_so() -> None:
    @commutative
    def added(first: int, second: int) -> int:
        return first + second

    said = [added, commutative(lambda a, b: a * b), Largest(), commutative(Larger()), commutative(operator.add)]
    assert [order_of(each) for each in said] == [Order.NONE] * 5
    assert order_of(Larger()) is Order.ALL
    assert added(1, 2) == 3
    assert commutative(operator.add).reduce(1, 2) == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("wrong", [3, "sum", 0, [max], SlidingEventTimeWindows])
def test_anything_else_is_refused(wrong: Any) -> None:
    with pytest.raises(GraphError, match=r"commutative: expected a function of two values.*got "):
        commutative(wrong)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda k: k.window(SLIDING).reduce(max), False),
        (lambda k: k.window(SLIDING).reduce(commutative(max)), True),
        (lambda k: k.window(SLIDING).sum(1), True),
        (lambda k: k.window(SLIDING).min_by(1), False),
        (lambda k: k.window(CumulativeEventTimeWindows.of(10, 5)).reduce(lambda a, b: b), False),
        (lambda k: k.window(TumblingEventTimeWindows.of(10)).reduce(lambda a, b: b), False),
        (lambda k: k.window(TumblingEventTimeWindows.of(10)).two_phase().reduce(lambda a, b: b), True),
        (lambda k: k.window(SLIDING).aggregate_fields(count()), True),
    ],
)
def test_overlapping_windows_are_aggregated_in_parts_where_order_does_not_matter(build: Any, expected: bool) -> None:
    env = StreamExecutionEnvironment.in_process()
    node = node_of(build(env.from_collection([("a", 1)]).key_by(lambda pair: pair[0])))
    sender = env.graph.nodes[node.inputs[0].source_id]
    assert isinstance(sender.operator, LocalWindowAggregation) is expected


def test_a_reduce_function_that_only_counts_is_right_without_a_word_and_with_several_senders() -> None:
    env = StreamExecutionEnvironment.in_process()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
    stamped = env.from_collection([("a", 1)] * 6).assign_timestamps_and_watermarks(strategy)
    spread = stamped.rebalance().map(lambda pair: pair).set_parallelism(3)
    counted = spread.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(10))
    assert list(counted.reduce(lambda a, b: (a[0], a[1] + 1)).execute_and_collect()) == [("a", 6)]


def test_asked_for_on_overlapping_windows_it_needs_to_be_said() -> None:
    keyed = StreamExecutionEnvironment.in_process().from_collection([("a", 1)]).key_by(lambda pair: pair[0])
    with pytest.raises(GraphError, match=r"'SlidingEventTimeWindows, Reduce' .*order of arrival.*commutative"):
        keyed.window(SLIDING).two_phase().reduce(lambda a, b: b)
    keyed.window(SLIDING).two_phase().reduce(commutative(lambda a, b: a))


def test_what_was_said_goes_along_with_a_function_that_is_found_by_name() -> None:
    # Elsewhere it is imported anew, and nobody says it there.
    keyed = StreamExecutionEnvironment.in_process().from_collection([("a", 1)]).key_by(lambda pair: pair[0])
    function = commutative(_found_by_name)
    travelling = cloudpickle.dumps(node_of(keyed.window(SLIDING).reduce(function)).operator)
    del _found_by_name.is_commutative  # type: ignore[attr-defined]
    assert cloudpickle.loads(travelling).spec.order is Order.NONE


def _found_by_name(first: Any, second: Any) -> Any:
    return first
