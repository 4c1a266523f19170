"""Which kinds of rows each step of a plan puts out, and what sinks refuse."""

from __future__ import annotations

import pytest

from penstock.errors import SqlValidationError
from penstock.table.algebra.nodes import Sink
from tests.unit.table.planning.tables import insert, plan, query


def lines(text: str) -> list[str]:
    """The steps of a plan with their modes, projections apart."""
    found = [
        (line.split("(")[0].strip(" +-:"), line.rsplit("[", 1)[1].rstrip("])")) for line in plan(text).splitlines()
    ]
    return [f"{name} {mode}" for name, mode in found if name != "Project"]


def test_an_aggregate_of_insertions_updates_and_never_deletes() -> None:
    text = "INSERT INTO anything SELECT id, COUNT(*) FROM orders GROUP BY id"
    assert lines(text) == ["Sink NONE", "GroupAggregate I,UB,UA", "WatermarkAssigner I", "Scan I"]


def test_a_sink_with_the_key_of_the_query_gets_no_update_before() -> None:
    text = "INSERT INTO counts SELECT product, COUNT(*) FROM orders GROUP BY product"
    assert lines(text)[1] == "GroupAggregate I,UA"


def test_upserts_are_normalized_where_the_rows_before_are_needed() -> None:
    text = "SELECT name, COUNT(*) FROM customers GROUP BY name"
    assert lines(text)[-2:] == ["ChangelogNormalize I,UB,UA,D", "Scan I,UA,D"]


def test_upserts_go_as_they_are_to_a_sink_with_their_key() -> None:
    assert lines("INSERT INTO people SELECT id, name FROM customers") == ["Sink NONE", "Scan I,UA,D"]


def test_a_filter_on_other_columns_needs_both_rows_of_an_update() -> None:
    text = (
        "INSERT INTO counts SELECT p, n FROM (SELECT product AS p, COUNT(*) AS n FROM orders GROUP BY "
        "product) WHERE n > 2"
    )
    assert "GroupAggregate(groupBy=[product], select=[COUNT(*) AS EXPR$0], changelogMode=[I,UB,UA])" in plan(text)


def test_a_filter_on_the_key_does_not() -> None:
    text = (
        "INSERT INTO counts SELECT p, n FROM (SELECT product AS p, COUNT(*) AS n FROM orders GROUP BY product) "
        "WHERE p <> 'x'"
    )
    assert "changelogMode=[I,UB,UA]" not in plan(text)


def test_an_outer_join_may_delete() -> None:
    text = "SELECT * FROM orders o LEFT JOIN changes c ON o.id = c.id"
    assert lines(text)[0].split()[1] == "I,UB,UA,D"


def test_update_before_is_dropped_at_the_source_where_nobody_wants_it() -> None:
    text = "INSERT INTO people SELECT id, name FROM changes"
    assert lines(text) == ["Sink NONE", "DropUpdateBefore I,UA,D", "Scan I,UB,UA,D"]


def test_a_changing_query_is_refused_by_a_sink_that_only_appends() -> None:
    with pytest.raises(SqlValidationError) as raised:
        plan("INSERT INTO log SELECT id, MAX(product) FROM orders GROUP BY id")
    text = str(raised.value)
    assert "cannot be written to default_catalog.default_database.log" in text
    assert "GroupAggregate" in text
    assert "windows" in text


def test_over_keeps_insertions() -> None:
    text = (
        "SELECT COUNT(*) OVER (PARTITION BY id ORDER BY ts) FROM (SELECT o.id, o.ts FROM orders o UNION ALL "
        "SELECT id, ts FROM shipments)"
    )
    assert lines(text)[:2] == ["OverAggregate I", "Union I"]


def test_a_step_that_needs_insertions_refuses_updates() -> None:
    text = "SELECT a.ts FROM (SELECT id, ts FROM readings ORDER BY ts) a"
    with pytest.raises(SqlValidationError, match="takes rows that are only inserted, but its input updates"):
        plan(text)


def test_another_key_than_that_of_the_sink_needs_on_conflict() -> None:
    text = "INSERT INTO counts SELECT UPPER(product), COUNT(*) FROM orders GROUP BY product"
    with pytest.raises(SqlValidationError, match="ON CONFLICT DO DEDUPLICATE"):
        plan(text)
    root = insert(text + " ON CONFLICT DO DEDUPLICATE").inferred.root
    assert isinstance(root, Sink)
    assert root.materializes


def test_windows_are_final() -> None:
    text = (
        "INSERT INTO log SELECT id, MAX(product) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' HOUR)) "
        "GROUP BY id, window_start, window_end"
    )
    assert "WindowAggregate I" in lines(text)


def test_the_kinds_and_keys_of_a_query() -> None:
    planned = query("SELECT product, COUNT(*) FROM orders GROUP BY product")
    assert planned.changelog_kinds == {0, 1, 2}
    assert planned.upsert_keys == {frozenset([0])}
