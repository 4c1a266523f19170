"""Top-N, LIMIT and deduplication in SQL: which rows are in, what takes them out, and how ties are decided."""

from __future__ import annotations

from typing import Any

from penstock.common.watermark_strategy import Watermark
from penstock.testing.transcripts import End, Left, Step
from tests.transcripts.queries import Table, asked, out

T = Table("t", "k STRING, v {n}")
CHANGES = Table("t", "k STRING, v {n}", kinds="all")
TIMED = Table("t", "k STRING, v {n}, ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()")
BY_CLOCK = Table("t", "k STRING, v {n}, pt AS PROCTIME()")
FOREVER: dict[str, Any] = {"left": None}

TUMBLE = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '0.010' SECOND))"


def top(count: int, order: str, columns: str = "k, v", source: str = "t", partition: str = "PARTITION BY k") -> str:
    """The first rows of each key."""
    ranked = f"SELECT *, ROW_NUMBER() OVER ({partition} ORDER BY {order}) AS r FROM {source}"
    return f"SELECT {columns} FROM ({ranked}) WHERE r <= {count}"


TRANSCRIPTS = [
    *asked(
        "top: a better row takes the place of the last one",
        top(2, "v DESC"),
        T,
        [
            Step(("+I", "a", 5), ("+I", "a", 3), out=out(("+I", "a", 5), ("+I", "a", 3))),
            Step(("+I", "a", 1)),
            Step(("+I", "a", 4), out=out(("-D", "a", 3), ("+I", "a", 4))),
            Step(("+I", "b", 1), out=out(("+I", "b", 1))),
            Step(("+I", "a", 9), out=out(("-D", "a", 4), ("+I", "a", 9))),
        ],
        **FOREVER,
    ),
    *asked(
        # Flink has an operator of its own for the very first row (FastTop1Function), which updates it.
        "top: of equal rows the first one stays, and a better one updates it where there is but one",
        top(1, "v", "k, v, name"),
        Table("t", "k STRING, v {n}, name STRING"),
        [
            Step(("+I", "a", 5, "x"), out=out(("+I", "a", 5, "x"))),
            Step(("+I", "a", 5, "y")),
            Step(("+I", "a", 4, "z"), out=out(("-U", "a", 5, "x"), ("+U", "a", 4, "z"))),
        ],
        **FOREVER,
    ),
    *asked(
        "top: NULL is less than all numbers",
        top(2, "v"),
        T,
        [
            Step(("+I", "a", 5), ("+I", "a", 3), out=out(("+I", "a", 5), ("+I", "a", 3))),
            Step(("+I", "a", None), out=out(("-D", "a", 5), ("+I", "a", None))),
            Step(("+I", "a", 1), out=out(("-D", "a", 3), ("+I", "a", 1))),
        ],
        **FOREVER,
    ),
    *asked(
        "top: with its rank a row is updated when another one comes before it",
        top(2, "v DESC", "k, v, r"),
        T,
        [
            Step(("+I", "a", 5), out=out(("+I", "a", 5, 1))),
            Step(("+I", "a", 3), out=out(("+I", "a", 3, 2))),
            Step(("+I", "a", 4), out=out(("-U", "a", 3, 2), ("+U", "a", 4, 2))),
            Step(
                ("+I", "a", 9),
                out=out(("-U", "a", 5, 1), ("+U", "a", 9, 1), ("-U", "a", 4, 2), ("+U", "a", 5, 2)),
            ),
            Step(("+I", "a", 5)),
        ],
        **FOREVER,
    ),
    *asked(
        "top: ORDER BY with LIMIT is one for all rows",
        "SELECT k, v FROM t ORDER BY v LIMIT 2",
        T,
        [
            Step(("+I", "a", 5), ("+I", "b", 3), out=out(("+I", "a", 5), ("+I", "b", 3))),
            Step(("+I", "c", 4), out=out(("-D", "a", 5), ("+I", "c", 4))),
            Step(("+I", "d", 4)),
        ],
        **FOREVER,
    ),
    *asked(
        "top: LIMIT takes the rows that come first",
        "SELECT k, v FROM t LIMIT 2",
        T,
        [
            Step(("+I", "a", 5), out=out(("+I", "a", 5))),
            Step(("+I", "b", 3), ("+I", "c", 4), out=out(("+I", "b", 3))),
            Step(("+I", "d", 4)),
        ],
        **FOREVER,
    ),
    *asked(
        "top: a row that is taken back makes room for the next one",
        top(2, "v DESC"),
        CHANGES,
        [
            Step(("+I", "a", 5), ("+I", "a", 3), out=out(("+I", "a", 5), ("+I", "a", 3))),
            Step(("+I", "a", 4), out=out(("-D", "a", 3), ("+I", "a", 4))),
            Step(("+I", "a", 2)),
            Step(("-D", "a", 2)),
            Step(("-D", "a", 5), out=out(("-D", "a", 5), ("+I", "a", 3))),
            Step(("-D", "a", 4), out=out(("-D", "a", 4))),
        ],
        any_order=True,
        **FOREVER,
    ),
    *asked(
        "top: rows that count up are ranked by key",
        "SELECT k, c FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY c DESC) AS r FROM "
        "(SELECT k, COUNT(v) AS c FROM t GROUP BY k)) WHERE r <= 2",
        T,
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(("+I", "b", 1), out=out(("+I", "b", 1))),
            Step(("+I", "c", 1)),
            Step(("+I", "c", 1), out=out(("-D", "b", 1), ("+I", "c", 2))),
            Step(("+I", "b", 1), out=out(("-D", "a", 1), ("+I", "b", 2))),
            Step(("+I", "b", 1), out=out(("-U", "b", 2), ("+U", "b", 3))),
        ],
        any_order=True,
        stepwise_only="which of two equal rows is first depends on which group is",
        **FOREVER,
    ),
    *asked(
        "top of windows: the first rows of each window come at its end and are final",
        top(2, "v DESC", "k, v, window_start, r", TUMBLE, "PARTITION BY window_start, window_end"),
        TIMED,
        [
            Step(("+I", "a", 5, 1), ("+I", "b", 9, 4), ("+I", "c", 7, 9), ("+I", "a", 1, 10)),
            Step(Watermark(9), out=out(("+I", "b", 9, 0, 1), ("+I", "c", 7, 0, 2))),
            Step(("+I", "d", 99, 9)),
            Step(Watermark(19), out=out(("+I", "a", 1, 10, 1)), left=Left()),
        ],
    ),
    *asked(
        "top of windows: the first sums of each window",
        f"""SELECT k, s, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY s
            DESC) AS r FROM (SELECT k, SUM(v) AS s, window_start, window_end FROM {TUMBLE}
            GROUP BY k, window_start, window_end)) WHERE r <= 1""",
        TIMED,
        [
            Step(("+I", "a", 5, 1), ("+I", "b", 4, 4), ("+I", "b", 3, 5), ("+I", "a", 1, 10)),
            Step(Watermark(9), out=out(("+I", "b", 7, 10))),
            Step(End(), out=out(("+I", "a", 1, 20))),
        ],
    ),
    *asked(
        "deduplicate: the last row by time, a later one takes its place",
        top(1, "ts DESC"),
        TIMED,
        [
            Step(("+I", "a", 1, 5), out=out(("+I", "a", 1))),
            Step(("+I", "a", 2, 3)),
            Step(("+I", "a", 4, 5), out=out(("-U", "a", 1), ("+U", "a", 4))),
            Step(("+I", "a", 8, 9), ("+I", "b", 16, 1), out=out(("-U", "a", 4), ("+U", "a", 8), ("+I", "b", 16))),
        ],
        **FOREVER,
    ),
    *asked(
        "deduplicate: the first row by time comes when the watermark has passed it, and is final",
        top(1, "ts"),
        TIMED,
        [
            Step(("+I", "a", 1, 5), ("+I", "a", 2, 3), ("+I", "a", 4, 3)),
            Step(Watermark(2)),
            Step(Watermark(3), out=out(("+I", "a", 2))),
            Step(("+I", "a", 8, 7), ("+I", "b", 16, 2), ("+I", "b", 32, 8)),
            Step(Watermark(8), out=out(("+I", "b", 32))),
        ],
        **FOREVER,
    ),
    *asked(
        "deduplicate: the first row that comes",
        top(1, "pt"),
        BY_CLOCK,
        [
            Step(("+I", "a", 1), ("+I", "a", 2), ("+I", None, 4), out=out(("+I", "a", 1), ("+I", None, 4))),
            Step(("+I", "a", 8), ("+I", None, 8), ("+I", "b", 8), out=out(("+I", "b", 8))),
        ],
        **FOREVER,
    ),
    *asked(
        "deduplicate: the last row that comes, an equal one is no change",
        top(1, "pt DESC"),
        BY_CLOCK,
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(("+I", "a", 2), ("+I", "b", 2), out=out(("-U", "a", 1), ("+U", "a", 2), ("+I", "b", 2))),
            Step(("+I", "a", 2)),
            Step(("+I", "a", None), out=out(("-U", "a", 2), ("+U", "a", None))),
        ],
        **FOREVER,
    ),
    *asked(
        "deduplicate: the last row of each window",
        top(1, "ts DESC", "k, v, window_end", TUMBLE, "PARTITION BY window_start, window_end, k"),
        TIMED,
        [
            Step(("+I", "a", 1, 5), ("+I", "a", 2, 3), ("+I", "a", 4, 15), ("+I", "b", 8, 3)),
            Step(Watermark(9), out=out(("+I", "a", 1, 10), ("+I", "b", 8, 10))),
            Step(("+I", "a", 16, 9), ("+I", "a", 32, 12)),
            Step(End(), out=out(("+I", "a", 4, 20))),
        ],
        any_order=True,
    ),
    *asked(
        "top: behind an OFFSET each rank is updated",
        "SELECT k, v FROM t ORDER BY v DESC LIMIT 1 OFFSET 1",
        T,
        [
            Step(("+I", "a", 5), ("+I", "a", 3), out=out(("+I", "a", 3))),
            Step(("+I", "a", 4), out=out(("-U", "a", 3), ("+U", "a", 4))),
            Step(("+I", "a", 9), out=out(("-U", "a", 4), ("+U", "a", 5))),
        ],
        **FOREVER,
    ),
    *asked(
        "top: ranks from the second to the third",
        top(3, "v DESC", "k, v, r").replace("r <= 3", "r BETWEEN 2 AND 3"),
        T,
        [
            Step(("+I", "a", 5), ("+I", "a", 3), out=out(("+I", "a", 3, 2))),
            Step(("+I", "a", 4), out=out(("-U", "a", 3, 2), ("+U", "a", 4, 2), ("+I", "a", 3, 3))),
            Step(
                ("+I", "a", 9),
                out=out(("-U", "a", 4, 2), ("+U", "a", 5, 2), ("-U", "a", 3, 3), ("+U", "a", 4, 3)),
            ),
        ],
        **FOREVER,
    ),
    *asked(
        "top: a row that is taken back moves those behind it up",
        top(2, "v DESC", "k, v, r"),
        CHANGES,
        [
            Step(("+I", "a", 5), ("+I", "a", 3), out=out(("+I", "a", 5, 1), ("+I", "a", 3, 2))),
            Step(("+I", "a", 4), out=out(("-U", "a", 3, 2), ("+U", "a", 4, 2))),
            Step(
                ("-D", "a", 5),
                out=out(("-U", "a", 5, 1), ("+U", "a", 4, 1), ("-U", "a", 4, 2), ("+U", "a", 3, 2)),
            ),
            Step(("-D", "a", 3), out=out(("-D", "a", 3, 2))),
        ],
        **FOREVER,
    ),
    *asked(
        "deduplicate: a row that takes the place of another leaves its group",
        f"SELECT v, COUNT(*) FROM ({top(1, 'ts DESC')}) GROUP BY v",
        TIMED,
        [
            Step(("+I", "a", 5, 1), out=out(("+I", 5, 1))),
            Step(("+I", "b", 5, 1), out=out(("-U", 5, 1), ("+U", 5, 2))),
            Step(("+I", "a", 6, 2), out=out(("-U", 5, 2), ("+U", 5, 1), ("+I", 6, 1))),
        ],
        settles=True,
        **FOREVER,
    ),
    *asked(
        "order: rows come in the order of time, and of other fields within one time",
        "SELECT k, v FROM t ORDER BY ts, v DESC",
        TIMED,
        [
            Step(("+I", "a", 1, 3), ("+I", "b", 2, 1), ("+I", "c", 5, 3)),
            Step(Watermark(2), out=out(("+I", "b", 2))),
            Step(Watermark(3), out=out(("+I", "c", 5), ("+I", "a", 1))),
            Step(("+I", "d", 9, 2)),
        ],
        **FOREVER,
    ),
]
