"""Entries of every kind of state become columns, and the columns become the same rows again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from penstock.common.time import Time
from penstock.datastream.functions import ReduceFunction
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.datastream.window import TimeWindow
from penstock.errors import StateError
from penstock.keys.codec import encode_key
from penstock.keys.groups import key_group
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory_store import MemoryStore
from penstock.state.portable import PortableRow, exported_rows
from penstock.state.timers import EVENT, PROCESSING, InternalTimers
from penstock.state_processor.assembling import PartAssembly, new_rows
from penstock.state_processor.columns import DOMAINS, StateColumns
from penstock.state_processor.entries import EntryReader
from penstock.state_processor.slices import Slice
from penstock.state_processor.survey import survey_slice
from penstock.vocabulary.window.serializers import CountWindowSerializer, TimeWindowSerializer
from penstock.vocabulary.window.windows import CountWindow

MAX_PARALLELISM = 16
Fill = Callable[[KeyedStateBackend], None]


class Rows:
    """Rows that are at hand."""

    def __init__(self, rows: list[PortableRow]) -> None:
        self._rows = rows

    def rows(self, groups: range) -> list[PortableRow]:
        return self._rows

    def states(self) -> dict[str, str]:
        return {}


def written(fill: Fill) -> list[PortableRow]:
    """The rows of state that a backend was filled with, at the time 1000."""
    store = MemoryStore()
    backend = KeyedStateBackend(MAX_PARALLELISM, clock=lambda: 1_000)
    backend.bind(store, 1)
    fill(backend)
    backend.flush()
    return [row for row in exported_rows(store, 0) if row.key_group is not None]


def frame_of(rows: list[PortableRow]) -> tuple[StateColumns, pa.Table]:
    kind = rows[0].kind
    states = tuple(DOMAINS) if kind == "timer" else (rows[0].state,)
    part = Slice(Rows(rows))  # type: ignore[arg-type]
    surveys = [survey_slice(part, state, kind, {}) for state in states]
    columns = StateColumns("op", states, kind, surveys[0])
    batches = [
        columns.to_batch(entries, state)
        for state in states
        for entries in EntryReader(state, kind, {}).read(part.blocks(state, kind))
    ]
    return columns, pa.Table.from_batches(batches)


def rows_of(columns: StateColumns, table: pa.Table) -> list[PortableRow]:
    made = [row for batch in table.to_batches() for row in columns.from_batch(batch, MAX_PARALLELISM)]
    made.sort(key=lambda row: (row.key_group, row.state, row.key, row.namespace, row.suffix))
    kinds = dict.fromkeys(columns.states, columns.kind)
    return list(new_rows(PartAssembly("", columns.uid, 0, None, kinds), made))


def put(key: Any, value: Any, namespace: bytes = b"", descriptor: Any = None) -> Fill:
    def fill(backend: KeyedStateBackend) -> None:
        backend.set_namespace(namespace)
        backend.set_key(key)
        backend.get_value_state(descriptor or ValueStateDescriptor("s")).update(value)

    return fill


def put_map(key: Any, entries: dict[Any, Any], descriptor: Any = None) -> Fill:
    def fill(backend: KeyedStateBackend) -> None:
        backend.set_key(key)
        backend.get_map_state(descriptor or MapStateDescriptor("s")).put_all(entries)

    return fill


def put_list(key: Any, *batches: list[Any]) -> Fill:
    def fill(backend: KeyedStateBackend) -> None:
        for batch in batches:
            backend.set_key(key)
            backend.get_list_state(ListStateDescriptor("s")).add_all(batch)
            backend.write()

    return fill


def all_of(*fills: Fill) -> Fill:
    def fill(backend: KeyedStateBackend) -> None:
        for each in fills:
            each(backend)

    return fill


def with_ttl(descriptor: Any) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    return descriptor


def window(start: int, end: int) -> bytes:
    return TimeWindowSerializer().to_bytes(TimeWindow(start, end))


class Custom:
    """An object that no column can show."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"Custom({self.number})"


class Unpicklable(dict[str, int]):
    def __reduce__(self) -> Any:
        return _refuse, ()


