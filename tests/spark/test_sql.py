"""SQL on Spark: an updating query, the SQL twin of the demo, and tables that Spark itself reads and writes."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pyarrow.dataset
import pytest

from penstock.table import StreamTableEnvironment
from tests.spark.conftest import NewEnvironment


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
    trades, twin = importlib.import_module("trades"), importlib.import_module("trades_sql")
    environment = new_environment(2, **{"pipeline.watermark-every-records": 200})
    twin.build(environment, tmp_path / "notional", 6_000).execute_sql(twin.QUERY).wait()
    on_time = [each for each in map(trades.make_trade, range(6_000)) if trades.delay_of(each) <= trades.BOUND_MS]
    assert sorted(trades.written_minutes(tmp_path)) == sorted(trades.expected_minutes(on_time))


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
