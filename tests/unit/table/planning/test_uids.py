"""Uids of operators come from the plan; EXPLAIN shows the plans."""

from __future__ import annotations

from penstock.datastream import StreamExecutionEnvironment
from penstock.table.planner import explain
from tests.unit.table.planning.tables import insert, query

COUNTS = "INSERT INTO counts SELECT product, COUNT(*) FROM orders GROUP BY product"


def uids(*texts: str) -> list[str | None]:
    environment = StreamExecutionEnvironment.in_process()
    for text in texts:
        insert(text).translate(environment)
    return [node.uid for node in environment.graph.nodes.values() if node.uid and node.uid.startswith("table-")]


def test_the_same_query_has_the_same_uids() -> None:
    assert uids(COUNTS) == uids(COUNTS)
    assert len(uids(COUNTS)) >= 2


def test_another_query_has_others_where_it_differs() -> None:
    other = COUNTS.replace("COUNT(*)", "MAX(id)")
    same = set(uids(COUNTS)) & set(uids(other))
    assert not any("aggregate" in str(each) for each in same)


def test_the_same_query_twice_in_a_job_has_different_uids() -> None:
    twice = uids(COUNTS, COUNTS)
    assert len(twice) == len(set(twice)) == 2 * len(uids(COUNTS))


def test_explain_shows_the_three_plans() -> None:
    text = explain([insert(COUNTS)], StreamExecutionEnvironment.in_process())
    for heading in ("== Abstract Syntax Tree ==", "== Optimized Plan ==", "== Penstock Graph =="):
        assert heading in text
    assert "changelogMode=[I,UA]" in text


def test_explain_of_a_query_needs_no_environment() -> None:
    assert "Scan(table=[default_catalog.default_database.orders]" in explain([query("SELECT id FROM orders")])
