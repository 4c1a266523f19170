"""No sink changes a value: what does not fit its column is refused with sink, field and value."""

from __future__ import annotations

import datetime as dt
import enum
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from penstock.common.time import Instant
from penstock.common.typeinfo import Types
from penstock.common.types import Row
from penstock.errors import SinkError
from penstock.formats.file_formats import CsvFormat, JsonFormat
from penstock.formats.parquet_format import ParquetFormat

NOON = dt.datetime(2020, 1, 1, 12)
UTC_NOON = NOON.replace(tzinfo=dt.UTC)


class Color(enum.IntEnum):
    RED = 3


@dataclass
class Point:
    x: int


def written(values: list[list[Any]], type_info: Any = None) -> list[Any]:
    """What a Parquet sink makes of blocks of records `{"a": value}`."""
    encoder = ParquetFormat(type_info).create_encoder("orders", None)
    tables = [encoder.encode([{"a": value} for value in block]) for block in values]
    return [value for table in tables for value in table.column("a").to_pylist()]


LATER = [
    (10, 10.99),
    (10, 10.0),
    (10, Decimal("10.5")),
    (10, True),
    (10, 2**63),
    (10, "x"),
    (1.5, 2**53 + 1),
    (1.5, True),
    (1.5, Decimal("0.1")),
    (Decimal("1.5"), 0.1),
    (Decimal("1.5"), Decimal("1e-19")),
    (dt.date(2020, 1, 1), NOON),
    (NOON, dt.date(2020, 1, 1)),
    (NOON, UTC_NOON),
    (UTC_NOON, NOON),
    ("x", b"x"),
    (b"x", "x"),
    ("x", 1),
    (True, 1),
    (dt.time(1), 5),
    ({"x": 1}, {"x": 1, "y": 2}),
    ({"x": 1}, {"x": 1.5}),
    ({"x": {"y": 1}}, {"x": {"y": 1, "z": 2}}),
    ([1], [1, 2.5]),
    ([1], 1),
    ([{"x": 1}], [{"x": 1, "y": 2}]),
    (Point(1), {"x": 2, "y": 3}),
    (Row(x=1), Row(x=dt.date(2020, 1, 1))),
]


@pytest.mark.parametrize(("first", "later"), LATER, ids=repr)
def test_a_learned_column_never_changes_what_comes_later(first: Any, later: Any) -> None:
    with pytest.raises(SinkError, match=r"(?s)'orders'.*'a.*[Dd]eclare") as refused:
        written([[first], [first, later]])
    assert "Row" in repr(later) or repr(later)[:10] in str(refused.value)


# Fields and elements of one block, and numbers that a float holds exactly, are learned together.
TOGETHER = (dict, list, Point, Row)
APART = [pair for pair in LATER if not isinstance(pair[0], TOGETHER) and not isinstance(pair[1], TOGETHER)]


@pytest.mark.parametrize(("first", "later"), [pair for pair in APART if pair[0] != 10], ids=repr)
def test_nor_do_values_of_one_block_change_each_other(first: Any, later: Any) -> None:
    with pytest.raises(SinkError, match=r"'orders'.*'a"):
        written([[first, later]])


@pytest.mark.parametrize(
    "blocks",
    [
        [[1, 2.5], [3]],  # numbers of one block are learned together
        [[None], [1], [None, 2]],
        [[{"x": None}], [{"x": 1}], [{}], [{"x": 2}]],
        [[{"x": 1}, {"y": 2}], [{"x": 3}]],
        [[[]], [[1]], [[None]]],
        [[Decimal("1.5")], [Decimal("10000.25")], [7]],
        [[UTC_NOON], [UTC_NOON + dt.timedelta(hours=1)]],
        [[dt.timedelta(seconds=1)], [dt.timedelta(days=1)]],
    ],
    ids=repr,
)
def test_what_fits_is_written_as_it_is(blocks: list[list[Any]]) -> None:
    found = written(blocks)
    for value, got in zip([value for block in blocks for value in block], found, strict=True):
        if isinstance(value, dict):
            assert {key: item for key, item in got.items() if item is not None or key in value} == value
        else:
            assert got == value


def test_values_that_look_like_others() -> None:
    assert written([[Color.RED, np.int64(4)], [np.int8(5)]]) == [3, 4, 5]
    assert written([[np.float64(1.5)], [np.float32(0.5)]]) == [1.5, 0.5]
    assert written([[np.bool_(True)], [False]]) == [True, False]
    assert written([[bytearray(b"x")], [b"y"]]) == [b"x", b"y"]
    assert written([[(1, 2)], [[3]], [Row(4, 5)], [np.array([6])]]) == [[1, 2], [3], [4, 5], [6]]
    assert written([[Point(1)], [Row(x=2)], [{"x": 3}]]) == [{"x": 1}, {"x": 2}, {"x": 3}]


