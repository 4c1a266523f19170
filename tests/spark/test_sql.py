"""SQL on Spark: an updating query, a pattern of rows, the demo in SQL, tables that Spark itself reads and writes."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.dataset
import pytest

from penstock.common import Row
from penstock.table import AsyncLookupFunction, LookupFunction, StreamTableEnvironment
from penstock.table.connectors import values
from tests.spark.conftest import NewEnvironment
from tests.spark.waiting import wait_until

PATIENCE_SECONDS = 300


def test_an_updating_query_gives_its_changelog(new_environment: NewEnvironment) -> None:
    tables = StreamTableEnvironment.create(new_environment(2))
    tables.create_temporary_view("t", tables.from_elements([(n % 3, n) for n in range(30)], ["k", "n"]))
    held: dict[int, tuple[int, int]] = {}
    for row in tables.execute_sql("SELECT k, COUNT(*) AS c, SUM(n) AS s FROM t GROUP BY k").collect():
        if str(row.get_row_kind()) in ("+I", "+U"):
            held[row["k"]] = (row["c"], row["s"])
        else:
            assert held.pop(row["k"]) == (row["c"], row["s"])
    assert held == {k: (10, sum(range(k, 30, 3))) for k in range(3)}


def test_the_demo_in_sql_gives_what_plain_python_gives(
    new_environment: NewEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    trades, twin = importlib.import_module("trades.demo"), importlib.import_module("trades.job_sql")
    environment = new_environment(2, **{"pipeline.watermark-every-records": 200})
    twin.build(environment, tmp_path / "notional", 6_000).execute_sql(twin.QUERY).wait()
    on_time = [each for each in map(trades.next_trade, range(6_000)) if trades.delay_of(each) <= trades.BOUND_MS]
    assert sorted(trades.written_minutes(tmp_path)) == sorted(trades.expected_minutes(on_time))


def test_a_pattern_of_rows_is_found(new_environment: NewEnvironment) -> None:
    tables = StreamTableEnvironment.create(new_environment(2, **{"pipeline.watermark-every-records": 10}))
    tables.execute_sql("""CREATE TABLE payments (
      id BIGINT, card AS MOD(id, 7), amount AS MOD(id * id * 31, 13), at AS TO_TIMESTAMP_LTZ(id * 1000, 3),
      WATERMARK FOR at AS at - INTERVAL '5' SECOND
    ) WITH (
      'connector' = 'datagen', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '499'
    )""")
    result = tables.execute_sql("""SELECT * FROM payments MATCH_RECOGNIZE (
      PARTITION BY card ORDER BY at
      MEASURES FIRST(rising.id) AS first, COUNT(rising.id) AS n, SUM(amount) AS s, fall.id AS last
      AFTER MATCH SKIP PAST LAST ROW PATTERN (rising{2,} fall) WITHIN INTERVAL '1' MINUTE
      DEFINE rising AS rising.amount > LAST(rising.amount, 1) OR LAST(rising.amount, 1) IS NULL,
        fall AS fall.amount < LAST(rising.amount))""")
    found = sorted(tuple(row) for row in result.collect())
    assert found == sorted(falls_after_rises(7, 500))
    assert len(found) > 50


def falls_after_rises(cards: int, count: int) -> Iterator[tuple[int, int, int, int, int]]:
    """What the pattern above finds, in plain Python."""
    for card in range(cards):
        rows = [(number, number * number * 31 % 13) for number in range(card, count, cards)]
        start = 0
        while start < len(rows):
            end = start
            while end + 1 < len(rows) and rows[end + 1][1] > rows[end][1]:
                end += 1
            taken = rows[start : end + 2]
            # The last row must be less than a minute behind the first.
            is_fall = len(taken) == end - start + 2 and taken[-1][1] < rows[end][1]
            if end > start and is_fall and taken[-1][0] - taken[0][0] < 60:
                yield card, rows[start][0], end - start + 1, sum(amount for _, amount in taken), taken[-1][0]
                start = end + 2
            else:
                start += 1


def test_spark_reads_and_writes_tables(new_environment: NewEnvironment, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text("\n".join(json.dumps({"id": n, "name": f"n{n}"}) for n in range(5)))
    tables = StreamTableEnvironment.create(new_environment(1))
    options = "'connector' = 'spark', 'bounded' = 'true', 'format'"
    tables.execute_sql(f"CREATE TABLE i (id INT, name STRING) WITH ({options} = 'json', 'path' = '{tmp_path}/in')")
    tables.execute_sql(f"CREATE TABLE o (name STRING, id INT) WITH ({options} = 'parquet', 'path' = '{tmp_path}/out')")
    tables.execute_sql("INSERT INTO o SELECT UPPER(name), id * 2 FROM i WHERE id > 2").wait()
    written = pyarrow.dataset.dataset(tmp_path / "out", format="parquet").to_table().to_pylist()
    assert sorted(written, key=str) == [{"name": "N3", "id": 6}, {"name": "N4", "id": 8}]


class Names(LookupFunction, AsyncLookupFunction):
    """Finds the name of a number in two ways."""

    def lookup(self, key_row: Row) -> list[Any]:
        return [(key_row["id"], f"n{key_row['id']}")] if key_row["id"] % 2 else []

    async def async_lookup(self, key_row: Row) -> list[Any]:
        return self.lookup(key_row)


@pytest.mark.parametrize("is_async", ["true", "false"])
def test_joins_in_time(new_environment: NewEnvironment, seed: int, is_async: str) -> None:
    random = Random(seed)
    orders = [Row(n, random.choice(["euro", "yen"]), n * 3 + random.randint(0, 4)) for n in range(200)]
    rates = [Row(random.choice(["euro", "yen"]), n, n * 5 + random.randint(0, 4)) for n in range(100)]
    tables = StreamTableEnvironment.create(new_environment(2))
    time = "at BIGINT, ts AS TO_TIMESTAMP_LTZ(at, 3), WATERMARK FOR ts AS ts - INTERVAL '0.005' SECOND"
    values.clear()
    for name, columns, rows in (
        ("orders", f"id INT, currency STRING, now AS PROCTIME(), {time}", orders),
        ("rates", f"currency STRING, rate INT, {time}, PRIMARY KEY (currency) NOT ENFORCED", rates),
    ):
        options = f"'data-id' = '{values.register(rows)}', 'rows-per-batch' = '60'"
        tables.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'values', {options})")
    path = f"{Names.__module__}.{Names.__qualname__}"
    tables.execute_sql(
        f"CREATE TABLE names (id INT, name STRING) WITH ('connector' = 'python-lookup', 'class' = '{path}')"
    )
    found = tables.execute_sql(f"""SELECT /*+ LOOKUP('table'='n', 'async'='{is_async}') */ o.id, r.rate, n.name
        FROM orders AS o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency
        LEFT JOIN names FOR SYSTEM_TIME AS OF o.now AS n ON o.id = n.id""").collect()
    expected = []
    for number, currency, at in orders:
        newest = max(
            (row for row in rates if row[0] == currency and row[2] <= at), key=lambda row: row[2], default=None
        )
        expected.append((number, None if newest is None else newest[1], f"n{number}" if number % 2 else None))
    assert sorted(map(tuple, found)) == expected


def test_a_statement_set_goes_on_with_a_query_more_and_another_parallelism(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    queries = {"sums": "SELECT k, SUM(v) FROM s GROUP BY k", "counts": "SELECT k, COUNT(*) FROM s GROUP BY k"}

    def started(parallelism: int, names: list[str], rows: list[Any], **settings: Any) -> Any:
        values.clear()
        tables = StreamTableEnvironment.create(new_environment(parallelism, **settings))
        source = f"'connector' = 'values', 'data-id' = '{values.register(rows)}', 'terminating' = 'false'"
        tables.execute_sql(f"CREATE TABLE s (k STRING, v INT) WITH ({source})")
        statements = tables.create_statement_set()
        for name in names:
            options = "'connector' = 'values', 'sink-insert-only' = 'false'"
            columns = "k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED"
            tables.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({options})")
            statements.add_insert_sql(f"INSERT INTO {name} {queries[name]}")
        return statements.execute().get_job_client()

    def table(name: str) -> dict[str, int]:
        return {key: total for _, key, total in values.results(f"default_catalog.default_database.{name}")}

    rows = [(f"k{number % 5}", number) for number in range(20)]
    first = started(2, ["sums"], rows, checkpoint="first")
    wanted = {f"k{key}": sum(range(key, 20, 5)) for key in range(5)}
    wait_until(lambda: table("sums") == wanted, "the sums of all rows", PATIENCE_SECONDS)
    savepoint = first.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(PATIENCE_SECONDS)
    more = [*rows, ("k1", 1_000), ("new", 1)]
    settings = {"checkpoint": "second", "execution.state-recovery.path": savepoint}
    second = started(3, ["counts", "sums"], more, **settings)
    wanted, counted = {"k1": 1_034, "new": 1}, {"k1": 1, "new": 1}
    wait_until(lambda: (table("sums"), table("counts")) == (wanted, counted), "what came after", PATIENCE_SECONDS)
    second.cancel().result(PATIENCE_SECONDS)
