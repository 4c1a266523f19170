"""MATCH_RECOGNIZE is planned: columns and types, what is refused and where, changelog, uids and EXPLAIN."""

from __future__ import annotations

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import SqlError, SqlParserError, SqlValidationError
from penstock.table.planner import explain
from penstock.table.sql import parse_query
from penstock.table.sql.dialect import Flink
from tests.unit.table.planning.tables import columns, insert, plan, query


def clause(
    measures: str = "A.id AS a",
    pattern: str = "A B",
    define: str = "A AS A.amount > 1",
    *,
    head: str = "PARTITION BY product ORDER BY ts",
    after: str = "",
    within: str = "",
    table: str = "orders",
) -> str:
    return (
        f"SELECT * FROM {table} MATCH_RECOGNIZE (\n{head}\nMEASURES {measures}\n{after}\nPATTERN ({pattern}) {within}\n"
        f"DEFINE {define}\n) AS m"
    )


def test_columns_are_those_of_the_partition_and_the_measures() -> None:
    measures = """A.id AS a, LAST(B.price, 1) AS p, COUNT(A.id) AS n, SUM(B.amount) AS s, AVG(price) AS mean,
      A.ts AS at, MATCH_ROWTIME() AS done, MATCH_ROWTIME(ts) AS same, MATCH_PROCTIME() AS now, A.total > 1 AS big"""
    assert columns(clause(measures)) == [
        "product STRING",
        "a BIGINT",
        "p DECIMAL(10, 2)",
        "n BIGINT NOT NULL",
        "s INT",
        "mean DECIMAL(38, 6)",
        "at TIMESTAMP(3)",
        "done TIMESTAMP(3) NOT NULL *ROWTIME*",
        "same TIMESTAMP(3) *ROWTIME*",
        "now TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*",
        "big BOOLEAN",
    ]


def test_what_may_not_be_there_may_be_null() -> None:
    # Every row has an id that is not NULL, but there may be no row.
    table = "(SELECT COALESCE(id, 0) AS id, ts FROM orders)"
    measures = "A.id AS a, C.id AS c, LAST(A.id, 1) AS a1, LAST(D.id, 1) AS d1, id AS one, SUM(A.id) AS s"
    planned = columns(clause(measures, "A C? D{2} B", "A AS A.id > 1", head="ORDER BY ts", table=table))
    assert planned == [
        "a BIGINT NOT NULL", "c BIGINT", "a1 BIGINT", "d1 BIGINT NOT NULL", "one BIGINT NOT NULL", "s BIGINT",
    ]  # fmt: skip


