"""DataStreams as tables and back: fields, kinds, event time and watermarks."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Duration, Row, RowKind, Types, WatermarkStrategy
from penstock.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment
from penstock.errors import SqlError
from penstock.table import ChangelogMode, Schema, StreamTableEnvironment
from penstock.table.expressions import col

EVENTS = Types.ROW_NAMED(["id", "at"], [Types.INT(), Types.LONG()])


@pytest.fixture
def tables() -> StreamTableEnvironment:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(1)
    return StreamTableEnvironment.create(environment)


def events(tables: StreamTableEnvironment, *rows: tuple[int, int]) -> DataStream[Any]:
    stream = tables.stream_environment.from_collection([Row(*row) for row in rows], EVENTS)
    return stream.assign_ascending_timestamps("at")


TIMED = (
    Schema.new_builder()
    .column("id", "INT")
    .column("at", "BIGINT")
    .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
    .watermark("rowtime", "SOURCE_WATERMARK()")
    .build()
)


class Times(ProcessFunction):
    def process_element(self, value: Any, ctx: Any, /) -> Iterator[Any]:
        yield value["id"], ctx.timestamp()


def test_fields_become_columns(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("e", events(tables, (1, 10), (2, 20)))
    rows = tables.execute_sql("SELECT id, at + 1 AS later FROM e").collect()
    assert [row.as_dict() for row in rows] == [{"id": 1, "later": 11}, {"id": 2, "later": 21}]


def test_timestamps_become_the_row_time_and_timestamps_again(tables: StreamTableEnvironment) -> None:
    table = tables.from_data_stream(events(tables, (1, 10), (2, 20)), TIMED)
    tables.create_temporary_view("e", table)
    stream = tables.to_data_stream(tables.sql_query("SELECT id, rowtime FROM e WHERE id > 1"))
    assert list(stream.process(Times()).execute_and_collect()) == [(2, 20)]


@pytest.mark.parametrize(("bound_ms", "counts"), [(0, [1, 1]), (120_000, [2, 1])])
def test_watermarks_of_the_stream_close_windows(
    tables: StreamTableEnvironment, bound_ms: int, counts: list[int]
) -> None:
    # Whether the last event is late is for the watermarks of the stream to say, not for its times alone.
    rows = [(1, 1_000), (2, 61_000), (3, 2_000)]
    stream = tables.stream_environment.from_collection([Row(*row) for row in rows], EVENTS)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound_ms))
    stream = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda row, _: row["at"]))
    tables.stream_environment.configure(_watermark_after_each())
    tables.create_temporary_view("e", stream, TIMED)
    result = tables.execute_sql(
        "SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(rowtime), INTERVAL '1' MINUTE)) "
        "GROUP BY window_start, window_end"
    )
    assert [row["n"] for row in result.collect()] == counts


def _watermark_after_each() -> Any:
    from penstock.common import Configuration

    return Configuration().set_integer("pipeline.watermark-every-records", 1)


def test_changes_both_ways(tables: StreamTableEnvironment) -> None:
    kinds = [(RowKind.INSERT, 1), (RowKind.INSERT, 2), (RowKind.DELETE, 1)]
    rows = [Row.of_kind(kind, each) for kind, each in kinds]
    stream = tables.stream_environment.from_collection(rows, Types.ROW_NAMED(["id"], [Types.INT()]))
    tables.create_temporary_view("c", tables.from_changelog_stream(stream))
    counted = tables.to_changelog_stream(tables.sql_query("SELECT COUNT(*) AS n FROM c"))
    changes = [(str(row.get_row_kind()), row["n"]) for row in counted.execute_and_collect()]
    assert changes == [("+I", 1), ("-U", 1), ("+U", 2), ("-U", 2), ("+U", 1)]


def test_what_a_stream_cannot_show_is_refused(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("e", events(tables, (1, 10)))
    counted = tables.sql_query("SELECT COUNT(*) FROM e")
    with pytest.raises(SqlError, match="to_changelog_stream"):
        tables.to_data_stream(counted)
    with pytest.raises(SqlError, match="changelog mode leaves out"):
        tables.to_changelog_stream(counted, changelog_mode=ChangelogMode.insert_only())
    with pytest.raises(SqlError, match="declares no type"):
        tables.from_data_stream(tables.stream_environment.from_collection([object()]))


def test_changes_by_key_have_no_rows_before(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("v", tables.from_elements([(1,), (2,), (1,)], ["a"]))
    counts = tables.sql_query("SELECT a, COUNT(*) AS c FROM v GROUP BY a")
    schema = Schema.new_builder().column("a", "BIGINT").column("c", "STRING").primary_key("a").build()
    changes = list(tables.to_changelog_stream(counts, schema, ChangelogMode.upsert()).execute_and_collect())
    assert [(str(row.get_row_kind()), *row) for row in changes] == [("+I", 1, "1"), ("+I", 2, "1"), ("+U", 1, "2")]
    with pytest.raises(SqlError, match="changes by key need one"):
        tables.to_changelog_stream(counts, None, ChangelogMode.upsert())
    other = Schema.new_builder().column("a", "BIGINT").column("c", "BIGINT").primary_key("c").build()
    with pytest.raises(SqlError, match=r"updated by \(a\)"):
        tables.to_changelog_stream(counts, other, ChangelogMode.upsert())


def test_changes_as_pairs(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("v", tables.from_elements([(1,), (1,)], ["a"]))
    counts = tables.sql_query("SELECT a, COUNT(*) AS c FROM v GROUP BY a")
    pairs = tables.to_retract_stream(counts, Types.ROW([Types.LONG(), Types.LONG()])).execute_and_collect()
    assert [(adds, tuple(row)) for adds, row in pairs] == [(True, (1, 1)), (False, (1, 1)), (True, (1, 2))]
    rows = tables.to_append_stream(tables.from_path("v"), Types.ROW([Types.LONG()])).execute_and_collect()
    assert list(map(tuple, rows)) == [(1,), (1,)]


def test_elements_have_the_names_of_the_type_that_is_asked_for(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("e", events(tables, (1, 10)))
    counts = tables.sql_query("SELECT id, COUNT(*) AS n FROM e GROUP BY id")
    unnamed, named = Types.ROW([Types.INT(), Types.LONG()]), Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.LONG()])
    [(_, row)] = tables.to_retract_stream(counts, unnamed).execute_and_collect()
    assert row.as_dict() == {"f0": 1, "f1": 1}
    [row] = tables.to_append_stream(tables.from_path("e"), named).execute_and_collect()
    assert row.as_dict() == {"a": 1, "b": 10}


class TimesOfFields(ProcessFunction):
    def process_element(self, value: Any, ctx: Any, /) -> Iterator[Any]:
        yield value.as_dict(), ctx.timestamp()


def test_a_target_schema_is_taken_by_place_and_its_timestamp_is_no_field(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("e", tables.from_data_stream(events(tables, (1, 10), (2, 20)), TIMED))
    query = tables.sql_query("SELECT UPPER(CAST(id AS STRING) || 'x') AS computed, rowtime, at FROM e")
    wanted = (
        Schema.new_builder()
        .column("text", "STRING")
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .column_by_expression("ignored", "UPPER(`text`)")
        .column("at", "INT")
    )
    stream = tables.to_changelog_stream(query, wanted.build()).process(TimesOfFields())
    assert list(stream.execute_and_collect()) == [({"text": "1X", "at": 10}, 10), ({"text": "2X", "at": 20}, 20)]
    with pytest.raises(SqlError, match="the table has the columns computed, rowtime, at, and the schema has text"):
        tables.to_changelog_stream(query, Schema.new_builder().column("text", "STRING").build())
    other = Schema.new_builder().column("a", "STRING").column_by_metadata("key", "TIMESTAMP_LTZ(3)")
    with pytest.raises(SqlError, match="elements have no metadata 'key'; there is 'rowtime'"):
        tables.to_changelog_stream(query, other.column("b", "INT").build())


TRADES = Types.ROW_NAMED(["who", "amount", "at"], [Types.STRING(), Types.INT(), Types.LONG()])


def trades(tables: StreamTableEnvironment) -> DataStream[Any]:
    rows = [Row("ann", 1, 1_000), Row("bob", 2, 2_000)]
    return tables.stream_environment.from_collection(rows, TRADES).assign_ascending_timestamps("at")


def shown(table: Any, *names: str) -> list[Any]:
    chosen = table.select(*[col(each) for each in names]) if names else table
    with chosen.execute().collect() as rows:
        return [tuple(row) for row in rows]


TIME = datetime.datetime(1970, 1, 1, 0, 0, 1)


@pytest.mark.parametrize(
    ("fields", "names", "first"),
    [
        (["amount", "who"], ["amount", "who"], (1, "ann")),
        ([col("at"), col("who"), col("amount")], ["at", "who", "amount"], (1_000, "ann", 1)),
        ([col("amount").alias("n")], ["n"], (1,)),
        ([col("who").alias("amount"), col("amount").alias("who")], ["amount", "who"], ("ann", 1)),
        ([col("x"), col("y"), col("z")], ["x", "y", "z"], ("ann", 1, 1_000)),
        ([col("x"), col("y")], ["x", "y"], ("ann", 1)),
        ([col("who"), col("at").rowtime], ["who", "at"], ("ann", TIME)),
        ([col("ts").rowtime, col("who")], ["ts", "who"], (TIME, "ann")),
        (
            [col("at").rowtime.alias("ts"), col("amount"), col("who").alias("w")],
            ["ts", "amount", "w"],
            (TIME, 1, "ann"),
        ),
        ([col("x"), col("y"), col("ts").rowtime], ["x", "y", "ts"], ("ann", 1, TIME)),
        ([col("x"), col("y"), col("z"), col("ts").rowtime], ["x", "y", "z", "ts"], ("ann", 1, 1_000, TIME)),
        ([col("p").proctime, col("ts").rowtime, col("who")], ["p", "ts", "who"], (None, TIME, "ann")),
        ([col("x"), col("y"), col("z"), col("p").proctime], ["x", "y", "z", "p"], ("ann", 1, 1_000, None)),
    ],
)
def test_expressions_choose_fields(
    tables: StreamTableEnvironment, fields: list[Any], names: list[str], first: tuple[Any, ...]
) -> None:
    table = tables.from_data_stream(trades(tables), *fields)
    assert table.get_schema().get_field_names() == names
    found = shown(table)[0]
    assert [each for each, name in zip(found, names, strict=True) if name != "p"] == [
        each for each, name in zip(first, names, strict=True) if name != "p"
    ]


def test_a_row_time_of_an_expression_closes_windows(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("t", trades(tables), col("at").rowtime.alias("ts"), col("amount").alias("n"))
    query = "SELECT SUM(n) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY window_start"
    with tables.execute_sql(f"{query}, window_end").collect() as rows:
        assert [row[0] for row in rows] == [1, 2]


def test_a_single_value_may_have_a_name_and_times(tables: StreamTableEnvironment) -> None:
    numbers = tables.stream_environment.from_collection([5], Types.LONG())
    assert shown(tables.from_data_stream(numbers, col("n"))) == [(5,)]
    assert shown(tables.from_data_stream(numbers, col("n"), col("p").proctime), "n") == [(5,)]
    assert shown(tables.from_data_stream(numbers, col("f0").alias("n"))) == [(5,)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([col("who"), col("amout")], "no field 'amout'.*amount"),
        ([col("amount") + 1], "is no field; it takes col"),
        ([col("who"), col("amount").alias("who")], "two columns are called 'who'"),
        ([col("a").rowtime, col("b").rowtime, col("who")], "more than one .rowtime"),
        ([col("who").rowtime, col("amount")], "field 'who', which is .* and no time"),
        ([col("x").proctime, col("y")], "cannot replace"),
        ([col("a"), col("b"), col("c"), col("d")], "'d' is one name too many"),
    ],
)
def test_expressions_that_choose_no_fields_are_refused(
    tables: StreamTableEnvironment, fields: list[Any], message: str
) -> None:
    with pytest.raises(SqlError, match=message):
        tables.from_data_stream(trades(tables), *fields)
