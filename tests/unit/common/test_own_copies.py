"""Copies of objects: equal, apart, and none where nothing can change."""

from __future__ import annotations

import copy
import datetime
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, RowKind
from penstock.common.own_copies import own_copies, own_copy
from penstock.common.time import Instant


class Colour(Enum):
    RED = 1


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class Plain:
    n: int
    items: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    n: int
    items: Any = None


@dataclass(frozen=True, slots=True)
class FrozenSlots:
    n: int
    items: Any = None


@dataclass(slots=True)
class Slots:
    n: int
    items: Any = None


class Base:
    __slots__ = ("__hidden", "shown")

    def __init__(self) -> None:
        self.__hidden = [1]
        self.shown = [2]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Base) and self.parts() == other.parts()

    def parts(self) -> Any:
        return self.__hidden, self.shown


class Derived(Base):
    """Has a dict beside the slots of its base."""

    def __init__(self) -> None:
        super().__init__()
        self.more = [3]

    def parts(self) -> Any:
        return super().parts(), self.more


class Words(list[str]):
    pass


class Degrees(float):
    pass


class WithRules:
    def __init__(self, items: list[int]) -> None:
        self.items = items
        self.copies = 0

    def __deepcopy__(self, memo: Any) -> WithRules:
        made = WithRules(copy.deepcopy(self.items, memo))
        made.copies = self.copies + 1
        return made


class WithState:
    def __init__(self, items: list[int]) -> None:
        self.items = items
        self.lock = threading.Lock()

    def __getstate__(self) -> Any:
        return self.items

    def __setstate__(self, state: Any) -> None:
        self.items = state
        self.lock = threading.Lock()


UNCHANGEABLE = [
    None,
    1,
    "a",
    b"a",
    2.5,
    Decimal("1.5"),
    UUID(int=1),
    datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    datetime.timedelta(1),
    (),
    (1, "a"),
    (1, ("a", (2, None))),
    frozenset({1, "a"}),
    frozenset({(1, 2)}),
    Pair(1, (2, 3)),
    Frozen(1, (1, 2)),
    FrozenSlots(1, "a"),
    Frozen(1, Frozen(2)),
    Colour.RED,
    RowKind.DELETE,
    np.int64(3),
    np.float32(2.5),
    np.bool_(True),
    len,
    Plain,
]
CHANGEABLE = [
    [1],
    {"a": 1},
    {1},
    bytearray(b"a"),
    Row(1, "a"),
    Row(a=1, b=[2]),
    Row.of_kind(RowKind.DELETE, a=1),
    {"a": {"b": [1, {"c": 2}]}},
    ({"a": 1}, 2),
    Pair({"a": 1}, 2),
    [(1, [2])],
    Plain(1, [2]),
    Frozen(1, [2]),
    FrozenSlots(1, [2]),
    Slots(1, [2]),
    Base(),
    Derived(),
    Counter("abca"),
    OrderedDict(b=[1], a=2),
    deque([1, [2]], maxlen=3),
    Words(["a"]),
    Instant(1, 2),
    {frozenset({1}): [2]},
]


@pytest.mark.parametrize("value", UNCHANGEABLE, ids=lambda value: type(value).__name__)
def test_what_cannot_change_is_not_copied(value: Any) -> None:
    assert own_copy(value) is value
    assert own_copy((value, value)) == (value, value)


@pytest.mark.parametrize("value", CHANGEABLE, ids=lambda value: type(value).__name__)
def test_what_can_change_is_copied_with_all_it_holds(value: Any) -> None:
    made = own_copy(value)
    assert made == value and type(made) is type(value) and made is not value
    assert not changeable_parts(made).keys() & changeable_parts(value).keys()


