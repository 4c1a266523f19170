"""Small queries with the operators that are easier planned than made by hand, for `test_plain_on_disk.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.common import Row
from penstock.datastream import DataStream
from penstock.table import (
    AsyncLookupFunction,
    DataTypes,
    LookupFunction,
    StreamTableEnvironment,
    TableAggregateFunction,
)
from penstock.table.expressions import col
from penstock.table.udf import udtaf, udtf
from tests.unit.checkpoint.disk_cases import COUNT, Bench, run_sql

MOMENTS = f"""CREATE TEMPORARY TABLE moments (n BIGINT NOT NULL, k AS MOD(n, 3), ts AS TO_TIMESTAMP_LTZ(n * 10, 3),
    now AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence',
    'fields.n.start' = '0', 'fields.n.end' = '{COUNT - 1}')"""
NAMES = f"""CREATE TEMPORARY TABLE names (k BIGINT, name STRING)
    WITH ('connector' = 'python-lookup', 'class' = '{__name__}.Names')"""
VERSIONS = """CREATE TEMPORARY VIEW versions AS SELECT k, n, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k
    ORDER BY ts DESC) AS place FROM moments) WHERE place = 1"""
LOOKUP = "JOIN names FOR SYSTEM_TIME AS OF m.now AS c ON m.k = c.k"
QUERIES = (
    "SELECT k, COUNT(*) FROM TABLE(TUMBLE(TABLE moments, DESCRIPTOR(ts), INTERVAL '1' SECOND)) "
    "GROUP BY k, window_start, window_end",
    f"SELECT /*+ LOOKUP('table' = 'c', 'async' = 'false') */ m.n, c.name FROM moments AS m {LOOKUP}",
    f"SELECT /*+ LOOKUP('table' = 'c', 'async' = 'true') */ m.n, c.name FROM moments AS m {LOOKUP}",
    f"SELECT m.k, m.c, c.name FROM (SELECT k, COUNT(*) AS c, PROCTIME() AS now FROM moments GROUP BY k) AS m {LOOKUP}",
    "SELECT m.n, v.n FROM moments AS m JOIN versions FOR SYSTEM_TIME AS OF m.ts AS v ON m.k = v.k",
    "SELECT * FROM moments MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.n AS a, B.n AS b "
    "PATTERN (A C* B) WITHIN INTERVAL '1' HOUR DEFINE A AS A.n < 9, B AS B.n > 1000)",
    "SELECT n, piece FROM moments, LATERAL TABLE(halves(n)) AS T(piece)",
)


class Names(LookupFunction, AsyncLookupFunction):
    """Names of keys."""

    def lookup(self, key_row: Row) -> Iterable[Any]:
        return [(key_row["k"], f"name {key_row['k']}")]

    async def async_lookup(self, key_row: Row) -> Iterable[Any]:
        return self.lookup(key_row)


@udtf(result_types=[DataTypes.BIGINT()])
def halves(number: int) -> Iterator[int]:
    yield from (number // 2, number - number // 2)


class TopTwo(TableAggregateFunction):
    """The two highest numbers."""

    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], number: int) -> None:
        accumulator[:] = sorted([*accumulator, number])[-2:]

    def emit_value(self, accumulator: list[int]) -> Iterator[Row]:
        yield from (Row(number) for number in accumulator)

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self) -> Any:
        return DataTypes.ROW([DataTypes.FIELD("top", DataTypes.BIGINT())])


def tables_of(bench: Bench) -> StreamTableEnvironment:
    tables = StreamTableEnvironment.create(bench.environment)
    tables.get_config().set("table.optimizer.non-deterministic-update.strategy", "TRY_RESOLVE")
    for statement in (MOMENTS, NAMES, VERSIONS):
        tables.execute_sql(statement)
    tables.create_temporary_function("halves", halves)
    return tables


def queries(bench: Bench) -> DataStream:
    tables = tables_of(bench)
    found = [tables.sql_query(query) for query in QUERIES]
    by_key = tables.from_path("moments").group_by(col("k"))
    found.append(by_key.flat_aggregate(udtaf(TopTwo())(col("n"))).select(col("k"), col("top")))
    streams = [tables.to_changelog_stream(table).map(str) for table in found]
    return streams[0].union(*streams[1:])


def rows_of_database(bench: Bench) -> None:
    path = bench.folder / "table.db"
    run_sql(path, "CREATE TABLE counts (k BIGINT PRIMARY KEY, c BIGINT)")
    tables = tables_of(bench)
    tables.execute_sql(
        "CREATE TEMPORARY TABLE counts (k BIGINT, c BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH "
        f"('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{path}', 'table-name' = 'counts')"
    )
    statements = tables.create_statement_set()
    statements.add_insert_sql("INSERT INTO counts SELECT k, COUNT(*) FROM moments GROUP BY k")
    statements.attach_as_datastream()


QUERY_CASES = [queries, rows_of_database]
