"""The order pipeline in SQL: revenue by country in windows of ten minutes."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment

RUN = Path(__file__).parent / "run"

ORDERS = """
CREATE TABLE orders (
  order_id BIGINT, customer_id BIGINT, cents BIGINT, at_ms BIGINT,
  at AS TO_TIMESTAMP_LTZ(at_ms, 3), WATERMARK FOR at AS at - INTERVAL '10' SECOND
) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{path}')
"""

CUSTOMERS = """
CREATE TABLE customers (
  customer_id BIGINT, country STRING, at_ms BIGINT,
  at AS TO_TIMESTAMP_LTZ(at_ms, 3), WATERMARK FOR at AS at, PRIMARY KEY (customer_id) NOT ENFORCED
) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{path}')
"""

REVENUE = """
CREATE TABLE revenue (country STRING, start_ms BIGINT, orders BIGINT, cents BIGINT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{path}')
"""

PIPELINE = """
INSERT INTO revenue
WITH sales AS (
  SELECT o.at, o.cents, c.country
  FROM orders AS o
  JOIN customers FOR SYSTEM_TIME AS OF o.at AS c ON o.customer_id = c.customer_id
  WHERE o.cents > 0
)
SELECT country, UNIX_TIMESTAMP(CAST(window_start AS STRING)) * 1000, COUNT(*), SUM(cents)
FROM TABLE(TUMBLE(TABLE sales, DESCRIPTOR(at), INTERVAL '10' MINUTE))
GROUP BY country, window_start, window_end
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Revenue by country, in SQL.")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark")
    args = parser.parse_args()
    shutil.rmtree(RUN / "output" / "sql", ignore_errors=True)

    settings = Configuration().set_string("penstock.engine", args.engine)
    settings.set_integer("pipeline.watermark-every-records", 50)
    env = StreamExecutionEnvironment.get_execution_environment(settings).set_parallelism(2)
    tables = StreamTableEnvironment.create(env)
    tables.get_config().set("table.local-time-zone", "UTC")
    tables.execute_sql(ORDERS.format(path=RUN / "input" / "orders.jsonl"))
    tables.execute_sql(CUSTOMERS.format(path=RUN / "input" / "customers.jsonl"))
    tables.execute_sql(REVENUE.format(path=RUN / "output" / "sql"))
    tables.execute_sql(PIPELINE).wait()
    print(f"revenue by country is in {RUN / 'output' / 'sql'}")


if __name__ == "__main__":
    main()