def changeable_parts(value: Any) -> dict[int, Any]:
    """Objects within a value that can be changed, by identity, found by other means than the code under test."""
    found: dict[int, Any] = {}
    if isinstance(value, (int, float, str, bytes, type(None), Enum)):
        return found
    if not isinstance(value, (tuple, frozenset, Frozen, FrozenSlots)):
        found[id(value)] = value
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, (list, tuple, set, frozenset, deque, Row)):
        parts = list(value)
    elif isinstance(value, Base):
        parts = [value.parts()]
    else:
        names = getattr(type(value), "__slots__", ()) or getattr(value, "__dict__", ())
        parts = [getattr(value, name) for name in names]
    for part in parts:
        found |= changeable_parts(part)
    return found


def test_a_default_factory_and_a_bound_are_kept() -> None:
    counts = own_copy(defaultdict(list, a=[1]))
    counts["b"].append(2)
    assert counts == {"a": [1], "b": [2]}
    assert own_copy(deque([1], maxlen=1)).maxlen == 1


def test_an_object_that_occurs_twice_is_one_in_the_copy() -> None:
    inner = [1]
    made = own_copy({"a": inner, "b": inner, "c": (inner, Plain(1, inner))})
    assert made["a"] is made["b"] is made["c"][0] is made["c"][1].items and made["a"] is not inner


def test_an_object_that_holds_itself_is_copied() -> None:
    loop: list[Any] = [1]
    loop.append((loop, {"again": loop}))
    made = own_copy(loop)
    assert made is not loop and made[1][0] is made and made[1][1]["again"] is made


def test_classes_with_rules_of_their_own_are_copied_by_them() -> None:
    assert own_copy(WithRules([1])).copies == 1
    made = own_copy(WithState([1]))
    assert made.items == [1] and made.lock.acquire(blocking=False)
    array = np.arange(3)
    copied = own_copy({"a": array})["a"]
    array[0] = 9
    assert copied.tolist() == [0, 1, 2]


def test_fields_of_a_number_with_fields_are_copied() -> None:
    warm = Degrees(20.5)
    warm.places = ["here"]  # type: ignore[attr-defined]
    made = own_copy(warm)
    assert made == 20.5 and made.places == ["here"] and made.places is not warm.places  # type: ignore[attr-defined]


def test_what_has_no_copy_is_shared() -> None:
    lock = threading.Lock()
    made = own_copy({"lock": lock, "items": [1]})
    assert made["lock"] is lock and made == {"lock": lock, "items": [1]}
    numbers = (n for n in range(3))
    assert own_copy(numbers) is numbers


def test_blocks_are_copied_only_where_something_can_change() -> None:
    for block in ([1, "a", None], [(1, 2), ("a", None)], []):
        assert own_copies(block) is block
    record = {"n": 1}
    made = own_copies([record, record, 3])
    assert made == [{"n": 1}, {"n": 1}, 3] and made[0] is not record and made[0] is not made[1]
    assert own_copies([(1, record)])[0][1] is not record


ATOM = st.one_of(st.none(), st.integers(), st.text(max_size=3), st.floats(allow_nan=False), st.binary(max_size=3))
VALUE = st.recursive(
    ATOM,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.tuples(inner, inner),
        st.builds(Row, inner, inner),
        st.builds(Plain, st.integers(), st.lists(st.integers(), max_size=2)),
        st.builds(Frozen, st.integers(), inner),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=8,
)


@given(VALUE)
def test_copies_are_what_deepcopy_makes(value: Any) -> None:
    made = own_copy(value)
    assert made == copy.deepcopy(value) and repr(made) == repr(value)
    assert not changeable_parts(made).keys() & changeable_parts(value).keys()


@pytest.mark.parametrize("item", [1, (1, "a"), ((1,), 2), ([1],), [1], {"a": 1}, Pair(1, 2)])
def test_a_tuple_of_tuples_is_the_same_unless_something_in_it_can_change(item: Any) -> None:
    value = (("k", 1), item)
    copied = own_copy(value)
    assert copied == value
    assert (copied is value) == (own_copy(item) is item)
