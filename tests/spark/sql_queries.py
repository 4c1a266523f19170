"""Queries that Flink SQL and Spark SQL both can say, and the random tables they are asked of.

A query is one text for both where both spell it the same. Where they do not, `spark` has Spark's text. Results must not
depend on the order in which rows come, so every order is a total one. Left out, because they rightly differ: an
aggregate without keys over no rows, of which a stream says nothing before a row comes, and IN as a value that is
unknown, which Spark takes for false.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

START = datetime.datetime(2024, 5, 6, 7, 8, 0)


@dataclass(frozen=True)
class Query:
    """A query of a family, for both."""

    family: str
    flink: str
    spark: str = ""

    @property
    def for_spark(self) -> str:
        """What Spark is asked."""
        return self.spark or self.flink


def family(name: str, *queries: str | tuple[str, str]) -> list[Query]:
    """The queries of a family: one text, or one for each side."""
    return [Query(name, *each) if isinstance(each, tuple) else Query(name, each) for each in queries]


# ---- tables ----

DISORDER = "INTERVAL '2' SECOND"  # at most, of `orders`


def orders(chance: Random, count: int) -> list[tuple[Any, ...]]:
    """Rows that are out of order by a few seconds: id, user, kind, amount, price, at."""
    rows = []
    for id, millis in enumerate(chance.sample(range(1000), count)):  # no two at the same time
        at = START + datetime.timedelta(seconds=3 * id - chance.randrange(5), milliseconds=millis)
        user = None if chance.random() < 0.1 else f"u{chance.randrange(4)}"
        kind = None if chance.random() < 0.1 else chance.randrange(3)
        amount = None if chance.random() < 0.1 else chance.randrange(-3, 9)
        rows.append((id, user, kind, amount, Decimal(chance.randrange(1000)) / 100, at))
    return rows


def people(chance: Random, count: int) -> list[tuple[Any, ...]]:
    """Rows with names that come twice, or have no order, or are missing: name, city, age."""
    return [
        (
            None if chance.random() < 0.1 else f"u{chance.randrange(6)}",
            chance.choice(["Oslo", "Rome", None]),
            chance.randrange(20, 25),
        )
        for _ in range(count)
    ]


def stock_changes(chance: Random, count: int) -> list[tuple[str, int, int]]:
    """Whole changes of a table with a key, which may come, change, go and return: kind of row, kind, level."""
    held: dict[int, int] = {}
    changes: list[tuple[str, int, int]] = []
    for _ in range(count):
        key, level = chance.randrange(5), chance.randrange(4)
        if key not in held:
            changes.append(("+I", key, level))
            held[key] = level
        elif chance.random() < 0.3:
            changes.append(("-D", key, held.pop(key)))
        else:
            changes += [("-U", key, held[key]), ("+U", key, level)]
            held[key] = level
    return changes


def held(changes: Sequence[tuple[str, int, int]]) -> list[tuple[int, int]]:
    """The table that changes leave."""
    rows: dict[int, int] = {}
    for kind, key, level in changes:
        if kind in ("+I", "+U"):
            rows[key] = level
        else:
            del rows[key]
    return sorted(rows.items())


# ---- queries ----

ROWS = family(
    "projection and filter",
    "SELECT id, user_name, amount + 1, price * 2 FROM orders WHERE amount > 2",
    "SELECT id, CASE WHEN amount > 3 THEN 'many' WHEN amount < 0 THEN 'debt' ELSE 'few' END FROM orders",
    "SELECT id, COALESCE(user_name, 'nobody') || '-' || CAST(id AS STRING) FROM orders WHERE id BETWEEN 3 AND 20",
    "SELECT id FROM orders WHERE user_name IN ('u1', 'u2') AND NOT (kind = 1 OR amount IS NULL)",
    "SELECT id FROM orders WHERE user_name LIKE '%1' OR kind IS NULL",
    "SELECT id, UPPER(user_name), CHAR_LENGTH(user_name), SUBSTRING(user_name, 2, 1), ABS(amount) FROM orders",
    "SELECT id, amount IS DISTINCT FROM kind, NULLIF(kind, 1), MOD(amount, 3) FROM orders",
    "SELECT id, CAST(price AS INT), ROUND(price, 1), FLOOR(price), CEIL(price) FROM orders",
    "SELECT id, EXTRACT(HOUR FROM at), EXTRACT(MINUTE FROM at), EXTRACT(DAY FROM at) FROM orders",
    "SELECT DISTINCT user_name, kind FROM orders",
    "SELECT x, y FROM (VALUES (1, 'a'), (2, 'b'), (3, CAST(NULL AS STRING))) AS t (x, y) WHERE x > 1",
    "WITH big AS (SELECT * FROM orders WHERE amount > 1), few AS (SELECT id FROM big WHERE kind = 1) SELECT * FROM few",
    "SELECT kind, level * 2 FROM stock WHERE level > 0",
)

GROUPS = family(
    "GROUP BY",
    "SELECT user_name, COUNT(*), COUNT(amount), SUM(amount), MIN(amount), MAX(price) FROM orders GROUP BY user_name",
    "SELECT user_name, kind, AVG(CAST(amount AS DOUBLE)) FROM orders GROUP BY user_name, kind",
    "SELECT COUNT(*), SUM(amount), MIN(user_name) FROM orders",
    "SELECT kind, COUNT(*) FROM orders WHERE id < 0 GROUP BY kind",
    "SELECT amount + 1, COUNT(*) FROM orders GROUP BY amount + 1",
    "SELECT user_name, SUM(price) FROM orders GROUP BY user_name HAVING COUNT(*) > 4 AND MIN(amount) < 2",
    "SELECT user_name FROM orders GROUP BY user_name HAVING SUM(amount) > 5",
    "SELECT c, COUNT(*), SUM(kind) FROM (SELECT kind, COUNT(*) AS c FROM orders GROUP BY kind) GROUP BY c",
    "SELECT MAX(s) - MIN(s) FROM (SELECT user_name, SUM(amount) AS s FROM orders GROUP BY user_name)",
    "SELECT level, COUNT(*), SUM(kind), MIN(kind), MAX(kind) FROM stock GROUP BY level",
    "SELECT COUNT(*), SUM(level), MIN(level), MAX(level), AVG(CAST(level AS DOUBLE)) FROM stock",
    "SELECT kind, STDDEV_POP(CAST(amount AS DOUBLE)), VAR_SAMP(CAST(amount AS DOUBLE)) FROM orders GROUP BY kind",
)

DISTINCT = family(
    "DISTINCT and FILTER",
    "SELECT kind, COUNT(DISTINCT user_name), SUM(DISTINCT amount) FROM orders GROUP BY kind",
    "SELECT COUNT(DISTINCT user_name), COUNT(DISTINCT amount), COUNT(*) FROM orders",
    "SELECT kind, COUNT(*) FILTER (WHERE amount > 2), SUM(amount) FILTER (WHERE user_name = 'u1') FROM orders "
    "GROUP BY kind",
    "SELECT kind, COUNT(DISTINCT user_name) FILTER (WHERE amount > 2), COUNT(DISTINCT user_name) FROM orders "
    "GROUP BY kind",
    "SELECT COUNT(DISTINCT level), COUNT(*) FILTER (WHERE level = 1) FROM stock",
    "SELECT COUNT(DISTINCT c) FROM (SELECT user_name, COUNT(*) AS c FROM orders GROUP BY user_name)",
    "SELECT user_name, COUNT(DISTINCT kind, amount) FROM orders GROUP BY user_name",
)

SETS_OF_KEYS = family(
    "GROUPING SETS",
    "SELECT user_name, kind, COUNT(*), SUM(amount) FROM orders GROUP BY GROUPING SETS ((user_name), (kind), ())",
    "SELECT user_name, kind, COUNT(*) FROM orders GROUP BY ROLLUP (user_name, kind)",
    "SELECT user_name, kind, COUNT(DISTINCT amount) FROM orders GROUP BY CUBE (user_name, kind)",
    "SELECT user_name, kind, GROUPING(user_name), GROUPING(kind), COUNT(*) FROM orders "
    "GROUP BY ROLLUP (user_name, kind)",
    "SELECT user_name, kind, GROUPING_ID(user_name, kind), SUM(price) FROM orders GROUP BY CUBE (user_name, kind)",
    "SELECT user_name, kind, COUNT(*) FROM orders GROUP BY ROLLUP (user_name, kind) HAVING COUNT(*) > 3",
    "SELECT level, COUNT(*) FROM stock GROUP BY GROUPING SETS ((level), ())",
)

SETS_OF_ROWS = family(
    "set operations",
    "SELECT user_name FROM orders UNION ALL SELECT name FROM people",
    "SELECT user_name FROM orders UNION SELECT name FROM people",
    "SELECT user_name FROM orders INTERSECT SELECT name FROM people",
    "SELECT user_name FROM orders EXCEPT SELECT name FROM people",
    "SELECT user_name FROM orders INTERSECT ALL SELECT name FROM people",
    "SELECT user_name FROM orders EXCEPT ALL SELECT name FROM people",
    "SELECT kind FROM orders EXCEPT SELECT level FROM stock",
    "SELECT level FROM stock INTERSECT SELECT kind FROM orders",
    "SELECT level FROM stock UNION SELECT kind FROM stock",
    "SELECT level FROM stock EXCEPT ALL SELECT kind FROM orders",
    "SELECT n, COUNT(*) FROM (SELECT user_name AS n FROM orders UNION ALL SELECT name FROM people) GROUP BY n",
)

JOINS = family(
    "joins",
    "SELECT id, name, city FROM orders JOIN people ON user_name = name",
    "SELECT id, name, city FROM orders LEFT JOIN people ON user_name = name",
    "SELECT id, name, city FROM orders RIGHT JOIN people ON user_name = name",
    "SELECT id, name, city FROM orders FULL JOIN people ON user_name = name",
    "SELECT id, age FROM orders JOIN people ON user_name = name AND amount + 20 > age",
    "SELECT id, age FROM orders LEFT JOIN people ON user_name = name AND amount + 20 > age",
    "SELECT id, age FROM orders FULL JOIN people ON user_name = name AND amount + 20 > age AND age > 21",
    "SELECT a.id, b.id FROM orders a JOIN orders b ON a.user_name = b.user_name AND a.id < b.id WHERE a.kind = 1",
    "SELECT id, level FROM orders CROSS JOIN stock WHERE id < 4",
    "SELECT id, level FROM orders JOIN stock ON amount > level WHERE id < 12",
    "SELECT id, level FROM orders LEFT JOIN stock USING (kind)",
    "SELECT kind, id, level FROM orders FULL JOIN stock USING (kind)",
    "SELECT id, kind, level FROM orders NATURAL JOIN stock",
    "SELECT o.id, s.level FROM orders o LEFT JOIN stock s ON o.kind = s.kind AND s.level > 1",
    "SELECT s.kind, o.id FROM stock s LEFT JOIN orders o ON o.kind = s.kind AND o.amount > s.level",
    "SELECT s.level, COUNT(*), SUM(o.amount) FROM orders o JOIN stock s ON o.kind = s.kind GROUP BY s.level",
    "SELECT s.level, COUNT(o.id) FROM stock s LEFT JOIN orders o ON o.kind = s.kind GROUP BY s.level",
    """SELECT a.user_name, a.c, b.m FROM (SELECT user_name, COUNT(*) AS c FROM orders GROUP BY user_name) a
       JOIN (SELECT name, MAX(age) AS m FROM people GROUP BY name) b ON a.user_name = b.name""",
    """SELECT a.c, b.m FROM (SELECT user_name, COUNT(*) AS c FROM orders GROUP BY user_name) a
       FULL JOIN (SELECT name, MAX(age) AS m FROM people GROUP BY name) b ON a.user_name = b.name AND b.m > 22""",
    "SELECT id, level, age FROM orders o JOIN stock s ON o.kind = s.kind JOIN people p ON p.name = o.user_name",
    "SELECT id, level, age FROM orders o LEFT JOIN stock s ON o.kind = s.kind "
    "LEFT JOIN people p ON p.name = o.user_name",
    "SELECT o.id, p.age FROM orders o JOIN people p ON o.user_name IS NOT DISTINCT FROM p.name",
)

SUBQUERIES = family(
    "subqueries",
    "SELECT id FROM orders WHERE user_name IN (SELECT name FROM people WHERE age > 21)",
    "SELECT id FROM orders WHERE user_name NOT IN (SELECT name FROM people WHERE age > 21 AND name IS NOT NULL)",
    "SELECT id FROM orders WHERE user_name NOT IN (SELECT name FROM people)",
    "SELECT id FROM orders WHERE user_name NOT IN (SELECT name FROM people WHERE age > 100)",
    "SELECT id FROM orders WHERE kind IN (SELECT level FROM stock)",
    "SELECT id FROM orders WHERE kind NOT IN (SELECT level FROM stock)",
    "SELECT id FROM orders o WHERE EXISTS "
    "(SELECT 1 FROM people p WHERE p.name = o.user_name AND p.age > o.amount + 18)",
    "SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM people p WHERE p.name = o.user_name)",
    "SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM stock s WHERE s.kind = o.kind AND s.level > 1)",
    "SELECT id FROM orders WHERE EXISTS (SELECT * FROM stock WHERE level > 2)",
    "SELECT id FROM orders WHERE NOT EXISTS (SELECT * FROM stock WHERE level > 2)",
    "SELECT id FROM orders WHERE (user_name, kind) IN (SELECT name, age - 21 FROM people)",
    "SELECT id FROM orders WHERE amount > (SELECT AVG(CAST(level AS DOUBLE)) FROM stock)",
    "SELECT id FROM orders o WHERE amount >= (SELECT MAX(amount) FROM orders i WHERE i.user_name = o.user_name)",
    "SELECT id, (SELECT MAX(age) FROM people WHERE name = user_name) FROM orders",
    "SELECT id, (SELECT COUNT(*) FROM people WHERE name = user_name) FROM orders",
    "SELECT id, amount - (SELECT MIN(level) FROM stock) FROM orders",
    "SELECT id FROM orders WHERE kind = 1 OR user_name IN (SELECT name FROM people WHERE age > 21)",
    "SELECT id FROM orders WHERE kind = 1 OR user_name NOT IN (SELECT name FROM people)",
    "SELECT id FROM orders WHERE kind = 1 OR user_name NOT IN (SELECT name FROM people WHERE name IS NOT NULL)",
    "SELECT id FROM orders o WHERE kind = 1 OR EXISTS (SELECT 1 FROM people p WHERE p.name = o.user_name)",
    "SELECT id, CASE WHEN kind IN (SELECT level FROM stock) THEN 'in' ELSE 'out' END FROM orders",
    "SELECT id, (user_name IN (SELECT name FROM people)) IS TRUE FROM orders",
    "SELECT id, EXISTS (SELECT 1 FROM stock WHERE level = 3) FROM orders",
    "SELECT user_name, COUNT(*) FROM orders GROUP BY user_name HAVING COUNT(*) > (SELECT COUNT(*) FROM stock)",
    "SELECT user_name, COUNT(*) FROM orders GROUP BY user_name HAVING user_name IN (SELECT name FROM people)",
    "SELECT name FROM people WHERE name IN (SELECT user_name FROM orders GROUP BY user_name HAVING COUNT(*) > 6)",
    "SELECT COUNT(*) FROM orders WHERE user_name IN (SELECT name FROM people)",
    (
        "SELECT user_name, (SELECT MAX(age) FROM people WHERE name = user_name) FROM orders GROUP BY user_name",
        "SELECT u, (SELECT MAX(age) FROM people WHERE name = u) FROM (SELECT DISTINCT user_name AS u FROM orders)",
    ),
    "SELECT p.age, t.n, t.m FROM people p, LATERAL "
    "(SELECT COUNT(*) AS n, MAX(amount) AS m FROM orders o WHERE o.user_name = p.name) t",
    "SELECT kind, COUNT(*) FROM orders o GROUP BY kind HAVING EXISTS (SELECT 1 FROM stock s WHERE s.kind = o.kind)",
    "SELECT id FROM orders o WHERE amount IN (SELECT level FROM stock s WHERE s.kind = o.kind) OR kind = 2",
    "SELECT id, NOT EXISTS (SELECT 1 FROM people p WHERE p.name = o.user_name AND p.age > 22) FROM orders o",
    "SELECT id FROM orders WHERE CASE WHEN user_name IN (SELECT name FROM people) THEN 1 ELSE 2 END "
    "NOT IN (SELECT level FROM stock)",
    "SELECT COUNT(*), SUM(CASE WHEN user_name IN (SELECT name FROM people) THEN 1 ELSE 0 END) FROM orders",
    "SELECT p.age, t.m FROM people p, LATERAL (SELECT MAX(amount) AS m FROM orders o WHERE o.user_name = p.name) t",
)


def windowed(call: str, window: str, keys: str = "", results: str = "COUNT(*), SUM(amount)") -> tuple[str, str]:
    """An aggregate of windows, as a window table function and as Spark's function."""
    key = f"{keys}, " if keys else ""
    flink = f"SELECT window_start, window_end, {key}{results} FROM TABLE({call}) GROUP BY {key}window_start, window_end"
    return flink, f"SELECT w.start, w.end, {key}{results} FROM (SELECT *, {window} AS w FROM orders) GROUP BY {key}w"


