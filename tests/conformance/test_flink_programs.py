"""The player of Flink's planner programs, on a program of our own: it passes, and it can fail."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import SqlError
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.conformance.flink_programs.__main__ import played
from tests.conformance.flink_programs.families import family, outside
from tests.conformance.flink_programs.not_passed import NOT_PASSED, REASONS, disagreements


def row(kind: str, *values: Any) -> dict[str, Any]:
    return {"kind": kind, "values": list(values)}


def program(**changes: Any) -> dict[str, Any]:
    """Counts by key, with a restore in the middle."""
    source = {
        "kind": "source",
        "name": "t",
        "ddl": "CREATE TABLE t (\n  k STRING\n)\nWITH ('connector' = 'values')",
        "columns": ["k STRING"],
        "watermarks": [],
        "options": {},
        "rows_before": [row("+I", "a"), row("+I", "b")],
        "rows_after": [row("+I", "a")],
    }
    sink = {
        "kind": "sink",
        "name": "s",
        "ddl": "CREATE TABLE s (\n  k STRING,\n  n BIGINT\n)\nWITH ('connector' = 'values')",
        "columns": ["k STRING", "n BIGINT"],
        "primary_key": [],
        "options": {},
        "expected_before_text": ["+I[b, 1]", "+I[a, 1]"],
        "expected_after_text": ["-U[a, 1]", "+U[a, 2]"],
        "tests_changelog": True,
        "materialized_is_declared": False,
        "deduplicated_fields": None,
        **changes,
    }
    return {
        "key": "GroupAggregate.counts",
        "class": "x.GroupAggregateTestPrograms",
        "runners": [{"mode": "stream-restore", "after_restore_source": "FINITE"}],
        "setup": [source, sink],
        "run": [{"kind": "sql", "sql": "INSERT INTO s SELECT k, COUNT(*) FROM t GROUP BY k"}],
        "is_table_api": False,
    }


def test_a_program_passes_with_its_restore() -> None:
    assert played(program(), "in-process", False, 1) is None
    assert (family(program()), outside(program())) == ("group-agg", None)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"expected_before_text": ["+I[b, 1]", "+I[a, 2]"]},
            "before: missing ['+I[a, 2]'], unexpected ['+I[a, 1]']",
        ),
        ({"expected_after_text": ["+I[a, 1]"]}, "result: s, after: missing ['+I[a, 1]']"),
    ],
)
def test_other_rows_fail(changes: dict[str, Any], problem: str) -> None:
    assert problem in str(played(program(**changes), "in-process", False, 1))


def test_a_table_that_is_looked_up_holds_later_rows_after_the_restore() -> None:
    made = program(expected_before_text=["+I[a, 1]"], expected_after_text=["+I[a, 2]"])
    source, sink = made["setup"]
    source["ddl"] = source["ddl"].replace("k STRING", "k STRING, p AS PROCTIME()")
    source["rows_before"], source["rows_after"] = [row("+I", "a")], [row("+I", "a")]
    names = {
        **source,
        "name": "d",
        "ddl": "CREATE TABLE d (\n  k STRING,\n  n BIGINT\n)\nWITH ('connector' = 'values')",
        "rows_before": [row("+I", "a", 1)],
        "rows_after": [row("+I", "a", 2)],
    }
    made["setup"] = [source, names, sink]
    query = "INSERT INTO s SELECT t.k, d.n FROM t JOIN d FOR SYSTEM_TIME AS OF t.p ON t.k = d.k"
    made["run"] = [{"kind": "sql", "sql": query}]
    assert played(made, "in-process", False, 1) is None


def test_what_is_outside_fails_with_its_reason() -> None:
    made = program()
    made["setup"].append({"kind": "function", "class": "x.MyFunction"})
    assert played(made, "in-process", False, 1) == "outside: needs function x.MyFunction"


# ---- the list of programs that are not passed ----


def test_a_program_that_passes_is_not_listed_and_one_that_fails_is() -> None:
    listed = next(iter(REASONS))
    assert disagreements({listed: "outside: needs function x", "A.b": None}) == []
    assert disagreements({listed: None, "A.b": "result: other rows"}) == [
        f"{listed} passes: take it off the list of not_passed.py",
        "A.b fails and is not on the list of not_passed.py: result: other rows",
    ]


def test_each_listed_program_has_one_reason() -> None:
    assert len(REASONS) == sum(map(len, NOT_PASSED.values()))
    assert all("." in key and len(reason.split()) < 13 for key, reason in REASONS.items())


@pytest.mark.parametrize(
    ("reason", "statement", "refusal"),
    [
        ("type VARIANT", "CREATE TABLE v (x VARIANT) WITH ('connector' = 'values')", "Type VARIANT is not supported"),
        ("type BITMAP", "CREATE TABLE v (x BITMAP) WITH ('connector' = 'values')", "Type BITMAP is not supported"),
        (
            "VECTOR_SEARCH",
            "SELECT * FROM t, LATERAL TABLE(VECTOR_SEARCH(TABLE t, DESCRIPTOR(at), k, 1))",
            "There is no table function VECTOR_SEARCH",
        ),
        ("an ML model", "SELECT * FROM ML_PREDICT(TABLE t, MODEL m, DESCRIPTOR(k))", "ML_PREDICT|MODEL"),
        (
            "batch mode: a window on a column that is no time attribute",
            "SELECT window_start FROM HOP(TABLE t, DESCRIPTOR(at), INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)",
            "HOP needs a time attribute",
        ),
    ],
)
def test_what_is_listed_as_missing_is_missing(reason: str, statement: str, refusal: str) -> None:
    """Who builds it finds this red, and takes the programs off the list."""
    assert reason in NOT_PASSED
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables.execute_sql("CREATE TABLE t (k STRING, at TIMESTAMP(3)) WITH ('connector' = 'values')")
    with pytest.raises(SqlError, match=refusal):
        tables.explain_sql(statement) if statement.startswith("SELECT") else tables.execute_sql(statement)
