"""Typed keyed state on every store: rows of older types are read, and written anew when they change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock.common import Time, Types
from penstock.datastream.functions import AggregateFunction
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
    state_aliases,
)
from penstock.errors import StateError
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory_store import MemoryStore
from penstock.state.portable import exported_rows, imported_entries
from penstock.state.store import OrderedStore
from tests.contract.state.test_store_contract import open_store

STORES = ["memory", "heap", "lmdb", "rocksdb"]


@dataclass
class OldItem:
    sku: str
    cost: int


@state_aliases(price="cost")
@dataclass
class NewItem:
    price: float
    sku: str
    tags: list[str] = field(default_factory=list)


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def add(one: Any, other: Any) -> Any:
    return one + other


def backend_on(store: OrderedStore, version: int = 0) -> KeyedStateBackend:
    backend = KeyedStateBackend(128, clock=lambda: 1_000)
    backend.bind(store, version)
    return backend


def write_old(backend: KeyedStateBackend) -> None:
    for key in ("a", "b"):
        backend.set_key(key)
        backend.get_value_state(with_ttl(ValueStateDescriptor("value", OldItem))).update(OldItem(key, 1))
        backend.get_list_state(with_ttl(ListStateDescriptor("list", OldItem))).add_all(
            [OldItem(key, 1), OldItem("x", 2)]
        )
        backend.get_map_state(with_ttl(MapStateDescriptor("map", Types.INT(), OldItem))).put(5, OldItem(key, 3))
        backend.get_reducing_state(with_ttl(ReducingStateDescriptor("sum", add, Types.INT()))).add(2)
        backend.get_aggregating_state(with_ttl(AggregatingStateDescriptor("count", Count(), Types.INT()))).add("z")
    backend.flush()


TTL = False


def with_ttl(descriptor: Any) -> Any:
    if TTL:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(100)).build())
    return descriptor


def check_new(backend: KeyedStateBackend) -> None:
    for key in ("a", "b"):
        backend.set_key(key)
        assert backend.get_value_state(with_ttl(ValueStateDescriptor("value", NewItem))).value() == NewItem(1.0, key)
        listed = backend.get_list_state(with_ttl(ListStateDescriptor("list", NewItem)))
        assert listed.get() == [NewItem(1.0, key), NewItem(2.0, "x")]
        mapped = backend.get_map_state(with_ttl(MapStateDescriptor("map", Types.DOUBLE(), NewItem)))
        assert list(mapped.items()) == [(5.0, NewItem(3.0, key))]
        assert type(next(iter(mapped.keys()))) is float
        summed = backend.get_reducing_state(with_ttl(ReducingStateDescriptor("sum", add, Types.DOUBLE())))
        assert summed.get() == 2.0
        assert type(summed.get()) is float
        counted = backend.get_aggregating_state(with_ttl(AggregatingStateDescriptor("count", Count(), Types.LONG())))
        assert counted.get() == 1


@pytest.mark.parametrize("ttl", [False, True], ids=["plain", "with time to live"])
@pytest.mark.parametrize("kind", STORES)
def test_every_kind_of_state_goes_on_with_its_new_type(kind: str, ttl: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.contract.state.test_typed_contract.TTL", ttl)
    with open_store(kind) as store:
        write_old(backend_on(store))
        backend = backend_on(store, 1)
        check_new(backend)
        backend.set_key("a")
        backend.get_value_state(ValueStateDescriptor("value", NewItem)).update(NewItem(9.0, "new"))
        backend.flush()
        # Rows of both types lie side by side.
        again = backend_on(store, 2)
        again.set_key("a")
        assert again.get_value_state(with_ttl(ValueStateDescriptor("value", NewItem))).value() == NewItem(9.0, "new")
        again.set_key("b")
        assert again.get_value_state(with_ttl(ValueStateDescriptor("value", NewItem))).value() == NewItem(1.0, "b")
        written = again.stored_schemas()
        assert {schema["class"].rpartition(".")[2] for schema in written["value"]["value"]} == {"NewItem", "OldItem"}


@pytest.mark.parametrize("change", ["set", "removed"])
def test_a_time_to_live_may_come_and_go_with_the_type(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    monkeypatch.setattr("tests.contract.state.test_typed_contract.TTL", change == "removed")
    write_old(backend_on(store))
    monkeypatch.setattr("tests.contract.state.test_typed_contract.TTL", change == "set")
    check_new(backend_on(store, 1))


def test_rows_of_several_subtasks_and_types_come_together() -> None:
    first, second, target = MemoryStore(), MemoryStore(), MemoryStore()
    write_old(backend_on(first))
    backend = backend_on(second)
    backend.set_key("c")
    backend.get_value_state(ValueStateDescriptor("value", NewItem)).update(NewItem(7.0, "c"))
    backend.flush()
    rows = [*exported_rows(first, 0), *exported_rows(second, 0)]
    for row, data in imported_entries(rows, 3):
        target.put(row, data)
    moved = KeyedStateBackend(128, operator_index=3)
    moved.bind(target, 1)
    state = moved.get_value_state(ValueStateDescriptor("value", NewItem))
    found = {}
    for key in "abc":
        moved.set_key(key)
        found[key] = state.value()
    assert found == {"a": NewItem(1.0, "a"), "b": NewItem(1.0, "b"), "c": NewItem(7.0, "c")}


@pytest.mark.parametrize(
    ("descriptor", "reason"),
    [
        (ValueStateDescriptor("value", Types.STRING()), r"it was OldItem\(.*\) and is STRING now"),
        (ValueStateDescriptor("value"), r"it was OldItem\(.*\) and has no declared type now"),
        (MapStateDescriptor("map", Types.STRING(), NewItem), "as for the key of the map, it was INT and is STRING now"),
        (MapStateDescriptor("map", Types.INT(), Types.INT()), r"it was OldItem\(.*\) and is INT now"),
    ],
)
def test_a_type_that_cannot_read_the_rows_is_refused_when_the_store_is_opened(
    descriptor: StateDescriptor, reason: str
) -> None:
    store = MemoryStore()
    write_old(backend_on(store))
    get = "get_map_state" if isinstance(descriptor, MapStateDescriptor) else "get_value_state"
    late = backend_on(store, 1)
    with pytest.raises(StateError, match=rf"State '\w+' cannot be read as its current type: {reason}"):
        getattr(late, get)(descriptor)
    early = KeyedStateBackend(128)
    getattr(early, get)(descriptor)
    with pytest.raises(StateError, match=reason):
        early.bind(store, 1)


@pytest.mark.parametrize("key", [True, 1, 1.5, "a", (1, "a"), None], ids=repr)
def test_keys_of_a_map_come_back_as_their_type(key: Any) -> None:
    types = {
        bool: Types.BOOLEAN(),
        int: Types.LONG(),
        float: Types.DOUBLE(),
        str: Types.STRING(),
        tuple: Types.TUPLE([Types.LONG(), Types.STRING()]),
        type(None): Types.DOUBLE(),
    }
    store = MemoryStore()
    descriptor = MapStateDescriptor("map", types[type(key)], Types.INT())
    backend = backend_on(store)
    backend.set_key(1)
    backend.get_map_state(descriptor).put(key, 1)
    backend.flush()
    again = backend_on(store, 1)
    again.set_key(1)
    (found,) = again.get_map_state(descriptor).keys()
    assert found == key
    assert type(found) is type(key)


def test_a_key_of_another_type_is_refused() -> None:
    backend = backend_on(MemoryStore())
    backend.set_key(1)
    with pytest.raises(StateError, match=r"State 'map' is declared as LONG, .* got str 'a'"):
        backend.get_map_state(MapStateDescriptor("map", Types.LONG(), Types.INT())).put("a", 1)


def test_state_that_was_pickled_may_be_given_a_type() -> None:
    store = MemoryStore()
    backend = backend_on(store)
    for key, value in (("a", 5), ("b", "five")):
        backend.set_key(key)
        backend.get_value_state(ValueStateDescriptor("value")).update(value)
    backend.flush()
    typed = backend_on(store, 1)
    state = typed.get_value_state(ValueStateDescriptor("value", Types.LONG()))
    typed.set_key("a")
    assert state.value() == 5
    typed.set_key("b")
    with pytest.raises(
        StateError, match="State 'value' was pickled, and contains a value that does not have its current type"
    ):
        state.value()
