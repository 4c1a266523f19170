"""Checkpointed functions and listeners: state in fields is right in whichever process a batch runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common.time import Time
from penstock.connectors.function_sink import FunctionSink
from penstock.datastream import (
    CheckpointedFunction,
    CheckpointListener,
    FilterFunction,
    FlatMapFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    ListCheckpointed,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.graph import JobSettings, compile_plan
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import (
    FilterOperator,
    FlatMapOperator,
    KeyedProcessOperator,
    MapOperator,
    ProcessOperator,
    SinkOperator,
    StreamOperator,
)
from penstock.testing import KeyedHarness
from tests.unit.runtime.copies import Copies

SEEN = ListStateDescriptor("seen")


class Remember(CheckpointedFunction):
    """Keeps all values in a field that the constructor made, as the example in Flink's documentation does."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.calls: list[Any] = []

    def open(self, context: RuntimeContext) -> None:
        self.calls.append("open")

    def close(self) -> None:
        CLOSED.append(list(self.seen))

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.calls.append((context.is_restored(), context.get_restored_checkpoint_id()))
        self.state = context.get_operator_state_store().get_list_state(SEEN)
        for value in self.state:
            self.seen.append(value)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.calls.append(("snapshot", context.get_checkpoint_id(), context.get_checkpoint_timestamp()))
        self.state.update(self.seen)

    def remember(self, value: Any) -> list[Any]:
        self.seen.append(value)
        return list(self.seen)


CLOSED: list[Any] = []


class RememberMap(Remember, MapFunction):
    def map(self, value: Any) -> Any:
        return self.remember(value)


