"""State with a time to live expires and is swept in the same way on every store."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.time import Time
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from penstock.state.keyed import KeyedStateBackend
from penstock.state.ttl_sweep import MIN_ROWS
from tests.contract.state.test_store_contract import KINDS, open_store


class Operator:
    """One expiring state of each kind of row and a clock."""

    def __init__(self) -> None:
        self.now = 1_000
        self.backend = KeyedStateBackend(128, clock=lambda: self.now)
        config = StateTtlConfig.new_builder(Time.milliseconds(100)).build()
        descriptors: list[Any] = [ValueStateDescriptor("value"), ListStateDescriptor("list"), MapStateDescriptor("map")]
        for descriptor in descriptors:
            descriptor.enable_time_to_live(config)
        self.value = self.backend.get_value_state(descriptors[0])
        self.list = self.backend.get_list_state(descriptors[1])
        self.map = self.backend.get_map_state(descriptors[2])

    def write(self, key: Any, number: int) -> None:
        self.backend.set_key(key)
        self.value.update(number)
        self.list.add(number)
        self.map.put("m" * 600, number)

    def read(self, key: Any) -> list[Any]:
        self.backend.set_key(key)
        return [self.value.value(), self.list.get(), list(self.map.values())]


@pytest.mark.parametrize("kind", KINDS)
def test_state_expires_on_every_store(kind: str) -> None:
    operator = Operator()
    keys = [1, "k" * 600]
    with open_store(kind) as store:
        for version in range(2):
            operator.backend.bind(store, version)
            for key in keys:
                operator.write(key, version)
            operator.backend.end_batch(2)
            operator.now += 60
        operator.backend.bind(store, 2)
        assert [operator.read(key) for key in keys] == [[1, [1], [1]]] * 2
        operator.backend.end_batch(0)
        operator.now += 40
        operator.backend.bind(store, 3)
        operator.backend.end_batch(0)
        assert list(store.scan(b"\x01")) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_sweep_deletes_while_it_walks(kind: str) -> None:
    operator = Operator()
    with open_store(kind) as store:
        operator.backend.bind(store, 1)
        for key in range(MIN_ROWS):
            operator.backend.set_key(key)
            operator.value.update(key)
        operator.now += 50
        for key in range(0, MIN_ROWS, 3):
            operator.backend.set_key(key)
            operator.value.update(key)
        operator.backend.end_batch(0)
        operator.now += 50
        operator.backend.bind(store, 2)
        operator.backend.end_batch(0)
        operator.backend.bind(store, 3)
        assert sorted(operator.backend.keys("value")) == list(range(0, MIN_ROWS, 3))
