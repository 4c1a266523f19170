"""The events of Nexmark as SQL: views `person`, `auction` and `bid` over a table of numbers, the same in all systems.

Of 50 events one is a person, three are auctions and 46 are bids. Half of the bids go to a hot auction, three quarters
of sellers and bidders are hot ones, prices are spread evenly over the powers of ten. A draw is a function of the number
of the event, so every run has the same events (as in Beam's generator; Flink's draws anew in each run), and the number
1,000 that ids begin with is added once. Imports the standard library only: environments of all systems load it.
"""

from __future__ import annotations

from benchmarks.peers.drawn import PERIOD, PRIME, draw_sql, remainder_sql

RATE = 10_000
"""Events in a second of event time."""
FIRST_ID = 1_000
FIRST_CATEGORY, CATEGORIES = 10, 5
HOT_AUCTION_ONE_IN, HOT_PERSON_ONE_IN = 2, 4
HOT_STEP = 100
AUCTIONS_IN_FLIGHT = 100
ACTIVE_PEOPLE, AHEAD = 1_000, 10
SIDE_ROWS = 10_000

# A draw of its own for each thing that is drawn: factors that the number of the event is multiplied by first.
_FACTORS = dict(
    hot=3, auction=7, hot_person=11, person=13, price=17, second_price=19, category=23, length=29, channel=31, url=37,
    text=41, text_length=43, first_name=47, last_name=53, city=59, state=61, card=67, fixed_channel=71,
)  # fmt: skip
_TEXT = (
    "the quick auction of a vintage clock closes when nobody raises the bid; carved chairs, copper coins, maps of "
    "cities, letters, cameras and a box of records come next, each with a picture and a text about its condition. "
)
"""What names, descriptions and paddings are cut from."""


def draw(what: str, below: int | str) -> str:
    """A number from 0 to just below `below`, different for each `what`."""
    bound = f"CAST({below} AS BIGINT)" if isinstance(below, int) else f"({below})"
    return f"MOD({draw_sql(f'n * {_FACTORS[what]}')}, {bound})"


def fraction(what: str) -> str:
    """A number from 0 to just below 1."""
    return f"(CAST({draw_sql(f'n * {_FACTORS[what]}')} AS DOUBLE) / {PRIME})"


def price(what: str) -> str:
    """From 100 to 100,000,000, evenly over the powers of ten."""
    return f"CAST(FLOOR(POWER(CAST(10 AS DOUBLE), 6 * {fraction(what)}) * 100 + 0.5) AS BIGINT)"


def chosen(what: str, words: tuple[str, ...]) -> str:
    """One of some words."""
    cases = " ".join(f"WHEN {number} THEN '{word}'" for number, word in enumerate(words[:-1]))
    return f"CASE {draw(what, len(words))} {cases} ELSE '{words[-1]}' END"


