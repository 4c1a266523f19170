"""What a replica answers: kinds of state, windows, entries of maps, time to live, values without a type."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.checkpoint import CheckpointDirectory
from penstock.common import Duration, Types, WatermarkStrategy
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.engine.in_process.clock import ManualClock
from penstock.errors import QueryError
from penstock.queryable import Replica, StateQuery, answer, describe, list_keys
from penstock.testing import ScriptedSource
from tests.unit.queryable.jobs import environment, position_in, run_all


class Stores(KeyedProcessFunction):
    """Stores elements by a function that is given the runtime context, and returns what stores one."""

    def __init__(self, opened: Callable[[RuntimeContext], Callable[[Any], object]]) -> None:
        self.opened = opened

    def open(self, runtime_context: RuntimeContext) -> None:
        self.store = self.opened(runtime_context)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.store(value)
        yield value


def stored(
    directory: Path,
    elements: list[Any],
    opened: Callable[[RuntimeContext], Callable[[Any], object]],
    key: Callable[[Any], Any] = lambda element: element[0],
    key_type: Any = None,
    **options: Any,
) -> None:
    made = environment(directory, **options)
    made.from_collection(elements).key_by(key, key_type).process(Stores(opened)).uid("stores").print()
    run_all(made.execute_async("storing"))  # type: ignore[arg-type]


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    replicas: list[Replica] = []

    def ask(*keys: Any, **query: Any) -> list[dict[str, Any]]:
        options = {name: query.pop(name) for name in ("allows_pickles",) if name in query}
        replica = Replica(str(tmp_path / "checkpoint"), **options)
        replicas.append(replica)
        replica.refresh()
        query.setdefault("operator", None if "queryable" in query else "stores")
        found = answer(replica, StateQuery(keys=list(keys), **query))
        json.dumps(found)  # all of it is JSON
        return list(found["results"])

    yield ask
    for replica in replicas:
        replica.close()


def map_of(context: RuntimeContext) -> Callable[[Any], object]:
    state = context.get_map_state(MapStateDescriptor("map", None, Types.LONG()))
    return lambda element: state.put(element[1], element[2])


def test_entries_of_a_map_by_key_prefix_and_range(tmp_path: Path, asked: Any) -> None:
    names = ["a", "ab", "abc", "b", "ba", "c" * 300, "c" * 300 + "d", "", "äb"]
    stored(tmp_path / "checkpoint", [("k", name, at) for at, name in enumerate(names)], map_of)

    def found(**choice: Any) -> list[str]:
        (result,) = asked("k", state="map", **choice)
        return [key for key, _ in result["entries"]]

    assert sorted(found()) == sorted(names)
    assert found(prefix="a") == ["a", "ab", "abc"]
    assert found(prefix="ab") == ["ab", "abc"]
    assert found(prefix="c") == ["c" * 300, "c" * 300 + "d"]
    assert sorted(found(prefix="")) == sorted(names)
    assert found(prefix="ä") == ["äb"]
    assert found(prefix="zz") == []
    assert found(map_keys=["ba", "nothing"]) == ["ba"]
    assert found(first="ab", last="b") == ["ab", "abc"]
    assert found(first="b") == ["b", "ba", "c" * 300, "c" * 300 + "d", "äb"]


def test_ranges_of_numbers_and_other_keys_of_maps(tmp_path: Path, asked: Any) -> None:
    keys = [-5, 0, 3, 10, 2**70, 2.5, "text", (1, 2)]
    stored(tmp_path / "checkpoint", [("k", key, at) for at, key in enumerate(keys)], map_of)

    def found(**choice: Any) -> list[Any]:
        (result,) = asked("k", state="map", **choice)
        return [key for key, _ in result["entries"]]

    assert found(first=-5, last=10) == [-5, 0, 3, 2.5]
    assert found(first=3) == [3, 10, 2**70]
    assert found(last=0) == [-5]
    assert found(first=2.1) == [3, 10, 2**70, 2.5]
    assert found(map_keys=[[1, 2]]) == [[1, 2]]
    (result,) = asked("k", state="map", limit=3)
    assert len(result["entries"]) == 3 and result["truncated"]


def test_choices_that_make_no_sense_are_refused(tmp_path: Path, asked: Any) -> None:
    def opened(context: RuntimeContext) -> Callable[[Any], object]:
        state = context.get_state(ValueStateDescriptor("value", Types.LONG()))
        return lambda element: state.update(element[1])

    stored(tmp_path / "checkpoint", [("k", 1)], opened)
    for query, words in [
        ({"state": "value", "prefix": "a"}, "is value state"),
        ({"state": "nothing"}, "has no keyed state 'nothing': it has 'value'"),
        ({"state": "value", "operator": "nobody"}, "has no operator 'nobody'"),
        ({"state": "value", "prefix": "a", "first": "b"}, "give one of them"),
        ({"state": "value", "limit": 0}, "limit must be"),
        ({"state": "value", "limit": True}, "limit must be"),
        ({"state": "value", "window": "x"}, "a window is asked for"),
        ({"queryable": "none"}, "has no queryable state 'none'"),
    ]:
        with pytest.raises(QueryError, match=words):
            asked("k", **query)
    with pytest.raises(QueryError, match="at least one key"):
        asked(state="value")
    with pytest.raises(QueryError, match="at most"):
        asked(*range(10_001), state="value")


@dataclass
class Order:
    amount: Decimal
    day: date
    parts: list[str]


def test_typed_values_are_json_without_their_classes(tmp_path: Path, asked: Any) -> None:
    def opened(context: RuntimeContext) -> Callable[[Any], object]:
        order = context.get_state(ValueStateDescriptor("order", Order))
        table = context.get_state(ValueStateDescriptor("table", Types.MAP(Types.STRING(), Types.DOUBLE())))
        numbers = context.get_list_state(ListStateDescriptor("numbers", Types.TUPLE([Types.LONG(), Types.STRING()])))

        def store(element: Any) -> None:
            order.update(Order(Decimal("1.50"), date(2026, 5, 1), ["x", "y"]))
            table.update({"pi": 3.14, "none": float("nan")})
            numbers.add((element[1], "n"))

        return store

    stored(tmp_path / "checkpoint", [("k", 1), ("k", 2)], opened)
    assert asked("k", state="order")[0]["value"] == {"amount": "1.50", "day": "2026-05-01", "parts": ["x", "y"]}
    assert asked("k", state="table")[0]["value"] == {"pi": 3.14, "none": "NaN"}
    assert asked("k", state="numbers")[0]["value"] == [[1, "n"], [2, "n"]]


def made_versions(path: Path) -> list[int]:
    return CheckpointDirectory(str(path / "checkpoint")).sealed_versions()


class Unknown:
    """A class that no replica has to know."""

    loaded = 0

    def __reduce__(self) -> Any:
        return _load_unknown, ()


def _load_unknown() -> Unknown:
    Unknown.loaded += 1
    return Unknown()


def test_pickles_are_data_or_refused(tmp_path: Path, asked: Any) -> None:
    def opened(context: RuntimeContext) -> Callable[[Any], object]:
        plain = context.get_state(ValueStateDescriptor("plain"))
        foreign = context.get_state(ValueStateDescriptor("foreign"))

        def store(element: Any) -> None:
            plain.update({"a": [1, 2.5, None], "b": ("x", b"y")})
            foreign.update([Unknown()])

        return store

    stored(tmp_path / "checkpoint", [("k", 1)], opened)
    assert asked("k", state="plain")[0]["value"] == {"a": [1, 2.5, None], "b": ["x", "eQ=="]}
    before = Unknown.loaded
    with pytest.raises(QueryError, match="--allow-pickle") as refused:
        asked("k", state="foreign")
    assert refused.value.status == 409
    assert Unknown.loaded == before, "a refused pickle was loaded"
    assert "Unknown" in asked("k", state="foreign", allows_pickles=True)[0]["value"][0]
    assert Unknown.loaded == before + 1


def test_windows_are_namespaces(tmp_path: Path, asked: Any) -> None:
    made = environment(tmp_path / "checkpoint", batch=100)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: record[1])
    records = [("a", 1), ("a", 12), ("b", 13), ("a", 25), ("a", 26)]
    source = ScriptedSource(records, ends=False)
    stream = made.from_source(source, WatermarkStrategy.no_watermarks(), "script").uid("numbers")
    windows = stream.assign_timestamps_and_watermarks(strategy).key_by(lambda record: record[0], Types.STRING())
    windowed = windows.window(TumblingEventTimeWindows.of(Duration.of_millis(10)))
    windowed.reduce(lambda one, other: (one[0], one[1] + other[1])).uid("stores").print()
    client = made.execute_async("windows")
    while not made_versions(tmp_path) or position_in(tmp_path / "checkpoint", made_versions(tmp_path)[-1]) < 5:
        client.run_batch()  # type: ignore[attr-defined]
    with Replica(str(tmp_path / "checkpoint")) as replica:
        replica.refresh()
        with replica.reading() as (view, content):
            names = list(content.states_of(content.find_operator("stores"), view))
    (state,) = [name for name in names if "contents" in name]
    (found,) = asked("a", state=state)
    spans = [(each["window"]["start"], each["window"]["end"]) for each in found["windows"]]
    assert (20, 30) in spans
    (one,) = asked("a", state=state, window=20)
    assert [each["window"] for each in one["windows"]] == [{"start": 20, "end": 30}]
    assert asked("a", state=state, window=[20, 31]) == [{"key": "a", "found": False, "value": None}]
    assert asked("zzz", state=state)[0]["found"] is False


def test_values_whose_time_to_live_is_over_are_not_there(
    tmp_path: Path, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(context: RuntimeContext) -> Callable[[Any], object]:
        config = StateTtlConfig.new_builder(Duration.of_minutes(1)).build()
        shown = StateTtlConfig.new_builder(Duration.of_minutes(1)).return_expired_if_not_cleaned_up().build()
        states = []
        for name, ttl in (("hidden", config), ("shown", shown)):
            descriptor = ValueStateDescriptor(name, Types.LONG())
            descriptor.enable_time_to_live(ttl)
            states.append(context.get_state(descriptor))
        table = MapStateDescriptor("table", Types.STRING(), Types.LONG())
        table.enable_time_to_live(config)
        numbers = ListStateDescriptor("numbers", Types.LONG())
        numbers.enable_time_to_live(config)
        entries, items = context.get_map_state(table), context.get_list_state(numbers)

        def store(element: Any) -> None:
            for state in states:
                state.update(element[1])
            entries.put("x", element[1])
            items.add(element[1])

        return store

    started_ms = 1_000_000
    stored(tmp_path / "checkpoint", [("k", 1)], opened, clock=ManualClock(started_ms))
    from penstock.queryable import answering

    for seconds, hidden in ((59, 1), (61, None)):
        monkeypatch.setattr(answering.time, "time_ns", lambda s=seconds: (started_ms + s * 1000) * 1_000_000)
        assert asked("k", state="hidden")[0].get("value") == hidden
        assert asked("k", state="shown")[0]["value"] == 1
        assert asked("k", state="table")[0].get("entries", []) == ([["x", 1]] if hidden else [])
        assert (asked("k", state="numbers")[0].get("value") or []) == ([1] if hidden else [])


def test_keys_are_listed_some_at_a_time(tmp_path: Path) -> None:
    def opened(context: RuntimeContext) -> Callable[[Any], object]:
        first = context.get_state(ValueStateDescriptor("first", Types.LONG()))
        second = context.get_map_state(MapStateDescriptor("second", Types.LONG(), Types.LONG()))

        def store(element: Any) -> None:
            first.update(element[1])
            for number in range(3):
                second.put(number, number)

        return store

    stored(tmp_path / "checkpoint", [(f"key {n}", n) for n in range(40)], opened, batch=100)
    with Replica(str(tmp_path / "checkpoint")) as replica:
        replica.refresh()
        for state in ("first", "second"):
            keys: list[str] = []
            after = None
            while True:
                found = list_keys(replica, "stores", state, limit=7, after=after)
                assert len(found["keys"]) <= 7
                keys += found["keys"]
                after = found["next"]
                if after is None:
                    break
            assert sorted(keys) == sorted(f"key {n}" for n in range(40))
        with pytest.raises(QueryError, match="not the `next`"):
            list_keys(replica, "stores", "first", after="?")


def test_streams_that_are_kept_as_queryable_state(tmp_path: Path, asked: Any) -> None:
    made = environment(tmp_path / "checkpoint")
    stream = made.from_collection(
        [("a", 1), ("b", 2), ("a", 3)], type_info=Types.TUPLE([Types.STRING(), Types.LONG()])
    ).key_by(lambda record: record[0], Types.STRING())
    latest = stream.as_queryable_state("latest")
    total = ReducingStateDescriptor(
        "total", lambda one, other: (one[0], one[1] + other[1]), Types.TUPLE([Types.STRING(), Types.LONG()])
    )
    reduced = stream.as_queryable_state("totals", total).uid("totals").name("Totals")
    assert latest.get_queryable_state_name() == "latest"
    assert reduced.get_state_descriptor() is total and latest.get_key_type() == Types.STRING()
    run_all(made.execute_async("kept"))  # type: ignore[arg-type]
    assert [each["value"] for each in asked("a", "b", "c", queryable="latest")] == [["a", 3], ["b", 2], None]
    assert [each["value"] for each in asked("a", "b", queryable="totals")] == [["a", 4], ["b", 2]]
    with Replica(str(tmp_path / "checkpoint")) as replica:
        replica.refresh()
        assert set(describe(replica)["queryable"]) == {"latest", "totals"}


def test_a_queryable_name_without_entries_is_known(tmp_path: Path, asked: Any) -> None:
    def opened(context: RuntimeContext) -> Callable[[Any], object]:
        descriptor = ValueStateDescriptor("never", Types.LONG())
        descriptor.set_queryable("never written")
        context.get_state(descriptor)
        return lambda element: None

    stored(tmp_path / "checkpoint", [("k", 1)], opened)
    assert asked("k", queryable="never written") == [{"key": "k", "found": False, "value": None}]


def test_operators_of_one_name_are_asked_for_by_uid(tmp_path: Path) -> None:
    directory = tmp_path / "checkpoint"
    job = environment(directory)
    stream = job.from_collection([("a", 1)]).key_by(lambda record: record[0])
    for uid in ("one", "two"):
        stream.as_queryable_state(uid).uid(uid).name("same")
    run_all(job.execute_async("names"))  # type: ignore[arg-type]
    with Replica(str(directory)) as replica:
        replica.refresh()
        with pytest.raises(QueryError, match="several operators named 'same': ask by uid, one of 'one', 'two'"):
            answer(replica, StateQuery(keys=["a"], operator="same", state="one"))