def test_an_alias_renames_the_table_and_its_columns() -> None:
    text = clause().replace("AS m", "AS m (p, x)").replace("SELECT *", "SELECT m.x, p")
    assert columns(text) == ["x BIGINT", "p STRING"]
    assert columns(clause(table="orders AS o")) == ["product STRING", "a BIGINT"]
    assert columns(clause().replace(" AS m", "").replace("SELECT *", "SELECT a")) == ["a BIGINT"]


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        (clause(head="PARTITION BY product"), "needs ORDER BY a time attribute", (1, 22)),
        (clause(head="ORDER BY amount, ts"), "ordered by a time attribute first, but 'amount' is INT", (2, 10)),
        (clause(head="ORDER BY ts DESC"), "ordered by time ascending", (2, 10)),
        (clause(head="PARTITION BY UPPER(product) ORDER BY ts"), "PARTITION BY of MATCH_RECOGNIZE takes", (2, 14)),
        (clause(head="PARTITION BY prodct ORDER BY ts"), "There is no column 'prodct'", (2, 14)),
        (clause("Z.id AS z"), "no pattern variable 'Z' in PATTERN. There are: A, B", (3, 10)),
        (clause("A.idd AS z"), "There is no column 'idd' here. Did you mean id", (3, 10)),
        (clause("A.id AS product"), "Column 'product' is there twice", (3, 10)),
        (clause("PREV(A.id) AS z"), "PREV cannot be used in MEASURES", (3, 10)),
        (clause("RUNNING LAST(A.id) AS z"), "RUNNING is not supported", (3, 10)),
        (clause("CLASSIFIER() AS z"), "CLASSIFIER() is not supported", (3, 10)),
        (clause("MATCH_NUMBER() AS z"), "MATCH_NUMBER() is not supported", (3, 10)),
        (clause("LAST(A.id + B.id) AS z"), "LAST looks at the rows of one pattern variable", (3, 10)),
        (clause("LAST(LAST(A.id)) AS z"), "LAST cannot be used inside LAST", (3, 15)),
        (clause("LAST(A.id, A.id) AS z"), "The offset of LAST must be a number", (3, 10)),
        (clause("LAST(1) AS z"), "LAST needs a column of a pattern variable", (3, 10)),
        (clause("SUM(A.amount * B.amount) AS z"), "speaks of A and B", (3, 10)),
        (clause("SUM(A.amount * amount) AS z"), "all rows (a column without variable)", (3, 10)),
        (clause("COUNT(DISTINCT A.id) AS z"), "DISTINCT values are not supported", (3, 10)),
        (clause("LAST(SUM(A.id)) AS z"), "cannot be used inside LAST", (3, 15)),
        (clause("SUM(LAST(A.id)) AS z"), "LAST cannot be used inside an aggregate", (3, 14)),
        (clause("MATCH_ROWTIME() AS z", head="ORDER BY proc"), "use MATCH_PROCTIME()", (3, 10)),
        (clause("MATCH_ROWTIME(amount) AS z"), "takes a row time column, but 'amount' is INT", (3, 10)),
        (clause(after="ALL ROWS PER MATCH"), "ALL ROWS PER MATCH is not supported", (1, 22)),
        (clause(after="AFTER MATCH SKIP TO LAST C"), "no pattern variable 'C'", (4, 26)),
        (clause(after="AFTER MATCH SKIP TO FIRST A"), "begin again where the match began", (4, 27)),
        (clause(after="AFTER MATCH SKIP TO A"), "begin again where the match began", (4, 21)),
        (clause(pattern="A | B"), "Alternation", (5, 10)),
        (clause(pattern="PERMUTE(A, B)"), "PERMUTE is not supported", (5, 10)),
        (clause(pattern="A {- C -} B"), "Exclusion", (5, 15)),
        (clause(pattern="(A B)+ C"), "A group of variables cannot be repeated", (5, 11)),
        (clause(pattern="A B A"), "Variable A is twice in PATTERN", (5, 10)),
        (clause(pattern="A B+"), "The last variable cannot be greedy", (5, 10)),
        (clause(pattern="A B{1,2}"), "Write B{1,2}?", (5, 10)),
        (clause(pattern="A* B?"), "could have no row at all", (5, 10)),
        (clause(pattern="A?? B"), "The reluctant A?? is not supported", (5, 10)),
        (clause(pattern="A{3,2} B"), "A is to come 3 to 2 times", (5, 10)),
        (clause(pattern="A{0} B"), "A is to come 0 to 0 times", (5, 10)),
        (clause(pattern="A+ C? B"), "an element after a greedy one cannot be optional", (5, 10)),
        (clause(within="WITHIN INTERVAL '1' MONTH"), "WITHIN takes an INTERVAL of days to seconds", (1, 22)),
        (clause(within="WITHIN INTERVAL '0' SECOND"), "WITHIN takes an INTERVAL above 0", (1, 22)),
        (clause(define="A AS A.amount"), "DEFINE A needs a condition of type BOOLEAN, but this is INT", (6, 13)),
        (clause(define="A AS A.id > 1, A AS A.id < 3"), "DEFINE A is there twice", (6, 23)),
        (clause(define="Aa AS Aa.id > 1"), "DEFINE names no variable of PATTERN", (6, 8)),
        (clause(define="A AS A.id > PREV(A.id)"), "PREV is not supported, as in Flink", (6, 20)),
        (clause(define="A AS FINAL LAST(A.id) > 1"), "can only be used in MEASURES", (6, 13)),
    ],
)  # fmt: skip
def test_what_is_wrong_is_shown_in_the_text(text: str, message: str, caret: tuple[int, int]) -> None:
    with pytest.raises(SqlValidationError) as raised:
        query(text)
    assert message in str(raised.value)
    assert (raised.value.line, raised.value.column) == caret
    assert "^" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (clause("A.id"), "Expected AS and the name of the measure"),
        (clause(pattern=""), "Expected a pattern variable"),
        (clause(pattern="^A B"), "anchors"),
        (clause(pattern="A{2 B"), "Expected a quantifier such as"),
        (clause(within="WITHIN 5"), "Expected an INTERVAL after WITHIN"),
        (clause(after="AFTER MATCH SKIP SOMEWHERE"), "Expected PAST LAST ROW"),
        (clause(define="A"), "Expected AS and the condition"),
        ("SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS a PATTERN (A))", "Expected DEFINE"),
        ("SELECT * FROM orders MATCH_RECOGNIZE (ORDER BY ts MEASURES A.id AS a)", "Expected PATTERN"),
    ],
)
def test_what_cannot_be_read_is_shown_in_the_text(text: str, message: str) -> None:
    with pytest.raises(SqlParserError, match=message) as raised:
        query(text)
    assert "^" in str(raised.value)


