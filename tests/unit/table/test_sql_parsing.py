"""Texts of SQL as statements, and errors that show the place."""

from __future__ import annotations

from typing import Any

import pytest
from sqlglot import exp

from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import PenstockError, SqlError, SqlParserError
from penstock.table import StreamTableEnvironment
from penstock.table.catalog import ComputedColumn, MetadataColumn, PhysicalColumn, PrimaryKey, WatermarkSpec
from penstock.table.sql import grammar, parse, parse_expression, parse_query, parse_type
from penstock.table.sql import statements as s
from penstock.table.sql.dialect import Flink
from penstock.table.sql.nodes import MapConstructor, TableArgument, TemporalLiteral


def one(text: str) -> s.Statement:
    (statement,) = parse(text)
    return statement


def test_a_table_with_everything() -> None:
    statement = one(
        """CREATE TEMPORARY TABLE IF NOT EXISTS c.d.t (
            id INT NOT NULL COMMENT 'key', name STRING, total AS id + 1,
            at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
            WATERMARK FOR at AS at - INTERVAL '5' SECOND,
            CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED
        ) COMMENT 'a table' PARTITIONED BY (name) WITH ('connector' = 'kafka', 'topic' = 'x')"""
    )
    assert isinstance(statement, s.CreateTable)
    assert statement.name == ("c", "d", "t")
    assert statement.columns == (
        PhysicalColumn("id", parse_type("INT NOT NULL"), "key"),
        PhysicalColumn("name", parse_type("STRING")),
        ComputedColumn("total", "id + 1"),
        MetadataColumn("at", parse_type("TIMESTAMP_LTZ(3)"), "timestamp", is_virtual=True),
    )
    assert statement.watermark == WatermarkSpec("at", "at - INTERVAL '5' SECOND")
    assert statement.primary_key == PrimaryKey(("id",), "pk")
    assert statement.options == {"connector": "kafka", "topic": "x"}
    assert (statement.comment, statement.partition_keys) == ("a table", ("name",))
    assert statement.is_temporary
    assert statement.if_not_exists


def test_like_and_as() -> None:
    like = one("CREATE TABLE t WITH ('a' = 'b') LIKE u (EXCLUDING ALL INCLUDING GENERATED)")
    assert isinstance(like, s.CreateTable)
    assert like.like == s.Like(("u",), (("EXCLUDING", "ALL"), ("INCLUDING", "GENERATED")))
    made = one("CREATE TABLE t (b, a) WITH ('connector' = 'x') AS SELECT a, b FROM u")
    assert isinstance(made, s.CreateTable)
    assert made.column_names == ("b", "a")
    assert made.query is not None
    assert made.query.text == "SELECT a, b FROM u"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DROP TABLE IF EXISTS a.b", s.Drop("TABLE", ("a", "b"), if_exists=True)),
        ("DROP TEMPORARY VIEW v", s.Drop("VIEW", ("v",), is_temporary=True)),
        ("DROP DATABASE d CASCADE", s.Drop("DATABASE", ("d",), is_cascade=True)),
        ("ALTER TABLE t RENAME TO u", s.Rename("TABLE", ("t",), ("u",))),
        ("ALTER TABLE t RENAME a TO b", s.AlterRenameColumn(("t",), "a", "b")),
        ("ALTER TABLE t SET ('a' = 'b')", s.AlterOptions("TABLE", ("t",), {"a": "b"})),
        ("ALTER TABLE t RESET ('a')", s.AlterOptions("TABLE", ("t",), {}, ("a",))),
        ("ALTER TABLE t DROP (a, b)", s.AlterDrop(("t",), ("a", "b"))),
        ("ALTER TABLE t DROP WATERMARK", s.AlterDrop(("t",), what="WATERMARK")),
        ("CREATE VIEW v (a) COMMENT 'c' AS SELECT 1", s.CreateView(("v",), "SELECT 1", ("a",), "c")),
        ("CREATE FUNCTION f AS 'm.f' LANGUAGE PYTHON", s.CreateFunction(("f",), "m.f", "PYTHON")),
        ("CREATE CATALOG c WITH ('type' = 'x')", s.CreateCatalog("c", {"type": "x"})),
        ("CREATE DATABASE IF NOT EXISTS c.d", s.CreateDatabase(("c", "d"), if_not_exists=True)),
        ("USE CATALOG c", s.Use("CATALOG", ("c",))),
        ("USE a.b", s.Use("DATABASE", ("a", "b"))),
        ("SHOW TABLES FROM d NOT LIKE '%x'", s.Show("TABLES", ("d",), "%x", is_not=True)),
        ("SHOW CREATE TABLE t", s.Show("CREATE TABLE", ("t",))),
        ("SHOW CURRENT CATALOG", s.Show("CURRENT CATALOG")),
        ("DESC EXTENDED t", s.Describe("TABLE", ("t",), is_extended=True)),
        ("DESCRIBE CATALOG c", s.Describe("CATALOG", ("c",))),
        ("SET 'a' = 'b'", s.Set("a", "b")),
        ("RESET", s.Reset()),
    ],
)
def test_a_statement(text: str, expected: s.Statement) -> None:
    assert one(text) == expected
    assert one(text + ";").text == text


