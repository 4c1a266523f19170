"""Key codec: equal keys share bytes, unequal ones do not, and everything comes back."""

from __future__ import annotations

import enum
import math
from collections import Counter, OrderedDict, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.types import Row, RowKind
from penstock.errors import KeyEncodingError
from penstock.keys.codec import decode_key, encode_key, keeps_type, read_key
from penstock.state.hashable_keys import code_of, hashable_of, hashable_of_code

zones = st.sampled_from([None, UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=23))])
moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.sampled_from([2**63, 2**63 - 1, -(2**63), -(2**63) - 1, 10**700]),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, 0.5, math.nan, math.inf]),
    st.decimals(allow_nan=True, places=3).filter(lambda number: not number.is_snan()),
    st.decimals().filter(lambda number: not number.is_snan()),
    st.sampled_from([Decimal(1), Decimal("1.00"), Decimal("0.5"), Decimal("0.1"), Decimal("-0"), Decimal("Infinity")]),
    st.text(max_size=5),
    st.text(st.characters(categories=["Cs", "Lu"]), max_size=3),
    st.binary(max_size=5),
    moments,
    st.dates(),
    st.times(timezones=zones),
    st.timedeltas(),
    st.uuids(),
)
hashables = st.recursive(
    scalars,
    lambda items: st.one_of(st.tuples(items), st.tuples(items, items), st.frozensets(items, max_size=3)),
    max_leaves=6,
)
any_keys = st.one_of(
    hashables,
    st.lists(hashables, max_size=3),
    st.dictionaries(hashables, hashables, max_size=3),
    st.binary().map(bytearray),
)


def same(left: Any, right: Any) -> bool:
    """Equality, with NaN equal to itself as keys have it."""
    if isinstance(left, (float, Decimal)) and isinstance(right, (float, Decimal)) and left != left and right != right:
        return True
    if type(left) is type(right) and isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def holds_nan(key: Any) -> bool:
    if isinstance(key, dict):
        return any(map(holds_nan, key.items()))
    if isinstance(key, (tuple, list, frozenset)):
        return any(map(holds_nan, key))
    return isinstance(key, (float, Decimal)) and key != key


def is_too_large(key: Any) -> bool:
    if isinstance(key, Decimal):
        return key.is_finite() and abs(key.adjusted()) > 10_000
    parts = key.items() if isinstance(key, dict) else key if isinstance(key, (tuple, list, frozenset)) else ()
    return any(map(is_too_large, parts))


any_keys = any_keys.filter(lambda key: not is_too_large(key))


@settings(max_examples=100, deadline=None)
@given(key=any_keys)
def test_round_trip(key: Any) -> None:
    code = encode_key(key)
    back = decode_key(code)
    assert encode_key(back) == code
    assert holds_nan(key) or back == key


@settings(max_examples=120, deadline=None)
@given(left=any_keys, right=any_keys)
def test_bytes_are_equal_exactly_when_keys_are(left: Any, right: Any) -> None:
    if not (holds_nan(left) or holds_nan(right)):
        assert (encode_key(left) == encode_key(right)) == same(left, right)


@settings(max_examples=80, deadline=None)
@given(keys=st.lists(any_keys, max_size=4))
def test_concatenated_keys_are_read_back_one_by_one(keys: list[Any]) -> None:
    data = b"".join(map(encode_key, keys))
    offset = 0
    for key in keys:
        found, offset = read_key(data, offset)
        assert encode_key(found) == encode_key(key)
    assert offset == len(data)


@settings(max_examples=80, deadline=None)
@given(key=any_keys)
def test_every_cut_is_refused(key: Any) -> None:
    code = encode_key(key)
    for end in range(len(code)):
        with pytest.raises(KeyEncodingError):
            decode_key(code[:end])


@settings(max_examples=100, deadline=None)
@given(left=any_keys, right=any_keys)
def test_hashable_keys_are_equal_exactly_when_bytes_are(left: Any, right: Any) -> None:
    assert (hashable_of(left) == hashable_of(right)) == (encode_key(left) == encode_key(right))
    assert hash(hashable_of(left)) == hash(hashable_of_code(encode_key(left)))
    assert hashable_of(left) == hashable_of_code(encode_key(left))
    assert code_of(hashable_of(left)) == encode_key(left)


class Colour(enum.Enum):
    RED = 1
    CRIMSON = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    HELLO = "hello"


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Account:
    bank: str
    number: int
    note: str = field(default="", compare=False)


@dataclass
class Loose:
    x: int


@dataclass(eq=False)
class ByIdentity:
    x: int


@dataclass(frozen=True)
class Unrebuildable:
    x: int
    y: int = field(compare=False)


class Text(str):
    pass


