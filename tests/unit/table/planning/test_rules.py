"""What the rules make of plans."""

from __future__ import annotations

from penstock.table.algebra.nodes import Aggregate, PlanNode
from tests.unit.table.planning.tables import plan, query


def test_a_filter_goes_to_the_side_it_is_about() -> None:
    text = "SELECT o.id FROM orders o JOIN changes c ON o.id = c.id WHERE o.amount > 5 AND c.name = 'x'"
    shown = plan(text).splitlines()
    join = next(index for index, line in enumerate(shown) if "Join(" in line)
    assert not any("Filter" in line for line in shown[:join])
    assert sum("Filter" in line for line in shown[join:]) == 2


def test_a_condition_on_both_sides_becomes_the_key_of_a_join() -> None:
    assert "Join(joinType=[InnerJoin], where=[id = id]" in plan(
        "SELECT o.id FROM orders o, changes c WHERE o.id = c.id"
    )


def test_rows_with_null_that_are_thrown_away_make_an_inner_join() -> None:
    assert "InnerJoin" in plan("SELECT o.id FROM orders o LEFT JOIN changes c ON o.id = c.id WHERE c.name = 'x'")
    assert "LeftOuterJoin" in plan("SELECT o.id FROM orders o LEFT JOIN changes c ON o.id = c.id WHERE c.name IS NULL")


def test_columns_that_nobody_reads_are_not_read() -> None:
    assert "fields=[product, ts]" in plan("SELECT product FROM orders")


def test_in_and_exists_are_semi_and_anti_joins() -> None:
    assert "LeftSemiJoin" in plan("SELECT id FROM orders WHERE id IN (SELECT id FROM changes)")
    text = "SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM changes c WHERE c.id = o.id AND c.name = 'x')"
    assert "Join(joinType=[LeftAntiJoin], where=[id = $c1]" in plan(text)


def test_a_scalar_subquery_is_a_join_with_one_row() -> None:
    text = "SELECT id FROM orders WHERE amount > (SELECT AVG(amount) FROM orders)"
    assert "where=[true]" in plan(text) or "InnerJoin" in plan(text)


def test_a_correlated_aggregate_is_joined_by_its_key() -> None:
    text = "SELECT id, (SELECT MAX(name) FROM changes c WHERE c.id = o.id) AS m FROM orders o"
    assert "Join(joinType=[LeftOuterJoin], where=[id = $c1]" in plan(text)
    assert "GroupAggregate(groupBy=[$c1], select=[MAX($f0)" in plan(text) or "groupBy=[" in plan(text)


def test_an_interval_is_recognised() -> None:
    text = (
        "SELECT o.id FROM orders o JOIN shipments s ON o.id = s.order_id AND s.ts >= o.ts "
        "AND s.ts < o.ts + INTERVAL '1' HOUR"
    )
    assert "IntervalJoin" in plan(text)
    assert "lower=-3599999, upper=0" in plan(text)


def test_the_first_rows_are_a_rank_and_the_first_row_by_time_a_deduplication() -> None:
    inner = "SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY {} ) AS n FROM orders"
    ranked = "SELECT id FROM (" + inner.format("amount DESC") + ") WHERE n <= 3"
    assert "Rank(rankFunction=[ROW_NUMBER], rankRange=[rankStart=1, rankEnd=3], partitionBy=[product]" in plan(ranked)
    first = "SELECT id FROM (" + inner.format("ts") + ") WHERE n = 1"
    assert "Deduplicate(keep=[FirstRow], key=[product], order=[ROWTIME]" in plan(first)


def test_a_window_function_below_its_aggregate_is_fused() -> None:
    text = (
        "SELECT product, COUNT(*) FROM TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL "
        "'5' MINUTE)) "
        "GROUP BY product, window_start, window_end"
    )
    assert "WindowTableFunction" not in plan(text)
    assert "HOP(time_col=[ts]" in plan(text)


def test_what_with_names_is_planned_once() -> None:
    planned = query(
        "WITH t AS (SELECT id, COUNT(*) AS n FROM orders GROUP BY id) SELECT a.n FROM t a JOIN t b ON a.id = b.id"
    )
    assert len({id(each) for each in aggregates(planned.inferred.root)}) == 1


def aggregates(node: PlanNode) -> list[PlanNode]:
    own: list[PlanNode] = [node] if isinstance(node, Aggregate) else []
    return own + [each for source in node.inputs for each in aggregates(source)]
