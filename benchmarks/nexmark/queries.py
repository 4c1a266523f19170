"""The queries, as the published descriptions of Nexmark say what they find, in Flink's SQL.

Imports the standard library only: environments of all systems load it.
"""

from __future__ import annotations

_DAY = "DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')"
_CHEAP, _USUAL, _DEAR = "price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000"
_HOUR = "HOUR(CAST(`dateTime` AS TIMESTAMP(3)))"
_CHANNEL_ID = "REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)"
_WITHIN_LIFE = "A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires"


def _window(kind: str, table: str, *sizes: int, of: str = "`dateTime`") -> str:
    told = "".join(f", INTERVAL '{size}' SECOND" for size in sizes)
    return f"TABLE({kind}(TABLE {table}, DESCRIPTOR({of}){told}))"


def _distinct(column: str, plural: str) -> str:
    parts = [f"COUNT(DISTINCT {column}) AS total_{plural}"]
    for place, condition in enumerate((_CHEAP, _USUAL, _DEAR), 1):
        parts.append(f"COUNT(DISTINCT {column}) FILTER (WHERE {condition}) AS rank{place}_{plural}")
    return ", ".join(parts)


_BIDS = ", ".join(
    f"COUNT(*) FILTER (WHERE {condition}) AS rank{place}_bids"
    for place, condition in enumerate((_CHEAP, _USUAL, _DEAR), 1)
)
_HOT_COUNTS = (
    f"SELECT auction, COUNT(*) AS num, window_start, window_end FROM {_window('HOP', 'bid', 2, 10)} "
    "GROUP BY auction, window_start, window_end"
)

