"""Nexmark beside Flink SQL and Spark: table, pictures and the reasons for what is slower, from nexmark.json."""

from __future__ import annotations

from typing import Any

from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.spark_sql import REFUSED
from benchmarks.nexmark.summary import figures, geometric_mean, rate
from benchmarks.pages.charts import Bar, BarPanel
from benchmarks.pages.section import NONE, Section, heading, rounded

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
    "q10": "Python puts the lines of the files together",
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
SPARK = """\
Spark runs the same queries in its own Structured Streaming: Spark SQL on the JVM, without Penstock. Its events are from
its generator `rate-micro-batch` through the same views. It has the settings of `make bench`: as many shuffle partitions
as the parallelism, and the RocksDB state store with changelog checkpoints. A batch has 100,000 to 1,000,000 events,
fewer where each of them changes state. The rows go to the `noop` sink, those of q10 to CSV files. Some queries are
said in another way, with the same result:

- q5 collects the counts of a window, where the others join them with their maximum.
- q9, q18 and q19 use `MAX_BY`: Spark refuses `ROW_NUMBER` on streams (`NON_TIME_WINDOW_NOT_SUPPORTED_IN_STREAMING`).
- q15 and q16 count sets: Spark refuses `COUNT(DISTINCT)` on streams.
- q12 takes the time at which a batch begins as the time of all its events.
- q13 joins with a static table, which needs no state. Penstock and Flink join two streams there.
- q9 and q15 to q19 put out a row for each key and batch, where Penstock and Flink put out each change."""


def nexmark_section(content: dict[str, Any] | None) -> Section:
    """Speed of each query, the mean, and why some are slower."""
    section = Section("Nexmark")
    section.add(
        "The queries of an auction site, over the same events in all systems: 1 person, 3 auctions and 46 bids of 50. "
        f"`{COMMAND}` measures them, `{COMMAND} ARGS=--verify` compares their results row by row. q6 is not there: "
        "Flink refuses it too."
    )
    found = {} if content is None else figures(content)
    if content is None or not found:
        section.add(f"Not measured yet: `{COMMAND}`.")
        return section
    section.add(heading(content))
    header, rows = _table(content, found)
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
    panels = _panels([_bar(query, ratio) for query, ratio in ratios.items()], "times Flink SQL")
    section.add_picture("nexmark", panels, "Speed of each query of Nexmark as a multiple of Flink SQL's")
    _add_durable(section, content)
    slower = [query for query, ratio in ratios.items() if ratio < 1]
    if slower:
        section.add("Why some are slower:")
        section.add("\n".join(f"- {', '.join(names)}: {reason}." for reason, names in _by_reason(slower).items()))
    _add_spark(section, content)
    return section


def _table(
    content: dict[str, Any], found: dict[str, tuple[float, float]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows; with Spark's columns if it was measured."""
    header = ("query", "what it does", "Penstock, events/s", "Flink SQL, events/s", "Penstock is", "for each core")
    of_spark = ("Spark, events/s", "against Spark") if figures(content, "spark") else ()
    rows: list[tuple[str, ...]] = []
    for query, (own, theirs) in found.items():
        core = rounded(own / content["parallelism"])
        row = (query, MEANINGS[query], rounded(own), rounded(theirs), f"{own / theirs:.2f} x", core)
        spark = rate(content, query, "spark")
        beside = (rounded(spark), NONE if spark is None else f"{own / spark:.2f} x")
        rows.append((*row, *(beside if of_spark else ())))
    return (*header, *of_spark), rows


def _bar(query: str, ratio: float) -> Bar:
    return Bar(query, ratio, f"{ratio:.2f} x", ratio >= 1)


def _panels(bars: list[Bar], unit: str) -> list[BarPanel]:
    """Bars in two columns."""
    half = (len(bars) + 1) // 2
    return [BarPanel("Speed", unit, part) for part in (bars[:half], bars[half:]) if part]


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


def _add_spark(section: Section, content: dict[str, Any]) -> None:
    """How Spark is run, how much faster or slower Penstock is, and what Spark cannot say."""
    section.add(SPARK)
    section.add("Its figures are of a run of their own, so a ratio is only as good as the machine is steady.")
    section.add("\n".join(f"Spark cannot say {query}: {reason}." for query, reason in REFUSED.items()))
    ratios = {query: own / theirs for query, (own, theirs) in figures(content, "spark").items()}
    if not ratios:
        section.add(f"Spark is not measured yet: `{COMMAND} ARGS='--systems spark --append'`.")
        return
    slower = [query for query, ratio in ratios.items() if ratio < 1]
    section.add(
        f"Geometric mean over {len(ratios)} queries: **{geometric_mean(ratios.values()):.2f} x** Spark; faster at "
        f"{len(ratios) - len(slower)} of them" + (f", slower at {', '.join(slower)}." if slower else ".")
    )
    refused = [Bar(query, None, "Spark cannot say it") for query in REFUSED]
    bars = {bar.label: bar for bar in [*refused, *(_bar(query, ratio) for query, ratio in ratios.items())]}
    panels = _panels([bars[query] for query in QUERIES if query in bars], "times Spark")
    section.add_picture("nexmark-spark", panels, "Speed of each query of Nexmark as a multiple of Spark's")


def _by_reason(queries: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for query in queries:
        found.setdefault(REASONS[query], []).append(query)
    return found