def test_alter_table_adds_columns_in_places() -> None:
    statement = one("ALTER TABLE t ADD (x INT FIRST, y AS x AFTER z, PRIMARY KEY (x) NOT ENFORCED)")
    assert isinstance(statement, s.AlterSchema)
    assert [(change.column.name, change.after) for change in statement.columns] == [("x", ""), ("y", "z")]
    assert statement.primary_key == PrimaryKey(("x",))


def test_insert_with_its_clauses() -> None:
    statement = one(
        "INSERT INTO t /*+ OPTIONS('a' = 'b') */ PARTITION (p = 'x') (c, d) SELECT 1, 2 ON CONFLICT DO NOTHING"
    )
    assert isinstance(statement, s.Insert)
    assert (statement.table, statement.columns, statement.options) == (("t",), ("c", "d"), {"a": "b"})
    assert {key: value.name for key, value in statement.partition.items()} == {"p": "x"}
    assert statement.on_conflict == "NOTHING"


def test_statement_sets_and_explain() -> None:
    first, second = parse(
        "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END; SHOW TABLES"
    )
    assert isinstance(first, s.StatementSet)
    assert [each.table for each in first.inserts] == [("a",), ("b",)]
    assert second == s.Show("TABLES")
    explained = one("EXPLAIN CHANGELOG_MODE STATEMENT SET BEGIN INSERT INTO a SELECT 1; END")
    assert isinstance(explained, s.Explain)
    assert explained.details == ("CHANGELOG_MODE",)


def test_what_sqlglot_would_lose_is_kept() -> None:
    query = parse_query(
        "SELECT MAP['a', 1], TIMESTAMP '2020-01-01 00:00:00.123', a[1] FROM t /*+ OPTIONS('x' = 'y') */ AS u"
    )
    entries, stamp, item = query.query.expressions
    assert isinstance(entries, MapConstructor)
    assert isinstance(stamp, TemporalLiteral)
    assert item.expressions[0].name == "1"
    table = query.query.find(exp.Table)
    assert table is not None
    assert table.args["hints"]
    assert table.alias == "u"


def test_table_functions_and_row_constructors() -> None:
    query = parse_query("SELECT ROW(1, a) FROM TABLE(TUMBLE(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' DAY))")
    argument = query.query.find(TableArgument)
    assert argument is not None
    assert [key.name for key in argument.args["partition_by"]] == ["k"]
    assert query.query.expressions[0].name == "ROW"


def test_within_of_match_recognize() -> None:
    text = (
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS x PATTERN (A B) WITHIN INTERVAL '1' HOUR "
        "DEFINE B AS B.x > 1) AS m"
    )
    match = parse_query(text).query.find(exp.MatchRecognize)
    assert match is not None
    assert match.args["within"].this.name == "1"


