"""Nexmark: events are as published, queries run and agree with plain Python, and results are compared rightly."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

import pytest

from benchmarks.nexmark.model import FIRST_ID, RATE
from benchmarks.nexmark.penstock_queries import tables_of
from benchmarks.nexmark.queries import CLOCKED, QUERIES
from benchmarks.nexmark.results_of import as_text, latest, materialized
from benchmarks.nexmark.sinks import sink_sql
from benchmarks.nexmark.summary import figures, geometric_mean
from benchmarks.pages.nexmark import MEANINGS, REASONS, nexmark_section
from benchmarks.processes import Ended
from benchmarks.side_by_side import processor_us
from penstock.common import Row
from penstock.datastream import StreamExecutionEnvironment

EVENTS = 4_000


def rows_of(text: str, query: str = "q0", events: int = EVENTS) -> list[Row]:
    env = StreamExecutionEnvironment.in_process().set_parallelism(1)
    with tables_of(env, query, events).execute_sql(text).collect() as rows:
        return list(rows)


@pytest.fixture(scope="module")
def bids() -> list[Row]:
    return rows_of("SELECT auction, bidder, price, channel, url, dateTime, extra FROM bid")


@pytest.fixture(scope="module")
def auctions() -> list[Row]:
    return rows_of("SELECT id, dateTime, expires, seller, category, initialBid, reserve FROM auction")


def table(rows: list[Row]) -> list[list[str]]:
    return materialized((str(row.get_row_kind()), row) for row in rows)


def result(query: str) -> list[list[str]]:
    return table(rows_of(QUERIES[query], query))


def test_of_fifty_events_one_is_a_person_and_three_are_auctions(bids: list[Row], auctions: list[Row]) -> None:
    people = rows_of("SELECT id, name, state FROM person")
    assert (len(people), len(auctions), len(bids)) == (EVENTS // 50, 3 * EVENTS // 50, 46 * EVENTS // 50)
    assert [row["id"] for row in people] == [FIRST_ID + number for number in range(len(people))]
    assert [row["id"] for row in auctions] == [FIRST_ID + number for number in range(len(auctions))]


def test_bids_go_to_hot_auctions_and_come_from_hot_people(bids: list[Row]) -> None:
    hot = sum(row["auction"] % 100 == 0 for row in bids) / len(bids)
    assert 0.45 < hot < 0.6
    assert 0.7 < sum(row["bidder"] % 100 == 1 for row in bids) / len(bids) < 0.8
    last = 3 * EVENTS // 50 + FIRST_ID
    assert all(FIRST_ID <= row["auction"] < last + 10 for row in bids)


def test_prices_are_spread_over_the_powers_of_ten(bids: list[Row]) -> None:
    powers = Counter(len(str(row["price"])) for row in bids)
    assert set(powers) <= set(range(3, 10))
    assert all(0.1 < powers[digits] / len(bids) < 0.24 for digits in range(3, 9))


def test_auctions_end_after_they_begin_and_sell_for_more_than_they_begin_with(auctions: list[Row]) -> None:
    longest = datetime.timedelta(milliseconds=2 * 100 * 50 / 3 * 1_000 / RATE + 1)
    assert all(row["dateTime"] < row["expires"] <= row["dateTime"] + longest for row in auctions)
    assert all(row["reserve"] > row["initialBid"] for row in auctions)
    assert {row["category"] for row in auctions} == {10, 11, 12, 13, 14}


def test_q2_q15_and_q19_agree_with_plain_python(bids: list[Row]) -> None:
    assert result("q2") == sorted([str(row["auction"]), str(row["price"])] for row in bids if row["auction"] % 123 == 0)
    (day,) = result("q15")
    assert day[1:3] == [str(len(bids)), str(sum(row["price"] < 10_000 for row in bids))]
    assert day[5] == str(len({row["bidder"] for row in bids}))
    assert day[12] == str(len({row["auction"] for row in bids if row["price"] >= 1_000_000}))
    by_auction: dict[int, list[int]] = defaultdict(list)
    for row in bids:
        by_auction[row["auction"]].append(row["price"])
    best = [
        [str(auction), str(price)]
        for auction, prices in by_auction.items()
        for price in sorted(prices, reverse=True)[:10]
    ]
    assert sorted([row[0], row[2]] for row in result("q19")) == sorted(best)


def test_q9_finds_the_winning_bid_of_each_auction(bids: list[Row], auctions: list[Row]) -> None:
    prices: dict[int, int] = {}
    lives = {row["id"]: (row["dateTime"], row["expires"]) for row in auctions}
    for row in bids:
        begin, end = lives.get(row["auction"], (None, None))
        if begin is not None and end is not None and begin <= row["dateTime"] <= end:
            prices[row["auction"]] = max(prices.get(row["auction"], 0), row["price"])
    assert {int(row[0]): int(row[5]) for row in result("q9")} == prices


@pytest.mark.parametrize("query", sorted(set(QUERIES) - CLOCKED - {"q2", "q9", "q15", "q19"}))
def test_a_query_finds_something(query: str) -> None:
    assert table(rows_of(QUERIES[query], query, events=1_000))


def test_what_is_left_of_a_changelog() -> None:
    rows: list[tuple[str, list[Any]]] = [
        ("+I", [1, Decimal("1.50")]),
        ("-U", [1, Decimal("1.5")]),
        ("+U", [1, None]),
        ("+I", [2, datetime.datetime(2020, 1, 1, 0, 0, 0, 5_000)]),
        ("+I", [3, "x"]),
        ("-D", [3, "x"]),
    ]
    assert materialized(rows) == [["1", "None"], ["2", "2020-01-01 00:00:00.005"]]
    with pytest.raises(AssertionError, match="taken back that never came"):
        materialized([("-D", [1])])
    assert as_text(Decimal("100")) == "100"


def test_rows_go_nowhere_but_those_of_q10() -> None:
    assert "'blackhole'" in sink_sql("q0") and "PARTITIONED BY (dt, hm)" in sink_sql("q10")


def test_the_mean_is_over_queries_that_both_have_run() -> None:
    runs = [
        {"workload": query, "system": system, "round": 1, "records_per_second": rate}
        for query, system, rate in [
            ("q0", "penstock", 200.0),
            ("q0", "flink_sql", 100.0),
            ("q1", "penstock", 50.0),
            ("q1", "flink_sql", 100.0),
            ("q2", "penstock", 10.0),
            ("q2", "flink_sql", None),
        ]
    ]
    found = figures({"runs": runs})
    assert found == {"q0": (200.0, 100.0), "q1": (50.0, 100.0)}
    assert geometric_mean(own / theirs for own, theirs in found.values()) == pytest.approx(1.0)


def test_processor_time_is_that_of_the_additional_records() -> None:
    ended = Ended(0.0, 1.0, None, ((10.0, 1.0), (20.0, 5.0), (30.0, 25.0)))
    assert [ended.processor_s_until(moment) for moment in (5.0, 15.0, 30.0, 99.0)] == [1.0, 3.0, 25.0, 25.0]
    reported = [{"records": 10, "ended": 10.0}, {"records": 10, "ended": 20.0}, {"records": 30, "ended": 30.0}]
    assert processor_us(ended, reported) == pytest.approx((20 - 4) / 20 * 1e6)


def test_the_page_says_why_a_query_is_slower() -> None:
    assert set(MEANINGS) == set(REASONS) == set(QUERIES)
    runs = [
        {"workload": query, "system": system, "records_per_second": rate}
        for query, own, theirs in [("q0", 200.0, 100.0), ("q18", 50.0, 100.0)]
        for system, rate in (("penstock", own), ("flink_sql", theirs))
    ]
    machine = {"cores": 2, "cpu": "x", "memory_gb": 1, "system": "y"}
    content = {
        "runs": runs,
        "parallelism": 2,
        "machine": machine,
        "versions": {},
        "rounds": 1,
        "date": "d",
        "commit": "c",
    }
    section = nexmark_section(content)
    assert "**1.00 x** Flink SQL; faster at 1 of them" in section.text()
    assert f"- q18: {REASONS['q18']}." in section.text() and REASONS["q0"] not in section.text()
    assert "0.50 x" in section.pictures["nexmark"]
    assert "Not measured yet" in nexmark_section(None).text()
    assert "With RocksDB and a checkpoint" not in section.text()
    runs.append({"workload": "q18", "system": "flink_sql_durable", "records_per_second": 20.0})
    assert "is **2.50 x** Flink SQL over 1 queries: q18 2.50 x." in nexmark_section(content).text()


def test_the_last_row_of_a_key_counts_where_rows_are_upserts() -> None:
    assert latest([("+I", [1, "a"]), ("+I", [1, "b"]), ("-D", [1, "a"]), ("+U", [2, "c"])], (0,)) == [
        ["1", "b"],
        ["2", "c"],
    ]
