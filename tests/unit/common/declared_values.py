"""What a declared type makes of values, as measured on PyFlink 2.3 (its compiled coders, and jobs): tables."""

from __future__ import annotations

import datetime
import enum
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from penstock.common import Instant, Row, RowKind, Types
from penstock.common.typeinfo import TypeInformation

Named = namedtuple("Named", "x y")
Turned = namedtuple("Turned", "y x")


@dataclass
class Record:
    x: str
    y: int


class Text(str):
    """A text that is more than one."""


class Level(enum.IntEnum):
    LOW = 1


INTS = [Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG()]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
ROW = Types.ROW([Types.STRING(), Types.INT()])
NAMED = Types.ROW_NAMED(["x", "y"], [Types.STRING(), Types.INT()])
NESTED = Types.ROW_NAMED(["p", "q"], [Types.INT(), Types.ROW_NAMED(["x", "y"], [Types.STRING(), Types.FLOAT()])])
SINGLE = 1.100000023841858  # 1.1 in 32 bits
UTC_PLUS_2 = datetime.timezone(datetime.timedelta(hours=2))
NOON = datetime.datetime(2020, 1, 2, 12)

# What PyFlink makes of them, and so do we.
AS_PYFLINK: list[tuple[TypeInformation, Any, Any]] = [
    *((each, value, int(value)) for each in [*INTS, Types.BIG_INT()] for value in (0, -1, 127, -128, True, 1.0)),
    *((each, value, int(value)) for each in INTS for value in (Decimal(1), np.int64(5), np.float64(2), Level.LOW)),
    (Types.SHORT(), -(2**15), -(2**15)),
    (Types.INT(), 2**31 - 1, 2**31 - 1),
    (Types.LONG(), -(2**63), -(2**63)),
    (Types.FLOAT(), 1.1, SINGLE),
    (Types.FLOAT(), 1, 1.0),
    (Types.FLOAT(), True, 1.0),
    (Types.FLOAT(), Decimal("1.1"), SINGLE),
    (Types.FLOAT(), 2**24 + 1, float(2**24)),
    (Types.FLOAT(), float("inf"), float("inf")),
    (Types.FLOAT(), 1e-50, 0.0),
    (Types.DOUBLE(), 1.1, 1.1),
    (Types.DOUBLE(), 1, 1.0),
    (Types.DOUBLE(), 2**53 + 1, float(2**53)),
    (Types.DOUBLE(), Fraction(1, 2), 0.5),
    (Types.DOUBLE(), np.float32(1.1), SINGLE),
    (Types.STRING(), "a", "a"),
    (Types.STRING(), Text("a"), "a"),
    (Types.STRING(), np.str_("a"), "a"),
    (Types.CHAR(), "a", "a"),
    (Types.BOOLEAN(), True, True),
    (Types.BOOLEAN(), 0, False),
    (Types.BOOLEAN(), np.bool_(True), True),
    (Types.BIG_DEC(), Decimal("1.10"), Decimal("1.10")),
    (Types.BIG_DEC(), 1, Decimal(1)),
    (Types.BIG_DEC(), 1.5, Decimal("1.5")),
    (Types.BIG_DEC(), 0.1, Decimal("0.1")),
    (Types.BIG_DEC(), "1.5", Decimal("1.5")),
    (Types.SQL_DATE(), datetime.date(1, 1, 1), datetime.date(1, 1, 1)),
    (Types.SQL_DATE(), datetime.datetime(2020, 1, 2), datetime.date(2020, 1, 2)),
    (Types.SQL_TIME(), datetime.time(1, 2, 3, 4000), datetime.time(1, 2, 3, 4000)),
    (Types.SQL_TIMESTAMP(), NOON, NOON),
    (Types.INSTANT(), Instant(-1, 999_999_999), Instant(-1, 999_999_999)),
    (Types.PICKLED_BYTE_ARRAY(), {1, 2}, {1, 2}),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, True], [1, 1]),
    (Types.PRIMITIVE_ARRAY(Types.FLOAT()), [1, 1.1], [1.0, SINGLE]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"ab"), b"ab"),
    (Types.BASIC_ARRAY(Types.STRING()), ["a", None], ["a", None]),
    (Types.OBJECT_ARRAY(Types.ROW([Types.INT()])), [Row(1), None], [Row(f0=1), None]),
    (Types.LIST(Types.DOUBLE()), [1, None], [1.0, None]),
    (Types.MAP(Types.STRING(), Types.DOUBLE()), {"a": 1, "b": None}, {"a": 1.0, "b": None}),
    (Types.MAP(Types.STRING(), Types.INT()), OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (PAIR, ("a", 1), ("a", 1)),
    (PAIR, ("a", True), ("a", 1)),
    (Types.TUPLE([ROW, PAIR]), (Row("a", 1), ("b", 2)), (Row(f0="a", f1=1), ("b", 2))),
    (ROW, Row("a", 1), Row(f0="a", f1=1)),
    (ROW, Row(f1=1, f0="a"), Row(f0="a", f1=1)),
    (ROW, Row(None, None), Row(f0=None, f1=None)),
    (ROW, Row.of_kind(RowKind.DELETE, "a", 1), Row.of_kind(RowKind.DELETE, f0="a", f1=1)),
    (NAMED, Row("a", 1), Row(x="a", y=1)),
    (NAMED, Row(y=1, x="a"), Row(x="a", y=1)),
    (NAMED, Row("x", "y")("a", 1), Row(x="a", y=1)),
    (NESTED, Row(q=Row(y=1.1, x="a"), p=1), Row(p=1, q=Row(x="a", y=SINGLE))),
    (NESTED, Row(1, None), Row(p=1, q=None)),
    (NESTED, Row(p=1, q=Row("a", 1)), Row(p=1, q=Row(x="a", y=1.0))),
]