def text(least: int, most: int) -> str:
    """Some characters: a part of one long text."""
    source = _TEXT * (1 + 2 * most // len(_TEXT))
    begin = f"1 + CAST({draw('text', most)} AS INT)"
    return f"SUBSTRING('{source}', {begin}, {least} + CAST({draw('text_length', most - least + 1)} AS INT))"


def padding(average: int) -> str:
    """Characters that make an event about so large, give or take a fifth."""
    return text(average * 4 // 5, average * 6 // 5)


_EPOCH = "(n / 50)"
_TURN = remainder_sql("n", 50)
_LAST_AUCTION = f"({_EPOCH} * 3 + 2)"
_OLDEST_AUCTION = f"GREATEST({_LAST_AUCTION} - {AUCTIONS_IN_FLIGHT}, CAST(0 AS BIGINT))"
_PEOPLE = f"({_EPOCH} + 1)"
_ACTIVE = f"LEAST({_PEOPLE}, CAST({ACTIVE_PEOPLE} AS BIGINT))"
_SOMEBODY = f"({_PEOPLE} - {_ACTIVE} + {draw('person', f'{_ACTIVE} + {AHEAD}')})"
_HOT_PERSON = f"({_EPOCH} / {HOT_STEP} * {HOT_STEP})"
_IS_HOT_PERSON = f"{draw('hot_person', HOT_PERSON_ONE_IN)} > 0"

_CITIES = (
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne",
)  # fmt: skip
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_SITES = ("Google", "Facebook", "Baidu", "Apple")

PERSON = f"""
SELECT {FIRST_ID} + {_EPOCH} AS id,
  {chosen("first_name", _FIRST_NAMES)} || ' ' || {chosen("last_name", _LAST_NAMES)} AS name,
  {text(5, 12)} || '@' || {chosen("city", ("mail", "post", "letter"))} || '.com' AS emailAddress,
  LPAD(CAST({draw("card", 10_000)} AS STRING), 4, '0') || ' 0000 1111 2222' AS creditCard,
  {chosen("city", _CITIES)} AS city, {chosen("state", _STATES)} AS state, ts AS `dateTime`, {padding(100)} AS extra
FROM numbers WHERE {_TURN} = 0
"""

AUCTION = f"""
SELECT {FIRST_ID} + {_EPOCH} * 3 + {_TURN} - 1 AS id, {text(3, 19)} AS itemName, {text(3, 99)} AS description,
  {price("price")} AS initialBid, {price("price")} + {price("second_price")} AS reserve, ts AS `dateTime`,
  TO_TIMESTAMP_LTZ(t + 1 + {draw("length", 2 * AUCTIONS_IN_FLIGHT * 50 * 1_000 // 3 // RATE)}, 3) AS expires,
  {FIRST_ID} + CASE WHEN {_IS_HOT_PERSON} THEN {_HOT_PERSON} ELSE {_SOMEBODY} END AS seller,
  {FIRST_CATEGORY} + {draw("category", CATEGORIES)} AS category, {padding(300)} AS extra
FROM numbers WHERE {_TURN} BETWEEN 1 AND 3
"""

_NUMBERED = draw("channel", 10_000)
_IS_FIXED = f"{draw('fixed_channel', 2)} = 0"
_URL = "'https://www.nexmark.com/' || {} || '/item.htm?query=1'"
_FIXED_URL = _URL.format(chosen("channel", ("aab/bic/cru", "dor/eld/fen", "gil/hem/ivy", "jet/kip/lo")))
_NUMBERED_URL = _URL.format(f"'a' || CAST({draw('url', 100)} AS STRING) || '/b/c'")

BID = f"""
SELECT {FIRST_ID} + CASE WHEN {draw("hot", HOT_AUCTION_ONE_IN)} > 0 THEN {_LAST_AUCTION} / {HOT_STEP} * {HOT_STEP}
    ELSE {_OLDEST_AUCTION} + {draw("auction", f"{_LAST_AUCTION} - {_OLDEST_AUCTION} + 1 + {AHEAD}")} END AS auction,
  {FIRST_ID} + CASE WHEN {_IS_HOT_PERSON} THEN {_HOT_PERSON} + 1 ELSE {_SOMEBODY} END AS bidder,
  {price("price")} AS price,
  CASE WHEN {_IS_FIXED} THEN {chosen("channel", _SITES)} ELSE 'channel-' || CAST({_NUMBERED} AS STRING) END AS channel,
  CASE WHEN {_IS_FIXED} THEN {_FIXED_URL} ELSE {_NUMBERED_URL} ||
    CASE WHEN {draw("url", 10)} > 0 THEN '&channel_id=' || CAST({_NUMBERED} * 429496 AS STRING) ELSE '' END END AS url,
  ts AS `dateTime`, {padding(50)} AS extra
FROM numbers WHERE {_TURN} > 3
"""

VIEWS = {"person": PERSON, "auction": AUCTION, "bid": BID}
"""Over a table `numbers` with the number n of each event, its time t in milliseconds and as the row time ts."""

assert all(factor % PERIOD for factor in _FACTORS.values())
