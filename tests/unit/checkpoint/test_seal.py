"""Seals: what follows what, bytes and back, and that anything but a whole seal is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.checkpoint.seal import Seal, decode_seal, encode_seal, merge_entries
from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.plain_data import UserPickle, loaded
from penstock.errors import CheckpointError
from penstock.runtime.report import Report, SubtaskEntry, encode_inline
from penstock.state.versions import EMPTY, StateFile, StateVersion

FILES = st.builds(
    StateFile, st.text("0123456789abcdef.", min_size=1), st.booleans(), st.integers(0, 2**40), st.integers(0, 2**40)
)
ENTRIES = st.builds(
    SubtaskEntry,
    st.builds(StateVersion, st.text(), st.lists(FILES, max_size=3).map(tuple)),
    st.none() | st.binary(max_size=50),
    st.none() | st.integers(0, 2**50),
    st.integers(MIN_WATERMARK, MAX_WATERMARK),
    st.booleans(),
)
SEALS = st.builds(
    Seal,
    st.integers(0, 2**40),
    st.dictionaries(st.tuples(st.text(), st.integers(0, 99)), ENTRIES, max_size=4),
    st.dictionaries(st.text(), st.lists(st.integers() | st.text()), max_size=3),
)


@settings(max_examples=50)
@given(SEALS)
def test_a_seal_comes_back(seal: Seal) -> None:
    assert decode_seal(encode_seal(seal), "x") == seal


def small_seal() -> Seal:
    version = StateVersion("abc", (StateFile("abc.snapshot", True, 10, 1),))
    return Seal(7, {("uid", 0): SubtaskEntry(version, b"inline", 5, 6, False)}, {"sink": ["file"]})


def test_a_seal_cut_at_any_byte_is_refused() -> None:
    data = encode_seal(small_seal())
    for length in range(len(data)):
        with pytest.raises(CheckpointError, match=r"penstock/seals/7 is damaged or truncated"):
            decode_seal(data[:length], "penstock/seals/7")


def test_a_seal_damaged_at_any_byte_is_refused() -> None:
    data = encode_seal(small_seal())
    for place in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[place] ^= flip
            with pytest.raises(CheckpointError):
                decode_seal(bytes(damaged), "x")


def test_a_seal_of_another_version_is_refused_with_what_to_do() -> None:
    data = bytearray(encode_seal(small_seal()))
    data[6:8] = b"01"
    with pytest.raises(
        CheckpointError, match=r"seals/7\.seal has format 01, and .* reads format 02: start the job in a new"
    ):
        decode_seal(bytes(data), "penstock/seals/7.seal")


@dataclass
class Receipt:
    """What a sink of a user's hands over."""

    number: int


def test_what_a_sink_of_the_users_hands_over_is_not_loaded_with_the_seal() -> None:
    seal = Seal(7, {}, {"sink": [Receipt(3), {"plain": (1, [2])}]})
    found = decode_seal(encode_seal(seal), "x").committables["sink"]
    assert isinstance(found[0], UserPickle) and found[1] == {"plain": (1, [2])}
    assert loaded(found[0]) == Receipt(3)
    again = Seal(8, {}, {"sink": found})
    assert decode_seal(encode_seal(again), "x").committables["sink"] == found, "handed on as it is"


def test_bytes_behind_a_seal_are_refused() -> None:
    with pytest.raises(CheckpointError):
        decode_seal(encode_seal(small_seal()) + b"\0", "x")


def report(uid: str, subtask: int, entry: SubtaskEntry, **committables: Any) -> Report:
    return Report(uid, subtask, entry, committables, {})


def entry(watermark: int = 0, **settings: Any) -> SubtaskEntry:
    return SubtaskEntry(watermark=watermark, **settings)


def test_subtasks_that_did_not_run_keep_their_entries() -> None:
    first = Seal().followed_by(0, [report("a", 0, entry(1)), report("a", 1, entry(2), sink=["x"])], set())
    second = first.followed_by(1, [report("a", 1, entry(9), sink=["y"]), report("b", 0, entry(5), sink=["z"])], set())
    assert {key: each.watermark for key, each in second.entries.items()} == {("a", 0): 1, ("a", 1): 9, ("b", 0): 5}
    assert (first.version, second.version) == (0, 1)
    assert second.committables == {"sink": ["y", "z"]}, "committables are those of the batch"
    assert first.entry("a", 1).watermark == 2, "the seal before is as it was"


def test_an_unknown_subtask_starts_empty() -> None:
    assert Seal().entry("a", 3) == SubtaskEntry(EMPTY)


def test_the_next_deadline_is_the_earliest_of_those_that_go_on() -> None:
    entries = [entry(deadline=50), entry(deadline=10, has_ended=True), entry(deadline=None), entry(deadline=30)]
    seal = Seal(0, {("a", index): each for index, each in enumerate(entries)})
    assert seal.next_deadline() == 30
    assert Seal().next_deadline() is None


def inline(watermark: int, active_at: int) -> bytes:
    state = (watermark, active_at, False, ("highest", watermark))
    return encode_inline(operators={"a": state, "b": None}, watermarks={"a": watermark, "b": 1})


def test_the_tasks_of_an_ephemeral_source_become_one_entry_of_the_slowest() -> None:
    slow = entry(4, inline=inline(4, 100), deadline=110)
    fast = entry(9, inline=inline(9, 50), deadline=60)
    seal = Seal().followed_by(0, [report("a", 3, fast), report("a", 8, slow)], {"a"})
    assert list(seal.entries) == [("a", 0)]
    merged = seal.entry("a", 0)
    assert merged.inline == merge_entries([slow, fast]).inline == merge_entries([slow]).inline
    assert (merged.watermark, merged.deadline, merged.has_ended) == (4, 110, False)


def test_an_ephemeral_source_has_ended_when_one_task_says_so() -> None:
    assert merge_entries([entry(inline=inline(1, 1)), entry(inline=inline(1, 1), has_ended=True)]).has_ended
