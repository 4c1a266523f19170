"""Columns on Spark: generators, Parquet files and frames that stay columns up to the function that needs objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.common import Row, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.connectors.file_system import FileSink, FileSource
from penstock.datastream.expressions import col
from penstock.datastream.state import ValueStateDescriptor
from tests.spark.collecting import collect_all
from tests.spark.conftest import NewEnvironment

START = datetime(2024, 5, 1, tzinfo=UTC)


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", None))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value(), ctx.timestamp(), value


def test_a_job_on_columns(new_environment: NewEnvironment, tmp_path: Path) -> None:
    @dataclass
    class Trade:  # of this function, so that it travels by value
        user: int
        price: float
        ts: int

    def trades(numbers: Any) -> dict[str, Any]:
        return {"user": numbers % 3, "price": numbers / 2, "ts": numbers}

    (tmp_path / "in").mkdir()
    at = [START + timedelta(milliseconds=n) for n in range(20)]
    pq.write_table(pa.table({"id": range(20), "name": ["ann", "bob"] * 10, "at": at}), tmp_path / "in" / "one.parquet")
    environment = new_environment(2, **{"penstock.batch.max-records": 10_000})
    by_time = WatermarkStrategy.for_monotonous_timestamps()
    generated = environment.from_source(
        DataGeneratorSource.of_columns(trades, 12_000, Trade), by_time.with_timestamp_assigner("ts"), "trades"
    ).filter((col("price") >= 10) & (col("price") < 20))
    files = environment.from_source(
        FileSource.parquet(tmp_path / "in"), by_time.with_timestamp_assigner("at"), "files"
    ).select("name", (col("id") * 2).alias("twice"))
    written = str(tmp_path / "by_spark")
    files.write_with_spark(
        lambda frame, batch: frame.write.mode("append").parquet(written), "name STRING, twice BIGINT"
    )
    files.sink_to(FileSink.parquet(tmp_path / "by_sink"))
    found = collect_all(
        {
            "generated": generated.key_by("user").process(Count()),
            "files": files.key_by("name").process(Count()),
            "shuffled": files.rebalance().map(lambda row: row.twice),
        }
    )
    assert {(key, count) for key, count, _, _ in found["generated"]} == {
        (user, 1 + place) for user in range(3) for place in range([n % 3 for n in range(20, 40)].count(user))
    }
    assert sorted((vars(trade)["user"], trade.price, stamp) for _, _, stamp, trade in found["generated"]) == sorted(
        (n % 3, n / 2, n) for n in range(20, 40)
    )
    start_ms = int(START.timestamp() * 1000)
    assert Counter((key, stamp, repr(row)) for key, _, stamp, row in found["files"]) == Counter(
        (name, start_ms + n, repr(Row(name=name, twice=2 * n))) for n, name in enumerate(["ann", "bob"] * 10)
    )
    assert sorted(found["shuffled"]) == list(range(0, 40, 2))
    for place in ("by_spark", "by_sink"):
        records = pq.read_table(tmp_path / place).to_pylist()
        assert sorted(record["twice"] for record in records) == list(range(0, 40, 2)), place
