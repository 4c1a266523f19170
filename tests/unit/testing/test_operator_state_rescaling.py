"""Snapshots of operator state at another parallelism: lists in pieces, union lists to all, broadcast copies in turn."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.datastream import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    ListCheckpointed,
    MapFunction,
    RuntimeContext,
)
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.runtime.operators import BroadcastProcessOperator, KeyedProcessOperator, MapOperator
from penstock.testing import HarnessSnapshot, KeyedHarness, OperatorHarness
from penstock.testing.two_input_harness import TwoInputHarness

RULES = MapStateDescriptor("rules")


class Keep(MapFunction, CheckpointedFunction):
    """Keeps values in a list and a union list; asked for nothing it tells both."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.list = store.get_list_state(ListStateDescriptor("list"))
        self.union = store.get_union_list_state(ListStateDescriptor("union"))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def map(self, value: str | None) -> Any:
        if value is not None:
            self.list.add(value)
            self.union.add(value)
        return "".join(self.list), "".join(self.union)


class KeepList(MapFunction, ListCheckpointed):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def map(self, value: str | None) -> str:
        self.seen += value or ""
        return "".join(self.seen)

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        return self.seen

    def restore_state(self, state: list[Any]) -> None:
        self.seen += state


class Tell(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield dict(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put("rule", value)


def kept(function: Any, words: list[str], parallelism: int) -> list[Any]:
    """What the new subtasks have of what the old ones were fed, letter by letter."""
    snapshots = []
    for word in words:
        with OperatorHarness(MapOperator(function)) as harness:
            for letter in word:
                harness.process_element(letter)
            snapshots.append(harness.snapshot())
    told = []
    for snapshot in HarnessSnapshot.rescaled(snapshots, parallelism):
        fresh = OperatorHarness(MapOperator(function))
        fresh.restore(snapshot)
        with fresh:
            fresh.process_element(None)
            told += fresh.output_values()
    return told


@pytest.mark.parametrize(
    ("words", "parallelism", "lists"),
    [
        (["abc", "d"], 3, ["ab", "c", "d"]),
        (["a", "bc", "d"], 1, ["abcd"]),
        (["a", ""], 3, ["a", "", ""]),
        (["abc", "d"], 2, ["abc", "d"]),
    ],
    ids=["2 to 3", "3 to 1", "less than there are subtasks", "2 to 2"],
)
def test_lists_are_dealt_out_and_union_lists_go_to_all(words: list[str], parallelism: int, lists: list[str]) -> None:
    assert kept(Keep(), words, parallelism) == [(each, "".join(words)) for each in lists]
    assert kept(KeepList(), words, parallelism) == lists


@pytest.mark.parametrize(("old", "new", "expected"), [(2, 3, [0, 1, 0]), (3, 1, [0]), (2, 2, [0, 1])])
def test_broadcast_copies_are_taken_in_turn(old: int, new: int, expected: list[int]) -> None:
    snapshots = []
    for number in range(old):
        with TwoInputHarness(BroadcastProcessOperator(Tell(), [RULES])) as harness:
            harness.process_element2(number)
            snapshots.append(harness.snapshot())
    told = []
    for snapshot in HarnessSnapshot.rescaled(snapshots, new):
        fresh = TwoInputHarness(BroadcastProcessOperator(Tell(), [RULES]))
        fresh.restore(snapshot)
        with fresh:
            fresh.process_element1("tell")
            told += fresh.output_values()
    assert told == [{"rule": number} for number in expected]


class KeepKeyed(Keep, KeyedProcessFunction):
    def open(self, context: RuntimeContext) -> None:
        self.count = context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: str, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield self.map(value), self.count.value()


def test_keyed_state_goes_with_its_key_whatever_becomes_of_the_lists() -> None:
    def harness_of(subtask: int, parallelism: int) -> KeyedHarness:
        operator = KeyedProcessOperator(KeepKeyed())
        return KeyedHarness(operator, key=lambda word: word, parallelism=parallelism, subtask=subtask)

    words = list("abcdef")
    snapshots = []
    for subtask in range(2):
        with harness_of(subtask, 2) as harness:
            for word in words:
                if harness.owns(word):
                    harness.process_element(word)
            snapshots.append(harness.snapshot())
    (whole,) = HarnessSnapshot.rescaled(snapshots, 1)
    fresh = harness_of(0, 1)
    fresh.restore(whole)
    with fresh:
        fresh.process_element("a")
        ((listed, _), count) = fresh.output_values()[0]
    assert (sorted(listed), count) == (sorted([*words, "a"]), 2)
