"""Table: each operation against its changelog, the names of columns, windows, joins, refusals."""

from __future__ import annotations

import datetime

import pytest

from penstock.errors import SqlValidationError
from penstock.table import DataTypes, Schema, StreamTableEnvironment, Table, TableDescriptor
from penstock.table.connectors import values
from penstock.table.expressions import (
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    UNBOUNDED_ROW,
    col,
    concat,
    lit,
    range_,
    row,
    row_interval,
    with_columns,
    without_columns,
)
from penstock.table.window import Over, Session, Slide, Tumble
from tests.unit.table.api.tables import changes, names, new_tables


@pytest.fixture
def tables() -> StreamTableEnvironment:
    return new_tables()


@pytest.fixture
def t(tables: StreamTableEnvironment) -> Table:
    return tables.from_elements([(1, "Hi", 2.5), (2, "Hello", None), (1, "x", 3.0)], ["a", "b", "c"])


@pytest.fixture
def ids(tables: StreamTableEnvironment) -> Table:
    return tables.from_elements([(1, "one"), (3, "three")], ["id", "name"])


def timed(tables: StreamTableEnvironment) -> Table:
    rows = [("a", 1, 1), ("a", 2, 5), ("b", 4, 7), ("a", 8, 12), ("a", 16, 31)]
    given = [(key, n, datetime.datetime(2024, 1, 1, 0, 0, second)) for key, n, second in rows]
    schema = Schema.new_builder().column("k", "STRING").column("n", "INT").column("ts", "TIMESTAMP(3)")
    schema = schema.watermark("ts", "ts").column_by_expression("p", "PROCTIME()")
    descriptor = TableDescriptor.for_connector("values").schema(schema.build())
    return tables.from_descriptor(descriptor.option("data-id", values.register(given)).build())


# ---- columns ----


def test_select_names_columns_as_flink_does(t: Table) -> None:
    made = t.select(t.a + 1, t.b, t.a.cast(DataTypes.INT()), row(t.a, t.b).alias("r"))
    assert names(made) == ["_c0", "b", "a-INT", "r"]
    assert names(made.select(col("r").get(0), col("r").flatten)) == ["r$_0", "r$f0", "r$f1"]
    assert changes(made.select(col("_c0"), col("b")))[:2] == ["+I(2, 'Hi')", "+I(3, 'Hello')"]


def test_columns_are_added_replaced_renamed_and_dropped(t: Table) -> None:
    assert names(t.add_columns(concat(t.b, "!").alias("d"))) == ["a", "b", "c", "d"]
    replaced = t.add_or_replace_columns((t.a * 10).alias("a"), lit(1).alias("e"))
    assert changes(replaced)[0] == "+I(10, 'Hi', 2.5, 1)"
    assert names(t.rename_columns(t.a.alias("x"))) == ["x", "b", "c"]
    assert names(t.drop_columns(t.b, t.c)) == ["a"]
    assert names(t.alias("x", "y")) == ["x", "y", "c"]


def test_columns_are_chosen_by_place_and_range(t: Table) -> None:
    assert names(t.select(with_columns(range_("a", "b")))) == ["a", "b"]
    assert names(t.select(with_columns(range_(2, 3)))) == ["b", "c"]
    assert names(t.select(without_columns(t.b))) == ["a", "c"]
    assert names(t.select(col("*"))) == ["a", "b", "c"]


def test_two_columns_of_one_name_are_refused(t: Table) -> None:
    with pytest.raises(SqlValidationError, match="Ambiguous column name: a"):
        t.select(t.a, t.b.alias("a"))
    with pytest.raises(SqlValidationError, match="drop_columns: there is no column 'z'"):
        t.drop_columns(col("z"))
    with pytest.raises(SqlValidationError, match="4 names are given for the 3 columns"):
        t.alias("w", "x", "y", "z")


# ---- rows ----


def test_filter_and_distinct(t: Table) -> None:
    assert changes(t.where((t.a == 1) & (t.c > 2.6))) == ["+I(1, 'x', 3.0)"]
    assert changes(t.select(t.a).distinct()) == ["+I(1)", "+I(2)"]


def test_order_with_fetch_and_offset(tables: StreamTableEnvironment) -> None:
    t = tables.from_elements([(3,), (1,), (2,)], ["a"])
    assert changes(t.order_by(t.a).fetch(1)) == ["+I(3)", "-U(3)", "+U(1)"]
    assert changes(t.limit(1, 1)) == ["+I(1)"]
    assert t.order_by(t.a.desc).offset(1).fetch(1).to_pandas()["a"].tolist() == [2]


