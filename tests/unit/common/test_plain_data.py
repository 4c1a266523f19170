"""Plain data as bytes: what comes back, which bytes they are, what is refused, and what is never unpickled."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, user_pickles
from penstock.common.plain_data import (
    NotPlainError,
    UnknownRecord,
    UserPickle,
    UserValue,
    keep_as,
    loaded,
    names_on_disk,
    pack,
    pack_record,
    pack_untagged,
    unpack,
    unpack_record,
    unpack_untagged,
)
from penstock.common.time import Instant
from penstock.common.types import RowKind
from penstock.errors import CheckpointError, StateError

KEYS = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.tuples(st.integers(), st.text())
ATOMS = KEYS | st.floats(allow_nan=False) | st.decimals(allow_nan=False) | st.dates() | st.times() | st.datetimes()
PLAIN = st.recursive(
    ATOMS, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(KEYS, inner), max_leaves=20
)


class Receipt(NamedTuple):
    """A tuple of a user's."""

    number: int


class Size(IntEnum):
    SMALL = 1


@dataclass
class Handle:
    """An object of a user's."""

    rows: list[Row]


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types in all parts."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return same(list(one), list(other)) and same(list(one.values()), list(other.values()))
    return bool(one == other)


@given(PLAIN)
def test_plain_data_come_back_as_they_were(value: Any) -> None:
    assert same(unpack(pack(value)), value)
    assert same(loaded(unpack(pack(UserValue(value)))), value)
    assert pack(value) == pack(value)


FIXED = [
    (None, "c0"),
    (True, "c3"),
    (-1, "ff"),
    (300, "cd012c"),
    (2**64, "c70902010000000000000000"),
    (-(2**63) - 1, "c70902ff7fffffffffffffff"),
    (1.5, "cb3ff8000000000000"),
    ("\u00e9", "a2c3a9"),
    ("\ud800", "a3eda080"),
    (b"\x80\x05", "c4028005"),
    ([1, []], "920190"),
    ((), "d40190"),
    ((1, "a"), "d6019201a161"),
    ({(1,): 2}, "81d501910102"),
    (Decimal("1.50"), "d606312e3530"),
    (date(2024, 1, 2), "c70a07323032342d30312d3032"),
    (time(3, 4), "d70830333a30343a3030"),
    (datetime(2024, 1, 2, tzinfo=UTC), "c71909323032342d30312d30325430303a30303a30302b30303a3030"),
    (Instant(7, 8), "c70d0393a7696e7374616e7401920708"),
    (Row(a=1), "c70d0393a3726f77019391a161910100"),
]


@pytest.mark.parametrize(("value", "expected"), FIXED, ids=lambda each: repr(each)[:30])
def test_these_are_the_bytes_on_disk(value: Any, expected: str) -> None:
    assert pack(value).hex() == expected, "this is what checkpoints hold: a change needs new format numbers"
    assert same(unpack(bytes.fromhex(expected)), value)


def test_rows_keep_names_and_kinds() -> None:
    deleted = Row.of_kind(RowKind.DELETE, 1, Row(a=(1, 2)))
    found = unpack(pack(deleted))
    assert found == deleted and found.get_row_kind() is RowKind.DELETE and found[1].a == (1, 2)


def test_an_arrow_schema_comes_back() -> None:
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False), ("t", pa.timestamp("us", "UTC"))], {"a": "b"})
    assert unpack(pack(schema)).equals(schema, check_metadata=True)


@pytest.mark.parametrize("value", [Receipt(1), Size.SMALL, OrderedDict(a=1), {1, 2}, object, Handle([])])
def test_what_is_not_plain_is_refused(value: Any) -> None:
    with pytest.raises(NotPlainError):
        pack([value])


@pytest.mark.parametrize(
    "value",
    [
        Receipt(1),
        [Size.SMALL],
        OrderedDict(a=1),
        {1, 2},
        Handle([Row(1), Row(a=2)]),
        bytearray(b"x"),
        datetime(2024, 10, 27, 2, 30, fold=1),
        datetime(2024, 1, 2, tzinfo=timezone(timedelta(hours=1), "a name")),
    ],
)
def test_an_object_of_the_users_comes_back_as_it_was(value: Any) -> None:
    found = loaded(unpack(pack([UserValue(value)]))[0])
    assert same(found, value) or found == value
    assert type(found) is type(value)


