"""Keyed states against plain Python models, whatever the batch boundaries and however small the cache."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.keys.codec import encode_key
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory_store import MemoryStore
from penstock.state.tracked_store import TrackedStore


class Descriptor:
    def __init__(self, name: str, function: Any = None) -> None:
        self._name = name
        self._function = function

    def get_name(self) -> str:
        return self._name

    def get_reduce_function(self) -> Any:
        return self._function

    def get_agg_function(self) -> Any:
        return self._function


class Mean:
    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: list[int]) -> float:
        return accumulator[0] / accumulator[1]


class Operator:
    """A backend with one state of each kind, in batches over one store."""

    def __init__(self, cache_limit: int = 100_000, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.backend = KeyedStateBackend(128, cache_limit)
        self.value = self.backend.get_value_state(Descriptor("value"))
        self.list = self.backend.get_list_state(Descriptor("list"))
        self.map = self.backend.get_map_state(Descriptor("map"))
        self.sum = self.backend.get_reducing_state(Descriptor("sum", lambda a, b: a + b))
        self.mean = self.backend.get_aggregating_state(Descriptor("mean", Mean()))
        self.version = 0
        self.backend.bind(self.store, 0)

    def next_batch(self) -> None:
        self.backend.flush()
        self.backend.unbind()
        self.version += 1
        self.backend.bind(self.store, self.version)


keys = st.sampled_from([0, 1, True, 1.0, "a", "b" * 300, b"x", (1, "a"), (1.0, "a"), float("nan"), [1, 2], None])
map_keys = st.sampled_from(["p", "q", (1, 2), "m" * 300])
numbers = st.integers(0, 9)
actions = st.one_of(
    st.tuples(st.sampled_from(["update", "add", "sum", "mean", "mutate"]), numbers),
    st.tuples(st.just("add_all"), st.lists(numbers, max_size=3)),
    st.tuples(st.just("replace"), st.lists(numbers, max_size=3)),
    st.tuples(st.just("put"), st.tuples(map_keys, numbers)),
    st.tuples(st.sampled_from(["remove", "get"]), map_keys),
    st.tuples(st.just("map mutate"), map_keys),
    st.tuples(st.sampled_from(["clear value", "clear list", "clear map", "clear sum", "clear mean"]), st.none()),
    st.tuples(st.sampled_from(["read list", "read map", "is_empty"]), st.none()),
)
boundaries = st.sampled_from(["", "", "batch", "batch", "write"])


def program_on(places: list[tuple[Any, bytes]]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.tuples(st.sampled_from(places), actions, boundaries), max_size=40)


# Few keys in a program, so that its steps meet.
places = st.lists(st.tuples(keys, st.sampled_from([b"", b"w"])), min_size=1, max_size=3)
programs = places.flatmap(program_on)


class Model:
    def __init__(self) -> None:
        self.value: Any = None
        self.list: list[Any] = []
        self.map: dict[Any, Any] = {}
        self.sum: Any = None
        self.mean: list[int] = []


def act(states: Operator, model: Model, name: str, argument: Any) -> None:
    if name == "update":
        states.value.update([argument])
        model.value = [argument]
    elif name == "mutate":
        held = states.value.value()
        if held is not None:
            held.append(argument)  # without an update it does not count
    elif name == "add":
        states.list.add([argument])
        model.list.append([argument])
    elif name == "add_all":
        states.list.add_all(argument)
        model.list.extend(argument)
    elif name == "replace":
        states.list.update(argument)
        model.list = list(argument)
    elif name == "put":
        states.map.put(argument[0], [argument[1]])
        model.map[argument[0]] = [argument[1]]
    elif name == "map mutate":
        held = states.map.get(argument)
        if held is not None:
            held.append(0)
    elif name == "remove":
        del states.map[argument]
        model.map.pop(argument, None)
    elif name == "get":
        assert states.map[argument] == model.map.get(argument)
        assert (argument in states.map) == (argument in model.map)
    elif name == "sum":
        states.sum.add(argument)
        model.sum = argument if model.sum is None else model.sum + argument
    elif name == "mean":
        states.mean.add(argument)
        model.mean.append(argument)
    elif name == "read list":
        for item in states.list:
            if isinstance(item, list):
                item.append("seen")
    elif name == "read map":
        assert list(states.map.items()) == sorted(model.map.items(), key=lambda item: encode_key(item[0]))
    elif name == "is_empty":
        assert states.map.is_empty() == (not model.map)
    elif name.startswith("clear"):
        attribute = name.split()[1]
        getattr(states, attribute).clear()
        setattr(model, attribute, getattr(Model(), attribute))


def check(states: Operator, model: Model) -> None:
    assert states.value.value() == model.value
    assert states.list.get() == model.list
    assert dict(states.map.items()) == model.map
    assert states.map.is_empty() == (not model.map)
    assert states.sum.get() == model.sum
    assert states.mean.get() == (sum(model.mean) / len(model.mean) if model.mean else None)


@settings(max_examples=70)
@given(program=programs, cache_limit=st.sampled_from([0, 2, 100_000]))
def test_states_equal_plain_python_objects(program: list[Any], cache_limit: int) -> None:
    states = Operator(cache_limit)
    models: dict[tuple[bytes, bytes], Model] = {}
    samples: dict[tuple[bytes, bytes], Any] = {}
    for (key, namespace), (name, argument), boundary in program:
        states.backend.set_namespace(namespace)
        states.backend.set_key(key)
        place = encode_key(key), namespace
        samples[place] = key
        act(states, models.setdefault(place, Model()), name, copy.deepcopy(argument))
        if boundary == "batch":
            states.next_batch()
        elif boundary == "write":
            states.backend.write()
    states.next_batch()
    for place, model in models.items():
        states.backend.set_key(samples[place])
        states.backend.set_namespace(place[1])
        check(states, model)
    expected = {place[0] for place, model in models.items() if model.value is not None and place[1] == b""}
    assert {encode_key(key) for key in states.backend.keys("value")} == expected


@pytest.mark.parametrize("cuts", [1, 5, 40])
def test_list_rows_are_written_once_a_batch_and_joined_when_many(cuts: int) -> None:
    states = Operator()
    for number in range(40):
        states.backend.set_key("k")
        states.list.add(number)
        if number % (40 // cuts) == 40 // cuts - 1:
            states.next_batch()
    row = states.backend.row("k", "list")
    assert len(list(states.store.scan(row))) == cuts
    states.backend.set_key("k")
    assert list(states.list) == list(range(40))
    states.list.add(40)
    states.next_batch()
    assert len(list(states.store.scan(row))) == (2 if cuts == 40 else cuts + 1)
    states.backend.set_key("k")
    assert states.list.get() == list(range(41))


def test_list_keeps_its_order_when_versions_start_anew() -> None:
    store = MemoryStore()
    for version in (900, 3, 3, 0):
        states = Operator(store=store)
        states.backend.bind(store, version)
        states.backend.set_key("k")
        states.list.add(len(states.list.get()))
        states.backend.flush()
    states.backend.set_key("k")
    assert states.list.get() == [0, 1, 2, 3]


def test_append_reads_nothing() -> None:
    class Unreadable(MemoryStore):
        def range(self, start: bytes, stop: bytes | None) -> Any:
            assert start[:1] == b"\x00", "only meta rows may be read"
            return super().range(start, stop)

    states = Operator(store=Unreadable())
    for _ in range(3):
        states.backend.set_key("k")
        states.list.add(1)
        states.next_batch()


def test_value_read_but_not_changed_is_not_written() -> None:
    states = Operator()
    states.backend.set_key("k")
    states.value.update({"a": [1]})
    states.map.put("m", [1])
    states.list.add([1])
    states.next_batch()
    tracked = TrackedStore(states.store)
    states.backend.bind(tracked, 5)
    states.backend.set_key("k")
    assert (states.value.value(), states.map.get("m"), states.list.get()) == ({"a": [1]}, [1], [[1]])
    states.backend.flush()
    assert list(tracked.changes()) == []


def test_map_may_change_while_it_is_gone_over() -> None:
    states = Operator()
    states.backend.set_key("k")
    states.map.put_all({number: str(number) for number in range(10)})
    states.next_batch()
    states.backend.set_key("k")
    seen = []
    for key, _ in states.map.items():
        seen.append(key)
        states.map.remove(key + 1)
        states.map.put(key + 100, "new")
    assert seen == [0, 2, 4, 6, 8]
    assert list(states.map.keys()) == [0, 2, 4, 6, 8, 100, 102, 104, 106, 108]
    assert list(states.map) == list(states.map.keys())
    assert list(states.map.values())[:2] == ["0", "2"]


def test_map_key_keeps_the_type_it_was_put_with() -> None:
    states = Operator()
    states.backend.set_key("k")
    states.map.put(True, "yes")
    states.map.put(2.0, None)
    states.next_batch()
    states.backend.set_key("k")
    assert [(type(key), value) for key, value in states.map.items()] == [(bool, "yes"), (float, None)]
    assert states.map.contains(2)


def test_none_clears_value_reducing_and_aggregating_state() -> None:
    states = Operator()
    states.backend.set_key("k")
    for state, give in (
        (states.value, states.value.update),
        (states.sum, states.sum.add),
        (states.mean, states.mean.add),
    ):
        give(1)
        give(None)
        assert (state.value() if state is states.value else state.get()) is None  # type: ignore[union-attr]
    states.next_batch()
    assert states.backend.count_entries() == 0


def test_objects_of_local_classes_are_kept() -> None:
    class Local:
        number = 4

    states = Operator()
    states.backend.set_key("k")
    states.value.update(Local())
    states.next_batch()
    states.backend.set_key("k")
    assert states.value.value().number == 4


def test_unpicklable_object_is_refused_with_the_name_of_the_state() -> None:
    states = Operator()
    states.backend.set_key("k")
    states.value.update(x for x in ())
    with pytest.raises(StateError, match="State 'value' cannot keep an object of type generator"):
        states.backend.flush()


def test_cache_stays_bounded() -> None:
    states = Operator(cache_limit=50)
    most = 0
    for number in range(1000):
        states.backend.set_key(number)
        states.value.update((states.value.value() or 0) + 1)
        states.list.add(number)
        states.map.put(number, number)
        most = max(most, states.backend.cached)
    assert most <= 60


def test_state_without_key_or_batch_says_so() -> None:
    states = Operator()
    for use in (
        states.value.value,
        states.list.get,
        states.map.is_empty,
        states.sum.get,
        lambda: states.value.update(1),
    ):
        with pytest.raises(StateError, match="without a current key"):
            use()
    with pytest.raises(StateError, match="no current key"):
        states.backend.current_key()
    states.backend.set_key(None)
    assert states.backend.current_key() is None
    assert states.value.value() is None
    states.backend.unbind()
    states.backend.set_key(1)
    with pytest.raises(StateError, match="outside a batch"):
        states.value.value()


def test_one_name_is_one_state_of_one_kind() -> None:
    states = Operator()
    assert states.backend.get_value_state(Descriptor("value")) is states.value
    with pytest.raises(StateError, match="'value' is value state already"):
        states.backend.get_list_state(Descriptor("value"))
    states.backend.set_key(1)
    states.value.update(1)
    states.backend.flush()
    changed = KeyedStateBackend(128)
    changed.get_map_state(Descriptor("value"))
    with pytest.raises(StateError, match="map state in the program but value state in the checkpoint"):
        changed.bind(states.store, 1)
    late = KeyedStateBackend(128)
    late.bind(states.store, 1)
    with pytest.raises(StateError, match="give the new state another name"):
        late.get_list_state(Descriptor("value"))


def test_operators_in_one_store_never_meet() -> None:
    store = MemoryStore()
    backends = [KeyedStateBackend(128, operator_index=index) for index in (0, 1)]
    for index, backend in enumerate(backends):
        state = backend.get_value_state(Descriptor("s"))
        backend.bind(store, 1)
        backend.set_key("k")
        assert state.value() is None
        state.update(index)
        backend.flush()
    for index, backend in enumerate(backends):
        backend.set_key("k")
        assert backend.get_value_state(Descriptor("s")).value() == index
        assert backend.count_entries() == 1


def test_state_ids_survive_another_order_of_registration() -> None:
    store = MemoryStore()
    for names in (["a", "b"], ["b", "c", "a"]):
        backend = KeyedStateBackend(128)
        backend.bind(store, 1)
        for name in names:
            state = backend.get_value_state(Descriptor(name))
            backend.set_key("k")
            assert state.value() in (None, name)
            state.update(name)
        backend.flush()
    backend.set_key("k")
    assert [backend.get_value_state(Descriptor(name)).value() for name in "abc"] == ["a", "b", "c"]


@pytest.mark.parametrize("max_parallelism", [1, 128, 32768])
def test_keys_may_be_changed_while_they_are_gone_over(max_parallelism: int) -> None:
    backend = KeyedStateBackend(max_parallelism, cache_limit=10)
    backend.bind(MemoryStore(), 1)
    other = backend.get_value_state(Descriptor("other"))
    state = backend.get_map_state(Descriptor("state"))
    for number in range(200):
        backend.set_key(number)
        other.update(1)
        if number % 2:
            state.put("a", number)
            state.put("b", number)
    assert sorted(backend.keys("state")) == list(range(1, 200, 2))
    seen = []
    for key in backend.keys("state"):
        seen.append(key)
        backend.set_key(key)
        state.clear()
    assert sorted(seen) == list(range(1, 200, 2))
    assert list(backend.keys("state")) == []
    assert sorted(backend.keys("other")) == list(range(200))
    assert list(backend.keys("unknown")) == []
    assert backend.count_entries() == 200


def test_a_change_in_place_without_update_is_not_kept_cached_or_not() -> None:
    states = Operator()
    states.backend.set_key("k")
    states.value.update([1])
    states.map.put("m", [1])
    states.list.add([1])
    for number in (2, 3):
        states.value.value().append(number)
        states.map.get("m").append(number)
        next(states.map.values()).append(number)
        states.list.get()[0].append(number)
        assert (states.value.value(), states.map.get("m"), states.list.get()) == ([1], [1], [[1]])
        states.next_batch()
        states.backend.set_key("k")
        assert (states.value.value(), states.map.get("m"), states.list.get()) == ([1], [1], [[1]])


def test_objects_that_are_only_read_are_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    states = Operator()
    states.backend.set_key("k")
    states.value.update([1])
    states.map.put("m", [1])
    states.list.add([1])
    states.next_batch()
    states.backend.set_key("k")
    assert (states.value.value(), states.map.get("m"), states.list.get()) == ([1], [1], [[1]])
    written: list[Any] = []
    monkeypatch.setattr(MemoryStore, "put", lambda store, row, data: written.append(row))
    monkeypatch.setattr(MemoryStore, "put_many", lambda store, entries: written.extend(entries))
    states.backend.write()
    assert written == []


def test_shared_objects_are_given_out_themselves() -> None:
    backend = KeyedStateBackend(128, shares_objects=True)
    backend.bind(MemoryStore(), 1)
    backend.set_key("k")
    held, state = [1], backend.get_value_state(Descriptor("value"))
    state.update(held)
    assert state.value() is held


def test_written_but_still_cached_objects_stay_right() -> None:
    states = Operator()
    states.backend.set_key("k")
    states.value.update([1])
    assert states.list.get() == []
    states.list.add(1)
    states.map.put("m", 1)
    states.backend.write()
    states.value.update([1, 2])
    states.list.add(2)
    states.map.put("m", 2)
    assert states.list.get() == [1, 2]
    states.next_batch()
    states.backend.set_key("k")
    assert (states.value.value(), states.list.get(), states.map.get("m")) == ([1, 2], [1, 2], 2)


def test_going_over_a_map_sees_entries_not_written_yet() -> None:
    states = Operator()
    states.backend.set_key("k")
    states.map.put_all({"a": 1, "b": 1, "c": 1})
    states.next_batch()
    states.backend.set_key("k")
    states.map.put("a", 2)
    states.map.remove("b")
    states.map.put("d", 2)
    assert list(states.map.items()) == [("a", 2), ("c", 1), ("d", 2)]