def test_in_batch_mode_tables_are_final_and_in_order() -> None:
    tables = new_tables(is_batch=True)
    t = tables.from_elements([(3, "x"), (1, "y"), (2, "x")], ["a", "b"])
    assert changes(t.group_by(t.b).select(t.b, t.a.sum).order_by(col("b"))) == ["+I('x', 5)", "+I('y', 1)"]
    assert changes(t.select(t.a).order_by(col("a").desc).fetch(2)) == ["+I(3)", "+I(2)"]


# ---- groups ----


def test_groups_have_keys_and_aggregates(t: Table) -> None:
    made = t.group_by(t.a).select(t.a, t.c.sum.alias("s"), t.b.count.distinct)
    assert names(made) == ["a", "s", "_c2"]
    assert changes(made) == ["+I(1, 2.5, 1)", "+I(2, None, 1)", "-U(1, 2.5, 1)", "+U(1, 5.5, 2)"]


def test_a_key_may_have_a_name_of_its_own(t: Table) -> None:
    made = t.group_by((t.a % 2).alias("odd")).select(col("odd"), lit(1).count.alias("n"))
    assert changes(made)[-1] == "+U(1, 2)"


def test_aggregates_without_groups_and_in_expressions(t: Table) -> None:
    assert changes(t.select(t.a.sum + t.a.max))[-1] == "+U(6)"


def test_a_column_that_is_not_grouped_is_refused(t: Table) -> None:
    with pytest.raises(SqlValidationError, match="neither grouped nor aggregated"):
        t.group_by(t.a).select(t.b)


# ---- windows ----


def test_tumbling_windows_tell_their_edges(tables: StreamTableEnvironment) -> None:
    t = timed(tables)
    window = Tumble.over(lit(10).seconds).on(t.ts).alias("w")
    made = t.window(window).group_by(col("w"), t.k).select(t.k, t.n.sum.alias("s"), col("w").end.alias("e"))
    assert sorted(f"{row[0]}{row[1]}@{row[2]:%S}" for row in made.execute().collect()) == [
        "a16@40",
        "a3@10",
        "a8@20",
        "b4@10",
    ]


def test_the_row_time_of_a_window_is_a_time_attribute(tables: StreamTableEnvironment) -> None:
    t = timed(tables)
    first = t.window(Tumble.over(lit(10).seconds).on(t.ts).alias("w")).group_by(col("w"), t.k)
    narrow = first.select(t.k, t.n.sum.alias("s"), col("w").rowtime.alias("r"))
    wide = narrow.window(Tumble.over(lit(1).minutes).on(col("r")).alias("v")).group_by(col("v"))
    assert changes(wide.select(col("s").max)) == ["+I(16)"]


def test_sliding_and_session_windows(tables: StreamTableEnvironment) -> None:
    t = timed(tables)
    slide = Slide.over(lit(20).seconds).every(lit(10).seconds).on(t.ts).alias("w")
    assert changes(t.window(slide).group_by(col("w")).select(t.n.sum)) == [
        "+I(7)",
        "+I(15)",
        "+I(8)",
        "+I(16)",
        "+I(16)",
    ]
    session = Session.with_gap(lit(10).seconds).on(t.ts).alias("w")
    assert sorted(changes(t.window(session).group_by(col("w"), t.k).select(t.k, t.n.sum))) == [
        "+I('a', 11)",
        "+I('a', 16)",
        "+I('b', 4)",
    ]


def test_windows_of_counted_rows(tables: StreamTableEnvironment) -> None:
    t = timed(tables)
    two = Tumble.over(row_interval(2)).on(t.p).alias("w")
    assert changes(t.window(two).group_by(col("w"), t.k).select(t.k, t.n.sum)) == ["+I('a', 3)", "+I('a', 24)"]
    sliding = Slide.over(row_interval(3)).every(row_interval(1)).on(t.p).alias("w")
    assert changes(t.window(sliding).group_by(col("w"), t.k).select((t.n.sum + 0).alias("s"))) == ["+I(11)", "+I(26)"]
    with pytest.raises(SqlValidationError, match="'n' is neither grouped nor aggregated"):
        t.window(two).group_by(col("w"), t.k).select(t.n)


def test_a_window_must_be_grouped_by(tables: StreamTableEnvironment) -> None:
    t = timed(tables)
    with pytest.raises(SqlValidationError, match=r"group_by\(col\('w'\), ...\)"):
        t.window(Tumble.over(lit(10).seconds).on(t.ts).alias("w")).group_by(t.k)


