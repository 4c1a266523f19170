"""Expiring state of all kinds against a plain Python model with a clock, whatever the batch boundaries."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.time import Time
from penstock.datastream.functions import AggregateFunction
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.errors import StateError
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory_store import MemoryStore

TTL = 100


class Mean(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        return [accumulator[0] + value, accumulator[1] + 1]

    def get_result(self, accumulator: list[int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


def config(*, touches: bool = False, returns: bool = False, sweeps: bool = True) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL))
    builder = builder.update_ttl_on_read_and_write() if touches else builder
    builder = builder.return_expired_if_not_cleaned_up() if returns else builder
    return (builder if sweeps else builder.disable_cleanup_in_background()).build()


def expiring(descriptor: StateDescriptor, ttl: StateTtlConfig | None) -> Any:
    if ttl is not None:
        descriptor.enable_time_to_live(ttl)
    return descriptor


class Operator:
    """A backend with one expiring state of each kind, in batches over one store, and its clock."""

    def __init__(self, ttl: StateTtlConfig | None, cache_limit: int = 100_000) -> None:
        self.now = 1_000
        self.version = 0
        self.ttl = ttl
        self.cache_limit = cache_limit
        self.store = MemoryStore()
        self.start()

    def start(self) -> None:
        backend = self.backend = KeyedStateBackend(128, self.cache_limit, clock=lambda: self.now)
        self.value = backend.get_value_state(expiring(ValueStateDescriptor("value"), self.ttl))
        self.list = backend.get_list_state(expiring(ListStateDescriptor("list"), self.ttl))
        self.map = backend.get_map_state(expiring(MapStateDescriptor("map"), self.ttl))
        total = ReducingStateDescriptor("sum", lambda a, b: a + b)
        self.sum = backend.get_reducing_state(expiring(total, self.ttl))
        self.mean = backend.get_aggregating_state(expiring(AggregatingStateDescriptor("mean", Mean()), self.ttl))
        backend.bind(self.store, self.version)

    def next_batch(self) -> None:
        self.backend.end_batch(0)
        self.backend.unbind()
        self.version += 1
        self.backend.bind(self.store, self.version)

    def restart(self, ttl: StateTtlConfig | None = None) -> None:
        """Go on in another process from what is stored, with another configuration if one is given."""
        self.next_batch()
        self.store = MemoryStore(self.store.snapshot())
        self.ttl = ttl or self.ttl
        self.start()

    def without_ttl(self) -> None:
        self.next_batch()
        self.ttl = None
        self.start()


class Model:
    """The states of one key as pairs of object and last access, read as Flink reads them."""

    def __init__(self, touches: bool, returns: bool) -> None:
        self.touches = touches
        self.returns = returns
        self.objects: dict[Any, tuple[Any, int]] = {}
        self.list: list[tuple[Any, int]] = []

    def set(self, name: Any, value: Any, now: int) -> None:
        self.objects[name] = (value, now)

    def get(self, name: Any, now: int) -> Any:
        value, accessed = self.objects.get(name, (None, now))
        if accessed + TTL <= now:
            del self.objects[name]
            return value if self.returns else None
        if self.touches and name in self.objects:
            self.objects[name] = (value, now)
        return value

    def elements(self, now: int) -> list[Any]:
        everything, live = self.list, [pair for pair in self.list if pair[1] + TTL > now]
        if not live:
            self.list = []
        elif self.touches:
            self.list = [(value, now) for value, _ in live]
        return [value for value, _ in (everything if self.returns else live)]

    def entries(self) -> list[str]:
        return sorted(name[1] for name in self.objects if isinstance(name, tuple))

    def is_empty(self, now: int) -> bool:
        return not any(self.returns or self.objects["map", key][1] + TTL > now for key in self.entries())


def change(states: Operator, model: Model, kind: str, key: str, number: int) -> None:
    now = states.now
    if kind == "value":
        # Objects that can be changed in place are copied, those that cannot are not.
        states.value.update([number] if number % 2 else number)
        model.set("value", [number] if number % 2 else number, now)
    elif kind == "list":
        states.list.add([number])
        model.list.append(([number], now))
    elif kind == "map":
        states.map.put(key, number)
        model.set(("map", key), number, now)
    elif kind == "sum":
        states.sum.add(number)
        model.set("sum", (model.get("sum", now) or 0) + number, now)
    else:
        states.mean.add(number)
        total, count = model.get("mean", now) or (0, 0)
        model.set("mean", (total + number, count + 1), now)


def read(states: Operator, model: Model, kind: str, key: str) -> tuple[Any, Any]:
    now = states.now
    if kind == "value":
        return states.value.value(), model.get("value", now)
    if kind == "list":
        return states.list.get(), model.elements(now)
    if kind == "map":
        return states.map.get(key), model.get(("map", key), now)
    if kind == "entries":
        found = {name: model.get(("map", name), now) for name in model.entries()}
        return dict(states.map.items()), {name: value for name, value in found.items() if value is not None}
    if kind == "is_empty":
        return states.map.is_empty(), model.is_empty(now)
    if kind == "sum":
        return states.sum.get(), model.get("sum", now)
    held = model.get("mean", now)
    return states.mean.get(), None if held is None else held[0] / held[1]


def rework(states: Operator, model: Model, kind: str, key: str, number: int) -> None:
    """What is neither a plain write nor a plain read: changed without being put back, replaced, removed."""
    if kind == "value":
        held, expected = states.value.value(), model.get("value", states.now)
        assert held == expected
        if isinstance(held, list) and "value" in model.objects:
            held.append(number)
    elif kind == "list":
        states.list.update([number, number])
        model.list = [(number, states.now)] * 2
    elif kind == "map":
        states.map.remove(key)
        model.objects.pop(("map", key), None)
    elif kind == "sum":
        states.sum.clear()
        model.objects.pop("sum", None)
    elif kind == "mean":
        states.mean.clear()
        model.objects.pop("mean", None)


VIEWS = {"value": ["value"], "list": ["list"], "map": ["map", "entries", "is_empty"], "sum": ["sum"], "mean": ["mean"]}


def steps_of(kind: str, draw: random.Random, count: int) -> Iterator[tuple[Any, ...]]:
    """Steps on one kind of state and few keys, so that they meet; many of them are reads."""
    for _ in range(count):
        action = draw.choice([change, change, read, read, read, rework])
        name = draw.choice(VIEWS[kind]) if action is read else kind
        passed = draw.choice([0, 0, 0, 1, 20, 40, 60, 99, 100])
        boundary = draw.choice(["", "", "batch", "write", "restart"])
        yield draw.choice("aab"), action, name, draw.choice("ppq"), draw.randrange(10), passed, boundary


@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize("touches", [False, True])
@pytest.mark.parametrize("cache_limit", [0, 100_000])
def test_state_expires_as_the_model_says(touches: bool, returns: bool, kind: str, cache_limit: int, seed: int) -> None:
    # What may be returned although it is expired must not depend on how far a sweep has come.
    states = Operator(config(touches=touches, returns=returns, sweeps=not returns), cache_limit)
    models = {key: Model(touches, returns) for key in "ab"}
    for key, action, name, map_key, number, passed, boundary in steps_of(kind, random.Random(seed), 300):
        states.now += passed
        states.backend.set_key(key)
        if action is read:
            found, expected = read(states, models[key], name, map_key)
            assert found == expected
        else:
            action(states, models[key], name, map_key, number)
        if boundary == "batch":
            states.next_batch()
        elif boundary == "restart":
            states.restart()
        elif boundary == "write":
            states.backend.write()


@pytest.fixture
def states() -> Operator:
    return Operator(config())


def fill(states: Operator) -> None:
    states.backend.set_key("k")
    states.value.update(1)
    states.list.add_all([1, 2])
    states.map.put_all({"p": 1, True: 2})
    states.sum.add(1)
    states.mean.add(1)


def show(states: Operator) -> list[Any]:
    states.backend.set_key("k")
    return [states.value.value(), states.list.get(), dict(states.map.items()), states.sum.get(), states.mean.get()]


FULL = [1, [1, 2], {"p": 1, True: 2}, 1, 1.0]
EMPTY = [None, [], {}, None, None]


@pytest.mark.parametrize("passed", [99, 100])
@pytest.mark.parametrize("cuts", [False, True])
def test_the_last_moment_of_a_life_is_the_one_before_it_is_over(states: Operator, passed: int, cuts: bool) -> None:
    fill(states)
    states.now += passed
    if cuts:
        states.next_batch()
        states.backend.set_key("k")
    assert show(states) == (FULL if passed < TTL else EMPTY)


def test_state_written_without_time_to_live_starts_to_live_when_it_is_read() -> None:
    states = Operator(None)
    fill(states)
    states.restart(config(sweeps=False))
    states.now += 10 * TTL
    assert show(states) == FULL
    states.now += TTL - 1
    states.restart()
    assert show(states) == FULL
    states.now += 1
    states.restart()
    assert show(states) == EMPTY


def test_state_written_without_time_to_live_and_never_read_goes_too() -> None:
    states = Operator(None)
    fill(states)
    states.restart(config())
    states.next_batch()
    states.now += TTL - 1
    states.next_batch()
    assert show(states) == FULL
    states.now += 1
    states.next_batch()
    assert states.backend.count_entries() == 0


def test_state_outlives_its_time_to_live_when_that_is_taken_away(states: Operator) -> None:
    fill(states)
    states.now += 10
    states.list.add(3)
    states.without_ttl()
    states.now += 10 * TTL
    assert show(states) == [1, [1, 2, 3], {"p": 1, True: 2}, 1, 1.0]
    states.list.add(4)
    states.value.update(2)
    states.next_batch()
    assert show(states)[:2] == [2, [1, 2, 3, 4]]


def test_a_map_key_keeps_its_type_behind_the_stamp(states: Operator) -> None:
    states.backend.set_key("k")
    states.map.put(1.0, "one")
    states.restart()
    states.backend.set_key("k")
    ((key, _),) = states.map.items()
    assert type(key) is float


def test_a_change_in_place_neither_counts_nor_prolongs_a_life(states: Operator) -> None:
    states.backend.set_key("k")
    states.value.update([1])
    states.now += 60
    states.value.value().append(2)
    states.next_batch()
    states.backend.set_key("k")
    assert states.value.value() == [1]
    states.now += 40
    assert states.value.value() is None


def test_merging_takes_only_what_is_alive(states: Operator) -> None:
    states.backend.set_key("k")
    states.list.add(1)
    states.sum.add(1)
    states.now += 60
    states.list.add(2)
    states.now += 40
    assert (states.list.take(), states.sum.take()) == ([2], None)
    states.list.merge_taken([2])
    states.sum.merge_taken(5)
    states.now += 99
    assert (states.list.get(), states.sum.get()) == ([2], 5)


def test_a_disabled_time_to_live_is_none() -> None:
    off = StateTtlConfig.new_builder(Time.milliseconds(1)).set_update_type(StateTtlConfig.UpdateType.Disabled).build()
    states = Operator(off)
    fill(states)
    states.now += 1_000
    states.next_batch()
    assert show(states) == FULL


def test_a_backend_without_clock_refuses_it() -> None:
    backend = KeyedStateBackend(128)
    with pytest.raises(StateError, match="State 'value' has a time-to-live, but there is no clock"):
        backend.get_value_state(expiring(ValueStateDescriptor("value"), config()))
