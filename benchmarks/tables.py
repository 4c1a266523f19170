"""The comparison as tables for a terminal: speed and ratios, start-up and memory, and what was aimed at.

The same results become a page in `page`.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.names import OWN, SYSTEMS, WORKLOADS
from benchmarks.verdicts import Results, failure, middle, times, verdicts


def line(run: dict[str, Any]) -> str:
    """One run, as it is told when it has ended."""
    name = f"round {run['round']}, {WORKLOADS[run['workload']]}, {SYSTEMS[run['system']]}"
    if run["error"]:
        return f"{name}: failed, {run['error']}"
    return (
        f"{name}: {run['records_per_second']:,.0f} records/s, "
        f"start {run['startup_seconds']:.1f} s, {run['peak_mb']:,} MB"
    )


def show(console: Console, content: Results) -> None:
    """Print everything."""
    console.print(compared(content))
    console.print(aims(content))
    console.print(conditions(content))


def compared(content: Results) -> Table:
    """A row for each system at each workload."""
    rounds = content["rounds"]
    table = Table(
        title=f"Medians of {rounds} round{'s' if rounds > 1 else ''}, parallelism {content['parallelism']}",
        caption="records/s: steady state, start-up apart. Penstock is: how many times as fast as that system. "
        "Start: from the start of the process to the end of its first job, its records apart. "
        "Memory: of all processes of a run.",
    )
    for column in ("workload", "system", "records/s", "Penstock is", "start, s", "memory, MB"):
        table.add_column(column, justify="left" if column in ("workload", "system") else "right", no_wrap=True)
    for workload in WORKLOADS:
        rows = [_row(content, workload, system) for system in SYSTEMS if _was_tried(content, workload, system)]
        for place, row in enumerate(rows):
            table.add_row(WORKLOADS[workload] if place == 0 else "", *row, end_section=place == len(rows) - 1)
    return table


def _was_tried(content: Results, workload: str, system: str) -> bool:
    return any((run["workload"], run["system"]) == (workload, system) for run in content["runs"])


def _row(content: Results, workload: str, system: str) -> list[str]:
    rate = middle(content, workload, system)
    if rate is None:
        return [SYSTEMS[system], "failed", "", "", (failure(content, workload, system) or "")[:40]]
    own = middle(content, workload, OWN)
    ratio = "" if system == OWN or own is None else times(own / rate) or ""
    startup, memory = (middle(content, workload, system, field) or 0.0 for field in ("startup_seconds", "peak_mb"))
    return [SYSTEMS[system], f"{rate:,.0f}", ratio, f"{startup:.1f}", f"{memory:,.0f}"]


def aims(content: Results) -> Table:
    """What was aimed at, and what was seen."""
    table = Table(title="Aims")
    for column in ("what", "wanted", "seen", ""):
        table.add_column(column, justify="left" if column in ("what", "") else "right", no_wrap=True)
    for verdict in verdicts(content, None):
        if verdict.seen is not None:
            table.add_row(verdict.what, verdict.wanted, verdict.seen, verdict.word.strip("*"))
    return table


def conditions(content: Results) -> str:
    """What it was measured on."""
    machine = content["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}; "
        f"{versions}; commit {content['commit']}, {content['date']}"
    )
