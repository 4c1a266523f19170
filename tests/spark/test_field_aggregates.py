"""Field aggregates on Spark: columns from the source to the rows of windows, over several batches."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from penstock.common import Types, WatermarkStrategy
from penstock.datastream import avg_of, count, max_of, sum_of
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.window import TumblingEventTimeWindows
from tests.spark.collecting import collect_all
from tests.spark.conftest import NewEnvironment

RECORDS = 6_000
KEYS = 7
WINDOW_MS = 1_000


def test_windows_and_running_values_of_columns(new_environment: NewEnvironment) -> None:
    def numbered(numbers: Any) -> dict[str, Any]:
        return {"k": numbers * 31 % KEYS, "v": numbers % 10, "at": numbers}

    environment = new_environment(2, **{"penstock.batch.max-records": 2_500})
    declared = Types.ROW_NAMED(["k", "v", "at"], [Types.LONG(), Types.LONG(), Types.LONG()])
    keyed = environment.from_source(
        DataGeneratorSource.of_columns(numbered, RECORDS, declared),
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at"),
        "numbers",
    ).key_by("k")
    found = collect_all(
        {
            "windows": keyed.window(TumblingEventTimeWindows.of(WINDOW_MS)).aggregate_fields(
                count(), sum_of("v"), avg_of("v"), max_of("at")
            ),
            "running": keyed.aggregate_fields(count().alias("n"), sum_of("v")),
        }
    )
    members = defaultdict(list)
    for number in range(RECORDS):
        members[number * 31 % KEYS, number // WINDOW_MS * WINDOW_MS].append(number)
    assert sorted(map(tuple, found["windows"])) == sorted(
        (key, start, start + WINDOW_MS, len(inside), total, total / len(inside), max(inside))
        for (key, start), inside in members.items()
        for total in [sum(number % 10 for number in inside)]
    )
    sizes = {key: len([n for n in range(RECORDS) if n * 31 % KEYS == key]) for key in range(KEYS)}
    assert sorted((row.k, row.n) for row in found["running"]) == [
        (key, n) for key in range(KEYS) for n in range(1, sizes[key] + 1)
    ]
    assert sum(max(row.sum_v for row in found["running"] if row.k == key) for key in range(KEYS)) == sum(
        n % 10 for n in range(RECORDS)
    )