# PyFlink fails on them; we take them, because nothing is lost.
ONLY_HERE: list[tuple[TypeInformation, Any, Any]] = [
    (Types.INT(), None, None),
    (Types.STRING(), None, None),
    (ROW, None, None),
    (PAIR, ("a", None), ("a", None)),
    (Types.BIG_INT(), 2**70, 2**70),
    (Types.INSTANT(), datetime.datetime(1970, 1, 1, 0, 0, 5, tzinfo=datetime.UTC), Instant(5, 0)),
    (Types.LIST(Types.INT()), (1, 2), [1, 2]),
    (Types.PRIMITIVE_ARRAY(Types.INT()), np.array([1, 2]), [1, 2]),
    (PAIR, ["a", 1], ("a", 1)),
    (PAIR, Named("a", 1), ("a", 1)),
    (ROW, ("a", 1), Row(f0="a", f1=1)),
    (NAMED, ["a", 1], Row(x="a", y=1)),
    (NAMED, {"y": 1, "x": "a"}, Row(x="a", y=1)),
    (NAMED, Turned(1, "a"), Row(x="a", y=1)),
    (NAMED, Record("a", 1), Row(x="a", y=1)),
    # A coder of PyFlink gives 03:04:05.004 and 12:00:00.123.
    (Types.SQL_TIME(), datetime.time(3, 4, 5, 4567), datetime.time(3, 4, 5, 4567)),
    (Types.SQL_TIMESTAMP(), NOON.replace(microsecond=123456), NOON.replace(microsecond=123456)),
    # It gives 12:00, the time in a zone that is forgotten.
    (Types.SQL_TIMESTAMP(), NOON.replace(tzinfo=UTC_PLUS_2), NOON.replace(hour=10)),
]

# PyFlink loses a part of them without a word: the last column is what it gives.
CUT_BY_PYFLINK: list[tuple[TypeInformation, Any, Any]] = [
    *((each, 1.5, 1) for each in [*INTS, Types.BIG_INT()]),
    (Types.INT(), Decimal("1.5"), 1),
    (Types.INT(), Fraction(1, 2), 0),
    (Types.FLOAT(), 1e40, float("inf")),
    (Types.BOOLEAN(), 2, True),
    (Types.BOOLEAN(), 1.5, True),
    (Types.CHAR(), "abc", "\x00"),
    (Types.SQL_DATE(), NOON, NOON.date()),
    (Types.SQL_TIME(), NOON, NOON.time()),
    (Types.LIST(Types.INT()), [1.5], [1]),
    (Types.MAP(Types.STRING(), Types.INT()), {"a": 1.5}, {"a": 1}),
    (PAIR, ("a", 1, 2), ("a", 1)),
    (PAIR, ("a", 1.5), ("a", 1)),
    (ROW, Row("a", 1, 2), Row(f0="a", f1=1)),
    (ROW, Row("a", 1.5), Row(f0="a", f1=1)),
    (NAMED, Row(x="a", y=1, z=2), Row(x="a", y=1)),
]

# Both refuse them, PyFlink's coders with an error or a crash of the process.
REFUSED: list[tuple[TypeInformation, Any]] = [
    (Types.BYTE(), 128),
    (Types.BYTE(), -129),
    (Types.SHORT(), 2**15),
    (Types.INT(), 2**31),
    (Types.LONG(), 2**63),
    *((each, value) for each in INTS for value in ("1", b"1", [1], float("nan"), float("inf"), 1j)),
    (Types.FLOAT(), "1.5"),
    (Types.DOUBLE(), "1.5"),
    (Types.DOUBLE(), 10**400),
    (Types.STRING(), 1),
    (Types.STRING(), b"a"),
    (Types.CHAR(), 1),
    (Types.BOOLEAN(), "a"),
    (Types.BOOLEAN(), []),
    (Types.BIG_DEC(), "abc"),
    (Types.BIG_DEC(), True),
    (Types.SQL_DATE(), "2020-01-02"),
    (Types.SQL_TIME(), 1),
    (Types.SQL_TIMESTAMP(), datetime.date(2020, 1, 2)),
    (Types.INSTANT(), 1),
    (Types.LIST(Types.INT()), "12"),
    (Types.LIST(Types.INT()), {1, 2}),
    (Types.LIST(Types.INT()), [1, "a"]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), "ab"),
    (Types.MAP(Types.STRING(), Types.INT()), {1: 1}),
    (Types.MAP(Types.STRING(), Types.INT()), [("a", 1)]),
    (PAIR, ("a",)),
    (PAIR, (1, 1)),
    (PAIR, {"x": 1}),
    (PAIR, Row("a", 1)),
    (PAIR, Row(y=1, x="a")),
    (ROW, Row("a")),
    (ROW, Row(x="a", y=1)),
    (ROW, Row("a", "b")),
    (NAMED, Row(f0="a", f1=1)),
    (NAMED, Row(x="a")),
    (NAMED, namedtuple("Other", "x z")("a", 1)),
    (NESTED, Row(1, Row(1, 1))),
]