class RememberFlatMap(Remember, FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        yield self.remember(value)


class RememberProcess(Remember, ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield self.remember(value)


class Third(Remember, FilterFunction):
    def filter(self, value: Any) -> bool:
        return len(self.remember(value)) % 3 == 0


class CountInList(MapFunction, ListCheckpointed):
    """Numbers what it sees; the list has one element, or none as long as the number is zero."""

    def __init__(self) -> None:
        self.count = 0
        self.restored: list[Any] = []

    def map(self, value: Any) -> int:
        self.count += value
        return self.count

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> Any:
        return [self.count] if self.count else None

    def restore_state(self, state: list[Any]) -> None:
        self.restored.append(state)
        self.count += sum(state)


class Listen(MapFunction, CheckpointListener):
    """Says which checkpoints it was told of since the last record."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def map(self, value: Any) -> list[int]:
        told, self.told = self.told, []
        return told

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.told.append(checkpoint_id)


# ---- whichever process runs a batch ----


@pytest.mark.parametrize(
    "operator",
    [MapOperator(RememberMap()), FlatMapOperator(RememberFlatMap()), ProcessOperator(RememberProcess())],
    ids=["map", "flat_map", "process"],
)
@pytest.mark.parametrize("processes", ["AAAA", "ABAB", "ABCA", "AABB"])
def test_fields_are_what_they_would_be_in_one_process(operator: StreamOperator, processes: str) -> None:
    copies = Copies(operator)
    results = [copies.run(process, number)[0] for number, process in enumerate(processes)]
    assert results == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]


@pytest.mark.parametrize("processes", ["AAAA", "ABAB"])
def test_a_filter_may_be_checkpointed_too(processes: str) -> None:
    copies = Copies(FilterOperator(Third()))
    assert [copies.run(process, number, -number) for number, process in enumerate(processes)] == [[], [1], [-2], []]


def test_a_batch_that_was_run_twice_counts_where_it_was_sealed() -> None:
    copies = Copies(MapOperator(RememberMap()))
    copies.run("A", "first")
    copies.run("A", "lost", is_lost=True)
    copies.run("B", "sealed")
    assert copies.run("A", "last") == [["first", "sealed", "last"]]


def test_the_very_first_batch_may_be_run_twice_in_one_process() -> None:
    copies = Copies(MapOperator(RememberMap()))
    copies.run("A", "lost", is_lost=True)
    assert copies.run("A", "sealed") == [["sealed"]]
    assert copies.function("A").calls[0] == (False, None)


def test_the_copy_that_made_the_last_checkpoint_goes_on_as_it_is() -> None:
    copies = Copies(MapOperator(RememberMap()))
    copies.run("A", 1)
    copies.skip()
    copies.run("A", 2)
    assert copies.function("A").calls == [(False, None), "open", ("snapshot", 0, 1000), ("snapshot", 2, 1000)]


def test_another_copy_is_started_anew() -> None:
    CLOSED.clear()
    copies = Copies(MapOperator(RememberMap()))
    copies.run("A", 1)
    copies.run("B", 2)
    assert copies.function("B").calls == [(True, 0), "open", ("snapshot", 1, 1000)]
    copies.run("A", 3)
    assert CLOSED == [[1]]
    assert copies.function("A").calls == [(True, 1), "open", ("snapshot", 2, 1000)]


@pytest.mark.parametrize("processes", ["AAAA", "ABAB"])
def test_a_list_is_state_too(processes: str) -> None:
    copies = Copies(MapOperator(CountInList()))
    steps = zip(processes, [0, 5, 1, 1], strict=True)
    assert [copies.run(process, value)[0] for process, value in steps] == [0, 5, 6, 7]


def test_a_list_is_restored_only_where_there_is_one() -> None:
    copies = Copies(MapOperator(CountInList()))
    copies.run("A", 0)
    assert copies.function("A").restored == []
    copies.run("B", 2)
    assert copies.function("B").restored == [[]]
    copies.run("A", 2)
    assert copies.function("A").restored == [[2]]


class Own(MapOperator):
    """An operator with a snapshot of its own beside that of its function."""

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        self.batches = (state or 0) + 1

    def process_block(self, values: list[Any], timestamps: Any, keys: Any) -> None:
        super().process_block(values, timestamps, keys)
        self.output.emit([self.batches], None)

    def snapshot(self) -> int:
        return self.batches


def test_an_operator_keeps_its_own_snapshot_beside() -> None:
    copies = Copies(Own(RememberMap()))
    assert [copies.run(process, process) for process in "ABA"] == [
        [["A"], 1],
        [["A", "B"], 2],
        [["A", "B", "A"], 3],
    ]


class Buffered(Remember, SinkFunction):
    def invoke(self, value: Any, context: Any) -> None:
        WRITTEN.append(self.remember(value))


WRITTEN: list[Any] = []


def test_a_sink_function_may_be_checkpointed() -> None:
    WRITTEN.clear()
    copies = Copies(SinkOperator(FunctionSink(Buffered())))
    for process in "ABA":
        copies.run(process, process)
    assert WRITTEN == [["A"], ["A", "B"], ["A", "B", "A"]]


# ---- the stores ----


class EveryStore(KeyedProcessFunction, CheckpointedFunction):
    """One state of each kind, and keyed state got in initialize_state."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.list = store.get_list_state(ListStateDescriptor("list"))
        self.union = store.get_union_list_state(ListStateDescriptor("union"))
        self.map = store.get_broadcast_state(MapStateDescriptor("map"))
        self.value = context.get_keyed_state_store().get_state(ValueStateDescriptor("value"))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def process_element(self, value: str, ctx: Any) -> Any:
        self.list.add(value)
        self.union.add(value)
        self.map.put(value, len(self.list.get()))
        self.value.update((self.value.value() or 0) + 1)
        yield value, self.value.value(), self.list.get(), list(self.union), dict(self.map.items())


def test_every_kind_of_state_lasts_beside_keyed_state() -> None:
    operator = KeyedProcessOperator(EveryStore())
    with KeyedHarness(operator, key=lambda word: word) as harness:
        harness.process_element("a")
        taken = harness.snapshot()
    fresh = KeyedHarness(operator, key=lambda word: word)
    fresh.restore(taken)
    with fresh as harness:
        harness.process_element("b")
        harness.process_element("a")
        assert harness.output_values() == [
            ("b", 1, ["a", "b"], ["a", "b"], {"a": 1, "b": 2}),
            ("a", 2, ["a", "b", "a"], ["a", "b", "a"], {"a": 3, "b": 2}),
        ]


class Asking(RememberMap):
    """Asks the context for something else."""

    def __init__(self, ask: Any) -> None:
        super().__init__()
        self.ask = ask

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.ask(context)


def expiring() -> ListStateDescriptor:
    descriptor = ListStateDescriptor("old")
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    return descriptor


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda c: c.get_operator_state_store().get_list_state(ValueStateDescriptor("v")), "expected a ListStateD"),
        (lambda c: c.get_operator_state_store().get_broadcast_state(SEEN), "expected a MapStateDescriptor"),
        (lambda c: c.get_operator_state_store().get_union_list_state(expiring()), "'old' has a time-to-live"),
        (lambda c: c.get_keyed_state_store().get_state(ValueStateDescriptor("v")), "not keyed: call key_by"),
    ],
)
def test_what_there_is_not_is_refused(ask: Any, words: str) -> None:
    with pytest.raises(OperatorFailure, match=words) as caught:
        Copies(MapOperator(Asking(ask))).run("A", 1)
    assert "in initialize_state()" in str(caught.value)


# ---- listeners ----