def test_a_pickle_of_the_users_is_not_loaded_before_somebody_asks() -> None:
    data = pack({"state": UserValue(Handle([]))})
    found = unpack(data)
    assert isinstance(found["state"], UserPickle)
    assert pack(found) == data, "handed on as it is"


def test_an_object_that_cannot_be_pickled_is_refused_with_its_type() -> None:
    with pytest.raises(StateError, match="type generator cannot be kept in a checkpoint"):
        pack(UserValue(each for each in ()))


def test_a_class_that_is_gone_is_named() -> None:
    data = pickle.dumps(Handle([]), 5).replace(b"Handle", b"Bundle")
    with pytest.raises(StateError, match=r"Bundle.*keep its class importable"):
        UserPickle(data).load()


def test_records_of_classes_that_are_not_imported_are_handed_on() -> None:
    data = pack(UnknownRecord("from a plugin", 3, {"a": (1,)}))
    assert unpack(data) == UnknownRecord("from a plugin", 3, {"a": (1,)})
    assert pack(unpack(data)) == data
    assert unpack(pack(UserValue(unpack(data)))) == unpack(data), "and not pickled on the way"


def test_a_newer_record_is_refused() -> None:
    assert "row" in names_on_disk()
    with pytest.raises(
        CheckpointError, match="a record 'row' has format 2, and this version of Penstock reads format 1"
    ):
        unpack(pack(UnknownRecord("row", 2, [])))


def test_a_name_is_given_once() -> None:
    with pytest.raises(AssertionError, match="'row' is the name of Row"):
        keep_as(Handle, "row", list, lambda plain, version: plain)


def test_another_version_of_a_record_is_refused_with_what_to_do() -> None:
    data = pack_record({"a": 1}, 4)
    assert unpack_record(data, 4, "the thing") == {"a": 1}
    with pytest.raises(
        CheckpointError, match=r"the thing has format 4, .* reads format 5: start the job in a new checkpoint"
    ):
        unpack_record(data, 5, "the thing")
    for damaged in (data[:-1], data + b"\0", b"\x04\xc1"):
        with pytest.raises(CheckpointError, match="the thing is damaged"):
            unpack_record(damaged, 4, "the thing")
    with pytest.raises(CheckpointError, match="the thing has format 0"):
        unpack_record(b"", 4, "the thing")


def test_data_of_a_schema_have_tuples_for_lists() -> None:
    value = (1, [2, "x"], {(3, 4): [5]}, 2**70, None)
    assert unpack_untagged(pack_untagged(value)) == (1, (2, "x"), {(3, 4): (5,)}, 2**70, None)


# ---- pickles of users' objects ----


@pytest.mark.parametrize("value", [Row(a=1), Row(1, 2), Instant(1, 2), [Handle([Row(1)])], {"x": (RowKind.DELETE,)}])
def test_a_users_pickle_has_no_class_of_ours(value: Any) -> None:
    data = user_pickles.dump(value)
    assert data[:1] == b"\x80" and b"penstock" not in data
    assert user_pickles.load(data) == value


def test_classes_of_a_function_body_are_pickled_with_their_code() -> None:
    class Local:
        def __init__(self) -> None:
            self.row = Row(a=1)

    data = user_pickles.dump(Local())
    assert b"penstock." not in data  # the path of this file may have the word
    assert user_pickles.load(data).row == Row(a=1)


def test_names_in_pickles_stay() -> None:
    import penstock.cep
    import penstock.datastream  # noqa: F401 - brings the windows

    assert sorted(user_pickles.names_in_pickles()) == [
        "condition of a class", "condition of a function", "count window", "duration", "global window", "instant",
        "iterative condition", "pattern update", "rich iterative condition", "rich simple condition", "row", "row kind",
        "row of values", "simple condition", "time", "time window", "watermark",
    ]  # fmt: skip
