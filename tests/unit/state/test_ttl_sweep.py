"""Expired rows leave the store and the files, a bounded number after each batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from penstock.common.time import Time
from penstock.datastream import AggregateFunction
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.state.files import read_entries
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory_store import MemoryStore
from penstock.state.store import OrderedStore
from penstock.state.ttl_sweep import MIN_ROWS, SNAPSHOT_BATCHES
from penstock.state.versions import EMPTY, SubtaskState

TTL = 100
KEYED = b"\x01"


def builder() -> StateTtlConfig.Builder:
    return StateTtlConfig.new_builder(Time.milliseconds(TTL))


class Operator:
    """Expiring value, list and map state and a plain value state beside them, on any store."""

    def __init__(self, config: StateTtlConfig) -> None:
        self.now = 1_000
        self.version = 0
        self.backend = KeyedStateBackend(128, clock=lambda: self.now)
        descriptors: list[Any] = [ValueStateDescriptor("value"), ListStateDescriptor("list"), MapStateDescriptor("map")]
        for descriptor in descriptors:
            descriptor.enable_time_to_live(config)
        self.value = self.backend.get_value_state(descriptors[0])
        self.list = self.backend.get_list_state(descriptors[1])
        self.map = self.backend.get_map_state(descriptors[2])
        self.kept = self.backend.get_value_state(ValueStateDescriptor("kept"))

    def begin(self, store: OrderedStore, *, again: bool = False) -> None:
        self.version += not again
        self.backend.bind(store, self.version)

    def end(self, records: int = 0) -> None:
        self.backend.end_batch(records)
        self.backend.unbind()

    def end_without_sweep(self) -> None:
        self.backend.flush()
        self.backend.unbind()

    def run_empty(self, store: OrderedStore, records: int = 0) -> None:
        self.begin(store)
        self.end(records)

    def fill(self, keys: range) -> None:
        for key in keys:
            self.backend.set_key(key)
            self.value.update(key)

    def fill_all(self, key: Any) -> None:
        self.backend.set_key(key)
        self.value.update(1)
        self.list.add_all([1, 2])
        self.map.put_all({"p": 1, "q": 2})
        self.kept.update(1)


def count(store: OrderedStore) -> int:
    return sum(1 for _ in store.scan(KEYED))


def test_expired_rows_leave_the_store_and_the_next_change_file(tmp_path: Path) -> None:
    operator, filesystem = Operator(builder().build()), fs.LocalFileSystem()
    version = EMPTY
    for step in ("fill", "more", "sweep"):
        with SubtaskState.open(filesystem, str(tmp_path), version, local_path=None) as state:
            operator.begin(state.store)
            if step != "sweep":
                operator.fill_all(step)
            operator.end()
            version = state.commit()
        operator.now += 50
    assert [file.is_snapshot for file in version.files] == [True, False, False]
    gone = dict(read_entries(filesystem, f"{tmp_path}/{version.files[-1].name}"))
    # One value, one list row and two map entries of "fill"; "more" lives, and so does what has no time to live.
    assert [value for row, value in gone.items() if row.startswith(KEYED)] == [None] * 4
    with SubtaskState.open(filesystem, str(tmp_path), version, local_path=None) as state:
        assert count(state.store) == 4 + 2
        operator.begin(state.store)
        assert list(operator.backend.keys("value")) == ["more"]
        assert sorted(operator.backend.keys("kept")) == ["fill", "more"]


class Total(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


# How to write the state of a key, and how many rows that makes: in one batch, and in two that are both alive.
KINDS: dict[str, tuple[StateDescriptor, Callable[[Any], None], int, int]] = {
    "value": (ValueStateDescriptor("state"), lambda state: state.update(1), 1, 1),
    "list": (ListStateDescriptor("state"), lambda state: state.add_all([1, 2]), 1, 2),
    "map": (MapStateDescriptor("state"), lambda state: state.put_all({"p": 1, "q": 2}), 2, 2),
    "reducing": (ReducingStateDescriptor("state", max), lambda state: state.add(1), 1, 1),
    "aggregating": (AggregatingStateDescriptor("state", Total()), lambda state: state.add(1), 1, 1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_snapshot_has_nothing_of_what_is_expired(tmp_path: Path, kind: str) -> None:
    descriptor, write, rows_of_key, rows_alive = KINDS[kind]
    descriptor.enable_time_to_live(builder().build())
    now, filesystem, version = 1_000, fs.LocalFileSystem(), EMPTY
    backend = KeyedStateBackend(128, clock=lambda: now)
    state: Any = getattr(backend, f"get_{kind}_state")(descriptor)
    in_snapshots = []
    for batch in range(1, 8):
        with SubtaskState.open(filesystem, str(tmp_path), version, local_path=None, snapshot_after=2) as opened:
            backend.bind(opened.store, batch)
            for key in ["live"] if batch > 1 else ["live", *range(100)]:
                backend.set_key(key)
                write(state)
            backend.end_batch(1)
            backend.unbind()
            version = opened.commit()
        if version.files[-1].is_snapshot:
            rows = dict(read_entries(filesystem, f"{tmp_path}/{version.files[-1].name}"))
            in_snapshots.append(sum(row.startswith(KEYED) for row in rows))
        now += 60
    assert in_snapshots == [101 * rows_of_key, rows_alive, rows_alive]


def test_a_list_row_goes_with_its_newest_element() -> None:
    operator, store = Operator(builder().build()), MemoryStore()
    operator.begin(store)
    operator.backend.set_key("k")
    operator.list.add(1)
    operator.now += 99
    operator.list.add(2)
    operator.end()
    operator.now += 99
    operator.run_empty(store)
    assert count(store) == 1
    operator.now += 1
    operator.run_empty(store)
    assert count(store) == 0


def test_rows_of_a_list_that_are_expired_go_when_it_is_read() -> None:
    operator, store = Operator(builder().disable_cleanup_in_background().build()), MemoryStore()
    for value in range(3):
        operator.begin(store)
        operator.backend.set_key("k")
        operator.list.add_all([value] * 4)
        operator.now += 40
        operator.end()
    operator.begin(store)
    operator.backend.set_key("k")
    assert operator.list.get() == [1] * 4 + [2] * 4
    operator.end()
    assert count(store) == 2


def test_a_list_row_is_written_anew_when_half_of_it_is_expired() -> None:
    operator, store = Operator(builder().disable_cleanup_in_background().build()), MemoryStore()
    operator.begin(store)
    operator.backend.set_key("k")
    operator.list.add_all(["x" * 100] * 5)
    operator.now += 50
    operator.list.add_all([1] * 5)
    operator.end()
    operator.now += 50
    operator.begin(store)
    operator.backend.set_key("k")
    assert operator.list.get() == [1] * 5
    operator.end()
    assert [len(value) < 100 for _, value in store.scan(KEYED)] == [True]


@pytest.mark.parametrize(
    ("config", "records", "looked_at"),
    [
        (builder().build(), 0, MIN_ROWS),
        (builder().build(), 300, 1_500),
        (builder().cleanup_incrementally(10, False).build(), 150, 1_500),
        (builder().disable_cleanup_in_background().cleanup_incrementally(2, True).build(), 600, 1_200),
        (builder().disable_cleanup_in_background().cleanup_in_rocksdb_compact_filter(7).build(), 0, MIN_ROWS),
        (builder().disable_cleanup_in_background().build(), 10_000, 0),
        (builder().cleanup_full_snapshot().build(), 0, MIN_ROWS),
    ],
)
def test_a_sweep_is_bounded(config: StateTtlConfig, records: int, looked_at: int) -> None:
    operator, store = Operator(config), MemoryStore()
    operator.begin(store)
    operator.fill(range(2_000))
    operator.end_without_sweep()
    operator.now += TTL
    operator.run_empty(store, records)
    # Where another state was met on the way, that row was looked at too; here there is none.
    assert 2_000 - count(store) == looked_at


def test_a_sweep_goes_round() -> None:
    operator, store = Operator(builder().build()), MemoryStore()
    operator.begin(store)
    operator.fill(range(2_500))
    for key in range(0, 2_500, 5):
        operator.backend.set_key(key)
        operator.kept.update(key)
    operator.end_without_sweep()
    operator.now += 50
    operator.begin(store)
    operator.fill(range(2_500, 2_600))
    operator.end_without_sweep()
    operator.now += 50
    for _ in range(4):
        operator.run_empty(store)
    assert count(store) == 100 + 500
    operator.now += 50
    for _ in range(2):
        operator.run_empty(store)
    assert count(store) == 500


def test_a_sweep_gets_past_what_is_alive() -> None:
    operator, store = Operator(builder().build()), MemoryStore()
    operator.begin(store)
    operator.fill(range(2_500))
    operator.end()
    *alive, _ = operator_keys(operator, store)
    operator.now += 50
    operator.begin(store)
    for key in alive:
        operator.backend.set_key(key)
        operator.value.update(key)
    operator.end()
    operator.now += 50
    for _ in range(3):
        operator.run_empty(store)
    assert sorted(operator_keys(operator, store)) == sorted(alive)


def operator_keys(operator: Operator, store: OrderedStore) -> list[Any]:
    """The keys of the expiring value in the order of their rows."""
    operator.begin(store)
    return list(operator.backend.keys("value"))


class Counting(MemoryStore):
    """Counts the ranges that are asked for."""

    ranges = 0

    def range(self, start: bytes, stop: bytes | None) -> Any:
        self.ranges += start.startswith(KEYED)
        return super().range(start, stop)


def test_a_sweep_rests_until_something_can_be_expired() -> None:
    operator, store = Operator(builder().build()), Counting()
    operator.begin(store)
    operator.fill(range(3))
    operator.end()
    before = store.ranges
    operator.now += TTL - 1
    operator.run_empty(store)
    assert store.ranges == before
    operator.now += 1
    operator.run_empty(store)
    assert store.ranges > before
    assert count(store) == 0


def test_a_sweep_of_many_rows_rests_for_a_tenth_of_a_life() -> None:
    operator, store = Operator(builder().build()), MemoryStore()
    operator.begin(store)
    operator.fill(range(MIN_ROWS))
    operator.now += 1
    operator.fill(range(MIN_ROWS, MIN_ROWS + 1))
    operator.now += TTL - 1
    operator.end(MIN_ROWS)
    assert count(store) == 1
    operator.now += 9
    operator.run_empty(store)
    assert count(store) == 1
    operator.now += 1
    operator.run_empty(store)
    assert count(store) == 0


def test_a_batch_that_is_undone_wakes_the_sweep() -> None:
    operator, store = Operator(builder().build()), MemoryStore()
    operator.begin(store)
    operator.fill(range(3))
    operator.end()
    operator.now += TTL
    undone = MemoryStore(store.snapshot())
    operator.run_empty(undone)
    assert count(undone) == 0
    operator.begin(store, again=True)
    operator.end()
    assert count(store) == 0


def test_for_snapshots_the_whole_state_is_swept_now_and_then() -> None:
    operator = Operator(builder().disable_cleanup_in_background().cleanup_full_snapshot().build())
    store = MemoryStore()
    operator.begin(store)
    operator.fill(range(MIN_ROWS + 500))
    operator.end()
    operator.now += TTL
    for _ in range(SNAPSHOT_BATCHES - 2):
        operator.run_empty(store)
    assert count(store) == MIN_ROWS + 500
    operator.run_empty(store)
    assert operator.version == SNAPSHOT_BATCHES
    assert count(store) == 0


def test_without_clean_up_in_background_only_what_is_read_goes() -> None:
    operator, store = Operator(builder().disable_cleanup_in_background().build()), MemoryStore()
    operator.begin(store)
    operator.fill_all("read")
    operator.fill_all("left")
    operator.end()
    operator.now += TTL
    operator.begin(store)
    operator.backend.set_key("read")
    assert (operator.value.value(), operator.list.get(), list(operator.map.items())) == (None, [], [])
    operator.end()
    assert count(store) == 4 + 2


def test_what_a_sweep_has_not_met_may_be_returned_where_that_is_allowed() -> None:
    operator, store = Operator(builder().return_expired_if_not_cleaned_up().build()), MemoryStore()
    operator.begin(store)
    operator.fill(range(2))
    operator.end()
    operator.begin(store)
    operator.now += TTL
    operator.backend.set_key(0)
    assert operator.value.value() == 0
    operator.end()
    operator.begin(store)
    operator.backend.set_key(1)
    assert operator.value.value() is None
