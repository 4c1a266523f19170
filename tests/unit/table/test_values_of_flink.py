"""Values that were once other than Flink's: what stands here is what Flink 2.3 printed."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Configuration, Row, RowKind, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.in_process.client import InProcessJobClient
from penstock.engine.in_process.job import StalledJob
from penstock.table import EnvironmentSettings, Schema, StreamTableEnvironment
from penstock.table.connectors import values

SINK = "default_catalog.default_database.o"
EVENTS = """
    CREATE TEMPORARY VIEW w AS
    SELECT * FROM (VALUES (1, CAST('a' AS STRING), 3), (2, 'b', 5), (3, 'a', 9)) AS w(id, s, v)
"""


def new_tables(*, batch: bool = False, parallelism: int = 1, **settings: str) -> StreamTableEnvironment:
    configuration = Configuration().set_string("pipeline.watermark-every-records", "1")
    for key, value in settings.items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.in_process(configuration=configuration).set_parallelism(parallelism)
    mode = EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    tables = StreamTableEnvironment.create(environment, mode)
    tables.execute_sql(EVENTS)
    return tables


def collected(tables: StreamTableEnvironment, query: str) -> list[Any]:
    with tables.execute_sql(query).collect() as rows:
        return [row[0] if len(row) == 1 else tuple(row) for row in rows]


def value(expression: str, source: str = "(VALUES (1)) AS t(a)") -> Any:
    (found,) = collected(new_tables(batch=True), f"SELECT {expression} FROM {source}")
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("ARRAY_APPEND(SPLIT('Hello,World', ','), '!')", ["Hello", "World", "!"]),
        ("ARRAY_PREPEND(SPLIT('Hello,World', ','), '!')", ["!", "Hello", "World"]),
        ("ARRAY_REMOVE(SPLIT('Hello,World', ','), 'H')", ["Hello", "World"]),
        ("ARRAY_CONTAINS(SPLIT('Hello,World', ','), 'H')", False),
        ("ARRAY_POSITION(SPLIT('Hello,World', ','), 'H')", 0),
        ("ARRAY_APPEND(ARRAY['ab', 'cd'], 'efg')", ["ab", "cd", "ef"]),
        ("ARRAY_APPEND(ARRAY['ab', 'cd'], 'e')", ["ab", "cd", "e "]),
        ("ARRAY_CONTAINS(ARRAY['ab', 'cd'], 'a')", False),
        ("ARRAY_CONTAINS(ARRAY['ab', 'cd'], 'abc')", True),
        ("ARRAY_REMOVE(ARRAY['ab', 'cd'], 'a')", ["ab", "cd"]),
        ("ARRAY_APPEND(ARRAY[1.5, 2.25], 3.125)", [Decimal("1.50"), Decimal("2.25"), Decimal("3.13")]),
        ("ARRAY_CONTAINS(ARRAY[1.5, 2.25], 2)", False),
    ],
)
def test_elements_have_the_type_of_the_array(expression: str, expected: Any) -> None:
    assert value(expression) == expected


WIDE = "(VALUES (CAST('{}' AS DECIMAL({})), CAST('{}' AS DECIMAL({})), TRUE)) AS t(a, b, f)"
LONG = WIDE.format("99999999999999999998.99", "22, 2", "2.25", "38, 20")
FULL = WIDE.format("12345678901234567890123456789012345678", "38, 0", "1.55", "10, 2")


@pytest.mark.parametrize(
    ("expression", "source", "expected"),
    [
        ("CASE WHEN f THEN a ELSE b END", LONG, Decimal("99999999999999999998.990000000000000000")),
        ("IF(NOT f, a, b)", LONG, Decimal("2.250000000000000000")),
        ("COALESCE(NULLIF(a, a), b)", LONG, Decimal("2.250000000000000000")),
        ("GREATEST(a, b)", LONG, Decimal("99999999999999999998.990000000000000000")),
        ("CASE WHEN NOT f THEN a ELSE b END", FULL, Decimal(2)),
        ("COALESCE(b, a)", FULL, Decimal(2)),
        ("a > b", FULL, True),
        ("a IN (b, 1.5)", FULL, False),
        ("ARRAY[a, b]", FULL, [Decimal("12345678901234567890123456789012345678"), Decimal(2)]),
    ],
)
def test_decimals_of_several_forms_have_one_that_keeps_the_whole_part(
    expression: str, source: str, expected: Any
) -> None:
    found = value(expression, source)
    assert found == expected
    assert str(found) == str(expected)


def test_the_union_of_decimals_keeps_the_whole_part() -> None:
    query = (
        "SELECT CAST('1234567890123456789012345678901.5' AS DECIMAL(38, 7)) "
        "UNION ALL SELECT CAST(1.55 AS DECIMAL(38, 30))"
    )
    assert list(map(str, collected(new_tables(), query))) == ["1234567890123456789012345678901.5000000", "1.5500000"]


@pytest.mark.parametrize("text", ["12345678901234567890123456789012345678", "-" + "9" * 38])
def test_decimals_of_38_digits_are_read(tmp_path: Path, text: str) -> None:
    values.clear()
    number = values.register([(Decimal(text),)])
    (tmp_path / "rows.csv").write_text(f"{text}\n")
    (tmp_path / "rows.json").write_text(f'{{"d": {text}}}\n')
    tables = new_tables()
    tables.execute_sql(f"CREATE TABLE s (d DECIMAL(38, 0)) WITH ('connector' = 'values', 'data-id' = '{number}')")
    assert collected(tables, "SELECT d FROM s") == [Decimal(text)]
    for form in ("csv", "json"):
        options = f"'connector' = 'filesystem', 'path' = '{tmp_path}/rows.{form}', 'format' = '{form}'"
        tables.execute_sql(f"CREATE TABLE {form}_rows (d DECIMAL(38, 0)) WITH ({options})")
        assert collected(tables, f"SELECT d FROM {form}_rows") == [Decimal(text)]


def test_generated_decimals_may_have_many_digits() -> None:
    tables = new_tables()
    tables.execute_sql(
        "CREATE TABLE g (d DECIMAL(38, 28), e DECIMAL(38, 20)) WITH ('connector' = 'datagen', 'number-of-rows' = '3', "
        "'fields.d.kind' = 'sequence', 'fields.d.start' = '1234567890', 'fields.d.end' = '1234567892')"
    )
    assert [row[0] for row in collected(tables, "SELECT d, e FROM g")] == [1234567890, 1234567891, 1234567892]


def timed(tables: StreamTableEnvironment, type_: str = "INT") -> StreamTableEnvironment:
    rows = [Row(number, "r" if number < 3 else "s", number * 1000) for number in range(6)]
    fields = Types.ROW_NAMED(["id", "s", "millis"], [Types.INT(), Types.STRING(), Types.LONG()])
    schema = (
        Schema.new_builder()
        .column("id", "INT")
        .column("s", "STRING")
        .column("millis", "BIGINT")
        .column_by_expression("v", f"CAST(id * 7 AS {type_})")
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(millis, 3)")
        .watermark("ts", "ts")
        .build()
    )
    tables.create_temporary_view("e", tables.stream_environment.from_collection(rows, fields), schema)
    return tables


PAIRS = "INTERVAL '2' SECOND"
STEPS = f"INTERVAL '1' SECOND, {PAIRS}"
OF_TUMBLE = [{"r": 2}, {"r": 1, "s": 1}, {"s": 2}]
OF_HOP = [{"r": 1}, {"r": 2}, {"r": 2}, {"r": 1, "s": 1}, {"s": 2}, {"s": 2}, {"s": 1}]
OF_CUMULATE = [{"r": 1}, {"r": 2}, {"r": 1}, {"r": 1, "s": 1}, {"s": 1}, {"s": 2}]
BY_WINDOW = "GROUP BY window_start, window_end"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), {PAIRS})) {BY_WINDOW}", OF_TUMBLE),
        (f"TABLE(HOP(TABLE e, DESCRIPTOR(ts), {STEPS})) {BY_WINDOW}", OF_HOP),
        (f"TABLE(CUMULATE(TABLE e, DESCRIPTOR(ts), {STEPS})) {BY_WINDOW}", OF_CUMULATE),
        (f"TABLE(SESSION(TABLE e, DESCRIPTOR(ts), {PAIRS})) {BY_WINDOW}", [{"r": 3, "s": 3}]),
        (f"e GROUP BY TUMBLE(ts, {PAIRS})", OF_TUMBLE),
        (f"e GROUP BY HOP(ts, {STEPS})", OF_HOP),
        (f"e GROUP BY SESSION(ts, {PAIRS})", [{"r": 3, "s": 3}]),
    ],
)
def test_windows_collect_what_is_in_them(source: str, expected: list[dict[str, int]]) -> None:
    lists = "COLLECT(s), JSON_ARRAYAGG(s), JSON_OBJECTAGG(KEY s VALUE 1)"
    found = collected(timed(new_tables()), f"SELECT {lists} FROM {source}")
    for counts, (collection, array, members) in zip(expected, found, strict=True):
        assert collection == counts
        assert array == "[" + ",".join(f'"{each}"' for each, count in counts.items() for _ in range(count)) + "]"
        assert members == "{" + ",".join(f'"{each}":1' for each in counts) + "}"


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("BIGINT", [-1, -1, 0, 7, 14, 21]),
        ("DOUBLE", [-1.0, -1.0, 0.0, 7.0, 14.0, 21.0]),
        ("DECIMAL(10, 2)", [Decimal(f"{each}.00") for each in (-1, -1, 0, 7, 14, 21)]),
    ],
)
def test_the_default_of_lag_has_the_type_of_the_value(type_: str, expected: list[Any]) -> None:
    found = collected(timed(new_tables(), type_), "SELECT LAG(v, 2, -1) OVER (ORDER BY ts) FROM e")
    assert found == expected
    assert [type(each) for each in found] == [type(each) for each in expected]
    assert list(map(str, found)) == list(map(str, expected))


@pytest.mark.parametrize(
    "frame", ["ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW"]
)
def test_deviations_of_integers_in_over(frame: str) -> None:
    functions = ("STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP")
    columns = ", ".join(f"{each}(v) OVER (ORDER BY ts {frame})" for each in functions)
    found = collected(timed(new_tables()), f"SELECT {columns} FROM e")
    assert found == [(0, None, 0, None), *[(3, 5, 12, 25)] * 5]


NONE = "FROM w WHERE id > 100"


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"SELECT COUNT(*), SUM(v), COUNT(DISTINCT v), COLLECT(v) {NONE}", [(0, None, 0, {})]),
        (f"SELECT COUNT(*) {NONE} HAVING COUNT(*) = 0", [0]),
        (f"SELECT COUNT(*) {NONE} HAVING COUNT(*) > 0", []),
        (f"SELECT COUNT(*) {NONE} GROUP BY s", []),
        (f"SELECT COUNT(*) {NONE} GROUP BY ROLLUP(s)", []),
        (f"SELECT id FROM w WHERE EXISTS (SELECT COUNT(*) {NONE})", [1, 2, 3]),
        (f"SELECT id FROM w WHERE NOT EXISTS (SELECT COUNT(*) {NONE})", []),
        (f"SELECT id FROM w WHERE 0 = (SELECT COUNT(*) {NONE})", [1, 2, 3]),
        (f"SELECT (SELECT COUNT(*) {NONE}) FROM w", [0, 0, 0]),
        (f"SELECT c + 1 FROM (SELECT COUNT(*) AS c {NONE})", [1]),
        ("SELECT COUNT(*) FROM (SELECT s, SUM(v) AS n FROM w GROUP BY s) WHERE n > 100", [0]),
        ("SELECT COUNT(*), SUM(n) FROM (SELECT s, SUM(v) AS n FROM w GROUP BY s) WHERE n < 5", [(0, None)]),
    ],
)
def test_an_aggregate_of_no_rows_is_a_row_in_batch_mode(query: str, expected: list[Any], parallelism: int) -> None:
    found = collected(new_tables(batch=True, parallelism=parallelism), query)
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_exists_of_an_aggregate_holds_in_streaming_mode_too() -> None:
    query = f"SELECT id FROM w WHERE EXISTS (SELECT COUNT(*) {NONE}) AND id > 1"
    assert collected(new_tables(), query) == [2, 3]
    assert collected(new_tables(), f"SELECT COUNT(*) {NONE}") == []


CHANGES = [(RowKind.INSERT, 1, 5), (RowKind.INSERT, 2, 7), (RowKind.UPDATE_AFTER, 1, 6), (RowKind.DELETE, 2, None)]


def keyed(tables: StreamTableEnvironment, computed: str = "") -> StreamTableEnvironment:
    """The tables with one whose rows that delete have their key only, though the other column is NOT NULL."""
    values.clear()
    rows = [Row.of_kind(*each) for each in CHANGES]
    options = {
        "connector": "values",
        "data-id": values.register(rows),
        "changelog-mode": "I,UA,D",
        "source.produces-delete-by-key": "true",
    }
    given = ", ".join(f"'{key}' = '{each}'" for key, each in options.items())
    columns = f"k INT NOT NULL, v INT NOT NULL{computed}, PRIMARY KEY (k) NOT ENFORCED"
    tables.execute_sql(f"CREATE TABLE s ({columns}) WITH ({given})")
    return tables


@pytest.mark.parametrize("computed", ["", ", w AS v + 2"])
def test_computed_columns_take_rows_that_delete_by_key(computed: str) -> None:
    query = f"SELECT k, {'w' if computed else 'v + 2'} FROM s"
    with keyed(new_tables(), computed).execute_sql(query).collect() as rows:
        found = [(row.get_row_kind(), *row) for row in rows]
    assert found == [
        (RowKind.INSERT, 1, 7),
        (RowKind.INSERT, 2, 9),
        (RowKind.UPDATE_BEFORE, 1, 7),
        (RowKind.UPDATE_AFTER, 1, 8),
        (RowKind.DELETE, 2, 9),
    ]


def test_a_sink_that_deletes_by_key_gets_such_rows_through_a_projection() -> None:
    tables = keyed(new_tables())
    tables.execute_sql(
        "CREATE TABLE o (k INT NOT NULL, w INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'values', "
        "'sink-insert-only' = 'false', 'sink.supports-delete-by-key' = 'true')"
    )
    tables.execute_sql("INSERT INTO o SELECT k, v + 2 FROM s").wait()
    assert [row[:2] for row in values.results(SINK)][-1] == (3, 2)


def test_there_is_no_current_watermark_after_a_savepoint(tmp_path: Path) -> None:
    def run(last: int, **settings: str) -> tuple[InProcessJobClient, list[Any]]:
        values.clear()
        tables = new_tables(**settings)
        rows = values.register([(second * 1000,) for second in range(last)])
        tables.execute_sql(
            "CREATE TABLE s (millis BIGINT, ts AS TO_TIMESTAMP_LTZ(millis, 3), WATERMARK FOR ts AS ts) WITH "
            f"('connector' = 'values', 'data-id' = '{rows}', 'terminating' = 'false', 'rows-per-batch' = '1')"
        )
        tables.execute_sql("CREATE TABLE o (millis BIGINT, w STRING) WITH ('connector' = 'values')")
        query = "INSERT INTO o SELECT millis, CAST(CURRENT_WATERMARK(ts) AS STRING) FROM s"
        client = tables.execute_sql(query).get_job_client()
        assert isinstance(client, InProcessJobClient)
        with pytest.raises(StalledJob):
            while client.run_batch():
                pass
        return client, [row[2] and row[2][17:19] for row in values.results(SINK)]

    client, before = run(3)
    assert before == [None, "00", "01"]
    savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()
    assert run(5, **{"execution.savepoint.path": savepoint})[1] == [None, "03"]
