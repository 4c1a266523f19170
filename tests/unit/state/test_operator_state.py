"""State of a subtask without keys: lists, broadcast maps, their bytes, and how they are dealt out anew."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import StateError
from penstock.state.operator_state import (
    BROADCAST,
    LIST,
    UNION,
    OperatorBroadcastState,
    OperatorSnapshot,
    OperatorStateBackend,
    ReadOnlyBroadcastView,
    Saved,
    deal_out,
    rescaled,
)


def moved(backend: OperatorStateBackend) -> OperatorStateBackend:
    """What another process makes of it."""
    other = OperatorStateBackend()
    other.restore(pickle.loads(pickle.dumps(backend.save())))
    return other


def lists(*contents: list[str]) -> list[Saved]:
    return [{"a": (LIST, [pickle.dumps(element) for element in content])} for content in contents]


def loaded(states: Saved) -> dict[str, Any]:
    backend = OperatorStateBackend()
    backend.restore(states)
    return {
        name: dict(backend.broadcast_state(name).items()) if kind == BROADCAST else backend.list_state(name, kind).get()
        for name, (kind, _) in states.items()
    }


def test_a_list_is_kept_in_order() -> None:
    backend = OperatorStateBackend()
    state = backend.list_state("a")
    assert state.get() == []
    state.add(1)
    state.add_all([2, [3]])
    other = moved(backend).list_state("a")
    assert list(other) == [1, 2, [3]]
    other.update(["x"])
    other.add("y")
    assert other.get() == ["x", "y"]
    other.clear()
    assert other.get() == []


def test_the_list_that_is_returned_is_a_copy_and_so_are_its_elements() -> None:
    backend = OperatorStateBackend()
    state = backend.list_state("a")
    given = ["deep"]
    state.add(given)
    given.append("deeper")
    backend.save()
    state.get()[0].append("deeper")
    state.get().append("lost")
    assert state.get() == moved(backend).list_state("a").get() == [["deep"]]


def test_elements_are_encoded_once() -> None:
    backend = OperatorStateBackend()
    state = backend.list_state("a")
    state.add(["first"])
    _, before = backend.save()["a"]
    state.add("second")
    _, after = backend.save()["a"]
    assert after[0] is before[0]
    assert loaded({"a": (LIST, after)}) == {"a": [["first"], "second"]}


def test_a_list_grows_after_it_was_restored() -> None:
    backend = OperatorStateBackend()
    backend.list_state("a").add(1)
    other = moved(backend)
    other.list_state("a").add(2)
    assert moved(other).list_state("a").get() == [1, 2]


def test_a_map_is_kept_with_all_its_ways_of_access() -> None:
    backend = OperatorStateBackend()
    state = backend.broadcast_state("m")
    assert state.is_empty()
    state.put("a", 1)
    state.put_all({"b": 2, "c": 3})
    state["d"] = 4
    state.remove("b")
    state.remove("never there")
    del state["d"]
    other = moved(backend).broadcast_state("m")
    assert (dict(other.items()), list(other), other.values(), other.keys()) == (
        {"a": 1, "c": 3},
        ["a", "c"],
        [1, 3],
        ["a", "c"],
    )
    assert ("a" in other, other.contains("b"), other.get("b"), other["c"]) == (True, False, None, 3)
    other.clear()
    assert other.is_empty()


def test_a_map_may_be_changed_while_it_is_iterated_over() -> None:
    state = OperatorBroadcastState("m")
    state.put_all({1: "one", 2: "two"})
    for key, _ in state.items():
        state.remove(key)
    assert state.is_empty()


def test_a_map_that_was_not_touched_is_not_encoded_again() -> None:
    backend = OperatorStateBackend()
    state = backend.broadcast_state("m")
    state.put("rule", ["deep"])
    _, before = backend.save()["m"]
    view = ReadOnlyBroadcastView(state)
    assert view.get("rule") == ["deep"]
    assert backend.save()["m"][1] is before


def test_a_map_may_be_read_without_being_encoded_again() -> None:
    backend = OperatorStateBackend()
    state = backend.broadcast_state("m")
    state.put("rule", ["x"])
    _, before = backend.save()["m"]
    assert (state.get("rule"), state.values(), state.items()) == (["x"], [["x"]], [("rule", ["x"])])
    assert backend.save()["m"][1] is before


@pytest.mark.parametrize(
    "read", [lambda state: state.get("rule"), lambda state: min(state.values()), lambda state: min(state.items())[1]]
)
@pytest.mark.parametrize("view", [ReadOnlyBroadcastView, lambda state: state])
def test_an_object_of_a_map_changes_only_when_it_is_put_back(read: Any, view: Any) -> None:
    backend = OperatorStateBackend()
    state = backend.broadcast_state("m")
    given = ["deep"]
    state.put("rule", given)
    given.append("deeper")
    backend.save()
    read(view(state)).append("deeper")
    assert read(view(state)) == read(view(moved(backend).broadcast_state("m"))) == ["deep"]


def test_a_map_that_is_the_same_is_not_decoded_again() -> None:
    backend = OperatorStateBackend()
    state = backend.broadcast_state("m")
    state.put("rule", ["deep"])
    held = state.entries["rule"]
    saved = pickle.loads(pickle.dumps(backend.save()))
    backend.restore(saved)
    assert state.entries["rule"] is held


def test_restore_forgets_what_a_failed_batch_put_in() -> None:
    backend = OperatorStateBackend()
    state, other = backend.broadcast_state("m"), backend.list_state("a")
    saved = backend.save()
    state.put("late", 1)
    other.add("late")
    lost = backend.save()
    assert lost["m"] != saved["m"]
    backend.restore(saved)
    assert (state.is_empty(), other.get()) == (True, [])
    backend.restore({})
    state.put("again", 1)
    backend.restore({})
    assert (state.is_empty(), loaded(backend.save())) == (True, {"m": {}, "a": []})


def test_a_view_sees_what_the_state_has_now_and_later() -> None:
    backend = OperatorStateBackend()
    state = backend.broadcast_state("m")
    view = ReadOnlyBroadcastView(state)
    assert view.is_empty()
    state.put("a", 1)
    saved = backend.save()
    backend.restore({})
    assert view.is_empty()
    backend.restore(saved)
    assert (view.get("a"), view["a"], "a" in view, view.contains("b"), list(view)) == (1, 1, True, False, ["a"])
    assert (list(view.keys()), list(view.values()), list(view.items())) == (["a"], [1], [("a", 1)])


@pytest.mark.parametrize(
    "change",
    [
        lambda view: view.put("a", 1),
        lambda view: view.put_all({"a": 1}),
        lambda view: view.update({"a": 1}),
        lambda view: view.remove("a"),
        lambda view: view.clear(),
        lambda view: view.__setitem__("a", 1),
        lambda view: view.__delitem__("a"),
    ],
)
def test_a_view_cannot_be_changed(change: Any) -> None:
    state = OperatorBroadcastState("rules")
    state.put("a", 0)
    with pytest.raises(StateError, match=r"'rules' may only be read on this side.*process_broadcast_element"):
        change(ReadOnlyBroadcastView(state))
    assert state.get("a") == 0


def test_a_name_has_one_state_of_one_kind() -> None:
    backend = OperatorStateBackend()
    assert backend.list_state("a") is backend.list_state("a")
    with pytest.raises(StateError, match="'a' is list state already: give the union list state another name"):
        backend.list_state("a", UNION)
    with pytest.raises(StateError, match="'a' is list state already: give the broadcast state another name"):
        backend.broadcast_state("a")


def test_a_kind_must_be_that_of_the_checkpoint() -> None:
    backend = OperatorStateBackend()
    backend.list_state("a").add(1)
    with pytest.raises(StateError, match="'a' is broadcast state in the program but list state in the checkpoint"):
        moved(backend).broadcast_state("a")


def test_a_state_that_nobody_asks_for_is_handed_on() -> None:
    backend = OperatorStateBackend()
    backend.list_state("a").add(1)
    assert moved(moved(backend)).list_state("a").get() == [1]


# ---- another parallelism ----


@pytest.mark.parametrize(
    ("contents", "parallelism", "expected"),
    [
        ([["a", "b", "c"], ["d"]], 3, [["a", "b"], ["c"], ["d"]]),
        ([["a"], ["b", "c"], ["d"]], 1, [["a", "b", "c", "d"]]),
        ([["a"], []], 3, [["a"], [], []]),
        ([["a", "b", "c"], ["d"]], 2, [["a", "b", "c"], ["d"]]),
    ],
    ids=["2 to 3", "3 to 1", "fewer elements than subtasks", "2 to 2: all stay where they are"],
)
def test_a_list_is_dealt_out_in_pieces(contents: Any, parallelism: int, expected: Any) -> None:
    assert [loaded(states)["a"] for states in deal_out(lists(*contents), parallelism)] == expected


def test_the_longer_pieces_start_where_those_of_the_list_before_stopped() -> None:
    saved: list[Saved] = [{name: (LIST, [b"\x80", b"\x81", b"\x82", b"\x83"]) for name in ("a", "b", "c")}]
    sizes = [{name: len(content) for name, (_, content) in states.items()} for states in deal_out(saved, 3)]
    assert sizes == [{"a": 2, "b": 1, "c": 1}, {"a": 1, "b": 2, "c": 1}, {"a": 1, "b": 1, "c": 2}]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(), max_size=7), min_size=1, max_size=4), st.integers(1, 6))
def test_no_element_is_lost_and_pieces_are_nearly_equal(contents: list[list[int]], parallelism: int) -> None:
    saved: list[Saved] = [{"a": (LIST, [pickle.dumps(each) for each in content])} for content in contents]
    dealt = [loaded(states)["a"] for states in deal_out(saved, parallelism)]
    assert [each for part in dealt for each in part] == [each for part in contents for each in part]
    if len(contents) != parallelism:
        assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_union_list_goes_to_all(parallelism: int) -> None:
    saved: list[Saved] = [{"u": (UNION, [pickle.dumps(each)])} for each in "ab"]
    assert [loaded(states)["u"] for states in deal_out(saved, parallelism)] == [["a", "b"]] * parallelism


def test_copies_of_a_broadcast_map_are_taken_in_turn() -> None:
    saved: list[Saved] = [{"m": (BROADCAST, pickle.dumps({"of": each}))} for each in range(2)]
    assert [loaded(states)["m"]["of"] for states in deal_out(saved, 5)] == [0, 1, 0, 1, 0]
    assert [loaded(states)["m"]["of"] for states in deal_out(saved, 1)] == [0]


def test_a_subtask_that_had_no_map_yet_hands_none_on() -> None:
    saved: list[Saved] = [{"m": (BROADCAST, pickle.dumps({1: 1}))}, {}]
    assert [set(states) for states in deal_out(saved, 3)] == [{"m"}, set(), {"m"}]


def test_what_is_the_operators_own_goes_to_all() -> None:
    plain = [
        OperatorSnapshot("own of 0", lists(["a", "b"])[0], 3, "x").to_plain(),
        OperatorSnapshot("own of 1", lists(["c"])[0], 4, "y").to_plain(),
    ]
    found = [OperatorSnapshot.from_plain(each) for each in rescaled(plain, 1, own_of=1)]
    assert found == [OperatorSnapshot("own of 1", lists(["a", "b", "c"])[0], 4, "")]
    assert rescaled(["own", None], 3) == ["own"] * 3
    assert OperatorSnapshot.from_plain({"some": "dict"}) is None
