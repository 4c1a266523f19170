"""`make nexmark`: the queries in Penstock, Flink SQL and Spark's own streaming in turn; compares results, or speed.

`--verify` compares the tables that they are left with after few events. Otherwise each query is run with a small and a
large number of events, whose difference gives the speed in steady state, as in `make bench`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import results
from benchmarks.catalogue import PARALLELISM, System, Workload
from benchmarks.nexmark.queries import CLOCKED, QUERIES
from benchmarks.nexmark.spark_sql import REFUSED
from benchmarks.nexmark.summary import figures, geometric_mean, rate
from benchmarks.side_by_side import Plan, failed, keep, measure, run, unprepared

DURABLE = {"state.backend.type": "rocksdb", "execution.checkpointing.interval": "10 s"}
"""Flink with state that may outgrow memory and survives a crash, as Penstock's always does."""
SYSTEMS = {
    system.id: system
    for system in (
        System("penstock", "penstock", "nexmark.penstock_queries", {"penstock.batch.max-records": 5_000_000}, 3),
        System("flink_sql", "flink", "nexmark.flink_queries"),
        System("flink_sql_durable", "flink", "nexmark.flink_queries", {"settings": DURABLE}),
        # The Spark that Penstock runs on.
        System("spark", "penstock", "nexmark.spark_queries", longer=2),
    )
}
NAMES = {
    "penstock": "Penstock",
    "flink_sql": "Flink SQL",
    "flink_sql_durable": "durable Flink SQL",
    "spark": "Spark",
}
DEFAULT_SYSTEMS = "penstock,flink_sql,spark"
SLOW = {"q4", "q7", "q9", "q15", "q16", "q18", "q19", "q20"}
"""Queries with joins, distinct counts or ranks: inputs are shorter."""
KEPT = SLOW | {"q5", "q11", "q17"}
"""Queries whose state Spark reads and writes for each event: its batches are smaller, so that there are several."""
LIGHT = {"q0", "q1", "q2", "q3", "q8", "q12", "q14"}
"""Queries that look at most events once: inputs are longer."""


