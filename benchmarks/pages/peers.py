"""Penstock beside other systems: tables and bars from peers.json. The arithmetic is `benchmarks.verdicts`'."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.names import FAMILIES, JOBS, OWN, SYSTEMS, WORKLOADS
from benchmarks.pages.charts import Bar, BarPanel
from benchmarks.pages.section import NONE, Section, heading, number, rounded, table
from benchmarks.verdicts import Results, Verdict, failure, fewest_rounds, middle, ratio, spread, times

COUNTS = [name for name in WORKLOADS if name == "map_filter" or name.startswith("count")]
OTHERS = [name for name in WORKLOADS if name not in COUNTS]
COMMAND = "make bench"


def peers_section(peers: Results | None) -> Section:
    """All tables of the comparison."""
    section = Section("Beside other systems")
    if peers is None:
        section.add(f"Not measured yet: `{COMMAND}`.")
        return section
    section.add(heading(peers))
    workloads = [name for name in WORKLOADS if any(run["workload"] == name for run in peers["runs"])]
    systems = [name for name in SYSTEMS if any(run["system"] == name for run in peers["runs"])]
    section.add(_on_spread(peers))
    for name, group in (("counts", COUNTS), ("windows", OTHERS)):
        panels = [_panel(peers, workload, systems) for workload in workloads if workload in group]
        if panels:
            section.add_picture(name, panels, f"Records a second: {', '.join(panel.title for panel in panels)}")
    section.add("Records a second in steady state, medians:")
    section.add(_by_system(peers, workloads, systems, "records_per_second"))
    section.add(
        "How many times as fast Penstock is as each of them, in its fastest way (median of the ratios of each round):"
    )
    section.add(ratios_table(peers, workloads, tuple(FAMILIES)))
    section.add("Peak memory of all processes of a run together, MB:")
    section.add(_by_system(peers, workloads, systems, "peak_mb"))
    section.add("Start-up, seconds: what a run takes apart from its records, from the start of the process:")
    section.add(_by_system(peers, workloads, systems, "startup_seconds"))
    failures = _failures(peers, workloads, systems)
    if failures:
        section.add("Runs that failed:\n\n" + "\n".join(failures))
    return section


def verdicts_section(found: Sequence[Verdict]) -> Section:
    """What was aimed at, reached or not."""
    section = Section("Aims")
    section.add("Ratios are within one run on one machine, the median of its rounds.")
    rows = [(verdict.what, verdict.wanted, verdict.seen or NONE, verdict.word) for verdict in found]
    section.add_table(("aim", "wanted", "seen", ""), rows)
    return section


def jobs_table() -> str:
    """What each workload does."""
    return table(("workload", "job"), [(WORKLOADS[name], JOBS[name]) for name in WORKLOADS], left=2)


def ratios_table(peers: Results, workloads: Sequence[str], families: Sequence[str]) -> str:
    """Penstock's rate, its multiple of each family, and of how many rounds these are medians at least."""
    rows = []
    shown = [OWN, *(system for family in families for system in FAMILIES[family])]
    for workload in workloads:
        cells = [times(ratio(peers, workload, family)) or NONE for family in families]
        own = rounded(middle(peers, workload, OWN))
        rows.append([WORKLOADS[workload], own, *cells, str(fewest_rounds(peers, workload, shown))])
    against = (f"against {family}" for family in families)
    return table(("workload", "Penstock, records/s", *against, "rounds"), rows)


def _by_system(peers: Results, workloads: Sequence[str], systems: Sequence[str], field: str) -> str:
    rows = []
    for workload in workloads:
        cells = [_cell(peers, workload, system, field) for system in systems]
        rows.append([WORKLOADS[workload], *cells])
    return table(("workload", *(SYSTEMS[system] for system in systems)), rows)


def _cell(peers: Results, workload: str, system: str, field: str) -> str:
    value = middle(peers, workload, system, field)
    if value is None:
        return "failed" if failure(peers, workload, system) else NONE
    if field == "records_per_second":
        return rounded(value)
    return number(value, 1 if field == "startup_seconds" else 0)


def _panel(peers: Results, workload: str, systems: Sequence[str]) -> BarPanel:
    bars = []
    for system in systems:
        value = middle(peers, workload, system)
        failed = failure(peers, workload, system)
        if value is not None or failed:
            text = "failed" if value is None else rounded(value)
            bars.append(Bar(SYSTEMS[system], value, text, system == OWN))
    return BarPanel(WORKLOADS[workload], "records/s", bars)


def _on_spread(peers: Results) -> str:
    seen = spread(peers)
    return (
        ""
        if seen is None
        else f"Between the fastest and the slowest round of the same job in the same system there were {seen:.0%} "
        "(the median of all); smaller differences say nothing."
    )


def _failures(peers: Results, workloads: Sequence[str], systems: Sequence[str]) -> list[str]:
    found = []
    for workload in workloads:
        for system in systems:
            error = failure(peers, workload, system)
            if error:
                found.append(f"- {SYSTEMS[system]}, {WORKLOADS[workload]}: {' '.join(error.split())[:200]}")
    return found