def _refuse() -> None:
    raise ImportError("its module is gone")


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        (all_of(put("a", 1), put("b", 2)), [{"key": "a", "value": 1}, {"key": "b", "value": 2}]),
        (put(7, ("x", [1.5])), [{"key": 7, "value": {"f0": "x", "f1": [1.5]}}]),
        (put((1, "a"), {"n": 2}), [{"key": {"f0": 1, "f1": "a"}, "value": [("n", 2)]}]),
        (put(1.5, "v", window(-5, 5)), [{"key": 1.5, "window_start": -5, "window_end": 5, "value": "v"}]),
        (
            put(b"k", "v", CountWindowSerializer().to_bytes(CountWindow(3))),
            [{"key": b"k", "window_id": 3, "value": "v"}],
        ),
        (put("k", "v", b"\x01own"), [{"key": "k", "namespace": b"\x01own", "value": "v"}]),
        (put("k", 1, descriptor=with_ttl(ValueStateDescriptor("s"))), [{"key": "k", "value": 1, "last_access": 1_000}]),
        (
            put_map("k", {"m": 1, "n": None}),
            [{"key": "k", "map_key": "m", "value": 1}, {"key": "k", "map_key": "n", "value": None}],
        ),
        (put_map("k", {True: 1}), [{"key": "k", "map_key": True, "value": 1}]),
        (
            put_map("k", {1: "x"}, with_ttl(MapStateDescriptor("s"))),
            [{"key": "k", "map_key": 1, "value": "x", "last_access": 1_000}],
        ),
    ],
)
def test_entries_are_columns_and_become_the_same_rows(fill: Fill, expected: list[dict[str, Any]]) -> None:
    rows = written(fill)
    columns, table = frame_of(rows)
    assert sorted(table.to_pylist(), key=repr) == sorted(expected, key=repr)
    assert sorted(rows_of(columns, table)) == sorted(rows)


def test_windows_beside_none_leave_the_columns_empty() -> None:
    rows = written(all_of(put("a", 1), put("b", 2, window(0, 10))))
    columns, table = frame_of(rows)
    assert {(row["key"], row["window_start"], row["window_end"]) for row in table.to_pylist()} == {
        ("a", None, None),
        ("b", 0, 10),
    }
    assert sorted(rows_of(columns, table)) == sorted(rows)


def test_a_list_has_positions_over_all_its_rows_and_is_written_as_one() -> None:
    rows = written(all_of(put_list("a", [1, 2], [3]), put_list("b", [4])))
    assert len(rows) == 3
    columns, table = frame_of(rows)
    found = sorted((row["key"], row["position"], row["value"]) for row in table.to_pylist())
    assert found == [("a", 0, 1), ("a", 1, 2), ("a", 2, 3), ("b", 0, 4)]
    again = rows_of(columns, table.take([3, 2, 1, 0]))
    assert len(again) == 2
    assert (
        frame_of(again)[1].sort_by([("key", "ascending"), ("position", "ascending")]).to_pylist()
        == table.sort_by([("key", "ascending"), ("position", "ascending")]).to_pylist()
    )


def test_elements_of_a_list_keep_their_own_last_access() -> None:
    now = [1_000]

    def fill(backend: KeyedStateBackend) -> None:
        state = backend.get_list_state(with_ttl(ListStateDescriptor("s")))
        backend.set_key("k")
        state.add("old")
        now[0] = 1_500
        state.add("new")

    store = MemoryStore()
    backend = KeyedStateBackend(MAX_PARALLELISM, clock=lambda: now[0])
    backend.bind(store, 1)
    fill(backend)
    backend.flush()
    rows = [row for row in exported_rows(store, 0) if row.key_group is not None]
    columns, table = frame_of(rows)
    assert table.select(["value", "last_access"]).to_pylist() == [
        {"value": "old", "last_access": 1_000},
        {"value": "new", "last_access": 1_500},
    ]
    assert [row.value for row in rows_of(columns, table)] == [row.value for row in rows]