@pytest.mark.parametrize("processes", ["AAA", "ABA"])
def test_a_listener_is_told_once_in_whichever_process_goes_on(processes: str) -> None:
    copies = Copies(MapOperator(Listen()))
    assert [copies.run(process, 0)[0] for process in processes] == [[], [0], [1]]


def test_a_listener_is_told_of_the_checkpoints_it_took_part_in() -> None:
    copies = Copies(MapOperator(Listen()))
    copies.run("A", 0)
    copies.skip()
    copies.skip()
    assert [copies.run("A", 0)[0], copies.run("A", 0)[0]] == [[0], [3]]


class Everything(Listen, CheckpointedFunction):
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.told.append(-1)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass


def test_a_function_is_initialized_before_it_is_told() -> None:
    copies = Copies(MapOperator(Everything()))
    assert [copies.run(process, 0)[0] for process in "ABB"] == [[-1], [-1, 0], [1]]


# ---- failures ----


class Failing(RememberMap, CheckpointListener):
    def __init__(self, hook: str) -> None:
        super().__init__()
        self.hook = hook

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.fail("initialize_state")
        super().initialize_state(context)

    def open(self, context: RuntimeContext) -> None:
        self.fail("open")

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.fail("snapshot_state")
        super().snapshot_state(context)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.fail("notify_checkpoint_complete")

    def fail(self, hook: str) -> None:
        if hook == self.hook:
            raise ValueError("no luck")


@pytest.mark.parametrize("hook", ["initialize_state", "open", "snapshot_state", "notify_checkpoint_complete"])
def test_a_failure_names_the_operator_and_the_method(hook: str) -> None:
    copies = Copies(MapOperator(Failing(hook)))
    with pytest.raises(OperatorFailure) as caught:
        copies.run("A", 1)
        copies.run("A", 2)
    assert all(part in str(caught.value) for part in ("no luck", "Counter", f"in {hook}()"))


# ---- where such functions run ----


def vertices(*functions: Any) -> list[str]:
    environment = StreamExecutionEnvironment.in_process()
    stream = environment.from_collection([1])
    for function in functions:
        stream = stream.map(function).name(type(function).__name__)
    stream.print()
    plan = compile_plan(environment.graph, JobSettings(job_name="job", parallelism=1))
    return [vertex.name for vertex in plan.vertices if not vertex.is_driver]


class Plain(MapFunction):
    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize("function", [RememberMap(), CountInList(), Listen()])
def test_such_a_function_does_not_share_the_tasks_of_a_source(function: Any) -> None:
    name = type(function).__name__
    found = vertices(Plain(), function, Plain())
    assert [each.endswith("Plain") for each in found] == [True, True]
    assert found[1] == f"{name} -> Plain"


def test_a_job_has_all_values_however_often_it_crashes(seed: int, tmp_path: Path) -> None:
    environment = StreamExecutionEnvironment.in_process(seed, crash_rate=0.05)
    environment.set_parallelism(1)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(str(tmp_path))
    results = environment.from_collection(list(range(12))).map(RememberMap()).execute_and_collect()
    assert [len(each) for each in results] == list(range(1, 13))


class Wrapper(MapFunction):
    """A function of ours around one of the user's, as window joins have it."""

    def __init__(self, function: Any) -> None:
        self.wrapped_function = function

    def open(self, context: RuntimeContext) -> None:
        self.wrapped_function.open(context)

    def map(self, value: Any) -> Any:
        return self.wrapped_function.map(value)


@pytest.mark.parametrize("processes", ["AAAA", "ABAB"])
def test_a_function_in_a_wrapper_takes_part_too(processes: str) -> None:
    copies = Copies(MapOperator(Wrapper(RememberMap())))
    results = [copies.run(process, number)[0] for number, process in enumerate(processes)]
    assert results == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    copies = Copies(MapOperator(Wrapper(CountInList())))
    assert [copies.run(process, 2)[0] for process in processes] == [2, 4, 6, 8]
    copies = Copies(MapOperator(Wrapper(Everything())))
    assert [copies.run(process, 0)[0][-1] for process in processes] == [-1, 0, 1, 2]
    assert MapOperator(Wrapper(Listen())).needs_stable_subtask
    assert not MapOperator(Wrapper(Plain())).needs_stable_subtask


class Late(RememberMap):
    """Makes a field with its first record."""

    def map(self, value: Any) -> Any:
        if not hasattr(self, "first"):
            self.first = value
        return self.first


def test_a_field_that_is_no_state_is_forgotten_with_the_rest() -> None:
    copies = Copies(MapOperator(Late()))
    assert [copies.run(process, process + str(number))[0] for number, process in enumerate("ABA")] == ["A0", "B1", "A2"]