def test_two_offsets_are_one_column_of_instants() -> None:
    east = UTC_NOON.astimezone(dt.timezone(dt.timedelta(hours=2)))
    assert written([[UTC_NOON, east], [east]]) == [UTC_NOON] * 3


UNFIT = [
    (Types.INT(), 2**31),
    (Types.INT(), 2.5),
    (Types.INT(), 2.0),
    (Types.INT(), True),
    (Types.INT(), "5"),
    (Types.BYTE(), 128),
    (Types.SHORT(), -(2**15) - 1),
    (Types.LONG(), 2**63),
    (Types.FLOAT(), 1e300),
    (Types.DOUBLE(), 2**53 + 1),
    (Types.DOUBLE(), "1.5"),
    (Types.DOUBLE(), True),
    (Types.STRING(), 5),
    (Types.STRING(), b"x"),
    (Types.BOOLEAN(), 1),
    (Types.SQL_DATE(), NOON),
    (Types.SQL_TIMESTAMP(), dt.date(2020, 1, 1)),
    (Types.SQL_TIMESTAMP(), 5),
    (Types.INSTANT(), Instant(1, 1)),
    (Types.BIG_DEC(), 0.1),
    (Types.LIST(Types.INT()), [1, 2.5]),
    (Types.LIST(Types.INT()), [2**31]),
    (Types.MAP(Types.STRING(), Types.INT()), {"x": 2.5}),
    (Types.ROW_NAMED(["x"], [Types.INT()]), {"x": 1, "y": 2}),
    (Types.ROW_NAMED(["x"], [Types.INT()]), {"x": 2.5}),
    (Types.ROW_NAMED(["x"], [Types.INT()]), (1, 2)),
    (Types.ROW_NAMED(["x"], [Types.SQL_DATE()]), Row(x=NOON)),
]


@pytest.mark.parametrize("make", [ParquetFormat, JsonFormat, CsvFormat])
@pytest.mark.parametrize(("type_info", "value"), UNFIT, ids=repr)
def test_a_declared_column_refuses_what_is_not_of_its_type(make: Any, type_info: Any, value: Any) -> None:
    encoder = make(Types.ROW_NAMED(["a"], [type_info])).create_encoder("orders", None)
    with pytest.raises(SinkError, match=r"(?s)'orders'.*'a'.*declare") as refused:
        encoder.encode([{"a": None}, {"a": value}])
    assert "Row" in repr(value) or repr(value)[:10] in str(refused.value)


FIT = [
    (Types.INT(), 5, 5),
    (Types.FLOAT(), 1.1, float(np.float32(1.1))),
    (Types.FLOAT(), float("inf"), float("inf")),
    (Types.DOUBLE(), 1, 1.0),
    (Types.BIG_INT(), 10**37, Decimal(10**37)),
    (Types.BIG_DEC(), 5, Decimal(5)),
    (Types.SQL_TIMESTAMP(), UTC_NOON, NOON),  # as the type says: UTC
    (Types.INSTANT(), Instant.of_datetime(UTC_NOON), UTC_NOON),
    (Types.INSTANT(), UTC_NOON, UTC_NOON),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"x"), b"x"),
    (Types.MAP(Types.STRING(), Types.INT()), {"x": 2}, [("x", 2)]),
    (Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.INT()]), {"y": 2}, {"x": None, "y": 2}),
    (Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.INT()]), (1, 2), {"x": 1, "y": 2}),
    (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "z"), {"f0": 1, "f1": "z"}),
]


@pytest.mark.parametrize(("type_info", "value", "stored"), FIT, ids=repr)
def test_a_declared_column_takes_what_is_of_its_type(type_info: Any, value: Any, stored: Any) -> None:
    assert written([[value]], Types.ROW_NAMED(["a"], [type_info])) == [stored]


def test_declared_texts_are_written_as_before() -> None:
    declared = Types.ROW_NAMED(["a", "b"], [Types.DOUBLE(), Types.FLOAT()])
    json_lines = JsonFormat(declared).create_encoder("s", None)
    assert json_lines.encode([(1, 1.1), Row(a=2.5, b=None)]) == b'{"a":1.0,"b":1.1}\n{"a":2.5,"b":null}\n'
    csv_lines = CsvFormat(declared).create_encoder("s", None)
    assert csv_lines.encode([(1, 1.1), {"b": 2.5}]) == b"1.0,1.1\n,2.5\n"


def test_texts_have_no_limit_of_digits() -> None:
    digits = Decimal("1." + "1" * 40)
    declared = Types.ROW_NAMED(["a", "b"], [Types.BIG_DEC(), Types.BIG_INT()])
    line = JsonFormat(declared).create_encoder("s", None).encode([(digits, 10**60)])
    assert json.loads(line) == {"a": str(digits), "b": 10**60}
