"""What names mean, which types expressions have, and how errors show the place in the text."""

from __future__ import annotations

import pytest

from penstock.errors import SqlError, SqlValidationError
from tests.unit.table.planning.tables import columns, insert, query


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT id, amount AS n FROM orders", ["id BIGINT", "n INT"]),
        (
            "SELECT o.ts, proc FROM orders AS o",
            ["ts TIMESTAMP(3) *ROWTIME*", "proc TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*"],
        ),
        ("SELECT total FROM orders", ["total DECIMAL(21, 2)"]),
        ("SELECT amount + 1, 'x' FROM orders", ["EXPR$0 INT", "EXPR$1 CHAR(1) NOT NULL"]),
        ("SELECT s.place.city, place.zip AS z FROM shipments s", ["city STRING", "z INT"]),
        ("SELECT CAST(ts AS STRING) AS t FROM orders", ["t STRING"]),
        ("SELECT ts + INTERVAL '1' DAY AS t FROM orders", ["t TIMESTAMP(3)"]),
        ("SELECT * FROM (VALUES (1, 'a'), (2, 'bcd')) AS t(x, y)", ["x INT NOT NULL", "y VARCHAR(3) NOT NULL"]),
        ("WITH a AS (SELECT id FROM orders), b(k) AS (SELECT id FROM a) SELECT * FROM b", ["k BIGINT"]),
        ("SELECT * FROM products", ["product STRING"]),
        ("SELECT id FROM orders UNION ALL SELECT amount FROM orders", ["id BIGINT"]),
        ("SELECT tag FROM shipments CROSS JOIN UNNEST(tags) AS t(tag)", ["tag STRING"]),
        ("SELECT 1", ["EXPR$0 INT NOT NULL"]),
    ],
)
def test_columns_have_flinks_names_and_types(text: str, expected: list[str]) -> None:
    assert columns(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT product, COUNT(*) AS n, SUM(amount) FROM orders GROUP BY product",
            ["product STRING", "n BIGINT NOT NULL", "EXPR$2 INT"],
        ),
        ("SELECT SUM(amount) AS s FROM orders", ["s INT"]),
        ("SELECT product FROM orders GROUP BY product HAVING COUNT(*) > 1", ["product STRING"]),
        (
            "SELECT product, amount, GROUPING(amount) AS g FROM orders GROUP BY ROLLUP(product, amount)",
            ["product STRING", "amount INT", "g BIGINT NOT NULL"],
        ),
        (
            "SELECT window_start, window_time, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), "
            "INTERVAL '5' "
            "MINUTE)) GROUP BY window_start, window_end, window_time",
            ["window_start TIMESTAMP(3) NOT NULL", "window_time TIMESTAMP(3) NOT NULL *ROWTIME*", "n BIGINT NOT NULL"],
        ),
        (
            "SELECT TUMBLE_END(ts, INTERVAL '1' HOUR) AS e, TUMBLE_ROWTIME(ts, INTERVAL '1' HOUR) AS r FROM orders "
            "GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)",
            ["e TIMESTAMP(3) NOT NULL", "r TIMESTAMP(3) NOT NULL *ROWTIME*"],
        ),
        (
            "SELECT ts, COUNT(*) OVER (PARTITION BY product ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS n "
            "FROM orders",
            ["ts TIMESTAMP(3) *ROWTIME*", "n BIGINT NOT NULL"],
        ),
    ],
)  # fmt: skip
def test_groups_and_windows(text: str, expected: list[str]) -> None:
    assert columns(text) == expected


def test_an_outer_join_allows_null_and_a_regular_join_ends_time_attributes() -> None:
    text = "SELECT o.ts, c.id FROM orders o LEFT JOIN customers c ON o.id = c.id"
    assert columns(text) == ["ts TIMESTAMP(3)", "id BIGINT"]


def test_an_interval_join_keeps_time_attributes() -> None:
    text = (
        "SELECT o.ts FROM orders o, shipments s WHERE o.id = s.order_id AND s.ts BETWEEN o.ts AND o.ts + "
        "INTERVAL '1' HOUR"
    )
    assert columns(text) == ["ts TIMESTAMP(3) *ROWTIME*"]


def test_using_merges_columns() -> None:
    assert columns("SELECT * FROM customers JOIN changes USING (id)") == [
        "id BIGINT NOT NULL",
        "name STRING",
        "city STRING",
        "name STRING",
    ]


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("SELECT amout FROM orders", "Did you mean amount?", (1, 8)),
        ("SELECT id\nFROM orders, customers", "ambiguous", (1, 8)),
        ("SELECT id FROM order", "There is no table or view", (1, 16)),
        ("SELECT product, amount FROM orders GROUP BY product", "neither grouped nor aggregated", (1, 17)),
        ("SELECT id FROM orders WHERE amount", "WHERE needs a condition of type BOOLEAN, but this is INT", (1, 29)),
        ("SELECT id FROM orders WHERE tags", "There is no column 'tags'", (1, 29)),
        (
            "SELECT * FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(amount), INTERVAL '1' DAY))",
            "needs a time attribute", None,
        ),
        ("SELECT place.street FROM shipments", "There are: city, zip", (1, 8)),
        ("SELECT id FROM orders UNION ALL SELECT id, product FROM orders", "the same number of columns", None),
        ("SELECT o.* FROM orders", "There is no table 'o' in FROM", (1, 8)),
        (
            "SELECT * FROM orders o JOIN customers FOR SYSTEM_TIME AS OF o.ts AS c ON o.id = c.id",
            "no row time attribute can be found", None,
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_shown_in_the_text(text: str, message: str, caret: tuple[int, int] | None) -> None:
    with pytest.raises(SqlValidationError) as raised:
        query(text)
    assert message in str(raised.value)
    if caret is not None:
        assert (raised.value.line, raised.value.column) == caret
        assert "^" in str(raised.value)


def test_an_insert_must_fit_its_table() -> None:
    with pytest.raises(SqlError, match="has 1 columns"):
        insert("INSERT INTO log SELECT id FROM orders")
    with pytest.raises(SqlError, match=r"column 'a' is BIGINT, and the query gives STRING"):
        insert("INSERT INTO log SELECT product, product FROM orders")
    with pytest.raises(SqlError, match="there is no column 'c' to write to"):
        insert("INSERT INTO log (a, c) SELECT id, product FROM orders")


def test_columns_that_are_not_named_get_null() -> None:
    sink = insert("INSERT INTO log (b) SELECT product FROM orders").sink
    assert [str(each) for each in sink.input.types] == ["BIGINT", "STRING"]