def test_over_windows(tables: StreamTableEnvironment) -> None:
    t = timed(tables)
    by_key = Over.partition_by(t.k).order_by(t.ts)
    whole = by_key.preceding(UNBOUNDED_RANGE).alias("w")
    assert changes(t.over_window(whole).select(t.k, t.n.sum.over("w").alias("s"))) == [
        "+I('a', 1)",
        "+I('a', 3)",
        "+I('b', 4)",
        "+I('a', 11)",
        "+I('a', 27)",
    ]
    rows = by_key.preceding(row_interval(1)).following(CURRENT_ROW).alias("w")
    assert changes(t.over_window(rows).select(t.n.sum.over(col("w"))))[-1] == "+I(24)"
    time = by_key.preceding(lit(12).seconds).alias("w")
    assert changes(t.over_window(time).select(t.n.count.over("w")))[-2:] == ["+I(3)", "+I(1)"]
    first = Over.order_by(t.ts).preceding(UNBOUNDED_ROW).alias("w")
    assert changes(t.over_window(first).select(t.n.max.over("w"), t.k))[-1] == "+I(16, 'a')"


# ---- two tables ----


def test_joins(t: Table, ids: Table) -> None:
    inner = t.join(ids).where(t.a == ids.id).select(t.b, ids.name)
    assert sorted(changes(inner)) == ["+I('Hi', 'one')", "+I('x', 'one')"]
    assert "+I('three', None)" in changes(ids.left_outer_join(t, t.a == ids.id).select(ids.name, t.b))
    assert "+I('Hello', None)" in changes(t.left_outer_join(ids, t.a == ids.id).select(t.b, ids.name))
    assert "+I(None, 'three')" in changes(t.right_outer_join(ids, t.a == ids.id).select(t.b, ids.name))
    assert len(names(t.full_outer_join(ids, t.a == ids.id))) == 5


def test_a_join_of_equal_names_is_refused(t: Table) -> None:
    with pytest.raises(SqlValidationError, match="Both sides of the join have columns named a, b, c"):
        t.join(t)


def test_a_join_with_a_condition_of_time_behind_it_is_an_interval_join(tables: StreamTableEnvironment) -> None:
    left, right = timed(tables), timed(tables).alias("k2", "n2", "ts2", "p2")
    condition = (left.k == right.k2) & (left.ts < right.ts2) & (left.ts >= right.ts2 - lit(5).seconds)
    made = left.join(right).where(condition).select(left.n, right.n2)
    assert "IntervalJoin" in made.explain()
    assert changes(made) == ["+I(1, 2)"]


def test_set_operations(tables: StreamTableEnvironment) -> None:
    left = tables.from_elements([(1,), (1,), (2,)], ["a"])
    right = tables.from_elements([(1,), (3,)], ["b"])
    assert sorted(changes(left.union_all(right))) == ["+I(1)", "+I(1)", "+I(1)", "+I(2)", "+I(3)"]
    assert sorted(changes(left.union(right))) == ["+I(1)", "+I(2)", "+I(3)"]
    assert changes(left.intersect(right)) == ["+I(1)"]
    assert sorted(left.minus(right).to_pandas()["a"]) == [2]
    assert sorted(changes(left.where(left.a.in_(right)))) == ["+I(1)", "+I(1)"]


# ---- ends ----


def test_tables_are_written_alone_and_together(tables: StreamTableEnvironment, t: Table) -> None:
    values.clear()
    for name in ("x", "y"):
        tables.execute_sql(f"CREATE TABLE {name} (a BIGINT) WITH ('connector' = 'values')")
    t.select(t.a).execute_insert("x").wait()
    pipeline = t.select(t.a * 2).insert_into("y")
    assert pipeline.get_sink_identifier() == "`default_catalog`.`default_database`.`y`"
    tables.create_statement_set().add(pipeline).execute().wait()
    assert values.results("default_catalog.default_database.x") == [(0, 1), (0, 2), (0, 1)]
    assert values.results("default_catalog.default_database.y") == [(0, 2), (0, 4), (0, 2)]


def test_rows_of_a_result_have_names_and_equal_rows_without(t: Table) -> None:
    from penstock.common import Row

    first = next(iter(t.execute().collect()))
    assert first == Row(1, "Hi", 2.5)
    assert Row(1, "Hi", 2.5) == first
    assert first["b"] == first.b == "Hi"
    assert repr(first) == "<Row(1, 'Hi', 2.5)>"
    assert first != Row(2, "Hi", 2.5)


def test_pandas_there_and_back(tables: StreamTableEnvironment) -> None:
    import pandas as pd
    from pandas.testing import assert_frame_equal

    frame = pd.DataFrame({"a": pd.Series([1, 2], dtype="int32"), "b": ["x", None], "c": [1.5, 2.5]})
    table = tables.from_pandas(frame)
    assert str(table.get_resolved_schema()) == "(\n  `a` INT,\n  `b` STRING,\n  `c` DOUBLE\n)"
    assert_frame_equal(table.to_pandas(), frame)


def test_rows_may_be_expressions(tables: StreamTableEnvironment) -> None:
    schema = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.STRING())])
    table = tables.from_elements([row(1, "x"), row(2, "y")], schema)
    assert names(table) == ["a", "b"]
    assert changes(table) == ["+I(1, 'x')", "+I(2, 'y')"]
