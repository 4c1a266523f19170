"""OVER in SQL: the rows that each frame holds, the order that rows come out in, and which ones are late."""

from __future__ import annotations

from typing import Any

from penstock.common.watermark_strategy import Watermark
from penstock.testing import Clock
from penstock.testing.transcripts import End, Step
from tests.transcripts.queries import Table, asked, out

T = Table("t", "k STRING, v {n}, ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()")
BY_CLOCK = Table("t", "k STRING, v {n}, pt AS PROCTIME()")
FOREVER: dict[str, Any] = {"left": None}


def over(calls: str, frame: str = "", partition: str = "PARTITION BY k") -> str:
    """Each row with some calls over a frame in the order of time."""
    listed = ", ".join(f"{call} OVER w" for call in calls.split("; "))
    return f"SELECT k, v, {listed} FROM t WINDOW w AS ({partition} ORDER BY ts {frame})"


TRANSCRIPTS = [
    *asked(
        "over: rows come in the order of time when the watermark has passed them",
        over("SUM(v)", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
        T,
        [
            Step(("+I", "a", 1, 3), ("+I", "a", 2, 1), ("+I", "b", 4, 2)),
            Step(Watermark(2), out=out(("+I", "a", 2, 2), ("+I", "b", 4, 4)), watermark=2),
            Step(Watermark(3), out=out(("+I", "a", 1, 3))),
            Step(("+I", "a", 8, 4), ("+I", "b", 16, 9)),
            Step(End(), out=out(("+I", "a", 8, 11), ("+I", "b", 16, 20))),
        ],
        any_order=True,
        **FOREVER,
    ),
    *asked(
        "over: rows of one time are counted one by one in ROWS, in the order that they came in",
        over("SUM(v)", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
        T,
        [
            Step(("+I", "a", 1, 3), ("+I", "a", 2, 3), ("+I", "a", 4, 2)),
            Step(Watermark(5), out=out(("+I", "a", 4, 4), ("+I", "a", 1, 5), ("+I", "a", 2, 7))),
        ],
        **FOREVER,
    ),
    *asked(
        "over: rows of one time are counted together in RANGE, which is the frame if there is none",
        over("SUM(v); COUNT(*)"),
        T,
        [
            Step(
                ("+I", "a", 1, 1),
                ("+I", "a", 2, 1),
                ("+I", "a", 4, 2),
                Watermark(2),
                out=out(("+I", "a", 1, 3, 2), ("+I", "a", 2, 3, 2), ("+I", "a", 4, 7, 3)),
            ),
            Step(("+I", "a", 8, 3), Watermark(3), out=out(("+I", "a", 8, 15, 4))),
        ],
        **FOREVER,
    ),
    *asked(
        "over: a frame of so many rows before",
        over("SUM(v); COUNT(*); MIN(v)", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
        T,
        [
            Step(("+I", "a", 4, 1), ("+I", "a", 1, 2), ("+I", "b", 8, 2)),
            Step(Watermark(2), out=out(("+I", "a", 4, 4, 1, 4), ("+I", "a", 1, 5, 2, 1), ("+I", "b", 8, 8, 1, 8))),
            Step(("+I", "a", 2, 5), ("+I", "a", 16, 5)),
            Step(End(), out=out(("+I", "a", 2, 3, 2, 1), ("+I", "a", 16, 18, 2, 2))),
        ],
        any_order=True,
        **FOREVER,
    ),
    *asked(
        "over: a frame of so much time before holds both of its ends",
        over("SUM(v); COUNT(*)", "RANGE BETWEEN INTERVAL '0.005' SECOND PRECEDING AND CURRENT ROW"),
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 2, 6), ("+I", "a", 4, 7)),
            Step(Watermark(6), out=out(("+I", "a", 1, 1, 1), ("+I", "a", 2, 3, 2))),
            Step(Watermark(7), out=out(("+I", "a", 4, 6, 2))),
            Step(("+I", "a", 8, 12), ("+I", "a", 16, 12)),
            Step(End(), out=out(("+I", "a", 8, 28, 3), ("+I", "a", 16, 28, 3))),
        ],
        **FOREVER,
    ),
    *asked(
        "over: without a bound a row is late when the watermark has passed it",
        over("SUM(v)", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
        T,
        [
            Step(("+I", "a", 1, 3), Watermark(10), out=out(("+I", "a", 1, 1))),
            Step(("+I", "a", 2, 10), ("+I", "b", 4, 2)),
            Step(("+I", "a", 8, 11), Watermark(11), out=out(("+I", "a", 8, 9))),
        ],
        **FOREVER,
    ),
    *asked(
        "over: with a bound a row is late when a later one of its key is out, whatever the watermark",
        over("SUM(v)", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
        T,
        [
            Step(("+I", "a", 1, 5), Watermark(10), out=out(("+I", "a", 1, 1))),
            Step(("+I", "a", 2, 5), ("+I", "a", 4, 3)),
            Step(("+I", "a", 8, 7), Watermark(11), out=out(("+I", "a", 8, 9))),
        ],
        **FOREVER,
    ),
    *asked(
        "over: NULL is a key like others, and is not aggregated",
        over("SUM(v); COUNT(v); COUNT(*)", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
        T,
        [
            Step(("+I", None, None, 1), ("+I", None, 2, 2), ("+I", "a", 4, 2)),
            Step(
                Watermark(5),
                out=out(("+I", None, None, None, 0, 1), ("+I", None, 2, 2, 1, 2), ("+I", "a", 4, 4, 1, 1)),
            ),
            Step(("+I", None, None, 6), ("+I", None, None, 7)),
            Step(End(), out=out(("+I", None, None, 2, 1, 2), ("+I", None, None, None, 0, 2))),
        ],
        any_order=True,
        **FOREVER,
    ),
    *asked(
        "over: without keys all rows are one partition",
        over("SUM(v)", "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", partition=""),
        T,
        [
            Step(("+I", "a", 1, 3), ("+I", "b", 2, 1)),
            Step(Watermark(3), out=out(("+I", "b", 2, 2), ("+I", "a", 1, 3))),
        ],
        **FOREVER,
    ),
    *asked(
        "over: DISTINCT counts a value of the frame once",
        over("COUNT(DISTINCT v)", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 1, 2), ("+I", "a", 2, 3), ("+I", "a", 2, 4)),
            Step(End(), out=out(("+I", "a", 1, 1), ("+I", "a", 1, 1), ("+I", "a", 2, 2), ("+I", "a", 2, 1))),
        ],
        **FOREVER,
    ),
    *asked(
        "over: the first value, the last one and the one before",
        "SELECT k, v, FIRST_VALUE(v) OVER w, LAST_VALUE(v) OVER w, LAG(v) OVER w FROM t "
        "WINDOW w AS (PARTITION BY k ORDER BY ts)",
        T,
        [
            Step(
                ("+I", "a", 1, 1),
                ("+I", "a", 2, 2),
                Watermark(2),
                out=out(("+I", "a", 1, 1, 1, None), ("+I", "a", 2, 1, 2, 1)),
            ),
            Step(("+I", "a", 4, 3)),
            Step(End(), out=out(("+I", "a", 4, 1, 4, 2))),
        ],
        **FOREVER,
    ),
    *asked(
        "over: in processing time each row comes at once",
        "SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY pt ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), COUNT(*) OVER "
        "(PARTITION BY k ORDER BY pt ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
        BY_CLOCK,
        [
            Step(("+I", "a", 1), ("+I", "a", 2), out=out(("+I", "a", 1, 1, 1), ("+I", "a", 2, 3, 2))),
            Step(("+I", "b", 4), out=out(("+I", "b", 4, 4, 1))),
            Step(("+I", "a", 8), out=out(("+I", "a", 8, 10, 2))),
        ],
        **FOREVER,
    ),
    *asked(
        "over: in processing time a frame of so much time",
        "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY pt RANGE BETWEEN INTERVAL '0.010' SECOND PRECEDING "
        "AND CURRENT ROW) FROM t",
        BY_CLOCK,
        [
            Step(Clock(100), ("+I", "a", 1)),
            Step(Clock(105), ("+I", "a", 2), out=out(("+I", "a", 1))),
            Step(Clock(115), ("+I", "a", 4), out=out(("+I", "a", 3))),
            Step(Clock(126), out=out(("+I", "a", 6))),
        ],
        stepwise_only="the frame of a row depends on the clock",
        **FOREVER,
    ),
    *asked(
        "over: sums of windows add up",
        "SELECT k, s, SUM(s) OVER (PARTITION BY k ORDER BY rt) FROM (SELECT k, SUM(v) AS s, window_time AS rt FROM "
        "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '0.010' SECOND)) "
        "GROUP BY k, window_start, window_end, window_time)",
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 2, 12)),
            Step(Watermark(9), out=out(("+I", "a", 1, 1))),
            Step(Watermark(19), out=out(("+I", "a", 2, 3))),
        ],
        **FOREVER,
    ),
]
