"""Nexmark beside Flink SQL: table, picture and the reasons for what is slower, from nexmark.json."""

from __future__ import annotations

from typing import Any

from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.summary import figures, geometric_mean
from benchmarks.pages.charts import Bar, BarPanel
from benchmarks.pages.section import Section, heading, rounded

COMMAND = "make nexmark"
MEANINGS = {
    "q0": "pass through", "q1": "convert a currency", "q2": "select by id", "q3": "sellers of a category, join",
    "q4": "average of closing prices", "q5": "hot items, sliding windows", "q7": "highest bid, interval join",
    "q8": "new sellers, window join", "q9": "winning bids, Top-1 of a join", "q10": "files by day and minute",
    "q11": "sessions of bidders", "q12": "windows by the clock", "q13": "join with a fixed table",
    "q14": "calculation and filter", "q15": "distinct counts by day", "q16": "distinct counts by channel",
    "q17": "statistics by auction", "q18": "last bid, deduplication", "q19": "Top-10 bids",
    "q20": "bids with auctions, join", "q21": "channel ids, regular expression", "q22": "parts of URLs",
}  # fmt: skip
REASONS = {
    **dict.fromkeys(
        ("q0", "q1", "q2", "q13", "q14", "q21", "q22"),
        "texts are made column by column, or call by call of Python, where Flink has compiled code for a row",
    ),
    "q10": "texts of times are made one by one in Python",
    **dict.fromkeys(("q3", "q8"), "little work for each event, so that a batch of Spark and the exchange weigh more"),
    **dict.fromkeys(
        ("q4", "q9", "q20"), "the rows of a join are written to state at the end of each batch; Flink keeps objects"
    ),
    "q12": "a batch of Spark and the exchange weigh more than the count",
    **dict.fromkeys(("q5", "q7", "q11"), "rows of windows and sessions that are open are state of each batch"),
    **dict.fromkeys(
        ("q15", "q16", "q17"), "state is written at the end of each batch; q15 has one key, and so one task"
    ),
    **dict.fromkeys(("q18", "q19"), "the rows that ranks keep are written to state at the end of each batch"),
}
"""Why a query may be slower than in Flink; said where it is."""


def nexmark_section(content: dict[str, Any] | None) -> Section:
    """Speed of each query, the mean, and why some are slower."""
    section = Section("Nexmark")
    section.add(
        "The queries of an auction site, over the same events in both systems: 1 person, 3 auctions and 46 bids of 50. "
        f"`{COMMAND}` measures them, `{COMMAND} ARGS=--verify` compares their results row by row. q6 is not there: "
        "Flink refuses it too."
    )
    found = {} if content is None else figures(content)
    if content is None or not found:
        section.add(f"Not measured yet: `{COMMAND}`.")
        return section
    section.add(heading(content))
    rows = []
    for query, (own, theirs) in found.items():
        core = rounded(own / content["parallelism"])
        rows.append((query, MEANINGS[query], rounded(own), rounded(theirs), f"{own / theirs:.2f} x", core))
    header = ("query", "what it does", "Penstock, events/s", "Flink SQL, events/s", "Penstock is", "for each core")
    section.add(
        "Flink keeps its state as objects in memory here and takes no checkpoint, which is its fastest way; Penstock "
        "writes its state durably at the end of each batch."
    )
    section.add_table(header, rows, left=2)
    ratios = {query: own / theirs for query, (own, theirs) in found.items()}
    section.add(
        f"Geometric mean over {len(ratios)} of {len(QUERIES)} queries: **{geometric_mean(ratios.values()):.2f} x** "
        f"Flink SQL; faster at {sum(ratio >= 1 for ratio in ratios.values())} of them."
    )
    bars = [Bar(query, ratio, f"{ratio:.2f} x", ratio >= 1) for query, ratio in ratios.items()]
    half = (len(bars) + 1) // 2
    panels = [BarPanel("Speed", "times Flink SQL", part) for part in (bars[:half], bars[half:]) if part]
    section.add_picture("nexmark", panels, "Speed of each query of Nexmark as a multiple of Flink SQL's")
    _add_durable(section, content)
    slower = [query for query, ratio in ratios.items() if ratio < 1]
    if slower:
        section.add("Why some are slower:")
        section.add("\n".join(f"- {', '.join(names)}: {reason}." for reason, names in _by_reason(slower).items()))
    return section


def _add_durable(section: Section, content: dict[str, Any]) -> None:
    """Against a Flink whose state survives a crash too."""
    found = {query: own / theirs for query, (own, theirs) in figures(content, "flink_sql_durable").items()}
    if not found:
        return
    section.add(
        "With RocksDB and a checkpoint every 10 seconds, so that its state survives a crash and may outgrow memory as "
        f"Penstock's does, Penstock is **{geometric_mean(found.values()):.2f} x** Flink SQL over {len(found)} queries: "
        + ", ".join(f"{query} {ratio:.2f} x" for query, ratio in found.items())
        + "."
    )


def _by_reason(queries: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for query in queries:
        found.setdefault(REASONS[query], []).append(query)
    return found
