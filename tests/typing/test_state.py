"""What type checkers know of state and its descriptors: checked by `make types`, and run like any test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, assert_type

from penstock.common import Types
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.functions import AggregateFunction
from penstock.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)


@dataclass
class Account:
    owner: str
    balance: float


class Mean(AggregateFunction[float, tuple[int, float], float]):
    def create_accumulator(self) -> tuple[int, float]:
        return 0, 0.0

    def add(self, value: float, accumulator: tuple[int, float]) -> tuple[int, float]:
        return accumulator[0] + 1, accumulator[1] + value

    def get_result(self, accumulator: tuple[int, float]) -> float:
        return accumulator[1] / accumulator[0]

    def merge(self, acc_a: tuple[int, float], acc_b: tuple[int, float]) -> tuple[int, float]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def test_descriptors() -> None:
    assert_type(ValueStateDescriptor("a", Types.LONG()), ValueStateDescriptor[int])
    assert_type(ValueStateDescriptor("a", Account), ValueStateDescriptor[Account])
    assert_type(ValueStateDescriptor("a"), ValueStateDescriptor[Any])
    assert_type(ValueStateDescriptor[set[str]]("a"), ValueStateDescriptor[set[str]])
    assert_type(ListStateDescriptor("a", Types.STRING()), ListStateDescriptor[str])
    assert_type(ListStateDescriptor("a", Types.LIST(Types.STRING())), ListStateDescriptor[list[str]])
    assert_type(MapStateDescriptor("a", Types.STRING(), Account), MapStateDescriptor[str, Account])
    assert_type(ReducingStateDescriptor("a", lambda x, y: x + y, Types.LONG()), ReducingStateDescriptor[int])
    mean = AggregatingStateDescriptor("a", Mean())
    assert_type(mean, AggregatingStateDescriptor[float, tuple[int, float], float])


class Remember(KeyedProcessFunction[str, float, str]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.account = runtime_context.get_state(ValueStateDescriptor("account", Account))
        self.amounts = runtime_context.get_list_state(ListStateDescriptor("amounts", Types.DOUBLE()))
        self.by_size = runtime_context.get_map_state(MapStateDescriptor("by_size", Types.STRING(), Types.DOUBLE()))
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda x, y: x + y, Types.DOUBLE())
        )
        self.mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean()))
        assert_type(self.account, ValueState[Account])
        assert_type(self.amounts, ListState[float])
        assert_type(self.by_size, MapState[str, float])
        assert_type(self.total, ReducingState[float])
        assert_type(self.mean, AggregatingState[float, float])

    def process_element(self, value: float, ctx: KeyedProcessFunction.Context[str]) -> Iterable[str]:
        account = self.account.value()
        assert_type(account, Account | None)
        if account is None:
            account = Account(ctx.get_current_key(), 0.0)
        account.balance += value
        self.account.update(account)
        self.amounts.add(value)
        self.by_size.put("large" if value > 1 else "small", value)
        self.total.add(value)
        self.mean.add(value)
        assert_type(list(self.amounts), list[float])
        assert_type(self.by_size.get("large"), float | None)
        assert_type(self.total.get(), float | None)
        assert_type(self.mean.get(), float | None)
        return [f"{account.owner} {account.balance} {self.total.get()} {self.mean.get()}"]


def test_states() -> None:
    stream = StreamExecutionEnvironment.in_process().from_collection([1.0, 3.0])
    with stream.key_by(lambda amount: "ann").process(Remember()).execute_and_collect() as results:
        assert list(results) == ["ann 1.0 1.0 1.0", "ann 4.0 4.0 2.0"]
