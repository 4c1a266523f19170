"""Broadcast state on one operator: who may write, who reads, keys, timers, and what lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.datastream import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    KeyedBroadcastProcessFunction,
    OutputTag,
    RuntimeContext,
    TimeDomain,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from penstock.testing import StreamRecord
from penstock.testing.two_input_harness import KeyedTwoInputHarness, TwoInputHarness
from tests.simulation.functions import SumOfParts

RULES = MapStateDescriptor("rules")
LIMITS = MapStateDescriptor("limits")
OTHER = MapStateDescriptor("other")
SIDE = OutputTag("side")
COUNT = ValueStateDescriptor("count")


class Translate(BroadcastProcessFunction):
    """Translates words by rules that come as pairs; None takes a rule back."""

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        yield rules.get(value) if value in rules else (SIDE, value)

    def process_broadcast_element(self, value: tuple[str, Any], ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        if value[1] is None:
            rules.remove(value[0])
        else:
            rules.put(*value)
        yield "rules", len(rules.keys())


class Call(BroadcastProcessFunction):
    """Does what it is told on either side."""

    def __init__(self, data: Any = None, broadcast: Any = None) -> None:
        self.data = data
        self.broadcast = broadcast

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.data(value, ctx)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return self.broadcast(value, ctx)


class KeyedCall(KeyedBroadcastProcessFunction):
    """Counts the elements of a key; does what it is told on the broadcast side and in timers."""

    def __init__(self, broadcast: Any = None, timer: Any = None, at: int | None = None) -> None:
        self.broadcast = broadcast
        self.timer = timer
        self.at = at

    def open(self, context: RuntimeContext) -> None:
        self.count = context.get_state(COUNT)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        if self.at is not None:
            ctx.timer_service().register_event_time_timer(self.at)
            ctx.timer_service().register_processing_time_timer(self.at)
        return [(ctx.get_current_key(), self.count.value())]

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return self.broadcast(self, value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return self.timer(timestamp, ctx)


def plain(function: Any, *descriptors: Any, **settings: Any) -> TwoInputHarness:
    return TwoInputHarness(BroadcastProcessOperator(function, descriptors or (RULES,)), **settings)


def keyed(function: Any, *descriptors: Any, **settings: Any) -> KeyedTwoInputHarness:
    operator = KeyedBroadcastProcessOperator(function, descriptors or (RULES,))
    return KeyedTwoInputHarness(operator, key1=lambda word: word[0], **settings)


def test_elements_see_the_rules_that_have_come_so_far() -> None:
    with plain(Translate(), side_outputs=[SIDE]) as harness:
        harness.process_element1("one", 1)
        harness.process_element2(("one", "eins"), 5)
        harness.process_element1("one", 3)
        harness.process_element2(("one", None), 7)
        harness.process_element1("one", 4)
        assert harness.output() == [
            StreamRecord(("rules", 1), 5),
            StreamRecord("eins", 3),
            StreamRecord(("rules", 0), 7),
        ]
        assert harness.side_output(SIDE) == [StreamRecord("one", 1), StreamRecord("one", 4)]


def test_rules_last_and_are_changed_by_another_copy() -> None:
    with plain(Translate()) as harness:
        harness.process_element2(("one", "eins"))
        harness.process_element2(("two", "zwei"))
        taken = harness.snapshot()
    second = plain(Translate())
    second.restore(taken)
    with second:
        second.process_element2(("one", None))
        second.process_element1("two")
        assert second.output_values() == [("rules", 1), "zwei"]
        taken = second.snapshot()
    third = plain(Translate(), side_outputs=[SIDE])
    third.restore(taken)
    with third:
        third.process_elements1([("one", None), ("two", None)])
        assert (third.output_values(), third.side_output_values(SIDE)) == (["zwei"], ["one"])


PICKLED: list[str] = []


class Counted:
    """A rule that can be changed in place and notes when it is pickled."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __deepcopy__(self, memo: Any) -> Counted:
        return Counted(self.name)

    def __reduce__(self) -> Any:
        PICKLED.append(self.name)
        return Counted, (self.name,)


def test_rules_are_pickled_only_after_a_change_by_the_broadcast_side() -> None:
    with plain(Translate()) as harness:
        harness.process_element2(("one", Counted("eins")))
        harness.snapshot()
        PICKLED.clear()
        harness.process_element1("one")
        harness.snapshot()
        harness.snapshot()
        assert PICKLED == []
        harness.process_element2(("two", "zwei"))
        harness.snapshot()
        assert PICKLED == ["eins"]


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.put("a", 1),
        lambda state: state.remove("a"),
        lambda state: state.clear(),
        lambda state: state.__setitem__("a", 1),
    ],
)
def test_the_data_side_may_not_write(change: Callable[[Any], None]) -> None:
    function = Call(data=lambda value, ctx: change(ctx.get_broadcast_state(RULES)))
    with plain(function) as harness, pytest.raises(OperatorFailure, match="'rules' may only be read") as caught:
        harness.process_element1("x")
    assert "Call" in str(caught.value) and "'x'" in str(caught.value)