QUERIES = {
    "q0": "SELECT auction, bidder, price, `dateTime`, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price AS price, `dateTime`, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
    "q3": (
        "SELECT P.name, P.city, P.state, A.id FROM auction AS A JOIN person AS P ON A.seller = P.id "
        "WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA')"
    ),
    "q4": (
        f"SELECT category, AVG(final) AS average FROM (SELECT MAX(B.price) AS final, A.category FROM auction A, bid B "
        f"WHERE {_WITHIN_LIFE} GROUP BY A.id, A.category) GROUP BY category"
    ),
    "q5": (
        f"SELECT C.auction, C.num FROM ({_HOT_COUNTS}) AS C JOIN (SELECT MAX(num) AS most, window_start, window_end "
        f"FROM ({_HOT_COUNTS}) GROUP BY window_start, window_end) AS M "
        "ON C.window_start = M.window_start AND C.window_end = M.window_end AND C.num >= M.most"
    ),
    "q7": (
        "SELECT B.auction, B.price, B.bidder, B.`dateTime`, B.extra FROM bid B JOIN (SELECT MAX(price) AS highest, "
        f"window_time AS closed_at FROM {_window('TUMBLE', 'bid', 10)} GROUP BY window_start, window_end, "
        "window_time) AS H ON B.price = H.highest "
        "AND B.`dateTime` BETWEEN H.closed_at - INTERVAL '10' SECOND AND H.closed_at"
    ),
    "q8": (
        "SELECT P.id, P.name, P.window_start FROM (SELECT id, name, window_start, window_end FROM "
        f"{_window('TUMBLE', 'person', 10)} GROUP BY id, name, window_start, window_end) AS P JOIN (SELECT seller, "
        f"window_start, window_end FROM {_window('TUMBLE', 'auction', 10)} GROUP BY seller, window_start, window_end) "
        "AS A ON P.id = A.seller AND P.window_start = A.window_start AND P.window_end = A.window_end"
    ),
    "q9": (
        "SELECT id, itemName, seller, category, bidder, price, bid_time FROM (SELECT A.id, A.itemName, A.seller, "
        "A.category, B.bidder, B.price, B.`dateTime` AS bid_time, ROW_NUMBER() OVER (PARTITION BY A.id "
        f"ORDER BY B.price DESC, B.`dateTime` ASC) AS place FROM auction A, bid B WHERE {_WITHIN_LIFE}) "
        "WHERE place <= 1"
    ),
    "q10": (
        "SELECT auction, bidder, price, CAST(`dateTime` AS TIMESTAMP(3)) AS `dateTime`, extra, "
        f"{_DAY} AS dt, DATE_FORMAT(`dateTime`, 'HH:mm') AS hm FROM bid"
    ),
    "q11": (
        "SELECT bidder, COUNT(*) AS bid_count, window_start, window_end FROM "
        f"{_window('SESSION', 'bid PARTITION BY bidder', 10)} GROUP BY bidder, window_start, window_end"
    ),
    "q12": (
        "SELECT bidder, COUNT(*) AS bid_count, window_start, window_end FROM "
        f"{_window('TUMBLE', 'timed_bid', 10, of='p_time')} GROUP BY bidder, window_start, window_end"
    ),
    "q13": (
        "SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.text FROM bid B JOIN side_input S "
        "ON MOD(B.auction, CAST(10000 AS BIGINT)) = S.n"
    ),
    "q14": (
        "SELECT auction, bidder, 0.908 * price AS price, CASE "
        f"WHEN {_HOUR} >= 8 AND {_HOUR} <= 18 THEN 'dayTime' WHEN {_HOUR} <= 6 OR {_HOUR} >= 20 THEN 'nightTime' "
        "ELSE 'otherTime' END AS bidTimeType, `dateTime`, extra, "
        "CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_counts "
        "FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000"
    ),
    "q15": (
        f"SELECT {_DAY} AS `day`, COUNT(*) AS total_bids, {_BIDS}, {_distinct('bidder', 'bidders')}, "
        f"{_distinct('auction', 'auctions')} FROM bid GROUP BY {_DAY}"
    ),
    "q16": (
        f"SELECT channel, {_DAY} AS `day`, MAX(DATE_FORMAT(`dateTime`, 'HH:mm')) AS `minute`, COUNT(*) AS total_bids, "
        f"{_BIDS}, {_distinct('bidder', 'bidders')}, {_distinct('auction', 'auctions')} FROM bid "
        f"GROUP BY channel, {_DAY}"
    ),
    "q17": (
        f"SELECT auction, {_DAY} AS `day`, COUNT(*) AS total_bids, {_BIDS}, MIN(price) AS min_price, "
        f"MAX(price) AS max_price, AVG(price) AS avg_price, SUM(price) AS sum_price FROM bid GROUP BY auction, {_DAY}"
    ),
    "q18": (
        "SELECT auction, bidder, price, channel, url, `dateTime`, extra FROM (SELECT *, ROW_NUMBER() OVER "
        "(PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS place FROM bid) WHERE place <= 1"
    ),
    "q19": (
        "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid) "
        "WHERE place <= 10"
    ),
    "q20": (
        "SELECT B.auction, B.bidder, B.price, B.channel, B.url, B.`dateTime`, B.extra, A.itemName, A.description, "
        "A.initialBid, A.reserve, A.expires, A.seller, A.category FROM bid AS B JOIN auction AS A ON B.auction = A.id "
        "WHERE A.category = 10"
    ),
    "q21": (
        "SELECT auction, bidder, price, channel, CASE WHEN LOWER(channel) = 'apple' THEN '0' "
        "WHEN LOWER(channel) = 'google' THEN '1' WHEN LOWER(channel) = 'facebook' THEN '2' "
        f"WHEN LOWER(channel) = 'baidu' THEN '3' ELSE {_CHANNEL_ID} END AS channel_id FROM bid "
        f"WHERE {_CHANNEL_ID} IS NOT NULL OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')"
    ),
    "q22": (
        "SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1, SPLIT_INDEX(url, '/', 4) AS dir2, "
        "SPLIT_INDEX(url, '/', 5) AS dir3 FROM bid"
    ),
}
"""q6, the average of a seller's last ten closing prices, is not there: an OVER aggregate cannot follow a table that
updates, in Flink neither. q12 counts by the clock, so that its rows differ from run to run."""

EXTRA_VIEWS = {
    "q12": {"timed_bid": "SELECT *, PROCTIME() AS p_time FROM bid"},
    "q13": {"side_input": "SELECT n, CAST(n AS STRING) AS text FROM side_numbers"},
}
CLOCKED = {"q12"}
TIED = {"q18"}
"""Queries that choose between rows of the same time by their order, which is only the same with one reader."""
UPSERTED = {"q9": (0,)}
"""Queries whose rows replace those with the same values in these columns. Flink 2.3 plans the Top-1 of q9 as insertions
only: a better bid comes without taking back the one before."""
