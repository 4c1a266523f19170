"""MATCH_RECOGNIZE: which rows make a match, where the next one begins, and what time does."""

from __future__ import annotations

from typing import Any

from penstock.common.watermark_strategy import Watermark
from penstock.testing.transcripts import End, Step
from tests.transcripts.queries import Table, asked, out

T = Table("t", "k STRING, v {n}, ts TIMESTAMP(3), WATERMARK FOR ts AS SOURCE_WATERMARK()")
FOREVER: dict[str, Any] = {"left": None}


def match(pattern: str, define: str, measures: str, skip: str = "PAST LAST ROW", within: str = "") -> str:
    """A row for each match of a key, with the key first."""
    return (
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {measures} ONE ROW PER MATCH "
        f"AFTER MATCH SKIP {skip} PATTERN ({pattern}) {within} DEFINE {define})"
    )


UP = "B AS B.v > A.v"

TRANSCRIPTS = [
    *asked(
        "match: rows of a key in the order of time, when the watermark has passed them",
        match("A B", UP, "A.v AS a, B.v AS b"),
        T,
        [
            Step(("+I", "a", 5, 2), ("+I", "a", 1, 1), ("+I", "b", 3, 1), ("+I", "b", 2, 2)),
            Step(Watermark(1)),
            Step(Watermark(2), out=out(("+I", "a", 1, 5))),
            Step(("+I", "a", 9, 2), ("+I", "b", 4, 3)),
            Step(End(), out=out(("+I", "b", 2, 4))),
        ],
        **FOREVER,
    ),
    *asked(
        "match: after the last row, or with the next one",
        match("A B", UP, "A.v AS a, B.v AS b", skip="TO NEXT ROW"),
        T,
        [
            Step(*(("+I", "a", at, at) for at in (1, 2, 3))),
            Step(Watermark(3), out=out(("+I", "a", 1, 2), ("+I", "a", 2, 3))),
            Step(("+I", "a", 4, 4), Watermark(4), out=out(("+I", "a", 3, 4))),
        ],
        **FOREVER,
    ),
    *asked(
        "match: a loop takes as many rows as it can, and there is no match before it has ended",
        match(
            "A B+ C",
            "A AS A.v = 0, B AS B.v > 0 AND B.v < 5, C AS C.v >= 5",
            "FIRST(B.v) AS f, LAST(B.v) AS l, COUNT(B.v) AS c, C.v AS e",
        ),
        T,
        [
            Step(("+I", "a", 0, 1), ("+I", "a", 1, 2), ("+I", "a", 3, 3), Watermark(3)),
            Step(("+I", "a", 2, 4), ("+I", "a", 7, 5), Watermark(5), out=out(("+I", "a", 1, 2, 3, 7))),
            Step(("+I", "a", 0, 6), ("+I", "a", 7, 7), ("+I", "a", 0, 8), ("+I", "a", 4, 9), ("+I", "a", 5, 10)),
            Step(End(), out=out(("+I", "a", 4, 4, 1, 5))),
        ],
        **FOREVER,
    ),
    *asked(
        "match: rows must follow each other, others in between end it",
        match("A B C", "A AS A.v = 1, B AS B.v = 2, C AS C.v = 3", "A.ts AS s, C.ts AS e"),
        T,
        [
            Step(*(("+I", "a", v, at) for at, v in enumerate((1, 2, 2, 3, 1, 2, 3)))),
            Step(("+I", "b", 3, 9), Watermark(9), out=out(("+I", "a", 4, 6))),
        ],
        **FOREVER,
    ),
    *asked(
        "match: an optional row",
        match("A B? C", "A AS A.v = 1, B AS B.v = 2, C AS C.v = 3", "A.v AS a, B.v AS b, C.v AS c"),
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 3, 2), ("+I", "a", 1, 3), ("+I", "a", 2, 4), ("+I", "a", 3, 5)),
            Step(Watermark(5), out=out(("+I", "a", 1, None, 3), ("+I", "a", 1, 2, 3))),
        ],
        **FOREVER,
    ),
    *asked(
        "match: WITHIN ends a match that takes too long",
        match("A B", UP, "A.v AS a, B.v AS b", within="WITHIN INTERVAL '0.010' SECOND"),
        T,
        [
            Step(("+I", "a", 1, 1), ("+I", "a", 2, 11), ("+I", "a", 3, 20), Watermark(20), out=out(("+I", "a", 2, 3))),
        ],
        **FOREVER,
    ),
]
