"""The queries in the words of Spark's own streaming, and those that it refuses.

Most are the texts of `queries` but for a few names of functions. Imports the standard library only: the page of
benchmarks loads it too.
"""

from __future__ import annotations

import re

from benchmarks.nexmark.queries import QUERIES

_DIALECT = (
    # Its / gives fractions of whole numbers.
    (r"(?<!AS DOUBLE\)) / ", " DIV "),
    (r"TO_TIMESTAMP_LTZ\((.*), 3\) AS expires", r"TIMESTAMP_MILLIS(\1) AS expires"),
    # A timestamp has microseconds, and no other precision can be asked for.
    (r"CAST\(`dateTime` AS TIMESTAMP\(3\)\)", "`dateTime`"),
    # The average of whole numbers is a fraction there.
    (r"AVG\((\w+)\)", r"CAST(AVG(\1) AS BIGINT)"),
    # Without a match it gives an empty text.
    (r"REGEXP_EXTRACT\((url, '[^']*', 2)\)", r"NULLIF(REGEXP_EXTRACT(\1), '')"),
    (r"SPLIT_INDEX\(url, '/', (\d)\)", lambda found: f"SPLIT_PART(url, '/', {int(found[1]) + 1})"),
    # Distinct aggregates are refused on streams; a set of the values is not.
    (r"COUNT\(DISTINCT (\w+)\)( FILTER \(WHERE [^)]*\))?", r"SIZE(COLLECT_SET(\1)\2)"),
)
_WITHIN_LIFE = "A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires"
_BID = "price, channel, url, `dateTime`, extra"

_REWRITTEN = {
    # A join of the counts with their maxima finds no rows in Spark 4.3, without an error.
    "q5": (
        "SELECT top.auction, top.num FROM (SELECT COLLECT_LIST(STRUCT(auction, num)) AS counts, MAX(num) AS most FROM "
        "(SELECT auction, COUNT(*) AS num, window FROM bid GROUP BY auction, WINDOW(`dateTime`, '10 seconds', "
        "'2 seconds')) GROUP BY window) LATERAL VIEW EXPLODE(FILTER(counts, each -> each.num >= most)) AS top"
    ),
    # The time of a window is its end less a microsecond there, in Flink less a millisecond: hence the 10.001 seconds.
    "q7": (
        "SELECT B.auction, B.price, B.bidder, B.`dateTime`, B.extra FROM bid B JOIN (SELECT highest, "
        "WINDOW_TIME(window) AS closed_at FROM (SELECT MAX(price) AS highest, window FROM bid "
        "GROUP BY WINDOW(`dateTime`, '10 seconds'))) AS H ON B.price = H.highest "
        "AND B.`dateTime` BETWEEN H.closed_at - INTERVAL '10.001' SECOND AND H.closed_at"
    ),
    "q8": (
        "SELECT P.id, P.name, P.window.start AS window_start FROM (SELECT id, name, window FROM person "
        "GROUP BY id, name, WINDOW(`dateTime`, '10 seconds')) AS P JOIN (SELECT seller, window FROM auction "
        "GROUP BY seller, WINDOW(`dateTime`, '10 seconds')) AS A ON P.id = A.seller AND P.window = A.window"
    ),
    "q9": (
        "SELECT id, best.* FROM (SELECT A.id, MAX_BY(STRUCT(A.itemName, A.seller, A.category, B.bidder, B.price, "
        "B.`dateTime` AS bid_time), STRUCT(B.price, -UNIX_MILLIS(B.`dateTime`))) AS best "
        f"FROM auction A JOIN bid B ON {_WITHIN_LIFE} GROUP BY A.id)"
    ),
    "q11": (
        "SELECT bidder, COUNT(*) AS bid_count, session_window.start AS window_start, session_window.end AS window_end "
        "FROM bid GROUP BY bidder, SESSION_WINDOW(`dateTime`, '10 seconds')"
    ),
    "q12": (
        "SELECT bidder, COUNT(*) AS bid_count, window.start AS window_start, window.end AS window_end FROM timed_bid "
        "GROUP BY bidder, WINDOW(p_time, '10 seconds')"
    ),
    "q18": (
        f"SELECT auction, bidder, last.* FROM (SELECT auction, bidder, MAX_BY(STRUCT({_BID}), `dateTime`) AS last "
        "FROM bid GROUP BY bidder, auction)"
    ),
    "q19": (
        f"SELECT auction, top.*, place + 1 AS place FROM (SELECT auction, MAX_BY(STRUCT(bidder, {_BID}), price, 10) "
        "AS best FROM bid GROUP BY auction) LATERAL VIEW POSEXPLODE(best) AS place, top"
    ),
}

REFUSED = {
    "q4": "an average of maxima that change is one aggregate over another, which Spark takes in append mode only, and "
    "there not without windows (`STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION`)",
}
"""Queries that Spark's streaming cannot say, and why."""


def in_spark(text: str) -> str:
    """A text of Flink's SQL in Spark's."""
    for pattern, words in _DIALECT:
        text = re.sub(pattern, words, text)
    return text


SPARK_QUERIES = {
    query: _REWRITTEN.get(query) or in_spark(text) for query, text in QUERIES.items() if query not in REFUSED
}
WATERMARKED = {"q5", "q7", "q8", "q11"}
"""Queries with windows of event time; the others need no watermark."""
UPDATED = {"q9": (0,), "q15": (0,), "q16": (0, 1), "q17": (0, 1), "q18": (0, 1), "q19": (0, 7)}
"""Queries in update mode, and the columns that name a row: a later row replaces the one before."""
