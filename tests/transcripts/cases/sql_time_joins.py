"""Joins by time in SQL: intervals, versions and windows; what is late, when rows stand alone, and what is forgotten."""

from __future__ import annotations

from typing import Any

from penstock.common.watermark_strategy import Watermark
from penstock.testing.transcripts import End, Input, Left, Step
from tests.transcripts.queries import Table, asked, out

TIME = "ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()"
L, R = Table("l", f"k STRING, v {{n}}, {TIME}"), Table("r", f"k STRING, w {{n}}, {TIME}")
RATES = Table("r", f"k STRING NOT NULL, w {{n}}, {TIME}, PRIMARY KEY (k) NOT ENFORCED", kinds="upsert")
MEET = "how far the other input has come decides what is late"

# From two milliseconds before a row of the right side to three after it.
NEAR = "l.ts BETWEEN r.ts - INTERVAL '0.002' SECOND AND r.ts + INTERVAL '0.003' SECOND"


def right(*items: Any) -> Input:
    """Rows and watermarks of the second table."""
    return Input(1, *items)


def both(watermark: int) -> tuple[Any, ...]:
    """A watermark of both tables."""
    return (Watermark(watermark), right(Watermark(watermark)))


def near(kind: str, condition: str = NEAR) -> str:
    """Pairs of rows of one key that are near each other."""
    return f"SELECT l.k, v, w FROM l {kind} r ON l.k = r.k AND {condition}"


def at_time(kind: str) -> str:
    """Rows with the version that was valid at their time."""
    return f"SELECT l.k, v, w FROM l {kind} r FOR SYSTEM_TIME AS OF l.ts ON l.k = r.k"


def windowed(kind: str) -> str:
    """Pairs of rows of one key and window of ten milliseconds."""
    left_, right_ = [f"(SELECT * FROM TABLE(TUMBLE(TABLE {t}, DESCRIPTOR(ts), INTERVAL '0.010' SECOND)))" for t in "lr"]
    same = "l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end"
    return f"SELECT l.k, v, w FROM {left_} AS l {kind} {right_} AS r ON {same}"


def windowed_if(test: str) -> str:
    """Rows of the first table that have a partner in their window, or none."""
    left_, right_ = [f"(SELECT * FROM TABLE(TUMBLE(TABLE {t}, DESCRIPTOR(ts), INTERVAL '0.010' SECOND)))" for t in "lr"]
    same = "l.k = r.k AND l.window_start = r.window_start AND l.window_end = r.window_end"
    return f"SELECT k, v FROM {left_} AS l WHERE {test} (SELECT 1 FROM {right_} AS r WHERE {same})"


def sums(table: str, value: str) -> str:
    """The sums of each key and window of ten milliseconds."""
    window = f"TABLE(TUMBLE(TABLE {table}, DESCRIPTOR(ts), INTERVAL '0.010' SECOND))"
    return f"SELECT k, SUM({value}) AS s, window_start, window_end FROM {window} GROUP BY k, window_start, window_end"


