"""Types and rows as Flink's SQL gateway writes them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from penstock.server.flink.sql_results import columns, logical_type, rows_writer
from penstock.table.sql import parse_type
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("INT NOT NULL", {"type": "INTEGER", "nullable": False}),
        ("STRING", {"type": "VARCHAR", "nullable": True, "length": 2147483647}),
        ("DECIMAL(10, 2)", {"type": "DECIMAL", "nullable": True, "precision": 10, "scale": 2}),
        ("TIME(0)", {"type": "TIME_WITHOUT_TIME_ZONE", "nullable": True, "precision": 0}),
        ("TIMESTAMP(3)", {"type": "TIMESTAMP_WITHOUT_TIME_ZONE", "nullable": True, "precision": 3}),
        ("TIMESTAMP_LTZ(6)", {"type": "TIMESTAMP_WITH_LOCAL_TIME_ZONE", "nullable": True, "precision": 6}),
        ("ARRAY<DATE>", {"type": "ARRAY", "nullable": True, "elementType": {"type": "DATE", "nullable": True}}),
        (
            "MAP<BIGINT, BOOLEAN NOT NULL>",
            {
                "type": "MAP",
                "nullable": True,
                "keyType": {"type": "BIGINT", "nullable": True},
                "valueType": {"type": "BOOLEAN", "nullable": False},
            },
        ),
        (
            "ROW<a INT>",
            {
                "type": "ROW",
                "nullable": True,
                "fields": [{"name": "a", "fieldType": {"type": "INTEGER", "nullable": True}}],
            },
        ),
    ],
)
def test_types(text: str, told: dict[str, Any]) -> None:
    assert logical_type(parse_type(text)) == told


def test_types_that_no_column_is_declared_with() -> None:
    assert logical_type(LogicalType(Kind.NULL)) == {"type": "NULL"}
    assert logical_type(LogicalType(Kind.INTERVAL_MILLIS))["type"] == "INTERVAL_DAY_TIME"
    assert logical_type(LogicalType(Kind.INTERVAL_MONTHS))["resolution"] == "YEAR_TO_MONTH"


def test_rows_in_both_formats() -> None:
    types = {"d": "DECIMAL(20, 2)", "t": "TIMESTAMP_LTZ(3)", "b": "BYTES", "m": "MAP<STRING, INT>", "s": "STRING"}
    row_type = row_of(tuple(types), tuple(parse_type(each) for each in types.values()))
    row = (3, Decimal("123456789012345678.90"), 1500, b"ab", {None: 1}, None)
    told = rows_writer(row_type, "JSON", "UTC")([row])
    assert told == (
        '[{"kind":"DELETE","fields":[123456789012345678.9,"1970-01-01T00:00:01.5Z","YWI=",{"null":1},null]}]'
    )
    [plain] = json.loads(rows_writer(row_type, "PLAIN_TEXT", "Asia/Tokyo")([row]))
    assert plain["fields"][:2] == ["123456789012345678.90", "1970-01-01 09:00:01.500"]
    assert (plain["kind"], plain["fields"][3:]) == ("DELETE", ["{NULL=1}", None])
    assert [each["name"] for each in columns(row_type)] == list(types)
