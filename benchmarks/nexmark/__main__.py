"""`make nexmark`: the queries in Penstock and in Flink SQL in turn; compares their results, or their speed.

`--verify` compares the tables that both are left with after few events. Otherwise each query is run with a small and a
large number of events, whose difference gives the speed in steady state, as in `make bench`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import results
from benchmarks.catalogue import PARALLELISM, System, Workload
from benchmarks.nexmark.queries import CLOCKED, QUERIES
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
    )
}
SLOW = {"q4", "q7", "q9", "q15", "q16", "q18", "q19", "q20"}
"""Queries with joins, distinct counts or ranks: inputs are shorter."""
LIGHT = {"q0", "q1", "q2", "q3", "q8", "q12", "q14"}
"""Queries that look at most events once: inputs are longer."""
EVENTS_TO_VERIFY = 20_000


def workload(query: str) -> Workload:
    """A query as what the runner of `make bench` takes; the rates only size the inputs."""
    own, theirs = (
        (150_000, 400_000) if query in SLOW else (2_500_000, 5_000_000) if query in LIGHT else (600_000, 1_500_000)
    )
    rates = {"penstock": own, "flink_sql": theirs, "flink_sql_durable": min(theirs, 1_000_000) // 2}
    return Workload(query, query, rates, step=50_000)


def main(words: list[str] | None = None) -> int:
    """Measure or compare; exits with 1 if a run failed or results differ, whatever the speed is."""
    arguments = _arguments(words)
    console = Console(width=max(Console().width, 100))
    queries = arguments.only.split(",") if arguments.only else list(QUERIES)
    if arguments.verify:
        return verify(console, queries)
    return compare(console, arguments, queries)


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nexmark", description=__doc__)
    parser.add_argument("--only", metavar="QUERY,...", help=f"some of {', '.join(QUERIES)}")
    parser.add_argument("--systems", default="penstock,flink_sql", help=f"some of {', '.join(SYSTEMS)}")
    parser.add_argument("--verify", action="store_true", help="compare results, not speed")
    parser.add_argument("--rounds", type=int, default=1, help="how often each query is run")
    parser.add_argument("--seconds", type=float, default=5.0, help="how long the large input is to take, about")
    parser.add_argument("--append", action="store_true", help="add to the results, or replace runs of theirs")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "nexmark.json", help="the file of results")
    arguments = parser.parse_args(words)
    unknown = set((arguments.only or "").split(",")) - set(QUERIES) - {""}
    if unknown:
        parser.error(f"--only: unknown {', '.join(sorted(unknown))}; there are {', '.join(QUERIES)}")
    return arguments


def verify(console: Console, queries: list[str]) -> int:
    """Compare the tables that both systems are left with; the rows of q12 depend on the clock."""
    different = 0
    for query in queries:
        found = None if query in CLOCKED else difference(query)
        different += found is not None
        console.print(f"{query}: {found or ('runs by the clock' if query in CLOCKED else 'equal')}", markup=False)
    console.print(f"nexmark: {len(queries) - different} equal, {different} different of {len(queries)}")
    return 1 if different else 0


def difference(query: str) -> str | None:
    """What differs between the two systems, if anything."""
    tables = []
    for system in (SYSTEMS["penstock"], SYSTEMS["flink_sql"]):
        ended, reported = run(workload(query), system, [EVENTS_TO_VERIFY], collect=True)
        if ended.error is not None:
            return f"{system.id} failed: {ended.error}"
        tables.append(reported[0]["results"])
    own, theirs = tables
    if own == theirs:
        return None if own else "both found nothing: the comparison shows nothing"
    missing = [row for row in theirs if row not in own][:2]
    surplus = [row for row in own if row not in theirs][:2]
    return f"{len(own)} rows against {len(theirs)}; only Flink has {missing}, only Penstock has {surplus}"


def compare(console: Console, arguments: argparse.Namespace, queries: list[str]) -> int:
    """Measure; what is stored is whole after each run."""
    plan: Plan = [
        (turn, workload(query), system)
        for turn in range(1, arguments.rounds + 1)
        for query in queries
        for system in list(SYSTEMS.values())[:: 1 if turn % 2 else -1]
        if system.id in arguments.systems.split(",")
    ]
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


def table_of(content: dict[str, Any]) -> Table:
    """A row for each query, and the geometric mean."""
    table = Table(title=f"Nexmark, events/s, parallelism {content['parallelism']}")
    for column in ("query", "Penstock", "Flink SQL", "Penstock is", "by processor time", "against durable Flink"):
        table.add_column(column, justify="right")
    found = figures(content)
    for query, (own, theirs) in found.items():
        durable = rate(content, query, "flink_sql_durable")
        against = f"{own / durable:.2f} x" if durable else ""
        ratio, processor = f"{own / theirs:.2f} x", _by_processor(content, query)
        table.add_row(query, f"{own:,.0f}", f"{theirs:,.0f}", ratio, processor, against)
    if found:
        table.add_section()
        table.add_row(
            "geometric mean", "", "", f"{geometric_mean(own / theirs for own, theirs in found.values()):.2f} x"
        )
    return table


def _by_processor(content: dict[str, Any], query: str) -> str:
    """The ratio of processor time for an event, which a busy machine changes least."""
    own, theirs = (rate(content, query, system, "processor_us") for system in ("penstock", "flink_sql"))
    return "" if not own or not theirs else f"{theirs / own:.2f} x"


if __name__ == "__main__":
    sys.exit(main())