def workload(query: str) -> Workload:
    """A query as what the runner of `make bench` takes; the rates only size the inputs."""
    own, theirs = (
        (150_000, 400_000) if query in SLOW else (2_500_000, 5_000_000) if query in LIGHT else (600_000, 1_500_000)
    )
    rates = {"penstock": own, "flink_sql": theirs, "flink_sql_durable": min(theirs, 1_000_000) // 2}
    batch, rate_of_spark = (
        (100_000, 40_000) if query in KEPT else (1_000_000, 1_000_000) if query in LIGHT else (500_000, 400_000)
    )
    if query not in REFUSED:
        rates["spark"] = rate_of_spark
    return Workload(query, query, rates, step=50_000, options={"spark": {"batch": batch}})


def main(words: list[str] | None = None) -> int:
    """Measure or compare; exits with 1 if a run failed or results differ, whatever the speed is."""
    arguments = _arguments(words)
    console = Console(width=max(Console().width, 100))
    queries = arguments.only.split(",") if arguments.only else list(QUERIES)
    systems = [system for system in SYSTEMS if system in arguments.systems.split(",")]
    for query in queries if "spark" in systems else ():
        if query in REFUSED:
            console.print(f"{query} cannot be said in Spark: {REFUSED[query]}", markup=False, highlight=False)
    if arguments.verify:
        return verify(console, queries, systems, arguments.events)
    return compare(console, arguments, queries, systems)


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nexmark", description=__doc__)
    parser.add_argument("--only", metavar="QUERY,...", help=f"some of {', '.join(QUERIES)}")
    parser.add_argument("--systems", default=DEFAULT_SYSTEMS, help=f"some of {', '.join(SYSTEMS)}")
    parser.add_argument("--verify", action="store_true", help="compare results, not speed")
    parser.add_argument("--events", type=int, default=20_000, help="how many events results are compared of")
    parser.add_argument("--rounds", type=int, default=1, help="how often each query is run")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long the large input is to take, about")
    parser.add_argument("--append", action="store_true", help="add to the results, or replace runs of theirs")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "nexmark.json", help="the file of results")
    arguments = parser.parse_args(words)
    for option, known in (("only", QUERIES), ("systems", SYSTEMS)):
        unknown = set((getattr(arguments, option) or "").split(",")) - set(known) - {""}
        if unknown:
            parser.error(f"--{option}: unknown {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return arguments


def verify(console: Console, queries: list[str], systems: list[str], events: int) -> int:
    """Compare the tables that the systems are left with; the rows of q12 depend on the clock."""
    different = 0
    for query in queries:
        taking_part = [SYSTEMS[system] for system in systems if system in workload(query).rates]
        found = None if query in CLOCKED else difference(query, taking_part, events)
        different += found is not None
        names = ", ".join(NAMES[system.id] for system in taking_part)
        told = "runs by the clock" if query in CLOCKED else f"equal in {names}"
        console.print(f"{query}: {found or told}", markup=False, highlight=False)
    console.print(f"nexmark: {len(queries) - different} equal, {different} different of {len(queries)}")
    return 1 if different else 0


def difference(query: str, systems: list[System], events: int) -> str | None:
    """What differs between the systems, if anything."""
    tables: dict[str, list[list[str]]] = {}
    for system in systems:
        ended, reported = run(workload(query), system, [events], collect=True)
        if ended.error is not None:
            return f"{system.id} failed: {ended.error}"
        tables[system.id] = reported[0]["results"]
    reference = "flink_sql" if "flink_sql" in tables else systems[0].id
    if not any(tables.values()):
        return "all found nothing: the comparison shows nothing"
    found = [
        told_difference(NAMES[system], rows, NAMES[reference], tables[reference])
        for system, rows in tables.items()
        if rows != tables[reference]
    ]
    return "; ".join(found) or None


def told_difference(name: str, rows: list[list[str]], other_name: str, others: list[list[str]]) -> str:
    """How many rows two tables have, and some of those that only one of them has."""
    own, theirs = Counter(map(tuple, rows)), Counter(map(tuple, others))
    missing, surplus = ([list(row) for row in (more - less)][:2] for more, less in ((theirs, own), (own, theirs)))
    return (
        f"{len(rows)} rows in {name} against {len(others)} in {other_name}; only {other_name} has {missing}, "
        f"only {name} has {surplus}"
    )


def compare(console: Console, arguments: argparse.Namespace, queries: list[str], systems: list[str]) -> int:
    """Measure; what is stored is whole after each run."""
    plan = plan_of(queries, systems, arguments.rounds)
    missing = unprepared(plan)
    before = results.read(arguments.output.stem, arguments.output.parent) if arguments.append else None
    content = {
        **results.heading(parallelism=PARALLELISM, rounds=arguments.rounds),
        "runs": before["runs"] if before else [],
    }
    for number, (turn, query, system) in enumerate(plan, 1):
        if system.environment in missing:
            found = failed(query, system, turn, missing[system.environment])
        else:
            found = measure(query, system, turn, arguments.seconds, 1.0)
        keep(content, found)
        results.write(arguments.output.stem, content, arguments.output.parent)
        told = found["error"] or f"{found['records_per_second']:,.0f} events/s"
        console.print(f"{number}/{len(plan)} {query.id}, {system.id}: {told}", markup=False, highlight=False)
    console.print(table_of(content))
    return 1 if any(each["error"] for each in content["runs"]) else 0


def plan_of(queries: list[str], systems: list[str], rounds: int) -> Plan:
    """The runs in their order: all systems at a query one after another, the other way round in every second round."""
    return [
        (turn, workload(query), SYSTEMS[system])
        for turn in range(1, rounds + 1)
        for query in queries
        for system in systems[:: 1 if turn % 2 else -1]
        if system in workload(query).rates
    ]


def table_of(content: dict[str, Any]) -> Table:
    """A row for each query, and the geometric means."""
    table = Table(title=f"Nexmark, events/s, parallelism {content['parallelism']}")
    columns = ("query", "Penstock", "Flink SQL", "Penstock is", "by processor time", "against durable Flink")
    for column in (*columns, "Spark", "against Spark"):
        table.add_column(column, justify="right")
    found, beside_spark = figures(content), figures(content, "spark")
    for query in QUERIES:
        systems = ("penstock", "flink_sql", "flink_sql_durable", "spark")
        own, *others = (rate(content, query, system) for system in systems)
        if own is None and not any(others):
            continue
        speeds = ["-" if each is None else f"{each:,.0f}" for each in (own, *others)]
        ratios = ["-" if own is None or other is None else f"{own / other:.2f} x" for other in others]
        processor = _by_processor(content, query)
        table.add_row(query, *speeds[:2], ratios[0], processor, ratios[1], speeds[3], ratios[2])
    if found or beside_spark:
        table.add_section()
        flink, spark = (_mean(each) for each in (found, beside_spark))
        table.add_row("geometric mean", "", "", flink, "", "", "", spark)
    return table


def _mean(found: dict[str, tuple[float, float]]) -> str:
    return f"{geometric_mean(own / theirs for own, theirs in found.values()):.2f} x" if found else "-"


def _by_processor(content: dict[str, Any], query: str) -> str:
    """The ratio of processor time for an event, which a busy machine changes least."""
    own, theirs = (rate(content, query, system, "processor_us") for system in ("penstock", "flink_sql"))
    return "" if not own or not theirs else f"{theirs / own:.2f} x"


if __name__ == "__main__":
    sys.exit(main())
