"""Watermarks that tables declare are made in the source, for each of its partitions."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Types
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.clock import ManualClock
from penstock.engine.in_process.job import StalledJob
from penstock.errors import SqlError
from penstock.job.event_time_watch import JobEventTime
from penstock.table import DataTypes, Schema, StreamTableEnvironment, TableDescriptor
from penstock.table.connectors import registry, values
from penstock.table.connectors.contract import Connector, TableContext, TableSource
from penstock.testing import Cut, Element
from penstock.testing.partitions import ScriptedPartitions

MODES = ("micro-batch", "continuous")
SINK = "default_catalog.default_database.o"
COUNTS = """
    INSERT INTO o SELECT CAST(window_start AS STRING), COUNT(*)
    FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY window_start, window_end
"""


class _Partitions(Connector):
    """Tables over scripted partitions."""

    name = "partitions"

    def __init__(self, scripts: Mapping[str, list[Any]], is_bounded: bool) -> None:
        self.scripts = scripts
        self.is_bounded = is_bounded

    def keys(self) -> Mapping[str, str]:
        return {}

    def source(self, table: TableContext) -> TableSource:
        return _PartitionsTable(self)


class _PartitionsTable(TableSource):
    def __init__(self, connector: _Partitions) -> None:
        self.connector = connector
        self.is_bounded = connector.is_bounded

    def stream(
        self, environment: Any, row_type: Any, metadata: tuple[str, ...] = (), name: str = ""
    ) -> DataStream[Any]:
        source = ScriptedPartitions(self.connector.scripts, ends=self.is_bounded)
        made: DataStream[Any] = environment.from_source(source, None, name)
        return made.flat_map(lambda row: [row])  # as formats are decoded behind a source of lines


def tables_over(
    monkeypatch: pytest.MonkeyPatch,
    scripts: Mapping[str, list[Any]],
    mode: str = "micro-batch",
    *,
    parallelism: int = 1,
    is_bounded: bool = True,
    clock: ManualClock | None = None,
    **settings: str,
) -> StreamTableEnvironment:
    values.clear()
    known = {**registry.connectors(), "partitions": _Partitions(scripts, is_bounded)}
    monkeypatch.setattr(registry, "connectors", lambda: known)
    configuration = Configuration().set_string("penstock.execution.mode", mode)
    for key, value in {"pipeline.watermark-every-records": "1", **settings}.items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.in_process(configuration=configuration, clock=clock or ManualClock(1_000))
    environment.set_parallelism(parallelism)
    tables = StreamTableEnvironment.create(environment)
    for key, value in settings.items():
        tables.get_config().set(key, value)
    tables.execute_sql("CREATE TABLE o (w STRING, n BIGINT) WITH ('connector' = 'values')")
    return tables


def rows(first_ms: int, count: int) -> list[Any]:
    return [Element((0, first_ms + number * 500, "x")) for number in range(count)]


DDL = """
    CREATE TABLE s (millis BIGINT, word STRING, ts AS TO_TIMESTAMP_LTZ(millis, 3),
                    WATERMARK FOR ts AS ts - INTERVAL '0.001' SECOND)
    WITH ('connector' = 'partitions')
