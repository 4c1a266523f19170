"""Regular joins and set operations in SQL: what each row adds and takes back, with NULL keys and rows that change.

Which changes are emitted on the way depends on which side is first, so each row has a step of its own.
"""

from __future__ import annotations

from typing import Any

from penstock.testing.transcripts import Input, Step
from tests.transcripts.queries import Table, asked, out

L, R = Table("l", "k STRING, v {n}"), Table("r", "k STRING, w {n}")
L_CHANGES, R_CHANGES = Table("l", "k STRING, v {n}", kinds="all"), Table("r", "k STRING, w {n}", kinds="all")
SETTLES: dict[str, Any] = {"left": None, "settles": True}


def joined(kind: str, condition: str = "l.k = r.k") -> str:
    """Rows of both sides."""
    return f"SELECT l.k, v, r.k, w FROM l {kind} r ON {condition}"


def right(*changes: Any) -> Input:
    """Rows of the second table."""
    return Input(1, *changes)


TRANSCRIPTS = [
    *asked(
        "join: each row with all that are there of its key",
        joined("JOIN"),
        (L, R),
        [
            Step(("+I", "a", 1), ("+I", "b", 2), ("+I", "a", 3)),
            Step(right(("+I", "a", 10)), out=out(("+I", "a", 1, "a", 10), ("+I", "a", 3, "a", 10))),
            Step(right(("+I", "c", 20))),
            Step(("+I", "c", 4), ("+I", "a", 1), out=out(("+I", "c", 4, "c", 20), ("+I", "a", 1, "a", 10))),
        ],
        any_order=True,
        left=None,
    ),
    *asked(
        "join: NULL equals nothing, not even NULL",
        joined("JOIN"),
        (L, R),
        [
            Step(("+I", None, 1), ("+I", "a", None)),
            Step(right(("+I", None, 10), ("+I", "a", None)), out=out(("+I", "a", None, "a", None))),
            Step(("+I", None, 1)),
        ],
        left=None,
    ),
    *asked(
        "join: IS NOT DISTINCT FROM takes NULL for a value",
        joined("JOIN", "l.k IS NOT DISTINCT FROM r.k"),
        (L, R),
        [
            Step(("+I", None, 1)),
            Step(right(("+I", None, 10), ("+I", "a", 20)), out=out(("+I", None, 1, None, 10))),
            Step(("+I", "a", 2), out=out(("+I", "a", 2, "a", 20))),
        ],
        left=None,
    ),
    *asked(
        "join: a condition beside the keys",
        joined("JOIN", "l.k = r.k AND v < w"),
        (L, R),
        [
            Step(("+I", "a", 1), ("+I", "a", 5), ("+I", "a", None)),
            Step(right(("+I", "a", 5)), out=out(("+I", "a", 1, "a", 5))),
            Step(right(("+I", "a", 9)), out=out(("+I", "a", 1, "a", 9), ("+I", "a", 5, "a", 9))),
            Step(("+I", "a", 7), out=out(("+I", "a", 7, "a", 9))),
        ],
        any_order=True,
        left=None,
    ),
    *asked(
        "join: without keys each row meets each, if the condition holds",
        "SELECT l.k, r.k FROM l JOIN r ON v < w",
        (L, R),
        [
            Step(("+I", "a", 1), ("+I", "b", 5)),
            Step(right(("+I", "x", 3)), out=out(("+I", "a", "x"))),
            Step(right(("+I", "y", 6)), out=out(("+I", "a", "y"), ("+I", "b", "y"))),
        ],
        any_order=True,
        left=None,
    ),
    *asked(
        "join: changes of a side are changes of its pairs",
        joined("JOIN"),
        (L_CHANGES, R_CHANGES),
        [
            Step(("+I", "a", 1)),
            Step(right(("+I", "a", 10)), out=out(("+I", "a", 1, "a", 10))),
            Step(("-U", "a", 1), ("+U", "a", 2), out=out(("-U", "a", 1, "a", 10), ("+U", "a", 2, "a", 10))),
            Step(right(("-D", "a", 10)), out=out(("-D", "a", 2, "a", 10))),
            Step(right(("+I", "a", 11)), out=out(("+I", "a", 2, "a", 11))),
            Step(("-D", "a", 2), out=out(("-D", "a", 2, "a", 11))),
            Step(right(("-D", "a", 11))),
        ],
        **SETTLES,
    ),
    *asked(
        "join: of equal rows one is taken back",
        joined("JOIN"),
        (L_CHANGES, R),
        [
            Step(("+I", "a", 1), ("+I", "a", 1)),
            Step(right(("+I", "a", 10)), out=out(("+I", "a", 1, "a", 10), ("+I", "a", 1, "a", 10))),
            Step(("-D", "a", 1), out=out(("-D", "a", 1, "a", 10))),
            Step(right(("+I", "a", 20)), out=out(("+I", "a", 1, "a", 20))),
        ],
        **SETTLES,
    ),
    *asked(
        "left join: a row stands alone until the first of the other side comes",
        joined("LEFT JOIN"),
        (L, R),
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1, None, None))),
            Step(right(("+I", "a", 10)), out=out(("-D", "a", 1, None, None), ("+I", "a", 1, "a", 10))),
            Step(right(("+I", "a", 20)), out=out(("+I", "a", 1, "a", 20))),
            Step(right(("+I", "b", 30))),
            Step(("+I", "b", 2), out=out(("+I", "b", 2, "b", 30))),
            Step(("+I", None, 3), out=out(("+I", None, 3, None, None))),
            Step(right(("+I", None, 40))),
        ],
        any_order=True,
        **SETTLES,
    ),
    *asked(
        "left join: a row stands alone again when the last of the other side goes",
        joined("LEFT JOIN"),
        (L, R_CHANGES),
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1, None, None))),
            Step(right(("+I", "a", 10)), out=out(("-D", "a", 1, None, None), ("+I", "a", 1, "a", 10))),
            Step(right(("+I", "a", 20)), out=out(("+I", "a", 1, "a", 20))),
            Step(right(("-D", "a", 10)), out=out(("-D", "a", 1, "a", 10))),
            Step(right(("-D", "a", 20)), out=out(("-D", "a", 1, "a", 20), ("+I", "a", 1, None, None))),
        ],
        **SETTLES,
    ),
    *asked(
        "left join: an update of the only row of the other side is a moment alone",
        joined("LEFT JOIN"),
        (L, R_CHANGES),
        [
            Step(right(("+I", "a", 10))),
            Step(("+I", "a", 1), out=out(("+I", "a", 1, "a", 10))),
            Step(right(("-U", "a", 10)), out=out(("-U", "a", 1, "a", 10), ("+I", "a", 1, None, None))),
            Step(right(("+U", "a", 11)), out=out(("-D", "a", 1, None, None), ("+I", "a", 1, "a", 11))),
        ],
        **SETTLES,
    ),
    *asked(
        "left join: a row that goes takes what it stood with",
        joined("LEFT JOIN"),
        (L_CHANGES, R),
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1, None, None))),
            Step(("-U", "a", 1), ("+U", "b", 2), out=out(("-D", "a", 1, None, None), ("+I", "b", 2, None, None))),
            Step(right(("+I", "b", 10)), out=out(("-D", "b", 2, None, None), ("+I", "b", 2, "b", 10))),
            Step(("-D", "b", 2), out=out(("-D", "b", 2, "b", 10))),
            Step(right(("+I", "b", 20))),
        ],
        any_order=True,
        **SETTLES,
    ),
    *asked(
        "left join: a condition that fails leaves a row alone",
        joined("LEFT JOIN", "l.k = r.k AND v < w"),
        (L, R),
        [
            Step(("+I", "a", 5), out=out(("+I", "a", 5, None, None))),
            Step(right(("+I", "a", 4))),
            Step(right(("+I", "a", 6)), out=out(("-D", "a", 5, None, None), ("+I", "a", 5, "a", 6))),
            Step(("+I", "a", 6), out=out(("+I", "a", 6, None, None))),
        ],
        **SETTLES,
    ),
    *asked(
        "right join: rows of the other side stand alone",
        joined("RIGHT JOIN"),
        (L, R),
        [
            Step(("+I", "a", 1)),
            Step(right(("+I", "b", 10)), out=out(("+I", None, None, "b", 10))),
            Step(right(("+I", "a", 20)), out=out(("+I", "a", 1, "a", 20))),
            Step(("+I", "b", 2), out=out(("-D", None, None, "b", 10), ("+I", "b", 2, "b", 10))),
        ],
        **SETTLES,
    ),
    *asked(
        "full join: rows of both sides stand alone",
        joined("FULL JOIN"),
        (L_CHANGES, R_CHANGES),
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1, None, None))),
            Step(right(("+I", "b", 10)), out=out(("+I", None, None, "b", 10))),
            Step(right(("+I", "a", 20)), out=out(("-D", "a", 1, None, None), ("+I", "a", 1, "a", 20))),
            Step(("-D", "a", 1), out=out(("-D", "a", 1, "a", 20), ("+I", None, None, "a", 20))),
            Step(("+I", "b", 2), out=out(("-D", None, None, "b", 10), ("+I", "b", 2, "b", 10))),
            Step(right(("-D", "b", 10)), out=out(("-D", "b", 2, "b", 10), ("+I", "b", 2, None, None))),
            Step(("+I", None, 3), out=out(("+I", None, 3, None, None))),
            Step(right(("+I", None, 30)), out=out(("+I", None, None, None, 30))),
        ],
        **SETTLES,
    ),
    *asked(
        "semi join: a row comes once, with the first partner, and goes with the last",
        "SELECT k, v FROM l WHERE EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
        (L, R_CHANGES),
        [
            Step(("+I", "a", 1)),
            Step(right(("+I", "a", 10)), out=out(("+I", "a", 1))),
            Step(right(("+I", "a", 20))),
            Step(("+I", "a", 2), out=out(("+I", "a", 2))),
            Step(right(("-D", "a", 10))),
            Step(right(("-D", "a", 20)), out=out(("-D", "a", 1), ("-D", "a", 2))),
            Step(("+I", None, 3)),
            Step(right(("+I", None, 30))),
        ],
        any_order=True,
        **SETTLES,
    ),
    *asked(
        "anti join: a row goes with the first partner, and comes back with the last",
        "SELECT k, v FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)",
        (L_CHANGES, R_CHANGES),
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(right(("+I", "a", 10)), out=out(("-D", "a", 1))),
            Step(right(("+I", "a", 20))),
            Step(("+I", "a", 2)),
            Step(right(("-D", "a", 10))),
            Step(right(("-D", "a", 20)), out=out(("+I", "a", 1), ("+I", "a", 2))),
            Step(("-D", "a", 2), out=out(("-D", "a", 2))),
            Step(("+I", None, 3), out=out(("+I", None, 3))),
            Step(right(("+I", None, 30))),
        ],
        any_order=True,
        **SETTLES,
    ),
    *asked(
        "join: sums of both sides follow each other",
        "SELECT a.k, a.s, b.s FROM (SELECT k, SUM(v) AS s FROM l GROUP BY k) AS a "
        "JOIN (SELECT k, SUM(w) AS s FROM r GROUP BY k) AS b ON a.k = b.k",
        (L, R),
        [
            Step(("+I", "a", 1)),
            Step(right(("+I", "a", 10)), out=out(("+I", "a", 1, 10))),
            Step(("+I", "a", 2), out=out(("-U", "a", 1, 10), ("+U", "a", 3, 10))),
            Step(right(("+I", "a", 20)), out=out(("-U", "a", 3, 10), ("+U", "a", 3, 30))),
        ],
        **SETTLES,
    ),
    *asked(
        "set: UNION ALL is the rows of both sides",
        "SELECT k, v FROM l UNION ALL SELECT k, w FROM r",
        (L, R_CHANGES),
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(right(("+I", "a", 1)), out=out(("+I", "a", 1))),
            Step(right(("-U", "a", 1), ("+U", "a", None)), out=out(("-U", "a", 1), ("+U", "a", None))),
        ],
        **SETTLES,
    ),
    *asked(
        "set: UNION has each row once",
        "SELECT k, v FROM l UNION SELECT k, w FROM r",
        (L, R_CHANGES),
        [
            Step(("+I", None, 1), out=out(("+I", None, 1))),
            Step(right(("+I", None, 1))),
            Step(("+I", None, 1), ("+I", "b", 2), out=out(("+I", "b", 2))),
            Step(right(("+I", "c", 3)), out=out(("+I", "c", 3))),
            Step(right(("-D", "c", 3)), out=out(("-D", "c", 3))),
        ],
        **SETTLES,
    ),
    *asked(
        "set: INTERSECT has the rows of both sides, once, and NULL is one",
        "SELECT k, v FROM l INTERSECT SELECT k, w FROM r",
        (L, R),
        [
            Step(("+I", None, 1), ("+I", None, 1), ("+I", "b", 2)),
            Step(right(("+I", None, 1)), out=out(("+I", None, 1))),
            Step(right(("+I", None, 1), ("+I", "c", 3))),
            Step(("+I", "c", 3), out=out(("+I", "c", 3))),
        ],
        **SETTLES,
    ),
    *asked(
        "set: EXCEPT loses a row with the first like it on the other side",
        "SELECT k, v FROM l EXCEPT SELECT k, w FROM r",
        (L, R),
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(("+I", "a", 1)),
            Step(right(("+I", "a", 1)), out=out(("-D", "a", 1))),
            Step(("+I", "a", 1)),
            Step(("+I", None, 2), out=out(("+I", None, 2))),
        ],
        **SETTLES,
    ),
    *asked(
        "set: EXCEPT ALL takes away one row for each",
        "SELECT k, v FROM l EXCEPT ALL SELECT k, w FROM r",
        (L, R),
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(right(("+I", "a", 1)), out=out(("-U", "a", 1))),
            Step(("+I", "a", 1), out=out(("+U", "a", 1))),
            Step(("+I", "a", 1), out=out(("-U", "a", 1), ("+U", "a", 1), ("+U", "a", 1))),
        ],
        **SETTLES,
    ),
    *asked(
        "join: a table with itself, each row meets itself too",
        "SELECT a.v, b.v FROM l AS a JOIN l AS b ON a.k = b.k",
        L,
        [
            Step(("+I", "a", 1), out=out(("+I", 1, 1))),
            Step(("+I", "a", 2), out=out(("+I", 2, 1), ("+I", 1, 2), ("+I", 2, 2))),
        ],
        any_order=True,
        left=None,
    ),
    *asked(
        "join: three tables",
        "SELECT l.v, r.w, x.v FROM l JOIN r ON l.k = r.k JOIN x ON x.k = r.k",
        (L, R, Table("x", "k STRING, v {n}")),
        [
            Step(("+I", "a", 1)),
            Step(right(("+I", "a", 2))),
            Step(Input(2, ("+I", "a", 3)), out=out(("+I", 1, 2, 3))),
            Step(("+I", "a", 4), out=out(("+I", 4, 2, 3))),
        ],
        left=None,
    ),
    *asked(
        "join: several keys, of which none may be NULL",
        "SELECT l.k, v FROM l JOIN r ON l.k = r.k AND v = w",
        (L, R),
        [
            Step(("+I", "a", 1), ("+I", "a", None), ("+I", None, 1)),
            Step(right(("+I", "a", 1), ("+I", "a", None), ("+I", None, 1), ("+I", "b", 1)), out=out(("+I", "a", 1))),
        ],
        left=None,
    ),
    *asked(
        "anti join: NOT IN knows nothing of NULL, and of nothing once the other side has one",
        "SELECT k, v FROM l WHERE v NOT IN (SELECT w FROM r)",
        (L, R_CHANGES),
        [
            Step(("+I", "a", 1), ("+I", "b", None), out=out(("+I", "a", 1), ("+I", "b", None))),
            Step(right(("+I", "x", 7)), out=out(("-D", "b", None))),
            Step(right(("+I", "y", 1)), out=out(("-D", "a", 1))),
            Step(right(("-D", "y", 1)), out=out(("+I", "a", 1))),
            Step(right(("+I", "z", None)), out=out(("-D", "a", 1))),
        ],
        **SETTLES,
    ),
    *asked(
        "left join: counts above it take back what stood alone",
        "SELECT l.k, COUNT(w) FROM l LEFT JOIN r ON l.k = r.k GROUP BY l.k",
        (L, R),
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 0))),
            Step(right(("+I", "a", 10)), out=out(("-D", "a", 0), ("+I", "a", 1))),
            Step(right(("+I", "a", 20)), out=out(("-U", "a", 1), ("+U", "a", 2))),
        ],
        **SETTLES,
    ),
    *asked(
        "full join: a condition beside the keys decides who stands alone",
        joined("FULL JOIN", "l.k = r.k AND v > 1"),
        (L, R),
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1, None, None))),
            Step(right(("+I", "a", 9)), out=out(("+I", None, None, "a", 9))),
            Step(("+I", "a", 2), out=out(("-D", None, None, "a", 9), ("+I", "a", 2, "a", 9))),
        ],
        **SETTLES,
    ),
    *asked(
        "left join: rows that update by key take back the pairs of the row before",
        "SELECT l.k, v, w FROM l LEFT JOIN r ON l.k = r.k",
        (
            Table("l", "k STRING NOT NULL, v {n}, PRIMARY KEY (k) NOT ENFORCED", kinds="upsert"),
            Table("r", "k STRING NOT NULL, w {n}, PRIMARY KEY (k) NOT ENFORCED", kinds="upsert"),
        ),
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1, None))),
            Step(right(("+I", "a", 9)), out=out(("-D", "a", 1, None), ("+I", "a", 1, 9))),
            Step(("+U", "a", 2), out=out(("-D", "a", 1, 9), ("+I", "a", 2, 9))),
            Step(("-D", "a", None), out=out(("-D", "a", 2, 9))),
        ],
        **SETTLES,
    ),
]
