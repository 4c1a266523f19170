"""Statements run through the public API, in process: DDL, SHOW, results as Flink prints them, statement sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.common import Row
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import CatalogError, SqlError
from penstock.table import DataTypes, ModuleEntry, ResultKind, Schema, StreamTableEnvironment, TableDescriptor
from penstock.table.connectors import values


@pytest.fixture
def tables() -> StreamTableEnvironment:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(1)
    return StreamTableEnvironment.create(environment)


def shown(tables: StreamTableEnvironment, statement: str) -> str:
    return "\n".join(tables.execute_sql(statement).lines())


def columns(tables: StreamTableEnvironment, name: str) -> list[str]:
    return [row[0] for row in tables.execute_sql(f"DESCRIBE {name}").collect()]


def test_a_changelog_is_printed_as_flink_prints_it(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("t", tables.from_elements([(1, "a"), (2, None), (1, "b")], ["id", "name"]))
    assert shown(tables, "SELECT id, COUNT(*) AS n, MAX(name) AS top FROM t GROUP BY id") == (
        "+----+----------------------+----------------------+--------------------------------+\n"
        "| op |                   id |                    n |                            top |\n"
        "+----+----------------------+----------------------+--------------------------------+\n"
        "| +I |                    1 |                    1 |                              a |\n"
        "| +I |                    2 |                    1 |                         <NULL> |\n"
        "| -U |                    1 |                    1 |                              a |\n"
        "| +U |                    1 |                    2 |                              b |\n"
        "+----+----------------------+----------------------+--------------------------------+\n"
        "4 rows in set"
    )


def test_collect_gives_rows_with_kinds(tables: StreamTableEnvironment) -> None:
    table = tables.from_elements([(1,), (1,)], ["id"])
    tables.create_temporary_view("t", table)
    with tables.execute_sql("SELECT COUNT(*) AS n FROM t").collect() as rows:
        assert [(str(row.get_row_kind()), row["n"]) for row in rows] == [("+I", 1), ("-U", 1), ("+U", 2)]


def test_ddl_is_ok_and_shown(tables: StreamTableEnvironment) -> None:
    result = tables.execute_sql(
        "CREATE TABLE t (id INT NOT NULL, at TIMESTAMP(3) COMMENT 'when', day AS CAST(at AS DATE), "
        "WATERMARK FOR at AS at - INTERVAL '1' SECOND, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'print')"
    )
    assert result.get_result_kind() is ResultKind.SUCCESS
    assert list(result.lines()) == ["OK"]
    assert shown(tables, "SHOW TABLES") == (
        "+------------+\n| table name |\n+------------+\n|          t |\n+------------+\n1 row in set"
    )
    described = shown(tables, "DESCRIBE t").splitlines()
    assert described[1].split() == [
        "|",
        "name",
        "|",
        "type",
        "|",
        "null",
        "|",
        "key",
        "|",
        "extras",
        "|",
        "watermark",
        "|",
        "comment",
        "|",
    ]
    assert described[3].split() == [
        "|",
        "id",
        "|",
        "INT",
        "|",
        "FALSE",
        "|",
        "PRI(id)",
        "|",
        "<NULL>",
        "|",
        "<NULL>",
        "|",
        "<NULL>",
        "|",
    ]
    assert "AS CAST(at AS DATE)" in described[5]
    made = next(iter(tables.execute_sql("SHOW CREATE TABLE t").collect()))[0]
    tables.execute_sql("DROP TABLE t")
    tables.execute_sql(made)
    assert next(iter(tables.execute_sql("SHOW CREATE TABLE t").collect()))[0] == made


def test_names_are_found_in_catalogs_and_databases(tables: StreamTableEnvironment) -> None:
    tables.execute_sql("CREATE CATALOG c WITH ('type' = 'generic_in_memory')")
    tables.execute_sql("CREATE DATABASE c.d")
    tables.execute_sql("CREATE TABLE c.d.t (a INT) WITH ('connector' = 'print')")
    tables.use_catalog("c")
    tables.use_database("d")
    assert (tables.get_current_catalog(), tables.get_current_database()) == ("c", "d")
    assert tables.list_tables() == ["t"]
    with pytest.raises(CatalogError, match="exists already"):
        tables.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'print')")
    with pytest.raises(CatalogError, match="is not empty"):
        tables.execute_sql("DROP DATABASE d")


def test_a_temporary_table_hides_another(tables: StreamTableEnvironment) -> None:
    tables.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'print')")
    tables.execute_sql("CREATE TEMPORARY TABLE t (b INT) WITH ('connector' = 'print')")
    assert columns(tables, "t") == ["b"]
    with pytest.raises(CatalogError, match="DROP TEMPORARY TABLE"):
        tables.execute_sql("DROP TABLE t")
    tables.drop_temporary_table("t")
    assert columns(tables, "t") == ["a"]


def test_alter_table_changes_the_schema(tables: StreamTableEnvironment) -> None:
    tables.execute_sql("CREATE TABLE t (a INT, b INT) WITH ('connector' = 'print')")
    tables.execute_sql("ALTER TABLE t ADD (c STRING FIRST, PRIMARY KEY (a) NOT ENFORCED)")
    tables.execute_sql("ALTER TABLE t RENAME b TO d")
    tables.execute_sql("ALTER TABLE t SET ('print-identifier' = 'x')")
    assert columns(tables, "t") == ["c", "a", "d"]
    with pytest.raises(SqlError, match="part of the primary key"):
        tables.execute_sql("ALTER TABLE t DROP a")
    with pytest.raises(SqlError, match="use MODIFY"):
        tables.execute_sql("ALTER TABLE t ADD d INT")


def test_passwords_are_not_shown_and_stay_as_they_are(tables: StreamTableEnvironment) -> None:
    secret = "hunter2hunter2"
    options = (
        f"'connector' = 'jdbc', 'url' = 'jdbc:postgresql://u:{secret}@h/d', 'table-name' = 't', 'password' = '{secret}'"
    )
    tables.execute_sql(f"CREATE TABLE t (a INT) WITH ({options})")
    shown = next(iter(tables.execute_sql("SHOW CREATE TABLE t").collect()))[0]
    assert secret not in shown and "'password' = '******'" in shown and "//u:******@h/d" in shown
    tables.execute_sql(f"SET 'my.password' = '{secret}'")
    assert secret not in str(list(tables.execute_sql("SET").collect()))
    made = tables.create_statement(("t",))
    assert made.count(secret) == 2, "a program that is made of it can still connect"


def test_like_takes_over(tables: StreamTableEnvironment) -> None:
    tables.execute_sql("CREATE TABLE t (a INT, b AS a + 1) WITH ('connector' = 'print', 'print-identifier' = 'x')")
    tables.execute_sql("CREATE TABLE u (c INT) WITH ('connector' = 'blackhole') LIKE t (EXCLUDING OPTIONS)")
    assert columns(tables, "u") == ["a", "b", "c"]
    made = next(iter(tables.execute_sql("SHOW CREATE TABLE u").collect()))[0]
    assert "blackhole" in made
    assert "print-identifier" not in made


def test_a_catalog_in_a_file_is_there_again(tables: StreamTableEnvironment, tmp_path: Path) -> None:
    create = f"CREATE CATALOG c WITH ('type' = 'file', 'path' = '{tmp_path / 'catalog.json'}')"
    tables.execute_sql(create)
    tables.execute_sql(
        "CREATE TABLE c.default_database.t (a DECIMAL(10, 2) NOT NULL, b AS a + 1, at TIMESTAMP(3) METADATA VIRTUAL, "
        "WATERMARK FOR at AS at, PRIMARY KEY (a) NOT ENFORCED) PARTITIONED BY (a) WITH ('connector' = 'print')"
    )
    tables.execute_sql("CREATE VIEW c.default_database.v AS SELECT a FROM c.default_database.t")
    other = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process())
    other.execute_sql(create)
    statement = "SHOW CREATE TABLE c.default_database.t"
    assert list(other.execute_sql(statement).collect()) == list(tables.execute_sql(statement).collect())
    statement = "SHOW CREATE VIEW c.default_database.v"
    assert list(other.execute_sql(statement).collect()) == list(tables.execute_sql(statement).collect())


def test_settings(tables: StreamTableEnvironment) -> None:
    tables.execute_sql("SET 'table.local-time-zone' = 'Asia/Tokyo'")
    assert tables.get_config().get_local_timezone() == "Asia/Tokyo"
    tables.execute_sql("SET 'parallelism.default' = '3'")
    assert tables.stream_environment.get_parallelism() == 3
    tables.execute_sql("RESET 'table.local-time-zone'")
    assert tables.get_config().get_local_timezone() == "UTC"


def test_a_statement_set_is_one_job(tables: StreamTableEnvironment, capsys: pytest.CaptureFixture[str]) -> None:
    table = tables.from_elements(
        [(1, "a"), (2, "b")],
        DataTypes.ROW([DataTypes.FIELD("id", DataTypes.INT()), DataTypes.FIELD("n", DataTypes.STRING())]),
    )
    tables.create_temporary_view("t", table)
    tables.execute_sql("CREATE TABLE p (id INT, n STRING) WITH ('connector' = 'print', 'print-identifier' = 'p')")
    tables.execute_sql("CREATE TABLE q (id INT) WITH ('connector' = 'print', 'print-identifier' = 'q')")
    statements = tables.create_statement_set()
    statements.add_insert("p", table)
    statements.add_insert_sql("INSERT INTO q SELECT id FROM t")
    statements.execute().wait()
    assert sorted(capsys.readouterr().out.splitlines()) == ["p> +I[1, a]", "p> +I[2, b]", "q> +I[1]", "q> +I[2]"]
    with pytest.raises(SqlError, match="empty"):
        statements.execute()


def test_a_statement_leaves_the_streams_of_the_program_alone(
    tables: StreamTableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    tables.stream_environment.from_collection([1]).print()
    assert shown(tables, "SELECT 1 AS one").splitlines()[3].split() == ["|", "+I", "|", "1", "|"]
    assert capsys.readouterr().out == ""
    tables.stream_environment.execute()
    assert capsys.readouterr().out == "1\n"


def test_create_table_as(tables: StreamTableEnvironment) -> None:
    values.clear()
    tables.create_temporary_view("t", tables.from_elements([(1, "a")], ["id", "name"]))
    tables.execute_sql("CREATE TABLE made WITH ('connector' = 'values') AS SELECT name, id + 1 AS next FROM t").wait()
    assert values.results("default_catalog.default_database.made") == [(0, "a", 2)]
    assert columns(tables, "made") == ["name", "next"]


def test_descriptors(tables: StreamTableEnvironment) -> None:
    schema = Schema.new_builder().column("id", DataTypes.INT()).column_by_expression("next", "id + 1").build()
    rows = values.register([Row(1), Row(2)])
    table = TableDescriptor.for_connector("values").schema(schema).option("data-id", rows).build()
    assert [list(row) for row in tables.from_descriptor(table).execute().collect()] == [[1, 2], [2, 3]]


def test_explain_shows_plans_modes_and_graph(tables: StreamTableEnvironment) -> None:
    tables.create_temporary_view("t", tables.from_elements([(1,)], ["id"]))
    text = tables.explain_sql("SELECT id, COUNT(*) FROM t GROUP BY id")
    assert (
        text.index("== Abstract Syntax Tree ==")
        < text.index("== Optimized Plan ==")
        < text.index("== Penstock Graph ==")
    )
    assert "changelogMode=[I,UB,UA]" in text
    with pytest.raises(Exception, match="nothing to execute"):
        tables.stream_environment.execute()


def test_windows_are_aggregated_before_the_exchange_unless_told_otherwise(tables: StreamTableEnvironment) -> None:
    tables.execute_sql(
        "CREATE TABLE t (k INT, name STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen')"
    )
    query = (
        "SELECT k, {} FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND)) "
        "GROUP BY k, window_start, window_end"
    )
    assert "LocalWindowAggregate(" in tables.explain_sql(query.format("COUNT(*)"))
    assert "LocalWindowAggregate(" not in tables.explain_sql(query.format("COUNT(DISTINCT name)"))
    tables.execute_sql("SET 'table.optimizer.agg-phase-strategy' = 'ONE_PHASE'")
    assert "LocalWindowAggregate(" not in tables.explain_sql(query.format("COUNT(*)"))


def test_pandas_both_ways(tables: StreamTableEnvironment) -> None:
    pandas = pytest.importorskip("pandas")
    table = tables.from_pandas(pandas.DataFrame({"a": [1, 2, 1], "b": ["x", None, "z"]}))
    tables.create_temporary_view("t", table)
    counted = tables.sql_query("SELECT a, COUNT(b) AS n FROM t GROUP BY a").to_pandas()
    assert sorted(map(tuple, counted.itertuples(index=False))) == [(1, 2), (2, 0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "'connector' = 'datagen', 'rows-per-secnd' = '1'",
            "no option 'rows-per-secnd'. Did you mean 'rows-per-second'",
        ),
        ("'connector' = 'nope'", "there is no connector 'nope'; there are blackhole, datagen"),
        ("'connector' = 'filesystem', 'path' = 'x'", "option 'format' is missing"),
        ("'connector' = 'datagen', 'number-of-rows' = 'x'", "must be a whole number, got 'x'"),
        ("'connector' = 'print'", "cannot be read, only written"),
    ],
)
def test_wrong_options_are_refused(tables: StreamTableEnvironment, options: str, message: str) -> None:
    tables.execute_sql(f"CREATE TABLE t (a INT) WITH ({options})")
    with pytest.raises(SqlError, match=message):
        tables.execute_sql("SELECT * FROM t")


def test_catalogs_and_modules_are_shown(tables: StreamTableEnvironment) -> None:
    tables.execute_sql("CREATE CATALOG c COMMENT 'mine' WITH ('type' = 'generic_in_memory')")
    (row,) = tables.execute_sql("SHOW CREATE CATALOG c").collect()
    assert row[0] == "CREATE CATALOG `c`\nCOMMENT 'mine'\nWITH (\n  'type' = 'generic_in_memory'\n)\n"
    assert [tuple(each) for each in tables.execute_sql("SHOW FULL MODULES").collect()] == [("core", True)]
    assert tables.list_modules() == ["core"]
    assert tables.list_full_modules() == [ModuleEntry("core", True)]


@pytest.mark.parametrize("statement", ["TRUNCATE TABLE t", "LOAD MODULE m", "DELETE FROM t", "CALL p()", "ADD JAR 'x'"])
def test_statements_that_are_not_there_are_refused_by_name(tables: StreamTableEnvironment, statement: str) -> None:
    with pytest.raises(SqlError, match=f"{statement.split()[0]} is not supported: "):
        tables.execute_sql(statement)
