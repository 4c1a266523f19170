"""A driver that is paused inside a batch, taken over, and goes on when the job is over: nothing of it is written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.connectors.jdbc.databases import database_of, transaction
from penstock.connectors.jdbc.fencing import FENCES_TABLE, Fence
from penstock.connectors.sink import Hold, SinkContext
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.datastream.state import ValueStateDescriptor
from penstock.errors import SinkError
from penstock.table.connectors.jdbc import JdbcTableSink
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of
from penstock.vocabulary.sql.row_kinds import INSERT

PAIR = Types.ROW_NAMED(["k", "n"], [Types.LONG(), Types.LONG()])
COUNT = 400
KEYS = 5


class Pause:
    """Where the first driver stands still: in the middle of a batch, with rows that it has not sent."""

    def __init__(self) -> None:
        self.at = -1
        self.is_there, self.goes_on = threading.Event(), threading.Event()


PAUSE = Pause()


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield Row(value % KEYS, count)
        if value == PAUSE.at:
            PAUSE.at = -1
            PAUSE.is_there.set()
            PAUSE.goes_on.wait(120)


def started(sink: Any, checkpoint: Path, records_per_batch: int) -> Any:
    configuration = Configuration().set_string("penstock.engine", "in-process")
    configuration.set_string("penstock.batch.max-records", str(records_per_batch))
    configuration.set_string("execution.checkpointing.dir", str(checkpoint))
    configuration.set_string("restart-strategy.type", "none")
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    source = DataGeneratorSource(lambda number: number, COUNT)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    counted = numbers.key_by(lambda number: number % KEYS).process(Counting()).uid("counting")
    if isinstance(sink, JdbcTableSink):
        counted = counted.map(lambda row: (INSERT, *row)).uid("change")
    counted.sink_to(sink).uid("table")
    return env.execute_async("counts")


def upserting(url: str) -> JdbcSink:
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url).build()
    return JdbcSink.upsert("t", ["k"], PAIR, options)


def table_sink(url: str) -> JdbcTableSink:
    types = row_of(("k", "n"), (LogicalType(Kind.BIGINT), LogicalType(Kind.BIGINT)))
    return JdbcTableSink("t", types, (0,), database_of(url), 3)


def asked(url: str, sql: str) -> list[Any]:
    with transaction(database_of(url)) as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall()) if cursor.description else []


@pytest.fixture
def url(tmp_path: Path) -> str:
    made = f"jdbc:sqlite:{tmp_path / 't.db'}"
    asked(made, "CREATE TABLE t (k BIGINT PRIMARY KEY, n BIGINT)")
    return made


@pytest.mark.parametrize("make", [upserting, table_sink])
@pytest.mark.parametrize("pause_at", [3, 150, 333])
def test_a_driver_that_was_paused_leaves_the_finished_table_alone(
    url: str, tmp_path: Path, make: Callable[[str], Any], pause_at: int
) -> None:
    PAUSE.at = pause_at
    PAUSE.is_there.clear()
    PAUSE.goes_on.clear()
    paused = started(make(url), tmp_path / "checkpoint", 100)
    try:
        assert PAUSE.is_there.wait(60)
        started(make(url), tmp_path / "checkpoint", 400).wait()
        whole = [(key, COUNT // KEYS) for key in range(KEYS)]
        assert sorted(asked(url, "SELECT k, n FROM t")) == whole
    finally:
        PAUSE.goes_on.set()
    with pytest.raises(Exception, match="taken over"):
        paused.wait(60)
    assert sorted(asked(url, "SELECT k, n FROM t")) == whole


def hold_of(folder: Path, driver: str) -> Hold:
    folder.mkdir(exist_ok=True)
    (folder / "owner").write_text(driver)
    return Hold(str(folder / "owner"), driver)


def context(hold: Hold, uid: str = "sink") -> SinkContext:
    return SinkContext("job", uid, "pairs", 0, 1, lambda: 0, hold=hold)


def writing(url: str, number: int) -> Callable[[Any], None]:
    return lambda cursor: cursor.execute(f"INSERT INTO t VALUES ({number}, {number})")


def test_subtasks_of_a_driver_share_a_fence_and_the_next_driver_claims_it(url: str, tmp_path: Path) -> None:
    upserting(url).validate("sink")
    first = hold_of(tmp_path / "c", "first")
    one, two = (Fence(database_of(url), context(first), 3, "sink") for _ in range(2))
    one.commit(writing(url, 1))
    two.commit(writing(url, 2))
    three = Fence(database_of(url), context(hold_of(tmp_path / "c", "second")), 3, "sink")
    one.commit(writing(url, 3))  # nobody has written since: its rows are written before those of the second
    three.commit(writing(url, 4))
    for each in (one, two, Fence(database_of(url), context(first), 3, "sink")):
        with pytest.raises(SinkError, match="another driver has taken over"):
            each.commit(writing(url, 5))
    assert asked(url, "SELECT k FROM t ORDER BY k") == [(1,), (2,), (3,), (4,)]
    assert asked(url, f"SELECT * FROM {FENCES_TABLE}") == [("job", "sink", "second")]


def test_a_driver_whose_directory_is_gone_writes_nothing(url: str, tmp_path: Path) -> None:
    """The job that took over has ended, and was cleaned away."""
    upserting(url).validate("sink")
    hold = hold_of(tmp_path / "c", "first")
    (tmp_path / "c" / "owner").unlink()
    with pytest.raises(SinkError, match="another driver has taken over"):
        Fence(database_of(url), context(hold), 3, "sink").commit(writing(url, 1))


def test_without_a_table_of_fences_the_directory_is_asked_before_each_transaction(url: str, tmp_path: Path) -> None:
    hold = hold_of(tmp_path / "c", "first")
    fence = Fence(database_of(url), context(hold), 3, "sink")
    fence.commit(writing(url, 1))
    hold_of(tmp_path / "c", "second")
    with pytest.raises(SinkError, match="another driver has taken over"):
        fence.commit(writing(url, 2))
    assert asked(url, "SELECT k FROM t") == [(1,)]