class Picky(str):
    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    "group",
    [
        [1, 1.0, True, Decimal(1), Decimal("1.000"), Level.LOW, numpy.int64(1), numpy.float32(1), numpy.bool_(True)],
        [0, 0.0, -0.0, False, Decimal("-0.0")],
        [0.5, Decimal("0.5"), Decimal("0.50"), numpy.float64(0.5)],
        ["hello", Word.HELLO, Text("hello"), "".join(["hel", "lo"]), numpy.str_("hello")],
        [b"ab", bytearray(b"ab")],
        [(1, 2), Point(1, 2), (True, Decimal(2))],
        [{1: 2, "a": 3}, {"a": 3, 1: 2}],
        [{1, 2}, frozenset([2, 1])],
        [math.nan, float("nan"), -math.nan, Decimal("NaN")],
        [math.inf, Decimal("Infinity")],
        [10**30, Decimal(10) ** 30, Decimal("1E+30")],
        [2**80, float(2**80), Decimal(2**80)],
        [Colour.RED, Colour.CRIMSON],
        [Account("a", 1, "x"), Account("a", 1, "y")],
        [datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 1, 1, 14, tzinfo=timezone(timedelta(hours=2)))],
        [time(1, tzinfo=UTC), time(2, tzinfo=timezone(timedelta(hours=1)))],
        [[1], [True]],
    ],
)
def test_equal_keys_share_bytes(group: list[Any]) -> None:
    assert len({encode_key(key) for key in group}) == 1
    assert len({hashable_of(key) for key in group}) == 1


def test_unequal_keys_differ() -> None:
    keys = [
        *(None, 1, "1", b"1", (1,), [1], {1}, {1: 1}, ((1,),), (), [], "", b"", 1.5, Decimal("1.1"), 1.1),
        *(Colour.RED, Rights.READ, Rights.READ | Rights.WRITE, Account("a", 1), Account("a1", 1), Loose(1)),
        *(date(2024, 1, 1), datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC), time(0), time(0, tzinfo=UTC)),
        *(timedelta(0), UUID(int=1), Row(1), Row(a=1), Row(b=1), Row.of_kind(RowKind.DELETE, 1)),
        *(("a", "bc"), ("ab", "c"), ("abc",)),
    ]
    assert len({encode_key(key) for key in keys}) == len(keys)


@pytest.mark.parametrize(
    "key",
    [
        *(Colour.BLUE, Rights.READ | Rights.WRITE, Rights(0), Account("a", 1), Loose(3), Row(1, "a"), Row(a=1, b=None)),
        *(Row.of_kind(RowKind.UPDATE_AFTER, 1), uuid4(), timedelta.max, timedelta.min, datetime.max, datetime.min),
        *(
            date.max,
            time.max,
            time(23, tzinfo=timezone(-timedelta(hours=20))),
            time(1, tzinfo=timezone(timedelta(hours=20))),
        ),
        *("x" * 254, "x" * 255, "é" * 200, b"x" * 70_000, tuple(range(300)), 10**2000, -(10**2000), -(2**63), 2**63),
    ],
)
def test_comes_back_equal(key: Any) -> None:
    assert decode_key(encode_key(key)) == key


def test_uncompared_field_comes_back_with_its_default() -> None:
    assert decode_key(encode_key(Account("a", 1, "note"))).note == ""


def test_int_order_is_kept() -> None:
    numbers = [-(2**63), -5, -1, 0, 1, 7, 256, 2**63 - 1]
    assert sorted(numbers, key=encode_key) == numbers


def self_holding() -> list[Any]:
    key: list[Any] = []
    key.append(key)
    return key


@pytest.mark.parametrize(
    ("key", "word"),
    [
        (object(), "object"),
        (1j, "complex"),
        (Picky("a"), "Picky"),
        (Counter("a"), "Counter"),
        (OrderedDict(), "OrderedDict"),
        (ByIdentity(1), "eq=False"),
        (Unrebuildable(1, 2), "'y'"),
        (numpy.datetime64("2024-01-01", "ns"), "datetime64"),
        (numpy.array([1]), "ndarray"),
        (Decimal("1E+1000000"), "digits"),
        (datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))), "UTC"),
        (self_holding(), "contains itself"),
        ((1, object()), "object"),
    ],
)
def test_refusal_names_what_is_wrong(key: Any, word: str) -> None:
    with pytest.raises(KeyEncodingError, match=word):
        encode_key(key)


def test_unknown_tag_trailing_bytes_and_lost_class_are_refused() -> None:
    with pytest.raises(KeyEncodingError, match="damaged"):
        decode_key(b"\xfe")
    with pytest.raises(KeyEncodingError, match="follow"):
        decode_key(encode_key(1) + b"x")
    lost = encode_key(Colour.RED).replace(encode_key("Colour"), encode_key("Colous"))
    with pytest.raises(KeyEncodingError, match="Colous cannot be found"):
        decode_key(lost)


@pytest.mark.parametrize(
    ("key", "kept"),
    [
        (1, True),
        ("a", True),
        (None, True),
        ((1, "a"), True),
        (True, False),
        (1.0, False),
        (1.5, True),
        ((1, True), False),
        (Level.LOW, False),
        (Point(1, 2), False),
        (Account("a", 1), True),
        (Account("a", 1, "n"), False),
    ],
)
def test_keeps_type(key: Any, kept: bool) -> None:
    assert keeps_type(key) is kept


class TwiceAnHour(tzinfo):
    """A zone whose offset depends on `fold` alone, as in the hour a clock is set back."""

    def utcoffset(self, moment: datetime | None) -> timedelta:
        return timedelta(hours=1 if moment is not None and moment.fold else 2)

    def dst(self, moment: datetime | None) -> timedelta:
        return timedelta(0)


def test_repeated_hour_of_one_zone_is_one_key_as_it_is_equal() -> None:
    early = datetime(2024, 10, 27, 2, 30, tzinfo=TwiceAnHour())
    late = early.replace(fold=1)
    assert early == late
    assert encode_key(early) == encode_key(late)
