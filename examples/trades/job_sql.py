"""The demo in SQL: an hour of out-of-order trades, summed by minute, into Parquet files.

    trades as a DataStream, the same as in the demo
      -> a table with their event time and watermarks
      -> notional per symbol and minute: a window table function and GROUP BY             -> Parquet files

Run it with `python examples/trades/job_sql.py OUTPUT`. The twin of job.py; it has no alerts, and trades that come too
late are dropped. Mirrors the windowing examples of Flink's SQL documentation.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # so that a script, and Spark's workers, find the folder `trades`

from trades.generate import BOUND_MS, make_trade

from penstock.common import Configuration, Duration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.table import Schema, StreamTableEnvironment

FIELDS = {"id": "BIGINT", "symbol": "STRING", "at_ms": "BIGINT", "cents": "BIGINT", "size": "BIGINT"}


def build(env: StreamExecutionEnvironment, output: Path, count: int) -> StreamTableEnvironment:
    """Declare the tables."""
    tables = StreamTableEnvironment.create(env)
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
    trades = env.from_source(
        DataGeneratorSource(make_trade, count),
        watermarks.with_timestamp_assigner(lambda trade, _: trade.at_ms),
        "trades",
    )
    schema = Schema.new_builder()
    for name, kind in FIELDS.items():
        schema.column(name, kind)
    schema.column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)").watermark("rowtime", "SOURCE_WATERMARK()")
    tables.create_temporary_view("trades", trades, schema.build())
    tables.execute_sql(f"""
        CREATE TABLE notional (symbol STRING, start_ms BIGINT, trades BIGINT, notional_cents BIGINT)
        WITH ('connector' = 'filesystem', 'format' = 'parquet', 'path' = '{output}')
    """)
    return tables


QUERY = """
    INSERT INTO notional
    SELECT symbol, UNIX_TIMESTAMP(CAST(window_start AS STRING)) * 1000, COUNT(*), SUM(cents * size)
    FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(rowtime), INTERVAL '1' MINUTE))
    GROUP BY symbol, window_start, window_end
"""


def main(output: Path, count: int = 36_000) -> None:
    """Run the job and wait for its end."""
    configuration = Configuration().set_integer("pipeline.watermark-every-records", 200)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    build(env, output, count).execute_sql(QUERY).wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
