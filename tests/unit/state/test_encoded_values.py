"""Values held as bytes and values held as objects are one state, wherever batches and caches end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Types
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.state.encoded_values import EncodedValues
from penstock.state.keyed import KeyedStateBackend
from penstock.state.lmdb_store import LmdbStore
from penstock.state.memory_store import MemoryStore
from penstock.state.serializers import serializer_for

KEYS = st.lists(st.integers(0, 6), min_size=1, max_size=5, unique=True)
STEPS = st.lists(st.tuples(st.sampled_from(["bytes", "objects", "batch", "flush"]), KEYS), max_size=12)


class Both:
    """A state of numbers that is asked as bytes or as objects, for keys of two fields."""

    def __init__(self, cache_limit: int) -> None:
        self.backend = KeyedStateBackend(128, cache_limit)
        self.state = self.backend.get_value_state(ValueStateDescriptor("sum", Types.LONG()))
        self.values = EncodedValues(self.backend, self.state)
        self.dumps = serializer_for(Types.LONG(), "sum").dumps
        self.store = MemoryStore()
        self.version = 0
        self.backend.bind(self.store, 0)

    def add(self, how: str, numbers: list[int], step: int) -> list[int]:
        """Add to what keys have, and return what they had."""
        return self._as_bytes(numbers, step) if how == "bytes" else self._as_objects(numbers, step)

    def _as_bytes(self, numbers: list[int], step: int) -> list[int]:
        parts = [np.array(numbers, np.int64), pa.array([f"k{each}" for each in numbers])]
        rows = self.values.rows_of(parts, is_tuple=True)
        found = [each or 0 for each in self.values.values_of(self.values.read(rows))]
        self.values.hold(rows, [self.dumps(each + step) for each in found])
        return found

    def _as_objects(self, numbers: list[int], step: int) -> list[int]:
        self.values.settle()
        found = []
        for _ in self.backend.walk([(each, f"k{each}") for each in numbers]):
            found.append(self.state.value() or 0)
            self.state.update(found[-1] + step)
        return found

    def end_batch(self) -> None:
        self.backend.end_batch(1)
        self.version += 1
        self.backend.bind(self.store, self.version)


@given(steps=STEPS, cache_limit=st.sampled_from([0, 3, 1_000]))
def test_bytes_and_objects_are_one_state(steps: list[tuple[str, list[int]]], cache_limit: int) -> None:
    both, objects, known = Both(cache_limit), Both(1_000), dict[int, int]()
    for step, (how, numbers) in enumerate(steps, 1):
        if how in ("bytes", "objects"):
            expected = [known.get(each, 0) for each in numbers]
            assert both.add(how, numbers, step) == objects.add("objects", numbers, step) == expected
            known.update({each: before + step for each, before in zip(numbers, expected, strict=True)})
        elif how == "batch":
            both.end_batch()
            objects.end_batch()
        else:
            both.backend.flush()
    both.end_batch()
    objects.end_batch()
    assert both.store.snapshot() == objects.store.snapshot()
    assert sorted(both.backend.keys("sum")) == sorted((each, f"k{each}") for each in known)


def test_objects_of_the_first_batch_are_found_as_bytes_later_in_it() -> None:
    both = Both(1_000)
    rows = both.values.rows_of([np.array([1]), pa.array(["k1"])], is_tuple=True)
    assert both.values.read(rows) == [None]
    both.add("objects", [1], 5)
    both.backend.flush()
    assert both.add("bytes", [1], 1) == [5]


def test_what_is_held_as_bytes_is_dropped_with_a_batch_that_fails() -> None:
    both = Both(1_000)
    both.add("bytes", [1, 2], 5)
    both.backend.unbind()
    both.backend.bind(both.store, 1)
    assert both.add("bytes", [1, 2], 1) == [0, 0]


@pytest.mark.parametrize("is_known_before", [False, True])
def test_encoded_elements_come_behind_those_that_wait(is_known_before: bool) -> None:
    backend = KeyedStateBackend(128)
    state = backend.get_list_state(ListStateDescriptor("list", Types.LONG()))
    dumps = serializer_for(Types.LIST(Types.LONG()), "list").dumps
    store = MemoryStore()
    for version in range(2):
        backend.bind(store, version)
        backend.set_key("a")
        if is_known_before:
            assert state.get() == [1, 2, 3, 4, 5] * version
        state.add(1) if is_known_before else state.hold_encoded(dumps([1]))
        state.hold_encoded(dumps([2, 3]))
        state.hold_encoded(dumps([4]))
        state.add(5)
        assert state.get() == [1, 2, 3, 4, 5] * (version + 1)
        backend.end_batch(1)


def test_long_scans_of_lmdb_give_every_key_once(tmp_path: Any) -> None:
    entries = {number.to_bytes(3, "big"): b"v%d" % number for number in range(3_000)}
    with LmdbStore.open(str(tmp_path / "store")) as store:
        for long_at in (None, 700, 2_999):
            if long_at is not None:
                for tail in (b"b", b"a"):  # keys that LMDB has not in their order
                    entries[long_at.to_bytes(3, "big") + b"x" * 600 + tail] = b"long"
            store.put_many(list(entries.items()))
            assert list(store.scan(b"")) == sorted(entries.items())
            for stop in (40, 700, 701, 2_000):
                bound = stop.to_bytes(3, "big")
                assert list(store.range(b"\0", bound)) == [each for each in sorted(entries.items()) if each[0] < bound]