TUMBLE = "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '10' SECOND)"
HOP = "HOP(TABLE orders, DESCRIPTOR(at), INTERVAL '5' SECOND, INTERVAL '15' SECOND)"
CUMULATE = "CUMULATE(TABLE orders, DESCRIPTOR(at), INTERVAL '10' SECOND, INTERVAL '30' SECOND)"
PANES = """(SELECT t.*, struct(p.start AS start, p.start + make_dt_interval(0, 0, 0, 10 * n) AS end) AS w
            FROM (SELECT *, window(at, '30 seconds') AS p FROM orders) t LATERAL VIEW explode(array(1, 2, 3)) AS n
            WHERE at < p.start + make_dt_interval(0, 0, 0, 10 * n))"""


def cumulated(keys: str, results: str) -> tuple[str, str]:
    """A CUMULATE; Spark has none, but panes can be made by hand."""
    flink, _ = windowed(CUMULATE, "", keys, results)
    key = f"{keys}, " if keys else ""
    return flink, f"SELECT w.start, w.end, {key}{results} FROM {PANES} GROUP BY {key}w"


WINDOWS = family(
    "windows",
    windowed(TUMBLE, "window(at, '10 seconds')"),
    windowed(TUMBLE, "window(at, '10 seconds')", "user_name", "COUNT(DISTINCT kind), MAX(price), MIN(amount)"),
    windowed(TUMBLE, "window(at, '10 seconds')", "kind", "COUNT(*) FILTER (WHERE amount > 1), SUM(DISTINCT amount)"),
    windowed(
        "TUMBLE(TABLE orders, DESCRIPTOR(at), INTERVAL '10' SECOND, INTERVAL '3' SECOND)",
        "window(at, '10 seconds', '10 seconds', '3 seconds')",
    ),
    windowed(HOP, "window(at, '15 seconds', '5 seconds')"),
    windowed(HOP, "window(at, '15 seconds', '5 seconds')", "user_name", "COUNT(*), AVG(CAST(amount AS DOUBLE))"),
    cumulated("", "COUNT(*), SUM(amount)"),
    cumulated("user_name", "COUNT(DISTINCT kind), MAX(amount)"),
    windowed(
        "SESSION(TABLE orders PARTITION BY user_name, DESCRIPTOR(at), INTERVAL '8' SECOND)",
        "session_window(at, '8 seconds')",
        "user_name",
    ),
    windowed("SESSION(TABLE orders, DESCRIPTOR(at), INTERVAL '4' SECOND)", "session_window(at, '4 seconds')"),
    (
        """SELECT TUMBLE_START(at, INTERVAL '10' SECOND), TUMBLE_END(at, INTERVAL '10' SECOND), user_name, COUNT(*)
           FROM orders GROUP BY user_name, TUMBLE(at, INTERVAL '10' SECOND)""",
        "SELECT w.start, w.end, user_name, COUNT(*) FROM (SELECT *, window(at, '10 seconds') AS w FROM orders) "
        "GROUP BY user_name, w",
    ),
    (
        """SELECT SESSION_START(at, INTERVAL '8' SECOND), kind, SUM(amount)
           FROM orders GROUP BY kind, SESSION(at, INTERVAL '8' SECOND)""",
        "SELECT w.start, kind, SUM(amount) FROM (SELECT *, session_window(at, '8 seconds') AS w FROM orders) "
        "GROUP BY kind, w",
    ),
    (
        f"SELECT id, window_start, window_end FROM TABLE({HOP})",
        "SELECT id, w.start, w.end FROM (SELECT *, window(at, '15 seconds', '5 seconds') AS w FROM orders)",
    ),
    (
        f"""SELECT c, COUNT(*) FROM (SELECT window_start, window_end, user_name, COUNT(*) AS c FROM TABLE({TUMBLE})
            GROUP BY window_start, window_end, user_name) GROUP BY c""",
        """SELECT c, COUNT(*) FROM (SELECT w, user_name, COUNT(*) AS c
           FROM (SELECT *, window(at, '10 seconds') AS w FROM orders) GROUP BY w, user_name) GROUP BY c""",
    ),
    (
        f"""SELECT window_start, user_name, kind, COUNT(*) FROM TABLE({TUMBLE})
            GROUP BY window_start, window_end, GROUPING SETS ((user_name), (kind), ())""",
        """SELECT w.start, user_name, kind, COUNT(*) FROM (SELECT *, window(at, '10 seconds') AS w FROM orders)
           GROUP BY GROUPING SETS ((w, user_name), (w, kind), (w))""",
    ),
)

