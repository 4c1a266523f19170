"""GROUP BY and DISTINCT in SQL: when results change, what takes them back, and what rows that are NULL do."""

from __future__ import annotations

from typing import Any

from penstock.testing.transcripts import Step
from tests.transcripts.queries import Form, Table, asked, out

T = Table("t", "k STRING, v {n}")
CHANGES = Table("t", "k STRING, v {n}", kinds="all")
BY_KEY = Table("t", "k STRING NOT NULL, v {n}, PRIMARY KEY (k) NOT ENFORCED", kinds="upsert")
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.size": "100",
}
FOREVER: dict[str, Any] = {"left": None}
B = ("+U", 1, "b", "b", 1)

TRANSCRIPTS = [
    *asked(
        "group: each row changes the results of its key, as one update",
        "SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k",
        T,
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1, 1))),
            Step(("+I", "b", 5), ("+I", "b", 6), out=out(("+I", "b", 1, 5), ("-U", "b", 1, 5), ("+U", "b", 2, 11))),
            Step(("+I", "a", 2), out=out(("-U", "a", 1, 1), ("+U", "a", 2, 3))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: a result that stays the same is not repeated",
        "SELECT k, MAX(v), MIN(v) FROM t GROUP BY k",
        T,
        [
            Step(("+I", "a", 5), out=out(("+I", "a", 5, 5))),
            Step(("+I", "a", 5)),
            Step(("+I", "a", 3), out=out(("-U", "a", 5, 5), ("+U", "a", 5, 3))),
            Step(("+I", "a", 4), ("+I", "a", None)),
            Step(("+I", "a", 7), out=out(("-U", "a", 5, 3), ("+U", "a", 7, 3))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: NULL is a key like others, and is not aggregated",
        "SELECT k, COUNT(*), COUNT(v), SUM(v) FROM t GROUP BY k",
        T,
        [
            Step(("+I", None, None), out=out(("+I", None, 1, 0, None))),
            Step(("+I", "a", None), out=out(("+I", "a", 1, 0, None))),
            Step(("+I", None, 2), out=out(("-U", None, 1, 0, None), ("+U", None, 2, 1, 2))),
            Step(("+I", None, None), out=out(("-U", None, 2, 1, 2), ("+U", None, 3, 1, 2))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: DISTINCT counts values once, and NULL never",
        "SELECT k, COUNT(DISTINCT v), SUM(DISTINCT v) FROM t GROUP BY k",
        T,
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1, 1))),
            Step(("+I", "a", 1), ("+I", "a", None)),
            Step(("+I", "a", 2), out=out(("-U", "a", 1, 1), ("+U", "a", 2, 3))),
            Step(("+I", "a", 1), ("+I", "a", 2)),
            Step(("+I", "b", None), out=out(("+I", "b", 0, None))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: COUNT(DISTINCT) beside other calls",
        "SELECT k, COUNT(DISTINCT v), COUNT(*) FROM t GROUP BY k",
        T,
        [
            Step(("+I", "a", 1), ("+I", "a", 1), out=out(("+I", "a", 1, 1), ("-U", "a", 1, 1), ("+U", "a", 1, 2))),
            Step(("+I", "a", 2), out=out(("-U", "a", 1, 2), ("+U", "a", 2, 3))),
            Step(("+I", "a", None), out=out(("-U", "a", 2, 3), ("+U", "a", 2, 4))),
            Step(("+I", "a", 2), out=out(("-U", "a", 2, 4), ("+U", "a", 2, 5))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: FILTER keeps rows from a call, not from the group",
        "SELECT k, COUNT(*) FILTER (WHERE v > 2), COUNT(DISTINCT v) FILTER (WHERE v > 1) FROM t GROUP BY k",
        T,
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 0, 0))),
            Step(("+I", "a", 2), out=out(("-U", "a", 0, 0), ("+U", "a", 0, 1))),
            Step(("+I", "a", 3), out=out(("-U", "a", 0, 1), ("+U", "a", 1, 2))),
            Step(("+I", "a", 2), ("+I", "a", None)),
        ],
        **FOREVER,
    ),
    *asked(
        "group: an average of whole numbers is one, rounded to zero",
        "SELECT k, AVG(v) FROM t GROUP BY k",
        T,
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(("+I", "a", 2)),
            Step(("+I", "a", 6), out=out(("-U", "a", 1), ("+U", "a", 3))),
            Step(("+I", "b", -1), ("+I", "b", -2), out=out(("+I", "b", -1))),
        ],
        forms=[Form.COLUMNS],
        **FOREVER,
    ),
    *asked(
        "group: the first and the last value that are not NULL",
        "SELECT k, FIRST_VALUE(v), LAST_VALUE(v) FROM t GROUP BY k",
        T,
        [
            Step(("+I", "a", None), out=out(("+I", "a", None, None))),
            Step(("+I", "a", 5), out=out(("-U", "a", None, None), ("+U", "a", 5, 5))),
            Step(("+I", "a", 7), out=out(("-U", "a", 5, 5), ("+U", "a", 5, 7))),
            Step(("+I", "a", None)),
        ],
        **FOREVER,
    ),
    *asked(
        "group: without keys there is one result, and none before the first row",
        "SELECT COUNT(*), SUM(v) FROM t",
        T,
        [
            Step(),
            Step(("+I", "a", 1), out=out(("+I", 1, 1))),
            Step(("+I", "b", 2), out=out(("-U", 1, 1), ("+U", 2, 3))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: a row that is taken back changes the result, the last one deletes it",
        "SELECT k, MAX(v), MIN(v), COUNT(*) FROM t GROUP BY k",
        CHANGES,
        [
            Step(("+I", "a", 5), out=out(("+I", "a", 5, 5, 1))),
            Step(("+I", "a", 3), out=out(("-U", "a", 5, 5, 1), ("+U", "a", 5, 3, 2))),
            Step(("-D", "a", 5), out=out(("-U", "a", 5, 3, 2), ("+U", "a", 3, 3, 1))),
            Step(("-D", "a", 3), out=out(("-D", "a", 3, 3, 1))),
            Step(("+I", "a", 1), out=out(("+I", "a", 1, 1, 1))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: a row that was never there is not taken back",
        "SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k",
        CHANGES,
        [
            Step(("-D", "a", 5), ("-U", "b", 1)),
            Step(("+I", "a", 2), out=out(("+I", "a", 1, 2))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: an update may move a row to another key",
        "SELECT k, SUM(v) FROM t GROUP BY k",
        CHANGES,
        [
            Step(("+I", "a", 5), ("+I", "a", 1), out=out(("+I", "a", 5), ("-U", "a", 5), ("+U", "a", 6))),
            Step(("-U", "a", 5), ("+U", "b", 4), out=out(("-U", "a", 6), ("+U", "a", 1), ("+I", "b", 4))),
            Step(("-U", "a", 1), ("+U", "b", 1), out=out(("-D", "a", 1), ("-U", "b", 4), ("+U", "b", 5))),
        ],
        any_order=True,
        **FOREVER,
    ),
    *asked(
        "group: DISTINCT takes a value back with its last row",
        "SELECT k, COUNT(DISTINCT v) FROM t GROUP BY k",
        CHANGES,
        [
            Step(("+I", "a", 1), ("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(("-D", "a", 1)),
            Step(("+I", "a", 2), out=out(("-U", "a", 1), ("+U", "a", 2))),
            Step(("-D", "a", 1), out=out(("-U", "a", 2), ("+U", "a", 1))),
            Step(("-D", "a", 2), out=out(("-D", "a", 1))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: a sum is NULL again when all its values are taken back",
        "SELECT k, SUM(v), COUNT(v) FROM t GROUP BY k",
        CHANGES,
        [
            Step(("+I", "a", None), out=out(("+I", "a", None, 0))),
            Step(("+I", "a", 5), out=out(("-U", "a", None, 0), ("+U", "a", 5, 1))),
            Step(("-D", "a", 5), out=out(("-U", "a", 5, 1), ("+U", "a", None, 0))),
            Step(("-D", "a", None), out=out(("-D", "a", None, 0))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: without keys the result goes with the last row",
        "SELECT COUNT(*) FROM t",
        CHANGES,
        [
            Step(("+I", "a", 1), out=out(("+I", 1))),
            Step(("-D", "a", 1), out=out(("-D", 1))),
            Step(("+I", "a", 1), out=out(("+I", 1))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: changes by key take back the row before, which is no part of them",
        "SELECT SUM(v), COUNT(*) FROM t",
        BY_KEY,
        [
            Step(("+I", "a", 5), out=out(("+I", 5, 1))),
            Step(("+U", "b", 3), out=out(("-U", 5, 1), ("+U", 8, 2))),
            Step(("+U", "a", 7), out=out(("-U", 8, 2), ("+U", 3, 1), ("-U", 3, 1), ("+U", 10, 2))),
            Step(("+U", "a", 7)),
            Step(("-D", "a", None), out=out(("-U", 10, 2), ("+U", 3, 1))),
            Step(("-D", "a", None)),
        ],
        **FOREVER,
    ),
    *asked(
        "group: HAVING shows a group as an update where the group was there before",
        "SELECT k, COUNT(v) FROM t GROUP BY k HAVING COUNT(v) > 1",
        T,
        [
            Step(("+I", "a", 1)),
            Step(("+I", "a", 2), out=out(("+U", "a", 2))),
            Step(("+I", "a", 3), out=out(("-U", "a", 2), ("+U", "a", 3))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: groups of groups follow each update",
        "SELECT c, COUNT(*) FROM (SELECT k, COUNT(v) AS c FROM t GROUP BY k) GROUP BY c",
        T,
        [
            Step(("+I", "a", 1), out=out(("+I", 1, 1))),
            Step(("+I", "b", 1), out=out(("-U", 1, 1), ("+U", 1, 2))),
            Step(("+I", "a", 1), out=out(("-U", 1, 2), ("+U", 1, 1), ("+I", 2, 1))),
            Step(("+I", "b", 1), out=out(("-D", 1, 1), ("-U", 2, 1), ("+U", 2, 2))),
        ],
        settles=True,
        **FOREVER,
    ),
    *asked(
        "group: ROLLUP is a group for each prefix of the keys",
        "SELECT k, SUM(v) FROM t GROUP BY ROLLUP (k)",
        T,
        [
            Step(("+I", "a", 1), out=out(("+I", "a", 1), ("+I", None, 1))),
            Step(("+I", None, 2), out=out(("+I", None, 2), ("-U", None, 1), ("+U", None, 3))),
        ],
        any_order=True,
        **FOREVER,
    ),
    *asked(
        "group: SELECT DISTINCT emits a row once",
        "SELECT DISTINCT k, v FROM t",
        T,
        [
            Step(("+I", "a", 1), ("+I", "a", 1), ("+I", "a", None), out=out(("+I", "a", 1), ("+I", "a", None))),
            Step(("+I", "a", None), ("+I", None, 1), out=out(("+I", None, 1))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: SELECT DISTINCT of changes deletes a row when all like it are gone",
        "SELECT DISTINCT k, v FROM t",
        CHANGES,
        [
            Step(("+I", "a", 1), ("+I", "a", 1), out=out(("+I", "a", 1))),
            Step(("-D", "a", 1)),
            Step(("-U", "a", 1), ("+U", "a", 2), out=out(("-D", "a", 1), ("+I", "a", 2))),
        ],
        any_order=True,
        **FOREVER,
    ),
    *asked(
        "group: a mini-batch emits once for each key",
        "SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k",
        T,
        [
            Step(
                *[("+I", "a", 1), ("+I", "b", 5), ("+I", "a", 2)],
                out=out(("+I", "a", 2, 3), ("+I", "b", 1, 5)),
            ),
            Step(("+I", "a", 3), ("+I", "a", 4), out=out(("-U", "a", 2, 3), ("+U", "a", 4, 10))),
        ],
        settings=MINI_BATCH,
        any_order=True,
        settles=True,
        **FOREVER,
    ),
    *asked(
        "group: a sum of INT is INT, and wraps around",
        "SELECT k, SUM(v) FROM t GROUP BY k",
        T,
        [
            Step(("+I", "a", 2**31 - 1), out=out(("+I", "a", 2**31 - 1))),
            Step(("+I", "a", 1), out=out(("-U", "a", 2**31 - 1), ("+U", "a", -(2**31)))),
        ],
        forms=[Form.COLUMNS],
        **FOREVER,
    ),
    *asked(
        "group: the least and the greatest text",
        "SELECT v, MAX(k), MIN(k), COUNT(k) FROM t GROUP BY v",
        T,
        [
            Step(("+I", None, 1), ("+I", "b", 1), out=out(("+I", 1, None, None, 0), ("-U", 1, None, None, 0), B)),
            Step(("+I", "a", 1), out=out(("-U", *B[1:]), ("+U", 1, "b", "a", 2))),
            Step(("+I", "c", 1), out=out(("-U", 1, "b", "a", 2), ("+U", 1, "c", "a", 3))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: several keys, of which some are NULL",
        "SELECT k, v, COUNT(*) FROM t GROUP BY k, v",
        T,
        [
            Step(
                *[("+I", "a", 1), ("+I", "a", None), ("+I", None, 1)],
                out=out(("+I", "a", 1, 1), ("+I", "a", None, 1), ("+I", None, 1, 1)),
            ),
            Step(("+I", "a", None), out=out(("-U", "a", None, 1), ("+U", "a", None, 2))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: values collected with their numbers",
        "SELECT k, COLLECT(v) FROM t GROUP BY k",
        CHANGES,
        [
            Step(("+I", "a", 1), out=out(("+I", "a", {1: 1}))),
            Step(("+I", "a", 1), out=out(("-U", "a", {1: 1}), ("+U", "a", {1: 2}))),
            Step(("-D", "a", 1), out=out(("-U", "a", {1: 2}), ("+U", "a", {1: 1}))),
        ],
        **FOREVER,
    ),
    *asked(
        "group: a list loses what is taken back",
        "SELECT v, LISTAGG(k) FROM t GROUP BY v",
        CHANGES,
        [
            Step(("+I", "b", 1), ("+I", "a", 1), out=out(("+I", 1, "b"), ("-U", 1, "b"), ("+U", 1, "b,a"))),
            Step(("-D", "b", 1), out=out(("-U", 1, "b,a"), ("+U", 1, "a"))),
        ],
        **FOREVER,
    ),
]
