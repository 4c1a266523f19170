"""State of queries with a time to live of 100 ms: when it is gone, what keeps it, and what that does to results.

The time to live is counted by the clock from the last write, and what is read is not kept longer.
"""

from __future__ import annotations

from typing import Any

from penstock.testing import Clock
from penstock.testing.transcripts import Input, Step
from tests.transcripts.queries import Table, asked, out

T = Table("t", "k STRING, v {n}")
BY_CLOCK = Table("t", "k STRING, v {n}, pt AS PROCTIME()")
L, R = Table("l", "k STRING, v {n}"), Table("r", "k STRING, w {n}")
TTL: dict[str, Any] = {
    "settings": {"table.exec.state.ttl": "100 ms"},
    "left": None,
    "stepwise_only": "what is gone depends on the clock",
}

TRANSCRIPTS = [
    *asked(
        "ttl: a group that is not written for so long begins anew",
        "SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k",
        T,
        [
            Step(Clock(100), ("+I", "a", 1), ("+I", "b", 8), out=out(("+I", "a", 1, 1), ("+I", "b", 1, 8))),
            Step(Clock(199), ("+I", "a", 2), out=out(("-U", "a", 1, 1), ("+U", "a", 2, 3))),
            Step(Clock(298), ("+I", "a", 4), out=out(("-U", "a", 2, 3), ("+U", "a", 3, 7))),
            Step(Clock(500), ("+I", "a", 8), ("+I", "b", 1), out=out(("+I", "a", 1, 8), ("+I", "b", 1, 1))),
        ],
        any_order=True,
        **TTL,
    ),
    *asked(
        "ttl: a result that stays the same is repeated, for who reads it may have forgotten it",
        "SELECT k, MAX(v) FROM t GROUP BY k",
        T,
        [
            Step(Clock(100), ("+I", "a", 5), out=out(("+I", "a", 5))),
            Step(Clock(150), ("+I", "a", 3), out=out(("-U", "a", 5), ("+U", "a", 5))),
            Step(Clock(240), ("+I", "a", 4), out=out(("-U", "a", 5), ("+U", "a", 5))),
            Step(Clock(400), ("+I", "a", 1), out=out(("+I", "a", 1))),
        ],
        **TTL,
    ),
    *asked(
        "ttl: rows of a join are forgotten one by one",
        "SELECT l.k, v, w FROM l JOIN r ON l.k = r.k",
        (L, R),
        [
            Step(Clock(100), ("+I", "a", 1)),
            Step(Clock(150), ("+I", "a", 2)),
            Step(Clock(160), Input(1, ("+I", "a", 10)), out=out(("+I", "a", 1, 10), ("+I", "a", 2, 10))),
            Step(Clock(220), Input(1, ("+I", "a", 20)), out=out(("+I", "a", 2, 20))),
            Step(Clock(400), ("+I", "a", 4), Input(1, ("+I", "b", 30))),
        ],
        any_order=True,
        **TTL,
    ),
    *asked(
        "ttl: a row that was first is first again",
        "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt) AS r FROM t) WHERE r = 1",
        BY_CLOCK,
        [
            Step(Clock(100), ("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(Clock(150), ("+I", "a", 2)),
            Step(Clock(300), ("+I", "a", 3), out=out(("+I", "a", 3))),
        ],
        **TTL,
    ),
    *asked(
        "ttl: a rank begins anew",
        "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS r FROM t) WHERE r <= 2",
        T,
        [
            Step(Clock(100), ("+I", "a", 5), ("+I", "a", 3), out=out(("+I", "a", 5), ("+I", "a", 3))),
            Step(Clock(150), ("+I", "a", 4), out=out(("-D", "a", 3), ("+I", "a", 4))),
            Step(Clock(400), ("+I", "a", 1), out=out(("+I", "a", 1))),
        ],
        **TTL,
    ),
    *asked(
        "ttl: a row that is forgotten is no longer joined, and no longer taken back",
        "SELECT l.k, v, w FROM l LEFT JOIN r ON l.k = r.k",
        (L, R),
        [
            Step(Clock(100), ("+I", "a", 1), out=out(("+I", "a", 1, None))),
            Step(Clock(250), Input(1, ("+I", "a", 5))),
            Step(Clock(260), ("+I", "a", 2), out=out(("+I", "a", 2, 5))),
        ],
        **TTL,
    ),
    *asked(
        "ttl: a last row that comes again is an update, for who reads it may have forgotten it",
        "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt DESC) AS r FROM t) WHERE r = 1",
        BY_CLOCK,
        [
            Step(Clock(100), ("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(Clock(150), ("+I", "a", 1), out=out(("-U", "a", 1), ("+U", "a", 1))),
            Step(Clock(300), ("+I", "a", 2), out=out(("+I", "a", 2))),
        ],
        **TTL,
    ),
    *asked(
        "ttl: a hint of the query says how long",
        "SELECT /*+ STATE_TTL('t' = '100 ms') */ k, COUNT(v) FROM t GROUP BY k",
        T,
        [
            Step(Clock(100), ("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(Clock(250), ("+I", "a", 1), out=out(("+I", "a", 1))),
        ],
        **{**TTL, "settings": {}},
    ),
]