TRANSCRIPTS = [
    *asked(
        "interval: both bounds belong to it, whichever side comes first",
        near("JOIN"),
        (L, R),
        [
            Step(("+I", "a", 1, 10)),
            Step(
                right(*(("+I", "a", at, at) for at in range(5, 15))),
                out=out(*(("+I", "a", 1, at) for at in range(7, 13))),
            ),
            Step(("+I", "a", 2, 16), out=out(("+I", "a", 2, 13), ("+I", "a", 2, 14))),
            Step(*both(100), left=Left()),
        ],
        any_order=True,
    ),
    *asked(
        "interval: bounds may be left out of it",
        near("JOIN", "l.ts > r.ts - INTERVAL '0.002' SECOND AND l.ts < r.ts + INTERVAL '0.003' SECOND"),
        (L, R),
        [
            Step(right(*(("+I", "a", at, at) for at in range(5, 15)))),
            Step(("+I", "a", 1, 10), out=out(*(("+I", "a", 1, at) for at in range(8, 12)))),
            Step(("+I", "b", 2, 10), ("+I", None, 4, 10)),
        ],
        any_order=True,
    ),
    *asked(
        "interval: NULL keys have no partners, and further conditions count",
        near("JOIN", f"{NEAR} AND v < w"),
        (L, R),
        [
            Step(("+I", None, 1, 10), ("+I", "a", 1, 10), ("+I", "a", 5, 11)),
            Step(right(("+I", None, 9, 10), ("+I", "a", 5, 10)), out=out(("+I", "a", 1, 5))),
            Step(*both(100), left=Left()),
        ],
    ),
    *asked(
        "interval: rows are kept as long as a partner can come",
        near("JOIN"),
        (L, R),
        [
            Step(("+I", "a", 1, 10)),
            Step(Watermark(50), right(Watermark(11))),
            Step(right(("+I", "a", 2, 12)), out=out(("+I", "a", 1, 2))),
            Step(right(Watermark(60)), left=Left()),
        ],
        stepwise_only=MEET,
    ),
    *asked(
        "interval: left outer, a row without partner comes when none can come any more",
        near("LEFT JOIN"),
        (L, R),
        [
            Step(("+I", "a", 1, 10), ("+I", "b", 2, 10), ("+I", None, 4, 10)),
            Step(right(("+I", "a", 5, 12)), out=out(("+I", "a", 1, 5))),
            Step(*both(11)),
            Step(*both(100), out=out(("+I", "b", 2, None), ("+I", None, 4, None)), left=Left()),
            Step(("+I", "b", 8, 110)),
            Step(End(), out=out(("+I", "b", 8, None))),
        ],
        any_order=True,
    ),
    *asked(
        "interval: right outer",
        near("RIGHT JOIN", NEAR).replace("l.k, v", "r.k, v"),
        (L, R),
        [
            Step(("+I", "a", 1, 10)),
            Step(right(("+I", "a", 5, 12), ("+I", "b", 6, 12)), out=out(("+I", "a", 1, 5))),
            Step(*both(14)),
            Step(*both(100), out=out(("+I", "b", None, 6)), left=Left()),
        ],
    ),
    *asked(
        "interval: full outer",
        near("FULL JOIN").replace("l.k, v", "l.k, r.k, v"),
        (L, R),
        [
            Step(("+I", "a", 1, 10), ("+I", "b", 2, 10)),
            Step(right(("+I", "a", 5, 13), ("+I", "b", 6, 8)), out=out(("+I", "b", "b", 2, 6))),
            Step(*both(100), out=out(("+I", "a", None, 1, None), ("+I", None, "a", None, 5)), left=Left()),
        ],
        any_order=True,
    ),
    *asked(
        "interval: a late row of an outer side stands alone at once, others are dropped",
        near("LEFT JOIN"),
        (L, R),
        [
            Step(*both(100)),
            Step(("+I", "a", 1, 10), out=out(("+I", "a", 1, None)), left=Left()),
            Step(right(("+I", "a", 5, 10)), left=Left()),
        ],
        stepwise_only=MEET,
    ),
    *asked(
        "versions: each row gets the one that was valid at its time",
        at_time("JOIN"),
        (L, RATES),
        [
            Step(("+I", "a", 1, 6), ("+I", "a", 2, 5), ("+I", "a", 4, 4), ("+I", "b", 8, 6), ("+I", "a", 16, 0)),
            Step(right(("+I", "a", 10, 1), ("+U", "a", 20, 5), ("+U", "a", 30, 7))),
            Step(Watermark(6), right(Watermark(5)), out=out(("+I", "a", 4, 10), ("+I", "a", 2, 20))),
            Step(right(Watermark(7)), out=out(("+I", "a", 1, 20))),
            Step(("+I", "a", 32, 9)),
            Step(End(), out=out(("+I", "a", 32, 30))),
        ],
        left=None,
        any_order=True,
    ),
    *asked(
        "versions: a row that was deleted is no version, and a left join keeps rows without one",
        at_time("LEFT JOIN"),
        (L, RATES),
        [
            Step(right(("+I", "a", 10, 1), ("-D", "a", 10, 5), ("+I", "a", 20, 8))),
            Step(("+I", "a", 1, 0), ("+I", "a", 2, 4), ("+I", "a", 4, 6), ("+I", "a", 8, 8), ("+I", None, 16, 4)),
            Step(
                *both(9),
                out=out(
                    *[("+I", "a", 1, None), ("+I", "a", 2, 10), ("+I", "a", 4, None)],
                    *[("+I", "a", 8, 20), ("+I", None, 16, None)],
                ),
            ),
        ],
        left=None,
        any_order=True,
    ),
    *asked(
        "versions: the last one before the watermark stays",
        at_time("JOIN"),
        (L, RATES),
        [
            Step(right(("+I", "a", 10, 1), ("+U", "a", 20, 5))),
            Step(*both(50)),
            Step(("+I", "a", 1, 60), right(("+U", "a", 30, 61))),
            Step(*both(60), out=out(("+I", "a", 1, 20))),
        ],
        left=None,
    ),
    *asked(
        "window join: pairs of a key and window come at its end",
        windowed("JOIN"),
        (L, R),
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 2, 9), ("+I", "a", 4, 10), ("+I", "b", 8, 5), ("+I", None, 9, 5)),
            Step(right(("+I", "a", 5, 8), ("+I", "a", 6, 0), ("+I", "a", 7, 25), ("+I", None, 9, 5))),
            Step(Watermark(50), right(Watermark(8))),
            Step(
                right(Watermark(9)),
                out=out(("+I", "a", 1, 5), ("+I", "a", 1, 6), ("+I", "a", 2, 5), ("+I", "a", 2, 6)),
            ),
            Step(right(Watermark(50)), left=Left()),
        ],
        any_order=True,
    ),
    *asked(
        "window join: a late row is dropped",
        windowed("JOIN"),
        (L, R),
        [
            Step(("+I", "a", 1, 1), right(("+I", "a", 5, 8))),
            Step(*both(9), out=out(("+I", "a", 1, 5)), left=Left()),
            Step(("+I", "a", 2, 3), right(("+I", "a", 6, 4)), left=Left()),
            Step(("+I", "a", 4, 12), right(("+I", "a", 7, 11))),
            Step(End(), out=out(("+I", "a", 4, 7))),
        ],
        stepwise_only=MEET,
    ),
    *asked(
        "window join: left outer, rows stand alone at the end of the window",
        windowed("LEFT JOIN"),
        (L, R),
        [
            Step(("+I", "a", 1, 1), ("+I", "b", 2, 9), ("+I", None, 4, 5)),
            Step(right(("+I", "a", 5, 8), ("+I", "c", 6, 0))),
            Step(*both(9), out=out(("+I", "a", 1, 5), ("+I", "b", 2, None), ("+I", None, 4, None)), left=Left()),
        ],
        any_order=True,
    ),
    *asked(
        "window join: full outer",
        windowed("FULL JOIN").replace("l.k, v", "l.k, r.k, v"),
        (L, R),
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 2, 12)),
            Step(right(("+I", "a", 5, 8), ("+I", "a", 6, 22))),
            Step(*both(9), out=out(("+I", "a", "a", 1, 5))),
            Step(*both(29), out=out(("+I", "a", None, 2, None), ("+I", None, "a", None, 6)), left=Left()),
        ],
        any_order=True,
    ),
    *asked(
        "window join: semi, rows with a partner in their window",
        windowed_if("EXISTS"),
        (L, R),
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 2, 12), ("+I", "b", 4, 3), ("+I", None, 8, 3)),
            Step(right(("+I", "a", 5, 8), ("+I", "a", 6, 9), ("+I", None, 8, 3))),
            Step(*both(19), out=out(("+I", "a", 1)), left=Left()),
        ],
    ),
    *asked(
        "window join: anti, rows without one",
        windowed_if("NOT EXISTS"),
        (L, R),
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 2, 12), ("+I", "b", 4, 3), ("+I", None, 8, 3)),
            Step(right(("+I", "a", 5, 8), ("+I", None, 8, 3))),
            Step(*both(9), out=out(("+I", "b", 4), ("+I", None, 8))),
            Step(*both(19), out=out(("+I", "a", 2)), left=Left()),
        ],
        any_order=True,
    ),
    *asked(
        "versions: of two of one time the later one counts",
        at_time("JOIN"),
        (L, RATES),
        [
            Step(right(("+I", "a", 10, 1), ("+U", "a", 20, 1))),
            Step(("+I", "a", 1, 1), *both(5), out=out(("+I", "a", 1, 20))),
        ],
        left=None,
    ),
    *asked(
        "window join: rows are in all their hopping windows",
        windowed("JOIN").replace("TUMBLE", "HOP").replace("DESCRIPTOR(ts)", "DESCRIPTOR(ts), INTERVAL '0.005' SECOND"),
        (L, R),
        [
            Step(("+I", "a", 1, 6), right(("+I", "a", 2, 12), ("+I", "a", 3, 9))),
            Step(*both(9), out=out(("+I", "a", 1, 3))),
            Step(*both(14), out=out(("+I", "a", 1, 2), ("+I", "a", 1, 3))),
            Step(End(), left=Left()),
        ],
        any_order=True,
    ),
    *asked(
        "window join: sums of both sides for each window",
        f"""SELECT a.k, a.s, b.s FROM ({sums("l", "v")}) AS a JOIN ({sums("r", "w")}) AS b
            ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end""",
        (L, R),
        [
            Step(("+I", "a", 1, 8), ("+I", "a", 2, 9), right(("+I", "a", 5, 3))),
            Step(*both(9), out=out(("+I", "a", 3, 5))),
        ],
    ),
    *asked(
        "interval: a window above waits for pairs that are still to come",
        f"""SELECT window_start, SUM(v), COUNT(*) FROM TABLE(TUMBLE((SELECT v, l.ts AS rt FROM l JOIN r
            ON l.k = r.k AND {NEAR}), DESCRIPTOR(rt), INTERVAL '0.010' SECOND)) GROUP BY window_start, window_end""",
        (L, R),
        [
            Step(("+I", "a", 1, 8), right(("+I", "a", 5, 10))),
            Step(*both(9)),
            Step(*both(40), out=out(("+I", 0, 1, 1))),
        ],
    ),
]
