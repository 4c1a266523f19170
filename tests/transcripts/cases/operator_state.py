"""Operator state: what a function keeps in its fields is the same wherever its batches run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.datastream import (
    CheckpointedFunction,
    CheckpointListener,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    ListCheckpointed,
    MapFunction,
)
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.testing import Cut
from penstock.testing.transcripts import Left, Step, Transcript

BATCHES = "its results tell how many batches there were"


class Threes(FlatMapFunction, CheckpointedFunction):
    """Gathers numbers in a field and emits three at a time; the field is made by the constructor."""

    def __init__(self) -> None:
        self.buffer: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("buffer"))
        if context.is_restored():
            for value in self.state:
                self.buffer.append(value)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(self.buffer)

    def flat_map(self, value: int) -> Iterator[Any]:
        self.buffer.append(value)
        if len(self.buffer) == 3:
            yield tuple(self.buffer)
            self.buffer.clear()


class Number(MapFunction, ListCheckpointed):
    """Numbers its elements."""

    def __init__(self) -> None:
        self.count = 0

    def map(self, value: Any) -> Any:
        self.count += 1
        return self.count, value

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        return [self.count]

    def restore_state(self, state: list[Any]) -> None:
        self.count += sum(state)


class Once(FilterFunction, CheckpointedFunction):
    """Lets each value pass once; its states are used as they are, without fields."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.seen = store.get_broadcast_state(MapStateDescriptor("seen"))
        self.order = store.get_union_list_state(ListStateDescriptor("order"))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        if len(self.order.get()) != len(self.seen.keys()):
            raise AssertionError("the two states are not of one moment")

    def filter(self, value: Any) -> bool:
        if value in self.seen:
            return False
        self.seen.put(value, True)
        self.order.add(value)
        return True


class Ranked(KeyedProcessFunction, ListCheckpointed):
    """Keyed state and state of the subtask in one function: the place within the key, and within all."""

    def __init__(self) -> None:
        self.all = [0]

    def open(self, context: Any) -> None:
        self.count = context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        self.all[0] += 1
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value(), self.all[0]

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        return self.all

    def restore_state(self, state: list[Any]) -> None:
        self.all = state


class Told(MapFunction, CheckpointedFunction, CheckpointListener):
    """Tells which checkpoints are final, as far as it knows."""

    def __init__(self) -> None:
        self.final: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("final"))
        self.final = self.state.get()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(self.final)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.final.append(checkpoint_id)

    def map(self, value: Any) -> Any:
        return value, list(self.final)


def threes(stream: DataStream) -> DataStream:
    return stream.flat_map(Threes()).set_parallelism(1)


def number(stream: DataStream) -> DataStream:
    return stream.map(Number()).set_parallelism(1)


def number_behind_others(stream: DataStream) -> DataStream:
    return stream.map(str).set_parallelism(1).map(Number()).set_parallelism(1).map(lambda pair: f"{pair[0]}: {pair[1]}")


def once(stream: DataStream) -> DataStream:
    return stream.filter(Once()).set_parallelism(1)


def ranked(stream: DataStream) -> DataStream:
    return stream.key_by(lambda value: value).process(Ranked()).set_parallelism(1)


def told(stream: DataStream) -> DataStream:
    return stream.map(Told())


TRANSCRIPTS = [
    Transcript(
        "a buffer in a field is filled from where the batch before left it",
        threes,
        [
            Step(1, 2),
            Step(3, 4, 5, out=[((1, 2, 3), None)]),
            Step(6, Cut(), 7, Cut(), 8, out=[((4, 5, 6), None)]),
            Step(9, out=[((7, 8, 9), None)]),
        ],
    ),
    Transcript(
        "a number in a field goes on from batch to batch",
        number,
        [
            Step("a", "b", out=[((1, "a"), None), ((2, "b"), None)]),
            Step("c", out=[((3, "c"), None)]),
            Step("d", Cut(), "e", out=[((4, "d"), None), ((5, "e"), None)]),
        ],
    ),
    Transcript(
        "a function with state between others that have none",
        number_behind_others,
        [Step(7, 8, out=[("1: 7", None), ("2: 8", None)]), Step(9, out=[("3: 9", None)])],
    ),
    Transcript(
        "states that are used without fields",
        once,
        [
            Step("a", "b", "a", out=[("a", None), ("b", None)]),
            Step("b", "c", Cut(), "c", "a", out=[("c", None)]),
        ],
    ),
    Transcript(
        "state of the subtask beside state of the key",
        ranked,
        [
            Step("a", "b", out=[(("a", 1, 1), None), (("b", 1, 2), None)], left=Left(0, 0, 2)),
            Step("a", out=[(("a", 2, 3), None)]),
        ],
        left=Left(0, 0, 2),
    ),
    Transcript(
        "a listener hears of a checkpoint when its next batch begins",
        told,
        [
            Step("a", out=[(("a", []), None)]),
            Step("b", Cut(), "c", out=[(("b", [0]), None), (("c", [0, 1]), None)]),
            Step("d", out=[(("d", [0, 1, 2]), None)]),
        ],
        stepwise_only=BATCHES,
    ),
]