"""


def ended(tables: StreamTableEnvironment) -> list[tuple[str, int]]:
    tables.execute_sql(COUNTS).wait()
    return sorted((each[1], each[2]) for each in values.results(SINK))


# Two partitions in order of time, an hour apart; one subtask reads both of them.
APART = {"a": rows(0, 4), "b": rows(3_600_000, 4)}
ALL_ROWS = [
    ("1970-01-01 00:00:00.000", 2),
    ("1970-01-01 00:00:01.000", 2),
    ("1970-01-01 01:00:00.000", 2),
    ("1970-01-01 01:00:01.000", 2),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("parallelism", [1, 3])
def test_partitions_of_one_subtask_lose_nothing_as_late(
    monkeypatch: pytest.MonkeyPatch, mode: str, parallelism: int
) -> None:
    tables = tables_over(monkeypatch, APART, mode, parallelism=parallelism)
    tables.execute_sql(DDL)
    assert ended(tables) == ALL_ROWS


def test_a_schema_of_the_table_api_has_watermarks_for_each_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tables_over(monkeypatch, APART)
    schema = (
        Schema.new_builder()
        .column("millis", DataTypes.BIGINT())
        .column("word", DataTypes.STRING())
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(millis, 3)")
        .watermark("ts", "SOURCE_WATERMARK()")
        .build()
    )
    tables.create_temporary_table("s", TableDescriptor.for_connector("partitions").schema(schema).build())
    assert ended(tables) == ALL_ROWS


@pytest.mark.parametrize("emit", ["on-event", "on-periodic"])
def test_two_readers_of_a_table_share_its_watermarks(monkeypatch: pytest.MonkeyPatch, emit: str) -> None:
    tables = tables_over(monkeypatch, APART)
    hint = DDL.replace("'partitions'", f"'partitions', 'scan.watermark.emit.strategy' = '{emit}'")
    tables.execute_sql(hint)
    tables.execute_sql("CREATE TABLE o2 (w STRING, n BIGINT) WITH ('connector' = 'values')")
    statements = tables.create_statement_set()
    statements.add_insert_sql(COUNTS)
    statements.add_insert_sql(COUNTS.replace("INTO o", "INTO o2").replace("COUNT(*)", "COUNT(word)"))
    statements.execute().wait()
    assert sorted((each[1], each[2]) for each in values.results(SINK)) == ALL_ROWS
    assert sorted((each[1], each[2]) for each in values.results(SINK + "2")) == ALL_ROWS


def test_operators_stay_in_the_vertex_of_the_source_without_chaining(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tables_over(monkeypatch, APART)
    tables.stream_environment.disable_operator_chaining()
    tables.execute_sql(DDL)
    assert ended(tables) == ALL_ROWS


def without_end(tables: StreamTableEnvironment) -> InProcessJobClient:
    tables.execute_sql(DDL)
    client = tables.execute_sql(COUNTS).get_job_client()
    assert isinstance(client, InProcessJobClient)
    return client


def run(client: InProcessJobClient) -> list[tuple[str, int]]:
    with pytest.raises(StalledJob):
        while client.run_batch():
            pass
    return sorted((each[1], each[2]) for each in values.results(SINK))


@pytest.mark.parametrize("mode", MODES)
def test_subtasks_without_partitions_hold_nothing_back(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    client = without_end(tables_over(monkeypatch, {"a": rows(0, 6)}, mode, parallelism=3, is_bounded=False))
    assert run(client) == ALL_ROWS[:2]


@pytest.mark.parametrize("mode", MODES)
def test_a_partition_without_rows_holds_others_back_until_it_is_idle(
    monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    scripts = {"a": [*rows(0, 6), Cut(), Element((0, 3_000, "x"))], "b": []}
    client = without_end(tables_over(monkeypatch, scripts, mode, is_bounded=False))
    assert run(client) == []
    settings = {"table.exec.source.idle-timeout": "5 s"}
    clock = ManualClock(1_000)
    client = without_end(tables_over(monkeypatch, scripts, mode, is_bounded=False, clock=clock, **settings))
    client.run_batch()
    clock.advance(5_000)
    assert run(client) == [*ALL_ROWS[:2], ("1970-01-01 00:00:02.000", 2)]


def test_a_partition_keeps_its_own_watermark_over_a_savepoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scripts = {"a": rows(0, 3), "b": rows(3_600_000, 3)}
    client = without_end(tables_over(monkeypatch, scripts, is_bounded=False))
    assert run(client) == ALL_ROWS[:1]
    savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()
    longer = {"a": rows(0, 5), "b": rows(3_600_000, 8)}
    settings = {"execution.savepoint.path": savepoint}
    client = without_end(tables_over(monkeypatch, longer, is_bounded=False, parallelism=2, **settings))
    assert run(client) == [ALL_ROWS[1]]


def test_a_table_of_a_stream_has_watermarks_of_each_subtask(monkeypatch: pytest.MonkeyPatch) -> None:
    # As in Flink: the declaration of a table over a DataStream cannot reach into the stream's source.
    tables = tables_over(monkeypatch, {})
    source = ScriptedPartitions({"a": [Element(each) for each in range(3)], "b": [Element(9_000)] * 3})
    stream = tables.stream_environment.from_source(source, None, "numbers", Types.LONG())
    schema = (
        Schema.new_builder()
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(f0, 3)")
        .watermark("ts", "ts - INTERVAL '0.001' SECOND")
        .build()
    )
    tables.create_temporary_view("s", stream, schema)
    assert ended(tables) == [("1970-01-01 00:00:00.000", 1), ("1970-01-01 00:00:09.000", 3)]


@pytest.mark.parametrize("is_partitioned", [False, True])
def test_files_have_their_own_watermarks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_partitioned: bool) -> None:
    tables = tables_over(monkeypatch, {})
    for name, first_ms in (("d=1", 3_600_000), ("d=2", 0)):
        path = tmp_path / name if is_partitioned else tmp_path
        path.mkdir(exist_ok=True)
        (path / f"{name}.csv").write_text("".join(f"{first_ms + each * 500}\n" for each in range(4)))
    by = "PARTITIONED BY (d)" if is_partitioned else ""
    columns = f"millis BIGINT, {'d INT, ' * is_partitioned} ts AS TO_TIMESTAMP_LTZ(millis, 3), WATERMARK FOR ts AS ts"
    tables.execute_sql(
        f"CREATE TABLE s ({columns}) {by} WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
    )
    assert ended(tables) == ALL_ROWS


def test_a_table_of_a_stream_is_not_held_back_by_subtasks_without_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tables_over(monkeypatch, {}, parallelism=3)
    source = ScriptedPartitions({"a": [Element(each * 500) for each in range(6)]}, ends=False)
    stream = tables.stream_environment.from_source(source, None, "numbers", Types.LONG())
    schema = Schema.new_builder().column_by_expression("ts", "TO_TIMESTAMP_LTZ(f0, 3)").watermark("ts", "ts").build()
    tables.create_temporary_view("s", stream, schema)
    client = tables.execute_sql(COUNTS).get_job_client()
    assert isinstance(client, InProcessJobClient)
    assert run(client) == ALL_ROWS[:2]


# In order of time, one with rows ten times as far apart.
SKEWED = {
    "a": [Element((0, n * 1_000, "x")) for n in range(200)],
    "b": [Element((0, n * 10_000, "x")) for n in range(200)],
}
ALIGNED = "'scan.watermark.alignment.group' = 'g', 'scan.watermark.alignment.max-drift' = '20 s'"


def most_apart(tables: StreamTableEnvironment, hint: str = "") -> int:
    """How far rows were ahead of the watermark, in seconds."""
    tables.execute_sql("CREATE TABLE apart (s BIGINT) WITH ('connector' = 'values')")
    ahead = "TIMESTAMPDIFF(SECOND, CURRENT_WATERMARK(ts), ts)"
    tables.execute_sql(f"INSERT INTO apart SELECT {ahead} FROM s {hint}").wait()
    found = [each[1] for each in values.results("default_catalog.default_database.apart") if each[1] is not None]
    assert len(found) > 300
    return max(found)


@pytest.mark.parametrize("is_hinted", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_options_of_a_table_align_its_partitions(monkeypatch: pytest.MonkeyPatch, mode: str, is_hinted: bool) -> None:
    tables = tables_over(monkeypatch, SKEWED, mode, **{"penstock.batch.max-records": "10"})
    tables.execute_sql(DDL if is_hinted else DDL.replace("'partitions'", f"'partitions', {ALIGNED}"))
    assert most_apart(tables, f"/*+ OPTIONS({ALIGNED}) */" if is_hinted else "") < 150


def test_without_the_options_partitions_run_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tables_over(monkeypatch, SKEWED, **{"penstock.batch.max-records": "10"})
    tables.execute_sql(DDL)
    assert most_apart(tables) > 1_000


def test_a_table_has_an_idle_timeout_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(1_000)
    scripts = {"a": [*rows(0, 6), Cut(), Element((0, 3_000, "x"))], "b": []}
    tables = tables_over(monkeypatch, scripts, is_bounded=False, clock=clock)
    tables.execute_sql(DDL.replace("'partitions'", "'partitions', 'scan.watermark.idle-timeout' = '5 s'"))
    client = tables.execute_sql(COUNTS).get_job_client()
    assert isinstance(client, InProcessJobClient)
    client.run_batch()
    clock.advance(5_000)
    assert run(client) == [*ALL_ROWS[:2], ("1970-01-01 00:00:02.000", 2)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("'scan.watermark.alignment.group' = 'g'", "belong together"),
        ("'scan.watermark.alignment.max-drift' = '1 s'", "belong together"),
        (f"{ALIGNED}, 'scan.watermark.alignment.update-interval' = '0 s'", "above 0"),
        ("'scan.watermark.aligment.group' = 'g'", "scan.watermark.alignment.group"),
    ],
)
def test_options_that_cannot_be_kept_to_are_refused(monkeypatch: pytest.MonkeyPatch, options: str, said: str) -> None:
    tables = tables_over(monkeypatch, SKEWED)
    tables.execute_sql(DDL.replace("'partitions'", f"'partitions', {options}"))
    with pytest.raises(SqlError, match=said):
        tables.execute_sql(COUNTS)


def test_a_table_without_watermarks_of_its_own_cannot_be_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tables_over(monkeypatch, SKEWED)
    tables.execute_sql(f"CREATE TABLE s (millis BIGINT, word STRING) WITH ('connector' = 'partitions', {ALIGNED})")
    with pytest.raises(SqlError, match=r"declares no WATERMARK"):
        tables.execute_sql("INSERT INTO o SELECT word, millis FROM s")


def test_an_option_without_effect_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tables_over(monkeypatch, APART)
    tables.execute_sql(DDL.replace("'partitions'", "'partitions', 'scan.watermark.emit.on-event.gap' = '10'"))
    with pytest.warns(UserWarning, match=r"on-event.gap' of table .*s has no effect"):
        assert ended(tables) == ALL_ROWS


@pytest.mark.parametrize("mode", MODES)
def test_a_partition_that_holds_event_time_back_is_named(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    scripts = {"s-0": [*rows(0, 2), Cut(), *rows(5_000, 2)], "s-1": []}
    tables = tables_over(monkeypatch, scripts, mode, is_bounded=False)
    tables.execute_sql(DDL)
    client: Any = tables.execute_sql(COUNTS).get_job_client()
    assert isinstance(client, InProcessJobClient)
    job = client.job
    event_time = job.statistics.event_time = JobEventTime(job.plan, 10.0)
    for _ in range(4):
        with suppress(StalledJob):
            job.run_batch()
    held, *others = event_time.held_back(time.monotonic() + 60, 1_000)
    client.cancel()
    assert (held.split, held.reason, held.is_quiet, others) == ("s-1", "never", False, [])
