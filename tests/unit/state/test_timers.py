"""Timers against a sorted list, whatever the batch boundaries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.keys.codec import decode_key, encode_key
from penstock.keys.groups import key_group
from penstock.state import timers as timers_module
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory_store import MemoryStore
from penstock.state.timers import EVENT, PROCESSING, InternalTimers
from penstock.state.tracked_store import TrackedStore

LOWEST, HIGHEST = -(2**63), 2**63 - 1
TimerModel = set[tuple[int, int, bytes, bytes]]


class Harness:
    def __init__(self, cache_limit: int = 100_000) -> None:
        self.store = MemoryStore()
        self.backend = KeyedStateBackend(128, cache_limit)
        self.timers = InternalTimers(self.backend)
        self.backend.bind(self.store, 0)

    def next_batch(self) -> None:
        self.backend.flush()
        self.backend.bind(self.store, 1)

    def register(self, key: Any, timestamp: int, domain: int = EVENT, namespace: bytes = b"") -> None:
        self.backend.set_key(key)
        self.timers.register(domain, timestamp, namespace)

    def delete(self, key: Any, timestamp: int, domain: int = EVENT, namespace: bytes = b"") -> None:
        self.backend.set_key(key)
        self.timers.delete(domain, timestamp, namespace)


def place(timestamp: int, key: Any, namespace: bytes) -> tuple[int, int, bytes, bytes]:
    code = encode_key(key)
    return timestamp, key_group(code, 128), code, namespace


timestamps = st.one_of(st.integers(0, 12), st.sampled_from([LOWEST, HIGHEST, -1]))
timer_keys = st.sampled_from(["a", "b", 3, (1, "x"), "long" * 200, b"c"])
steps = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["register", "register", "delete"]),
            st.sampled_from([EVENT, PROCESSING]),
            timestamps,
            timer_keys,
            st.sampled_from([b"", b"w"]),
        ),
        st.tuples(st.just("pop"), st.sampled_from([EVENT, PROCESSING]), timestamps, st.none(), st.none()),
        st.tuples(st.just("batch"), st.just(EVENT), st.just(0), st.none(), st.none()),
    ),
    max_size=40,
)


@settings(max_examples=70)
@given(steps=steps, cache_limit=st.sampled_from([0, 3, 100_000]))
def test_timers_equal_a_sorted_list(steps: list[Any], cache_limit: int) -> None:
    harness = Harness(cache_limit)
    models: tuple[TimerModel, TimerModel] = (set(), set())
    for name, domain, timestamp, key, namespace in steps:
        model = models[domain]
        if name == "register":
            harness.register(key, timestamp, domain, namespace)
            model.add(place(timestamp, key, namespace))
        elif name == "delete":
            harness.delete(key, timestamp, domain, namespace)
            model.discard(place(timestamp, key, namespace))
        elif name == "batch":
            harness.next_batch()
        else:
            due = sorted(timer for timer in model if timer[0] <= timestamp)
            fired = [place(*timer) for timer in harness.timers.pop_due(domain, timestamp)]
            assert fired == due
            model.difference_update(due)
        assert harness.timers.next_timestamp(domain) == (min(model)[0] if model else None)
        assert harness.timers.has_any_at(domain, timestamp) == any(timer[0] == timestamp for timer in model)
        if timestamp % 2:  # looking writes what is in memory
            assert harness.timers.has_any_from(domain, timestamp) == any(timer[0] >= timestamp for timer in model)
        assert harness.timers.count(domain) == len(model)


reactions = st.dictionaries(
    st.integers(0, 9),
    st.lists(st.tuples(st.booleans(), st.integers(1, 12), st.sampled_from("abc")), max_size=3),
    max_size=5,
)


@settings(max_examples=70)
@given(
    initial=st.sets(st.tuples(st.integers(0, 9), st.sampled_from("abc")), max_size=10),
    reactions=reactions,
    up_to=st.integers(0, 12),
)
def test_timers_changed_while_firing_take_part(
    initial: set[tuple[int, str]], reactions: dict[int, list[tuple[bool, int, str]]], up_to: int
) -> None:
    harness = Harness()
    model: TimerModel = set()
    for timestamp, key in initial:
        harness.register(key, timestamp)
        model.add(place(timestamp, key, b""))
    harness.next_batch()
    done: set[int] = set()
    for timestamp, key, namespace in harness.timers.pop_due(EVENT, up_to):
        assert place(timestamp, key, namespace) == min(model)
        model.remove(min(model))
        for is_new, target, other in () if timestamp in done else reactions.get(timestamp, ()):
            if is_new:
                harness.register(other, target)
                model.add(place(target, other, b""))
            else:
                harness.delete(other, target)
                model.discard(place(target, other, b""))
        done.add(timestamp)
    assert all(timer[0] > up_to for timer in model)
    assert harness.timers.count(EVENT) == len(model)
    assert harness.timers.next_timestamp(EVENT) == (min(model)[0] if model else None)


def test_many_timers_fire_in_order_while_each_sets_the_next() -> None:
    harness = Harness(cache_limit=100)
    for number in range(200):
        harness.register(number, number % 7)
    fired = []
    for timestamp, key, _ in harness.timers.pop_due(EVENT, 20):
        fired.append(timestamp)
        harness.register(key, timestamp + 7)
    assert fired == sorted(fired)
    assert len(fired) == 600
    assert harness.timers.count(EVENT) == 200
    assert harness.timers.next_timestamp(EVENT) == 21


@pytest.mark.parametrize("key", [True, 1.0, 1, 0.5, "a", (1, True), None])
def test_key_comes_back_with_its_type(key: Any) -> None:
    harness = Harness()
    harness.register(key, 5)
    harness.next_batch()
    ((_, back, _),) = harness.timers.pop_due(EVENT, 5)
    assert (back, type(back), repr(back)) == (key, type(key), repr(key))


def test_registering_again_writes_nothing() -> None:
    harness = Harness()
    harness.register("a", 5)
    harness.next_batch()
    before = harness.store.snapshot()
    harness.store.put = None  # type: ignore[assignment,method-assign]
    harness.register("a", 5)
    harness.register("a", 5)
    assert harness.store.snapshot() == before


def test_timer_fired_in_this_batch_can_be_set_again() -> None:
    harness = Harness()
    harness.register("a", 5)
    assert len(list(harness.timers.pop_due(EVENT, 5))) == 1
    harness.register("a", 5)
    assert [timer[0] for timer in harness.timers.pop_due(EVENT, 5)] == [5]


def test_row_is_gone_before_its_timer_is_given_and_the_rest_stays() -> None:
    harness = Harness()
    harness.register("a", 1)
    harness.register("a", 2)
    due = harness.timers.pop_due(EVENT, 9)
    assert next(due)[0] == 1
    assert harness.timers.count(EVENT) == 1
    with pytest.raises(StateError, match="already"):
        next(harness.timers.pop_due(EVENT, 9))
    due.close()  # type: ignore[attr-defined]
    assert harness.timers.next_timestamp(EVENT) == 2
    assert [timer[0] for timer in harness.timers.pop_due(EVENT, 9)] == [2]


def test_nothing_due_does_not_touch_the_store() -> None:
    harness = Harness()
    harness.register("a", 100)
    assert harness.timers.next_timestamp(EVENT) == 100
    harness.store.range = None  # type: ignore[assignment,method-assign]
    assert list(harness.timers.pop_due(EVENT, 99)) == []


@pytest.mark.parametrize("timestamp", [2**63, -(2**63) - 1, 1.5, "soon", None])
def test_impossible_timestamp_is_refused(timestamp: Any) -> None:
    harness = Harness()
    with pytest.raises(StateError, match="whole number of milliseconds"):
        harness.register("a", timestamp)


def test_timer_without_key_is_refused() -> None:
    with pytest.raises(StateError, match="without a current key"):
        Harness().timers.register(EVENT, 1)


def test_deleting_the_first_timer_moves_the_next_timestamp() -> None:
    harness = Harness()
    harness.register("a", 1)
    harness.register("b", 2)
    assert harness.timers.next_timestamp(EVENT) == 1
    harness.delete("a", 1)
    assert harness.timers.next_timestamp(EVENT) == 2
    harness.delete("b", 2)
    assert harness.timers.next_timestamp(EVENT) is None


def test_timers_that_are_not_in_memory_are_found_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers_module, "_READ_AT_ONCE", 2)
    harness = Harness()
    for timestamp in range(10, 20):
        harness.register("a", timestamp)
    harness.next_batch()
    harness.register("b", 30)
    harness.delete("a", 18)
    found = [timestamp for timestamp in range(40) if harness.timers.has_any_at(EVENT, timestamp)]
    assert found == [*range(10, 18), 19, 30]


def test_more_timers_than_are_held_in_memory_fire_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.state.timers._READ_AT_ONCE", 3)
    harness = Harness()
    for number in range(20):  # many of one timestamp, so that memory ends within one
        harness.register(number, number // 8)
    harness.next_batch()
    expected = sorted(place(number // 8, number, b"") for number in range(20))
    assert harness.timers.next_timestamp(EVENT) == 0
    # One that is in memory goes, one that is not, and one of each comes.
    first, last = expected[1], expected[15]
    for gone in (first, last):
        harness.delete(decode_key(gone[2]), gone[0])
        expected.remove(gone)
    for key, timestamp in (("early", -1), ("late", 1)):
        harness.register(key, timestamp)
        harness.register(key, timestamp)
        expected.append(place(timestamp, key, b""))
    assert [place(*timer) for timer in harness.timers.pop_due(EVENT, 9)] == sorted(expected)
    assert harness.timers.count(EVENT) == 0


def test_a_timer_that_fires_in_the_batch_it_was_set_in_never_reaches_the_store() -> None:
    harness = Harness()
    harness.store = TrackedStore(MemoryStore())  # type: ignore[assignment]
    harness.backend.bind(harness.store, 1)
    harness.register("a", 1)
    harness.register("b", 2)
    harness.delete("b", 2)
    assert [key for _, key, _ in harness.timers.pop_due(EVENT, 1)] == ["a"]
    harness.backend.flush()
    assert not harness.store.has_changes  # type: ignore[attr-defined]
