"""Windows in SQL: which rows they hold, when they come out, what is late, and that nothing stays behind.

Times are milliseconds and windows ten of them long, unless a case says otherwise.
"""

from __future__ import annotations

from penstock.common.watermark_strategy import Watermark
from penstock.testing import Clock, Idle
from penstock.testing.transcripts import End, Input, Left, Step
from tests.transcripts.queries import Table, asked, out

COLUMNS = "k STRING, v {n}, ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()"
T = Table("t", COLUMNS)
CHANGES = Table("t", COLUMNS, kinds="all")

TEN = "INTERVAL '0.010' SECOND"
FIVE = "INTERVAL '0.005' SECOND"
TUMBLE = f"TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), {TEN}))"
HOP = f"TABLE(HOP(TABLE t, DESCRIPTOR(ts), {FIVE}, {TEN}))"
CUMULATE = f"TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), {FIVE}, INTERVAL '0.015' SECOND))"
SESSION = f"TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), {FIVE}))"


def sums(window: str, calls: str = "SUM(v)") -> str:
    """The sums of each key and window."""
    return f"SELECT k, window_start, window_end, {calls} FROM {window} GROUP BY k, window_start, window_end"


TRANSCRIPTS = [
    *asked(
        "tumble: a window holds its start and not its end, and comes when the watermark reaches its last millisecond",
        sums(TUMBLE),
        T,
        [
            Step(("+I", "a", 1, 0), ("+I", "a", 2, 9), ("+I", "a", 4, 10)),
            Step(Watermark(8)),
            Step(Watermark(9), out=out(("+I", "a", 0, 10, 3)), watermark=9),
            Step(Watermark(18)),
            Step(End(), out=out(("+I", "a", 10, 20, 4))),
        ],
    ),
    *asked(
        "tumble: several windows are open at once, and come in their order",
        sums(TUMBLE, "SUM(v), COUNT(v), MIN(v), MAX(v)"),
        T,
        [
            Step(("+I", "a", 4, 25), ("+I", "b", 8, 11), ("+I", "a", 1, 3), ("+I", "a", 2, 11)),
            Step(("+I", "a", 16, 4), ("+I", "b", None, 12)),
            Step(Watermark(9), out=out(("+I", "a", 0, 10, 17, 2, 1, 16))),
            Step(
                Watermark(30),
                out=out(
                    ("+I", "a", 10, 20, 2, 1, 2, 2), ("+I", "b", 10, 20, 8, 1, 8, 8), ("+I", "a", 20, 30, 4, 1, 4, 4)
                ),
                left=Left(),
            ),
        ],
        any_order=True,
    ),
    *asked(
        "tumble: a late row is dropped if its window has come out, and is not if the window is open",
        sums(TUMBLE),
        T,
        [
            Step(("+I", "a", 1, 3), Watermark(12), out=out(("+I", "a", 0, 10, 1))),
            Step(("+I", "a", 2, 5), ("+I", "b", 2, 9), left=Left()),
            Step(("+I", "a", 4, 11)),
            Step(Watermark(19), out=out(("+I", "a", 10, 20, 4))),
        ],
    ),
    *asked(
        "tumble: a window without rows does not come out, one with NULL only does",
        sums(TUMBLE, "SUM(v), COUNT(*)"),
        T,
        [
            Step(("+I", "a", 1, 3), ("+I", "b", None, 4)),
            Step(Watermark(50), out=out(("+I", "a", 0, 10, 1, 1), ("+I", "b", 0, 10, None, 1)), left=Left()),
            Step(("+I", "a", 2, 51)),
            Step(End(), out=out(("+I", "a", 50, 60, 2, 1))),
        ],
        any_order=True,
    ),
    *asked(
        "tumble: an offset moves the windows, also before 1970",
        sums(f"TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), {TEN}, INTERVAL '0.003' SECOND))"),
        T,
        [
            Step(("+I", "a", 1, 2), ("+I", "a", 2, 3), ("+I", "a", 4, 12), ("+I", "a", 8, -8)),
            Step(Watermark(2), out=out(("+I", "a", -17, -7, 8), ("+I", "a", -7, 3, 1))),
            Step(Watermark(12), out=out(("+I", "a", 3, 13, 6))),
        ],
    ),
    *asked(
        "tumble: without keys there is one result for all rows of a window",
        f"SELECT window_end, SUM(v), COUNT(*) FROM {TUMBLE} GROUP BY window_start, window_end",
        T,
        [
            Step(("+I", "a", 1, 3), ("+I", "b", 2, 4), ("+I", None, 4, 14)),
            Step(Watermark(9), out=out(("+I", 10, 3, 2))),
            Step(End(), out=out(("+I", 20, 4, 1))),
        ],
    ),
    *asked(
        "tumble: DISTINCT is of one window",
        sums(TUMBLE, "COUNT(DISTINCT v), SUM(DISTINCT v)"),
        T,
        [
            Step(("+I", "a", 1, 3), ("+I", "a", 1, 4), ("+I", "a", 2, 5), ("+I", "a", None, 5), ("+I", "a", 1, 13)),
            Step(Watermark(9), out=out(("+I", "a", 0, 10, 2, 3))),
            Step(End(), out=out(("+I", "a", 10, 20, 1, 1))),
        ],
    ),
    *asked(
        "tumble: rows that are taken back before the window comes leave no trace",
        sums(TUMBLE, "SUM(v), MAX(v), COUNT(*)"),
        CHANGES,
        [
            Step(("+I", "a", 5, 1), ("+I", "a", 3, 2), ("+I", "b", 1, 2)),
            Step(("-D", "a", 5, 1), ("-U", "b", 1, 2), ("+U", "b", 7, 12)),
            Step(Watermark(9), out=out(("+I", "a", 0, 10, 3, 3, 1))),
            Step(End(), out=out(("+I", "b", 10, 20, 7, 7, 1))),
        ],
    ),
    *asked(
        "tumble: windows of windows go by the time of the inner ones",
        f"""SELECT window_start, window_end, SUM(s) FROM TABLE(TUMBLE(
            (SELECT k, SUM(v) AS s, window_time AS ts FROM {TUMBLE} GROUP BY k, window_start, window_end, window_time),
            DESCRIPTOR(ts), INTERVAL '0.020' SECOND)) GROUP BY window_start, window_end""",
        T,
        [
            Step(("+I", "a", 1, 3), ("+I", "b", 2, 4), ("+I", "a", 4, 19), ("+I", "a", 8, 20)),
            Step(Watermark(9)),
            Step(Watermark(19), out=out(("+I", 0, 20, 7))),
            Step(End(), out=out(("+I", 20, 40, 8))),
        ],
    ),
    *asked(
        "hop: a row is in each window that covers it",
        sums(HOP),
        T,
        [
            Step(("+I", "a", 1, 2), ("+I", "a", 2, 7), ("+I", "a", 4, 12)),
            Step(Watermark(4), out=out(("+I", "a", -5, 5, 1))),
            Step(Watermark(14), out=out(("+I", "a", 0, 10, 3), ("+I", "a", 5, 15, 6))),
            Step(End(), out=out(("+I", "a", 10, 20, 4))),
        ],
    ),
    *asked(
        "hop: a late row is in those of its windows that are still open",
        sums(HOP, "SUM(v), COUNT(v)"),
        T,
        [
            Step(("+I", "a", 1, 3), Watermark(9), out=out(("+I", "a", -5, 5, 1, 1), ("+I", "a", 0, 10, 1, 1))),
            Step(("+I", "a", 2, 7), ("+I", "b", 4, 8), ("+I", "a", 8, 2)),
            Step(Watermark(14), out=out(("+I", "a", 5, 15, 2, 1), ("+I", "b", 5, 15, 4, 1)), left=Left()),
        ],
        any_order=True,
    ),
    *asked(
        "hop: a window that only its neighbours hold rows of does not come out",
        sums(HOP, "MAX(v)"),
        T,
        [
            Step(("+I", "a", 1, 2), ("+I", "a", 2, 26)),
            Step(
                Watermark(40),
                out=out(("+I", "a", -5, 5, 1), ("+I", "a", 0, 10, 1), ("+I", "a", 20, 30, 2), ("+I", "a", 25, 35, 2)),
                left=Left(),
            ),
        ],
    ),
    *asked(
        "cumulate: a window grows step by step, and comes at each step from its first row on",
        sums(CUMULATE),
        T,
        [
            Step(("+I", "a", 1, 2), ("+I", "a", 2, 7), ("+I", "b", 8, 6)),
            Step(Watermark(4), out=out(("+I", "a", 0, 5, 1))),
            Step(Watermark(9), out=out(("+I", "a", 0, 10, 3), ("+I", "b", 0, 10, 8))),
            Step(Watermark(14), out=out(("+I", "a", 0, 15, 3), ("+I", "b", 0, 15, 8)), left=Left()),
            Step(("+I", "a", 4, 15)),
            Step(End(), out=out(("+I", "a", 15, 20, 4), ("+I", "a", 15, 25, 4), ("+I", "a", 15, 30, 4))),
        ],
        any_order=True,
    ),
    *asked(
        "cumulate: a late row is in the steps that are still to come",
        sums(CUMULATE),
        T,
        [
            Step(("+I", "a", 1, 2), Watermark(9), out=out(("+I", "a", 0, 5, 1), ("+I", "a", 0, 10, 1))),
            Step(("+I", "a", 2, 3), ("+I", "b", 4, 6)),
            Step(Watermark(14), out=out(("+I", "a", 0, 15, 3), ("+I", "b", 0, 15, 4)), left=Left()),
            Step(("+I", "a", 8, 14), left=Left()),
        ],
        any_order=True,
    ),
    *asked(
        "session: rows no further apart than the gap are one session, and touching is near enough",
        sums(SESSION),
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 2, 4), ("+I", "b", 16, 4)),
            Step(("+I", "a", 4, 9)),
            Step(("+I", "a", 8, 15)),
            Step(Watermark(12), out=out(("+I", "b", 4, 9, 16))),
            Step(Watermark(13), out=out(("+I", "a", 1, 14, 7))),
            Step(End(), out=out(("+I", "a", 15, 20, 8))),
        ],
    ),
    *asked(
        "session: a row between two sessions makes them one",
        sums(SESSION, "SUM(v), COUNT(v), MIN(v)"),
        T,
        [
            Step(("+I", "a", 1, 0), ("+I", "a", 2, 8)),
            Step(("+I", "a", 4, 4)),
            Step(Watermark(11)),
            Step(Watermark(12), out=out(("+I", "a", 0, 13, 7, 3, 1)), left=Left()),
        ],
    ),
    *asked(
        "session: a late row is dropped unless it belongs to a session that is open",
        sums(SESSION),
        T,
        [
            Step(Watermark(20)),
            Step(("+I", "a", 1, 3), ("+I", "a", 2, 16), left=Left()),
            Step(("+I", "a", 4, 17), ("+I", "b", 64, 13)),
            Step(("+I", "a", 8, 13)),
            Step(Watermark(21), out=out(("+I", "a", 13, 22, 12)), left=Left()),
        ],
    ),
    *asked(
        "session: rows out of order in one block are put together",
        sums(SESSION, "SUM(v), MAX(v)"),
        T,
        [
            Step(("+I", "a", 1, 30), ("+I", "a", 2, 10), ("+I", "a", 4, 26), ("+I", "a", 8, 6), ("+I", "a", 16, 22)),
            Step(Watermark(50), out=out(("+I", "a", 6, 15, 10, 8), ("+I", "a", 22, 35, 21, 16)), left=Left()),
        ],
    ),
    *asked(
        "window of GROUP BY: tumbling, with its start and end",
        f"SELECT k, TUMBLE_START(ts, {TEN}), TUMBLE_END(ts, {TEN}), SUM(v) FROM t GROUP BY k, TUMBLE(ts, {TEN})",
        T,
        [
            Step(("+I", "a", 1, 3), ("+I", "a", 2, 9), ("+I", "a", 4, 10)),
            Step(Watermark(9), out=out(("+I", "a", 0, 10, 3))),
            Step(("+I", "a", 8, 9), left=None),
            Step(End(), out=out(("+I", "a", 10, 20, 4))),
        ],
    ),
    *asked(
        "window of GROUP BY: hopping, and a late row is in those that are open",
        f"SELECT k, HOP_END(ts, {FIVE}, {TEN}), SUM(v) FROM t GROUP BY k, HOP(ts, {FIVE}, {TEN})",
        T,
        [
            Step(("+I", "a", 1, 3), Watermark(4), out=out(("+I", "a", 5, 1))),
            Step(("+I", "a", 2, 4)),
            Step(Watermark(9), out=out(("+I", "a", 10, 3)), left=Left()),
        ],
    ),
    *asked(
        "window of GROUP BY: sessions",
        f"SELECT k, SESSION_START(ts, {FIVE}), SESSION_END(ts, {FIVE}), SUM(v) FROM t GROUP BY k, SESSION(ts, {FIVE})",
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 2, 11)),
            Step(("+I", "a", 4, 6)),
            Step(Watermark(15), out=out(("+I", "a", 1, 16, 7)), left=Left()),
        ],
    ),
    *asked(
        "tumble: WHERE before and HAVING behind the windows",
        f"SELECT k, SUM(v), window_end FROM {TUMBLE} WHERE v > 1 "
        "GROUP BY k, window_start, window_end HAVING SUM(v) > 3",
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 3, 1), ("+I", "b", 2, 5), ("+I", "b", 2, 6)),
            Step(Watermark(9), out=out(("+I", "b", 4, 10))),
        ],
    ),
    *asked(
        "tumble: sums of the sums of each window",
        f"""SELECT window_start, window_end, SUM(s), COUNT(*) FROM ({sums(TUMBLE, "SUM(v) AS s")})
            GROUP BY window_start, window_end""",
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "b", 2, 5), ("+I", "b", 4, 15)),
            Step(Watermark(9), out=out(("+I", 0, 10, 3, 2))),
            Step(End(), out=out(("+I", 10, 20, 4, 1))),
        ],
    ),
    *asked(
        "tumble: the first and last values are those that came first and last, and collected ones are counted",
        sums(TUMBLE, "FIRST_VALUE(v), LAST_VALUE(v), COLLECT(v)"),
        T,
        [
            Step(("+I", "a", 1, 9), ("+I", "a", 2, 1), ("+I", "a", None, 3), ("+I", "a", 1, 3), ("+I", "a", 2, 2)),
            Step(End(), out=out(("+I", "a", 0, 10, 1, 2, {1: 2, 2: 2}))),
        ],
    ),
    *asked(
        "hop: without an aggregation each row comes at once, with each of its windows, and none is late",
        f"SELECT k, v, window_start, window_end FROM {HOP}",
        T,
        [
            Step(("+I", "a", 1, 7), out=out(("+I", "a", 1, 0, 10), ("+I", "a", 1, 5, 15))),
            Step(Watermark(50)),
            Step(("+I", "a", 2, 2), out=out(("+I", "a", 2, -5, 5), ("+I", "a", 2, 0, 10))),
        ],
        any_order=True,
    ),
    *asked(
        "cumulate: with an offset",
        sums(CUMULATE.replace("'0.015' SECOND", "'0.010' SECOND, INTERVAL '0.002' SECOND")),
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 2, 3)),
            Step(Watermark(1), out=out(("+I", "a", -8, 2, 1))),
            Step(End(), out=out(("+I", "a", 2, 7, 2), ("+I", "a", 2, 12, 2))),
        ],
    ),
    *asked(
        "session: without keys all rows are of one",
        "SELECT window_start, window_end, SUM(v) FROM "
        f"TABLE(SESSION(TABLE t, DESCRIPTOR(ts), {FIVE})) GROUP BY window_start, window_end",
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "b", 2, 5)),
            Step(Watermark(9), out=out(("+I", 1, 10, 3)), left=Left()),
        ],
    ),
    *asked(
        "tumble: of two tables the slower one is the time, and an idle one holds nobody up",
        f"""SELECT window_start, SUM(v) FROM TABLE(TUMBLE((SELECT * FROM t UNION ALL SELECT * FROM u), DESCRIPTOR(ts),
            {TEN})) GROUP BY window_start, window_end""",
        (T, Table("u", COLUMNS)),
        [
            Step(("+I", "a", 1, 1), Input(1, ("+I", "a", 2, 3), Watermark(5))),
            Step(Watermark(20)),
            Step(Input(1, Idle()), out=out(("+I", 0, 3))),
        ],
        stepwise_only="an input is idle only until it says more, and the end says more",
    ),
    *asked(
        "hop: rows that are late for some windows only, of several keys and out of order",
        sums(HOP, "SUM(v), MAX(v), MIN(v), COUNT(*)"),
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "b", 2, 11)),
            Step(Watermark(4), out=out(("+I", "a", -5, 5, 1, 1, 1, 1))),
            Step(("+I", "a", 3, 2), ("+I", "b", 4, 9)),
            Step(Watermark(9), out=out(("+I", "a", 0, 10, 4, 3, 1, 2), ("+I", "b", 0, 10, 4, 4, 4, 1))),
            Step(("+I", "a", 9, 9), ("+I", "b", 9, 4)),
            Step(Watermark(14), out=out(("+I", "a", 5, 15, 9, 9, 9, 1), ("+I", "b", 5, 15, 6, 4, 2, 2))),
            Step(End(), out=out(("+I", "b", 10, 20, 2, 2, 2, 1))),
        ],
        any_order=True,
    ),
    *asked(
        "tumble: in processing time a window comes when the clock has reached its end",
        f"SELECT k, SUM(v) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(pt), {TEN})) GROUP BY k, window_start, window_end",
        Table("t", "k STRING, v {n}, pt AS PROCTIME()"),
        [
            Step(Clock(100), ("+I", "a", 1)),
            Step(Clock(108), ("+I", "a", 2)),
            Step(Clock(115), ("+I", "a", 4), out=out(("+I", "a", 3))),
        ],
        left=None,
        stepwise_only="the window of a row depends on the clock",
    ),
]