def test_a_timer_may_not_write_either() -> None:
    function = KeyedCall(timer=lambda timestamp, ctx: ctx.get_broadcast_state(RULES).put(1, 1), at=10)
    with keyed(function) as harness, pytest.raises(OperatorFailure, match="'rules' may only be read"):
        harness.process_element1("x")
        harness.process_watermark(10)


@pytest.mark.parametrize("side", ["data", "broadcast"])
def test_a_state_that_was_not_declared_is_refused_by_name(side: str) -> None:
    function = Call(**{side: lambda value, ctx: ctx.get_broadcast_state(OTHER)})
    with plain(function, RULES, LIMITS) as harness, pytest.raises(OperatorFailure) as caught:
        harness.process_element1("x") if side == "data" else harness.process_element2("x")
    assert "'other' was not given to broadcast(); the states given are: 'rules', 'limits'" in str(caught.value)


def test_a_state_is_asked_for_by_its_descriptor_not_by_its_name() -> None:
    function = Call(data=lambda value, ctx: ctx.get_broadcast_state("rules"))
    with plain(function) as harness, pytest.raises(OperatorFailure, match="expected a MapStateDescriptor, got 'rules'"):
        harness.process_element1("x")


def test_several_states_are_told_apart() -> None:
    def fill(value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put("a", 1)
        ctx.get_broadcast_state(LIMITS).put("a", 2)

    def read(value: Any, ctx: Any) -> list[Any]:
        return [ctx.get_broadcast_state(state)["a"] for state in (RULES, LIMITS)]

    with plain(Call(read, fill), RULES, LIMITS) as harness:
        harness.process_element2(0)
        harness.process_element1(0)
        assert harness.output_values() == [1, 2]


def test_both_sides_know_the_time_and_reach_side_outputs() -> None:
    def tell(value: Any, ctx: Any) -> None:
        ctx.output(SIDE, (value, ctx.timestamp(), ctx.current_processing_time(), ctx.current_watermark()))

    with plain(Call(tell, tell), side_outputs=[SIDE], processing_time=50) as harness:
        harness.process_watermark(4)
        harness.process_element1("data", 7)
        harness.process_element2("rule", 8)
        assert harness.side_output(SIDE) == [
            StreamRecord(("data", 7, 50, 4), 7),
            StreamRecord(("rule", 8, 50, 4), 8),
        ]


def test_a_collector_may_be_used_on_both_sides() -> None:
    class Collecting(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any, out: Any) -> None:  # type: ignore[override]
            out.collect(("data", value))

        def process_broadcast_element(self, value: Any, ctx: Any, out: Any) -> None:  # type: ignore[override]
            out.collect(("rule", value))

    with plain(Collecting()) as harness:
        harness.process_element1(1)
        harness.process_element2(2)
        assert harness.output_values() == [("data", 1), ("rule", 2)]


def test_a_failure_on_the_broadcast_side_names_the_operator_and_the_element() -> None:
    function = Call(broadcast=lambda value, ctx: 1 / value)
    with plain(function) as harness, pytest.raises(OperatorFailure, match="division by zero") as caught:
        harness.process_elements2([(0, None), (5, None)])
    assert "Call" in str(caught.value) and "processing a record\nrecord: 0" in str(caught.value)


def test_a_result_that_is_no_list_is_refused() -> None:
    function = Call(broadcast=lambda value, ctx: 5)
    with plain(function) as harness, pytest.raises(OperatorFailure, match="process_broadcast_element returned a int"):
        harness.process_element2(0)


# ---- keyed ----


def test_keys_and_state_are_those_of_the_element() -> None:
    with keyed(KeyedCall(broadcast=lambda function, value, ctx: None)) as harness:
        harness.process_element1("apple")
        harness.process_element2("rule")
        harness.process_element1("avocado")
        harness.process_element1("banana")
        assert harness.output_values() == [("a", 1), ("a", 2), ("b", 1)]


def double(function: Any, value: Any, ctx: Any) -> None:
    def change(key: Any, state: Any) -> None:
        state.update(None if (value, key) == ("clear", "a") else state.value() * 2)

    ctx.apply_to_keyed_state(COUNT, change)


def test_every_key_of_the_subtask_is_reached() -> None:
    with keyed(KeyedCall(broadcast=double)) as harness:
        harness.process_elements1([("a", None), ("b", None), ("b", None), ("c", None)])
        harness.snapshot()
        harness.process_element1("c")
        harness.process_element2("double")
        assert [harness.state(key, "count") for key in "abcd"] == [2, 4, 4, None]
        harness.process_element2("clear")
        assert [harness.state(key, "count") for key in "abcd"] == [None, 8, 8, None]


@pytest.mark.parametrize(
    ("descriptor", "get", "fill", "read"),
    [
        (ListStateDescriptor("s"), "get_list_state", lambda state: state.add(1), lambda state: list(state)),
        (MapStateDescriptor("s"), "get_map_state", lambda state: state.put(1, 2), lambda state: dict(state.items())),
        (
            ReducingStateDescriptor("s", lambda a, b: a + b),
            "get_reducing_state",
            lambda state: state.add(1),
            lambda state: state.get(),
        ),
        (
            AggregatingStateDescriptor("s", SumOfParts()),
            "get_aggregating_state",
            lambda state: state.add(1),
            lambda state: state.get(),
        ),
    ],
    ids=["list", "map", "reducing", "aggregating"],
)
def test_every_kind_of_keyed_state_is_reached(descriptor: Any, get: str, fill: Any, read: Any) -> None:
    class Filling(KeyedBroadcastProcessFunction):
        def open(self, context: RuntimeContext) -> None:
            self.state = getattr(context, get)(descriptor)

        def process_element(self, value: Any, ctx: Any) -> Any:
            fill(self.state)
            return [read(self.state)]

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            found: list[Any] = []
            ctx.apply_to_keyed_state(descriptor, lambda key, state: found.append((key, read(state))))
            return found

    with keyed(Filling()) as harness:
        harness.process_element1("a")
        harness.process_element2("rule")
        held, (key, reached) = harness.output_values()
        assert key == "a" and reached == held


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda function, value, ctx: function.count.value(), "'count' was used without a current key"),
        (lambda function, value, ctx: function.count.update(1), "'count' was used without a current key"),
        (lambda function, value, ctx: ctx.timer_service(), "process_broadcast_element has no timers"),
        (lambda function, value, ctx: ctx.get_current_key(), "has no current key: use ctx.apply_to_keyed_state"),
        (lambda function, value, ctx: ctx.apply_to_keyed_state("count", print), "expected the descriptor of a keyed"),
        (lambda function, value, ctx: after_all(function, ctx), "'count' was used without a current key"),
    ],
    ids=["read", "write", "timer", "key", "descriptor", "after all keys"],
)
def test_the_broadcast_side_has_no_key(use: Any, words: str) -> None:
    with keyed(KeyedCall(broadcast=use)) as harness:
        harness.process_element1("apple")
        with pytest.raises(OperatorFailure, match=words):
            harness.process_element2("rule")