def test_reducing_state_shows_what_it_came_to() -> None:
    class Add(ReduceFunction):
        def reduce(self, value1: int, value2: int) -> int:
            return value1 + value2

    def fill(backend: KeyedStateBackend) -> None:
        state = backend.get_reducing_state(ReducingStateDescriptor("s", Add()))
        backend.set_key("k")
        state.add(1)
        state.add(2)

    columns, table = frame_of(written(fill))
    assert columns.kind == "reducing"
    assert table.to_pylist() == [{"key": "k", "value": 3}]


def test_timers_of_both_domains() -> None:
    def fill(backend: KeyedStateBackend) -> None:
        timers = InternalTimers(backend)
        backend.set_key("k")
        timers.register(EVENT, -3)
        timers.register(PROCESSING, 9)

    rows = written(fill)
    columns, table = frame_of(rows)
    assert table.to_pylist() == [
        {"key": "k", "time_domain": "event_time", "timestamp": -3},
        {"key": "k", "time_domain": "processing_time", "timestamp": 9},
    ]
    assert sorted(rows_of(columns, table)) == sorted(rows)
    wrong = table.set_column(1, "time_domain", pa.array(["noon", "event_time"]))
    with pytest.raises(StateError, match="time_domain is 'noon'"):
        rows_of(columns, wrong)


def test_what_no_column_can_show_is_text_beside_its_bytes() -> None:
    fills = all_of(put_map("a", {1: Custom(1), "x": 2}), put_map(None, {"y": 3}), put_map((1,), {b"z": 4}))
    rows = written(fills)
    columns, table = frame_of(rows)
    assert table.schema.names == [
        "key",
        "key_bytes",
        "map_key",
        "map_key_bytes",
        "map_key_original",
        "value_pickle",
        "value_text",
    ]
    assert {row["value_text"] for row in table.to_pylist()} == {"Custom(1)", "2", "3", "4"}
    assert {row["key"] for row in table.to_pylist()} == {"'a'", "None", "(1,)"}
    assert columns.optional() == {"key", "map_key", "value_text"}
    bare = table.select(["key_bytes", "map_key_bytes", "map_key_original", "value_pickle"])
    assert sorted(rows_of(columns, bare)) == sorted(rows)


def test_an_object_whose_class_is_gone_is_carried_as_bytes() -> None:
    rows = written(all_of(put("a", Unpicklable()), put("b", 2)))
    columns, table = frame_of(rows)
    texts = {row["key"]: row["value_text"] for row in table.to_pylist()}
    assert texts["b"] == "2"
    assert "its module is gone" in texts["a"]
    assert sorted(rows_of(columns, table)) == sorted(rows)


def test_a_row_that_is_no_entry_is_refused() -> None:
    columns, table = frame_of(written(put("a", 1, window(0, 5))))
    for name, reason in (
        ("key", "state 's' of operator 'op': key is null"),
        ("value", "leave the row out to clear"),
        ("window_end", "give both start and end"),
    ):
        at = table.schema.get_field_index(name)
        with pytest.raises(StateError, match=reason):
            rows_of(columns, table.set_column(at, name, pa.nulls(1, table.schema.field(at).type)))
    with pytest.raises(StateError, match="two rows for one entry of key 'a'"):
        rows_of(columns, pa.concat_tables([table, table]))


def test_bytes_that_are_no_pickle_and_no_key_are_refused() -> None:
    columns, table = frame_of(written(all_of(put("a", Custom(1)), put(1, 2))))
    with pytest.raises(StateError, match=r"pickle\.dumps"):
        rows_of(columns, table.set_column(2, "value_pickle", pa.array([b"1", b"2"])))
    with pytest.raises(StateError, match="encode_key"):
        rows_of(columns, table.set_column(1, "key_bytes", pa.array([b"1", b"2"])))


def test_a_new_key_goes_to_its_own_key_group() -> None:
    columns, table = frame_of(written(put("a", 1)))
    (row,) = rows_of(columns, table.set_column(0, "key", pa.array(["other"])))
    assert row.key_group == key_group(encode_key("other"), MAX_PARALLELISM)
