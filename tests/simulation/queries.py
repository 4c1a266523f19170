"""Random SQL queries over two tables: windows of all kinds, windows of windows, joins, OVER, Top-N, GROUP BY.

Each query has one right answer, whatever comes first: times and orders have no ties, and no row is late. Rows of one
table may be late where there is a watermark behind each row, and one reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any

START = datetime(2026, 3, 1, 12)
KEYS = ("a", "b", "c")
DELAY_S = 4
"""How far rows are out of order at most, which watermarks wait for."""
COLUMNS = f"id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '{DELAY_S}' SECOND"


@dataclass(frozen=True)
class RandomQuery:
    """A query with the types of its columns; `is_final`: a row that it puts out is never taken back."""

    text: str
    types: tuple[str, ...]
    is_final: bool = True

    @property
    def reads_one_table(self) -> bool:
        """Whether there is one order of rows."""
        return len(set(re.findall(r"(?:TABLE|FROM|JOIN) ([st]|lasts)\b", self.text))) == 1


def random_rows(random: Random, count: int, first: int, disorder_s: float = DELAY_S - 0.1) -> list[tuple[Any, ...]]:
    """Rows of a table; no two of them, of whatever table, have the same number or time."""
    times = sorted(random.sample(range(count * 4), count))
    rows = [
        (
            first + 2 * number,
            random.choice(KEYS),
            random.randrange(100),
            START + timedelta(seconds=at, milliseconds=first),
        )
        for number, at in enumerate(times)
    ]
    moved = [(row[3] + timedelta(seconds=random.random() * disorder_s), row) for row in rows]
    return [row for _, row in sorted(moved, key=lambda pair: pair[0])]


def random_query(random: Random) -> RandomQuery:
    """A query of one of the kinds."""
    one = [_windowed, _windowed, _cascade, _cascade, _cascade, _grouped, _over, _top, _window_top, _last]
    one += [_attached, _attached, _group_windows, _group_windows, _best_sums, _window_last, _matched]
    two = [_united, _joined_sums, _regular_join, _interval_join, _window_join, _version_join, _joined_windows]
    return random.choice([*one, *two])(random)


def _window(random: Random, table: str, time: str = "ts") -> str:
    """A window table function."""
    small, times = random.choice([2, 3, 5, 10]), random.choice([2, 3, 4])
    kind = random.choice(["TUMBLE", "HOP", "CUMULATE", "SESSION"])
    if kind == "SESSION":
        return f"SESSION(TABLE {table} PARTITION BY k, DESCRIPTOR({time}), INTERVAL '{small}' SECOND)"
    lengths = f"INTERVAL '{small}' SECOND"
    if kind != "TUMBLE":
        lengths += f", INTERVAL '{small * times}' SECOND"
    return f"{kind}(TABLE {table}, DESCRIPTOR({time}), {lengths})"


def _aggregates(random: Random) -> str:
    calls = ["SUM(v)", "COUNT(*)", "MAX(v)", "MIN(v)", "COUNT(DISTINCT v)", "AVG(v)", "SUM(v) FILTER (WHERE v > 50)"]
    return random.choice(calls)


def _source(random: Random) -> str:
    table = random.choice(["s", "t"])
    return random.choice([table, f"(SELECT * FROM {table} WHERE v > {random.randrange(40)})"])


def _table(random: Random) -> str:
    return random.choice(["s", "t"])


def _windows_of(random: Random, table: str) -> str:
    """Sums of windows by key, as a relation with a row time."""
    window = _window(random, "of").replace("TABLE of", table if table.startswith("(") else f"TABLE {table}")
    return (
        f"SELECT k, CAST({_aggregates(random)} AS INT) AS v, window_time AS ts FROM TABLE({window}) "
        "GROUP BY k, window_start, window_end, window_time"
    )


def _windowed(random: Random) -> RandomQuery:
    return _of_windows(random, _table(random))


def _of_windows(random: Random, relation: str) -> RandomQuery:
    """Aggregates of the windows of a table, or of a query in brackets."""
    window = _window(random, "of").replace("TABLE of", relation if relation.startswith("(") else f"TABLE {relation}")
    by = "k, " if window.startswith("SESSION") or random.random() < 0.6 else ""
    keys = f"{by}window_start, window_end"
    text = f"SELECT {keys}, {_aggregates(random)} FROM TABLE({window}) GROUP BY {keys}"
    return RandomQuery(text, (*(["STRING"] if by else []), "TIMESTAMP(3)", "TIMESTAMP(3)", "BIGINT"))


def _cascade(random: Random) -> RandomQuery:
    inner = _windows_of(random, _table(random))
    if random.random() < 0.3:
        inner = _windows_of(random, f"({inner})")
    return _of_windows(random, f"({inner})")


def _grouped(random: Random) -> RandomQuery:
    having = random.choice(["", " HAVING COUNT(*) > 2"])
    relation = random.choice([_source(random), f"({_windows_of(random, _table(random))})"])
    text = f"SELECT k, {_aggregates(random)} FROM {relation} GROUP BY k{having}"
    return RandomQuery(text, ("STRING", "BIGINT"), is_final=False)


def _over(random: Random) -> RandomQuery:
    frame = random.choice(
        [
            "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
            "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            "RANGE BETWEEN INTERVAL '9' SECOND PRECEDING AND CURRENT ROW",
            "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
        ]
    )
    call = random.choice(["SUM(v)", "COUNT(*)", "MAX(v)", "MIN(v)", "LAST_VALUE(v)"])
    partition = random.choice(["PARTITION BY k ", ""])
    relation = _source(random)
    if random.random() < 0.4:
        relation, partition = f"({_windows_of(random, _table(random))})", "PARTITION BY k "
    return RandomQuery(
        f"SELECT k, v, ts, {call} OVER ({partition}ORDER BY ts {frame}) FROM {relation}",
        ("STRING", "INT", "TIMESTAMP(3)", "BIGINT"),
    )


def _top(random: Random) -> RandomQuery:
    order = random.choice(["v DESC, id", "v, id DESC", "id DESC"])
    partition = random.choice(["PARTITION BY k ", ""])
    ranked = f"SELECT *, ROW_NUMBER() OVER ({partition}ORDER BY {order}) AS r FROM {_source(random)}"
    text = f"SELECT k, id, v FROM ({ranked}) WHERE r <= {random.randrange(1, 4)}"
    return RandomQuery(text, ("STRING", "INT", "INT"), is_final=False)


def _window_top(random: Random) -> RandomQuery:
    window = _window(random, _table(random))
    partition = (
        "window_start, window_end, k"
        if "SESSION" in window
        else random.choice(["window_start, window_end", "window_start, window_end, k"])
    )
    text = (
        f"SELECT k, id, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY v DESC, id) "
        f"AS r FROM TABLE({window})) WHERE r <= {random.randrange(1, 3)}"
    )
    return RandomQuery(text, ("STRING", "INT", "TIMESTAMP(3)"))


def _last(random: Random) -> RandomQuery:
    order = random.choice(["ts DESC", "ts"])
    ranked = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS r FROM {_source(random)}"
    return RandomQuery(f"SELECT k, id, v FROM ({ranked}) WHERE r = 1", ("STRING", "INT", "INT"), is_final=False)


def _regular_join(random: Random) -> RandomQuery:
    kind = random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
    text = f"SELECT a.id, b.id FROM s AS a {kind} t AS b ON a.k = b.k AND MOD(a.v, 7) = MOD(b.v, 7)"
    return RandomQuery(text, ("INT", "INT"), is_final=kind == "JOIN")


def _interval_join(random: Random) -> RandomQuery:
    kind = random.choice(["JOIN", "JOIN", "LEFT JOIN", "FULL JOIN"])
    text = (
        f"SELECT a.id, b.id FROM s AS a {kind} t AS b ON a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL "
        f"'{random.randrange(2, 9)}' SECOND AND b.ts + INTERVAL '{random.randrange(2, 9)}' SECOND"
    )
    return RandomQuery(text, ("INT", "INT"))


def _window_join(random: Random) -> RandomQuery:
    window = f"INTERVAL '{random.choice([3, 5, 10])}' SECOND"
    kind = random.choice(["JOIN", "LEFT JOIN", "FULL JOIN"])
    left, right = [f"(SELECT * FROM TABLE(TUMBLE(TABLE {each}, DESCRIPTOR(ts), {window})))" for each in "st"]
    text = (
        f"SELECT a.id, b.id FROM {left} AS a {kind} {right} AS b ON a.window_start = b.window_start AND "
        "a.window_end = b.window_end AND a.k = b.k"
    )
    return RandomQuery(text, ("INT", "INT"))


def _version_join(random: Random) -> RandomQuery:
    kind = random.choice(["JOIN", "LEFT JOIN"])
    return RandomQuery(
        f"SELECT a.id, v.id FROM s AS a {kind} lasts FOR SYSTEM_TIME AS OF a.ts AS v ON a.k = v.k", ("INT", "INT")
    )


def _joined_windows(random: Random) -> RandomQuery:
    """A window over what an interval join emits."""
    inner = (
        "SELECT a.k AS k, a.v + b.v AS v, a.ts AS ts FROM s AS a JOIN t AS b ON a.k = b.k AND a.ts BETWEEN b.ts - "
        f"INTERVAL '{random.randrange(2, 9)}' SECOND AND b.ts + INTERVAL '{random.randrange(2, 9)}' SECOND"
    )
    return _of_windows(random, f"({inner})")


def _attached(random: Random) -> RandomQuery:
    """Windows of windows by the columns of the window."""
    inner = _windows_of(random, _table(random)).replace("window_time AS ts", "window_start, window_end, window_time", 1)
    keys = "window_start, window_end"
    text = f"SELECT {keys}, {_aggregates(random)} FROM ({inner}) GROUP BY {keys}"
    return RandomQuery(text, ("TIMESTAMP(3)", "TIMESTAMP(3)", "BIGINT"))


def _group_window(random: Random, time: str) -> tuple[str, str]:
    """A window of GROUP BY, and its arguments."""
    small, times = random.choice([2, 3, 5, 10]), random.choice([2, 3])
    kind = random.choice(["TUMBLE", "HOP", "SESSION"])
    lengths = f"INTERVAL '{small}' SECOND"
    return kind, f"{time}, {lengths}, INTERVAL '{small * times}' SECOND" if kind == "HOP" else f"{time}, {lengths}"


def _group_windows(random: Random) -> RandomQuery:
    """Windows of GROUP BY, over others of their kind or over a table."""
    relation = _source(random)
    if random.random() < 0.6:
        kind, given = _group_window(random, "ts")
        relation = (
            f"(SELECT k, CAST({_aggregates(random)} AS INT) AS v, {kind}_ROWTIME({given}) AS ts FROM {relation} "
            f"GROUP BY k, {kind}({given}))"
        )
    kind, given = _group_window(random, "ts")
    by = random.choice(["k, ", ""])
    text = f"SELECT {by}{kind}_END({given}), {_aggregates(random)} FROM {relation} GROUP BY {by}{kind}({given})"
    return RandomQuery(text, (*(["STRING"] if by else []), "TIMESTAMP(3)", "BIGINT"))


def _best_sums(random: Random) -> RandomQuery:
    """A Top-N of rows that change."""
    sums = f"SELECT k, SUM(v) AS total FROM {_source(random)} GROUP BY k"
    ranked = f"SELECT *, ROW_NUMBER() OVER (ORDER BY total DESC, k) AS r FROM ({sums})"
    return RandomQuery(f"SELECT k, total FROM ({ranked}) WHERE r <= 2", ("STRING", "BIGINT"), is_final=False)


def _window_last(random: Random) -> RandomQuery:
    window, order = _window(random, _table(random)), random.choice(["ts", "ts DESC"])
    ranked = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY {order}) AS r"
    return RandomQuery(
        f"SELECT k, id, window_end FROM ({ranked} FROM TABLE({window})) WHERE r = 1", ("STRING", "INT", "TIMESTAMP(3)")
    )


def _matched(random: Random) -> RandomQuery:
    skip = random.choice(["PAST LAST ROW", "TO NEXT ROW"])
    pattern = random.choice(["A B", "A B+ C", "A B? C"])
    text = (
        f"SELECT * FROM {_table(random)} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
        f"MEASURES A.id AS a, LAST(B.id) AS b ONE ROW PER MATCH AFTER MATCH SKIP {skip} PATTERN ({pattern}) "
        "DEFINE A AS A.v > 30, B AS B.v > 10, C AS C.v < 60)"
    )
    return RandomQuery(text, ("STRING", "INT", "INT"))


def _united(random: Random) -> RandomQuery:
    """Windows over the windows of both tables."""
    parts = " UNION ALL ".join([_windows_of(random, each) for each in "st"])
    return _of_windows(random, f"({parts})")


def _joined_sums(random: Random) -> RandomQuery:
    kind = random.choice(["JOIN", "LEFT JOIN", "FULL JOIN"])
    left, right = [f"(SELECT k, {_aggregates(random)} AS v FROM {each} WHERE v > 20 GROUP BY k)" for each in "st"]
    text = f"SELECT a.v, b.v FROM {left} AS a {kind} {right} AS b ON a.k = b.k"
    return RandomQuery(text, ("BIGINT", "BIGINT"), is_final=False)
