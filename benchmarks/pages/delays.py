"""The delay of a record in every system: tables and histograms from delays.json."""

from __future__ import annotations

from typing import Any

from benchmarks.delays.summary import EDGES_MS
from benchmarks.delays.systems import JOBS, SYSTEMS
from benchmarks.pages.charts import Bar, BarPanel
from benchmarks.pages.section import NONE, Section, heading, number
from benchmarks.verdicts import Results

COMMAND = "make bench-latency"
FIGURES = ("p50", "p90", "p99", "p999", "max")


def delays_section(delays: Results | None) -> Section:
    """A table and the histograms of the quickest modes for each job."""
    section = Section("Delay in continuous mode")
    if delays is None:
        section.add(f"Not measured yet: `{COMMAND}`.")
        return section
    section.add(heading(delays))
    section.add(
        "Milliseconds from the moment a record is due at the source to the moment its result is there, in Python, "
        "behind the last operator. All systems take a checkpoint every "
        f"{number(delays['checkpoint_ms'])} ms. The first {delays['warm_up_s']:g} s are left out and "
        f"{delays['seconds']:g} s or more are measured. A window's result is due at the end of the window, that of a "
        "timer when the timer is. Bytewax runs in one process; the others have two subtasks for each operator."
    )
    for job, title in JOBS.items():
        runs = [run for run in delays["runs"] if run["job"] == job]
        if runs:
            section.add(f"### {title[0].upper()}{title[1:]}")
            section.add_table(("system", "records/s", "p50", "p90", "p99", "p99.9", "max"), list(map(_row, runs)))
            panels = _panels(runs)
            if panels:
                section.add_picture(f"delays_{job}", panels, f"Delays: {title}")
    return section


def _row(run: dict[str, Any]) -> tuple[str, ...]:
    figures = [number(run[name], 1) if name in run else NONE for name in FIGURES]
    return SYSTEMS[run["system"]].title, number(run["rate"]), *figures


def _panels(runs: list[dict[str, Any]]) -> list[BarPanel]:
    return [_panel(run) for run in runs if "histogram" in run]


def _panel(run: dict[str, Any]) -> BarPanel:
    """Bars from the shortest delay there is to the longest."""
    labels = [f"under {edge:,} ms" for edge in EDGES_MS] + [f"{EDGES_MS[-1]:,} ms and more"]
    counts: list[int] = run["histogram"]
    shown = [place for place, count in enumerate(counts) if count]
    system = SYSTEMS[run["system"]]
    bars = [
        Bar(labels[place], counts[place], f"{counts[place] / sum(counts):.1%}", system.is_own)
        for place in range(shown[0], shown[-1] + 1)
    ]
    return BarPanel(system.title, f"{run['rate']:,} records/s", bars)