def after_all(function: Any, ctx: Any) -> None:
    ctx.apply_to_keyed_state(COUNT, lambda key, state: state.value())
    function.count.value()


def test_a_stream_without_keys_has_no_keyed_state_to_reach() -> None:
    function = Call(broadcast=lambda value, ctx: ctx.apply_to_keyed_state(COUNT, print))
    with plain(function) as harness, pytest.raises(OperatorFailure, match="the stream is not keyed: call key_by"):
        harness.process_element2("rule")


def test_timers_see_the_rules_and_say_which_they_are() -> None:
    def put(function: Any, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put("x", value)

    def fire(timestamp: int, ctx: Any) -> list[Any]:
        rule = ctx.get_broadcast_state(RULES)["x"]
        return [(ctx.get_current_key(), timestamp, ctx.timestamp(), ctx.time_domain(), rule)]

    with keyed(KeyedCall(put, fire, at=10)) as harness:
        harness.process_element1("apple", 1)
        harness.process_element2("first")
        harness.clear_output()
        harness.set_processing_time(10)
        harness.process_element2("second")
        harness.process_watermark1(10)
        assert len(harness.output()) == 1  # the broadcast side holds event time up
        harness.process_watermark2(10)
        assert harness.output() == [
            StreamRecord(("a", 10, 10, TimeDomain.PROCESSING_TIME, "first"), None),
            StreamRecord(("a", 10, 10, TimeDomain.EVENT_TIME, "second"), 10),
        ]


def test_a_broadcast_function_may_be_checkpointed_too() -> None:
    class Both(Translate, CheckpointedFunction):
        def initialize_state(self, context: Any) -> None:
            store = context.get_operator_state_store()
            self.seen = store.get_list_state(ListStateDescriptor("seen"))
            self.rules = store.get_broadcast_state(RULES)

        def snapshot_state(self, context: Any) -> None:
            pass

        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            self.seen.add(value)
            yield list(self.seen), dict(self.rules.items())

    with plain(Both()) as harness:
        harness.process_element1("a")
        harness.process_element2(("one", "eins"))
        taken = harness.snapshot()
    fresh = plain(Both())
    fresh.restore(taken)
    with fresh:
        fresh.process_element1("b")
        assert fresh.output_values() == [(["a", "b"], {"one": "eins"})]
