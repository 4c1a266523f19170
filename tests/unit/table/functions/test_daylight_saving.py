"""Windows and functions of time where clocks are changed: `daylight_saving.json` has rows and what Flink printed.

Lord Howe changes its clocks by half an hour. Flink gives some of its windows twice; here each comes once.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import Schema, StreamTableEnvironment

CHANGES = json.loads((Path(__file__).parent / "daylight_saving.json").read_text())["changes"]
LORD_HOWE = [each for each in CHANGES if each["zone"] == "Australia/Lord_Howe"]


def label(change: dict[str, Any]) -> str:
    return f"{change['zone']} {datetime.datetime.fromtimestamp(change['seconds'][0], datetime.UTC):%B}"


def results(change: dict[str, Any], query: str) -> list[list[str]]:
    """The rows of a query over the times of a change, in order; the watermark follows each of them."""
    configuration = Configuration().set_string("pipeline.watermark-every-records", "1")
    environment = StreamExecutionEnvironment.in_process(configuration=configuration).set_parallelism(1)
    tables = StreamTableEnvironment.create(environment)
    tables.get_config().set("table.local-time-zone", change["zone"])
    rows = [Row(second * 1000, number) for number, second in enumerate(change["seconds"])]
    stream = environment.from_collection(rows, Types.ROW_NAMED(["millis", "n"], [Types.LONG(), Types.INT()]))
    schema = (
        Schema.new_builder()
        .column("millis", "BIGINT")
        .column("n", "INT")
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(millis, 3)")
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    tables.create_temporary_view("t", stream, schema)
    with tables.execute_sql(query).collect() as found:
        return [[text(each) for each in row] for row in found]


def text(value: Any) -> str:
    """A value as Flink prints it, moments without the letter of UTC."""
    if isinstance(value, datetime.datetime | datetime.time):
        fraction = f".{value.microsecond // 1000:03}" if value.microsecond else ""
        return value.isoformat(timespec="seconds" if value.second or fraction else "minutes").split(".")[0] + fraction
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("change", CHANGES, ids=label)
def test_queries_give_what_flink_gives(change: dict[str, Any]) -> None:
    for query, printed in change["queries"].items():
        found = [", ".join(each) for each in results(change, query)]
        in_order = list if " JOIN " not in query else sorted  # joined rows come in another order than Flink's
        assert in_order(found) == in_order(printed), query


@pytest.mark.parametrize("change", CHANGES, ids=label)
def test_functions_give_what_flink_gives(change: dict[str, Any]) -> None:
    functions = change["functions"]
    columns = ", ".join(f"{each} AS f{number}" for number, each in enumerate(functions))
    rows = results(change, f"SELECT {columns} FROM t")
    for number, (function, printed) in enumerate(functions.items()):
        assert [row[number] for row in rows] == printed, function


WINDOWS = (
    "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '20' MINUTE, INTERVAL '1' HOUR)",
    "CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTE, INTERVAL '4' HOUR)",
)


@pytest.mark.parametrize("change", LORD_HOWE, ids=label)
@pytest.mark.parametrize("window", WINDOWS)
def test_a_change_by_half_an_hour_gives_each_window_once_and_in_order(change: dict[str, Any], window: str) -> None:
    ends = [
        row[1]
        for row in results(
            change, f"SELECT window_start, window_end, COUNT(*) FROM TABLE({window}) GROUP BY window_start, window_end"
        )
    ]
    assert len(ends) > 10
    assert ends == sorted(set(ends))