def test_subsets_are_refused() -> None:
    text = clause().replace("DEFINE", "SUBSET AB = (A, B) DEFINE")
    with pytest.raises(SqlValidationError, match="SUBSET is not supported"):
        query(text)


def test_the_input_must_only_insert() -> None:
    table = "(SELECT product, MAX(id) AS id, MAX(amount) AS amount, PROCTIME() AS proc FROM orders GROUP BY product)"
    with pytest.raises(SqlValidationError, match="MATCH_RECOGNIZE takes rows that are only inserted") as raised:
        assert query(clause(head="ORDER BY proc", table=table)).inferred
    assert "but its input updates" in str(raised.value)
    assert (raised.value.line, raised.value.column) == (1, 15 + len(table) + 1)


def test_matches_are_only_inserted_and_columns_that_nobody_reads_are_left_out() -> None:
    text = plan(clause("A.id AS a", within="WITHIN INTERVAL '1' MINUTE", after="AFTER MATCH SKIP PAST LAST ROW"))
    assert "fields=[id, product, amount, ts]" in text
    assert (
        "Match(partitionBy=[product], orderBy=[ts ASC], measures=[LAST(A.id, 0) AS a], "
        "rowsPerMatch=[ONE ROW PER MATCH], after=[SKIP PAST LAST ROW], pattern=[A B], within=[60000 ms], "
        "define=[A=(amount > 1)], changelogMode=[I])"
    ) in text


INSERT = "INSERT INTO log SELECT a, product FROM (" + clause() + ") AS x"


def match_uids(text: str) -> list[str]:
    environment = StreamExecutionEnvironment.in_process()
    insert(text).translate(environment)
    return [node.uid for node in environment.graph.nodes.values() if node.uid and "-match-" in node.uid]


def test_the_uid_follows_what_is_looked_for() -> None:
    assert len(match_uids(INSERT)) == 1
    assert match_uids(INSERT) == match_uids(INSERT)
    changed = {INSERT.replace("> 1", "> 2"), INSERT.replace("A B", "A+ B"), INSERT.replace("A.id", "B.id")}
    assert len({*match_uids(INSERT), *[uid for text in changed for uid in match_uids(text)]}) == 4


def test_explain_shows_the_match() -> None:
    text = explain([insert(INSERT)], StreamExecutionEnvironment.in_process())
    assert text.count("Match(partitionBy=[product]") >= 3


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY s ORDER BY ts, p DESC MEASURES FINAL LAST(A.x) + 1 AS first ONE "
        "ROW PER MATCH AFTER MATCH SKIP TO FIRST B PATTERN (A*? B+ {- C -} (D | E F){2,}? G{0,3} H?? PERMUTE(I, J) "
        "K{2} L?) WITHIN INTERVAL '1' HOUR DEFINE B AS B.x > 1, `A b` AS TRUE) AS m WHERE x > 1",
        "SELECT * FROM (SELECT * FROM t) MATCH_RECOGNIZE (ORDER BY ts PATTERN (A) DEFINE A AS TRUE) AS m",
    ],
)
def test_the_clause_can_be_written_back(text: str) -> None:
    assert parse_query(text).query.sql(Flink) == text


def test_final_and_running_are_names_elsewhere() -> None:
    assert columns("SELECT final, running FROM (SELECT id AS final, amount AS running FROM orders) t") == [
        "final BIGINT",
        "running INT",
    ]


def test_errors_of_queries_are_sql_errors() -> None:
    with pytest.raises(SqlError):
        query(clause(pattern="A | B"))
