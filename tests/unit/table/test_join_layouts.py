"""Joins have one layout of state, read by their paths for rows and for columns, and take over the layouts of before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.clock import ManualClock
from penstock.engine.in_process.job import StalledJob
from penstock.runtime.operators.table import JoinKind, JoinSide
from penstock.runtime.operators.table.interval_join import TableIntervalJoinOperator
from penstock.runtime.operators.table.join import RegularJoinOperator
from penstock.table import StreamTableEnvironment
from penstock.table.connectors import values
from tests.unit.runtime.table.as_columns import TYPES

QUERIES = {
    "regular": "SELECT x.k, CAST(x.v * 1000 + y.v AS BIGINT) FROM s AS x JOIN s AS y ON x.k = y.k AND x.v <= y.v",
    "interval": "SELECT x.k, CAST(x.v * 1000 + y.v AS BIGINT) FROM s AS x JOIN s AS y ON x.k = y.k "
    "AND y.ts BETWEEN x.ts AND x.ts + INTERVAL '30' SECOND",
    "regular of all": "SELECT x.k, CAST(x.v * 1000 + y.v AS BIGINT) FROM s AS x JOIN s AS y ON x.v < y.v AND y.v < 50",
}
ROWS = [(f"k{number % 2}", number) for number in range(100)]
HALF = ROWS[:80]  # more than are kept in one value of a key


def run(query: str, rows: list[Any], **settings: str) -> InProcessJobClient:
    """A job of a query whose table does not end, run until all rows are read."""
    values.clear()
    configuration = Configuration()
    for key, value in {"penstock.batch.max-records": "7", **settings}.items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.in_process(configuration=configuration, clock=ManualClock(1_000))
    tables = StreamTableEnvironment.create(environment.set_parallelism(1))
    source = f"'connector' = 'values', 'data-id' = '{values.register(rows)}', 'terminating' = 'false'"
    tables.execute_sql(
        "CREATE TABLE s (k STRING, v INT, ts AS TO_TIMESTAMP_LTZ(v * 1000, 3), WATERMARK FOR ts AS ts) "
        f"WITH ({source}, 'rows-per-batch' = '9')"
    )
    tables.execute_sql("CREATE TABLE o (k STRING, n BIGINT) WITH ('connector' = 'values')")
    client = tables.execute_sql(f"INSERT INTO o {query}").get_job_client()
    assert isinstance(client, InProcessJobClient)
    with pytest.raises(StalledJob):
        while client.run_batch():
            pass
    return client


def written() -> list[Any]:
    return sorted(values.results("default_catalog.default_database.o"))


def only_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Close the path of columns."""
    for operator in (RegularJoinOperator, TableIntervalJoinOperator):
        monkeypatch.setattr(operator, "refusal", lambda operator: "the test wants rows")


def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep rows as releases did whose path of columns was narrower."""
    only_rows(monkeypatch)
    monkeypatch.setattr(RegularJoinOperator, "_keeps_together", property(lambda operator: False))
    monkeypatch.setattr(TableIntervalJoinOperator, "_keeps_near_rows", property(lambda operator: False))


ORDERS: dict[str, tuple[Any, Any]] = {
    "columns, then rows": (None, only_rows),
    "rows, then columns": (only_rows, None),
    "an older layout, then columns": (as_before, None),
    "an older layout, then rows": (as_before, only_rows),
}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("over", ["a savepoint", "its checkpoint"])
def test_state_of_one_path_is_continued_by_the_other(tmp_path: Path, query: str, order: str, over: str) -> None:
    run(QUERIES[query], ROWS)
    expected = written()
    settings = {"execution.checkpointing.dir": str(tmp_path)} if over == "its checkpoint" else {}
    before, after = ORDERS[order]
    with pytest.MonkeyPatch.context() as patch:
        if before is not None:
            before(patch)
        client = run(QUERIES[query], HALF, **settings)
    found = written()
    if over == "a savepoint":
        settings = {"execution.savepoint.path": client.stop_with_savepoint(False, str(tmp_path)).result()}
    with pytest.MonkeyPatch.context() as patch:
        if after is not None:
            after(patch)
        run(QUERIES[query], ROWS, **settings)
    assert sorted(found + written()) == expected


TTL = {"table.exec.state.ttl": "1 h"}


@pytest.mark.parametrize(("before", "after"), [({}, TTL), (TTL, {})], ids=["set", "unset"])
def test_a_time_to_live_may_be_set_or_left_out(tmp_path: Path, before: Any, after: Any) -> None:
    run(QUERIES["regular"], ROWS)
    expected = written()
    client = run(QUERIES["regular"], HALF, **before)
    found = written()
    settings = {"execution.savepoint.path": client.stop_with_savepoint(False, str(tmp_path)).result()}
    run(QUERIES["regular"], ROWS, **settings, **after)
    assert sorted(found + written()) == expected


def _join(kind: JoinKind, unique: tuple[int, ...] | None, keys: tuple[int, ...] = (1,)) -> RegularJoinOperator:
    side = JoinSide(TYPES, keys, unique, is_insert_only=True)
    return RegularJoinOperator(join=kind, left=side, right=side)


def test_rows_of_another_join_are_refused() -> None:
    inner, keyed = _join(JoinKind.INNER, None), _join(JoinKind.INNER, (0,))
    assert keyed.layout_refusal(inner.layout()) is None
    assert inner.layout_refusal(keyed.layout()) is None
    for other in (_join(JoinKind.LEFT, None), _join(JoinKind.INNER, None, (0,))):
        refusal = inner.layout_refusal(other.layout())
        assert refusal is not None and refusal.startswith("it was written with")
    assert keyed.layout_refusal(_join(JoinKind.INNER, (2,)).layout()) is not None