TOP = "SELECT {0} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {1} ORDER BY {2}) AS rn FROM {3}) WHERE rn <= {4}"
SUMS = "(SELECT user_name, kind, SUM(amount) AS s FROM orders WHERE amount IS NOT NULL GROUP BY user_name, kind)"

ORDERED = family(
    "OVER and Top-N",
    "SELECT id, SUM(amount) OVER (PARTITION BY user_name ORDER BY at) FROM orders",
    "SELECT id, COUNT(*) OVER (ORDER BY at ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM orders",
    "SELECT id, MAX(amount) OVER (PARTITION BY kind ORDER BY at "
    "RANGE BETWEEN INTERVAL '9' SECOND PRECEDING AND CURRENT ROW) FROM orders",
    "SELECT id, SUM(amount) OVER w, COUNT(amount) OVER w FROM orders WINDOW w AS (PARTITION BY user_name ORDER BY at)",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY user_name ORDER BY at) FROM orders",
    "SELECT id, LAG(amount) OVER (PARTITION BY user_name ORDER BY at) FROM orders",
    TOP.format("id, amount", "user_name", "amount DESC, id", "orders WHERE amount IS NOT NULL", 2),
    TOP.format("id, amount, rn", "user_name", "amount, id DESC", "orders WHERE amount IS NOT NULL", 3),
    TOP.format("user_name, kind, s", "user_name", "s DESC, kind", SUMS, 1),
    TOP.format("user_name, kind, s, rn", "kind", "s, user_name", SUMS, 2),
    TOP.format("id, kind", "kind", "at", "orders", 1),
    TOP.format("id, kind", "kind", "at DESC", "orders", 1),
    "SELECT id, amount FROM orders WHERE amount IS NOT NULL ORDER BY amount DESC, id LIMIT 5",
    f"SELECT * FROM {SUMS} ORDER BY s, user_name, kind LIMIT 3",
    "SELECT id, price FROM orders ORDER BY price DESC, id LIMIT 4 OFFSET 2",
    "SELECT COUNT(*), SUM(amount) FROM (SELECT amount FROM orders ORDER BY price DESC, id LIMIT 7)",
    (
        f"""SELECT window_start, user_name, c FROM (
              SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY c DESC, user_name) AS rn
              FROM (
                SELECT window_start, window_end, user_name, COUNT(*) AS c FROM TABLE({TUMBLE})
                WHERE user_name IS NOT NULL GROUP BY window_start, window_end, user_name)) WHERE rn <= 1""",
        """SELECT w.start, user_name, c FROM (
             SELECT *, ROW_NUMBER() OVER (PARTITION BY w ORDER BY c DESC, user_name) AS rn FROM (
               SELECT w, user_name, COUNT(*) AS c FROM (SELECT *, window(at, '10 seconds') AS w FROM orders)
               WHERE user_name IS NOT NULL GROUP BY w, user_name)) WHERE rn <= 1""",
    ),
    "SELECT a.id, b.id FROM orders a JOIN orders b ON a.kind = b.kind "
    "AND a.at BETWEEN b.at - INTERVAL '6' SECOND AND b.at + INTERVAL '3' SECOND",
    "SELECT a.id, b.id FROM orders a LEFT JOIN orders b ON a.kind = b.kind AND b.amount > 3 "
    "AND a.at BETWEEN b.at - INTERVAL '6' SECOND AND b.at + INTERVAL '3' SECOND",
)

QUERIES = [*ROWS, *GROUPS, *DISTINCT, *SETS_OF_KEYS, *SETS_OF_ROWS, *JOINS, *SUBQUERIES, *WINDOWS, *ORDERED]