def test_a_query_can_be_written_back() -> None:
    text = "SELECT CAST(a AS STRING), JSON_VALUE(b, '$.c' NULL ON EMPTY) FROM t"
    assert parse_query(text).query.sql(Flink) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("INT", "INT"),
        ("DECIMAL(5)", "DECIMAL(5, 0)"),
        ("DECIMAL", "DECIMAL(10, 0)"),
        ("CHAR", "CHAR(1)"),
        ("STRING NOT NULL", "STRING NOT NULL"),
        ("BYTES", "BYTES"),
        ("VARBINARY(3)", "VARBINARY(3)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(3)"),
        ("INTERVAL DAY TO SECOND(3)", "INTERVAL SECOND(3)"),
        ("INTERVAL YEAR", "INTERVAL MONTH"),
        ("MULTISET<INT>", "MULTISET<INT>"),
        ("ROW(a INT, b ROW<c STRING NOT NULL>)", "ROW<`a` INT, `b` ROW<`c` STRING NOT NULL>>"),
        ("MAP<STRING, ARRAY<DOUBLE>>", "MAP<STRING, ARRAY<DOUBLE>>"),
    ],
)
def test_a_type(text: str, shown: str) -> None:
    assert str(parse_type(text)) == shown


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ("SELEC 1", 1, 1, "Expected a statement, found SELEC"),
        ("SELECT a b c FROM t", 1, 12, "Unexpected 'c'"),
        ("CREATE TABLE t (\n  a INT,\n  PRIMARY KEY (a))", 3, 18, "NOT ENFORCED"),
        ("CREATE TABLE t (a INT, a INT)", 1, 29, "declared twice"),
        ("CREATE TABLE t (a INT) WITH ('k' = 'v', 'k' = 'w')", 1, 50, "given twice"),
        ("CREATE MODEL m", 1, 8, "CREATE MODEL is not supported"),
        ("DROP THING x", 1, 6, "Expected TABLE"),
    ],
)
def test_an_error_shows_the_place(text: str, line: int, column: int, word: str) -> None:
    with pytest.raises(SqlParserError) as raised:
        parse(text)
    assert word in str(raised.value)
    assert (raised.value.line, raised.value.column) == (line, column)
    *_, shown, under = str(raised.value).split("\n")
    assert shown == text.split("\n")[line - 1]
    assert under.index("^") == column - 1


def test_text_without_an_end_is_refused() -> None:
    with pytest.raises(SqlParserError, match="has no closing '"):
        parse("SELECT 'a")


def test_an_expression() -> None:
    assert isinstance(parse_expression("a - INTERVAL '1' SECOND"), exp.Sub)


@pytest.mark.parametrize("text", ["SELECT a,, b FROM t", "SELECT a, FROM t", "SELECT f(a,) FROM t", "SELECT a,"])
def test_a_comma_with_nothing_behind_it_is_refused(text: str) -> None:
    with pytest.raises(SqlParserError, match="Nothing stands behind this comma") as raised:
        parse(text)
    assert raised.value.column == text.index(",") + 1


def test_arrays_within_arrays_take_time_by_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    read = grammar.FlinkParser._parse_types

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        return read(self, *args, **kwargs)

    monkeypatch.setattr(grammar.FlinkParser, "_parse_types", counted)
    found = []
    for depth in (10, 20, 40):
        calls = 0
        parse_expression("ARRAY[" * depth + "1" + "]" * depth)
        found.append(calls)
    assert found[2] - found[1] == 2 * (found[1] - found[0])


@pytest.mark.parametrize("opening", ["ABS(", "ARRAY[", "(", "COALESCE(NULL, "])
def test_brackets_have_a_limit(opening: str) -> None:
    closing = "]" if opening.endswith("[") else ")"
    parse_expression(opening * 100 + "1" + closing * 100)
    with pytest.raises(SqlParserError, match="Brackets are nested more than 100 deep"):
        parse_expression(opening * 101 + "1" + closing * 101)


@pytest.mark.parametrize(
    "text", ["SELECT * FROM TABLE(", "SELECT * FROM LATERAL TABLE(", "SELECT ARRAY[", "SELECT MAP["]
)
def test_a_statement_that_is_cut_short_is_refused(text: str) -> None:
    with pytest.raises(SqlParserError, match=r"line 1, column"):
        parse(text)


@pytest.mark.parametrize("text", ["NOT " * 5_000 + "TRUE", "1 + " * 9_000 + "1"])
def test_operators_without_end_are_refused_in_a_sentence(text: str) -> None:
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process())
    with pytest.raises(SqlError, match="The statement is too deep"):
        tables.sql_query(f"SELECT {text}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ABS(" * 99 + "a" + ")" * 99, ""),
        ("a + " * 60 + "1", ""),
        ("a + " * 120 + "1", "An expression is too deep"),
        ("a + " * 400 + "1", "The statement is too deep"),
        (" AND ".join(["a = 1"] * 60), ""),
        (" AND ".join(["a = 1"] * 400), "The statement is too deep"),
    ],
)
def test_deep_expressions_run_or_are_refused_in_a_sentence(text: str, message: str) -> None:
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.in_process())
    query = f"SELECT {text} FROM (VALUES (1)) AS t(a)"
    if message:
        with pytest.raises(PenstockError, match=message):
            tables.execute_sql(query).wait()
    else:
        with tables.execute_sql(query).collect() as rows:
            assert len(list(rows)) == 1
