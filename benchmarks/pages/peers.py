"""Penstock beside other systems: tables and bars from peers.json. The arithmetic is `benchmarks.verdicts`'."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.catalogue import can_be_written
from benchmarks.names import FAMILIES, JOBS, KSTREAMS_FAMILY, OWN, PATTERNS_FAMILY, SYSTEMS, WORKLOADS
from benchmarks.pages import prose
from benchmarks.pages.charts import Bar, BarPanel
from benchmarks.pages.section import NONE, Section, heading, number, rounded, table
from benchmarks.verdicts import Results, Verdict, best, failure, middle, ratio, runs, spread, times

COUNTS = [name for name in WORKLOADS if name == "map_filter" or name.startswith("count")]
OTHERS = [name for name in WORKLOADS if name not in COUNTS]
COMMAND = "make bench"
PATTERNS_ONLY = ",".join(name for name in WORKLOADS if name.startswith("cep_"))
PATTERNS_COMMAND = f"make bench ARGS='--only {PATTERNS_ONLY} --output benchmarks/results/cep.json'"
SQL_ONLY = ",".join(name for name in WORKLOADS if name.startswith("sql_"))
SQL_COMMAND = f"make bench ARGS='--only {SQL_ONLY} --output benchmarks/results/sql.json'"
KSTREAMS_ONLY = ",".join(name for name in WORKLOADS if name.startswith("kstreams_"))
KSTREAMS_COMMAND = f"make bench ARGS='--only {KSTREAMS_ONLY} --output benchmarks/results/kstreams.json'"
SQL_SYSTEMS = (OWN, "flink_sql", "spark_native")
NOT_MEASURED = "not measured"
SINGLE = "single"
SIGNS = (
    f"A dash: the job cannot be written in that system. *{NOT_MEASURED}*: it can, and was not run. *{SINGLE}*: of one "
    "round only, so no median."
)


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
    section.add(SIGNS)
    section.add("Records a second in steady state, medians:")
    section.add(_by_system(peers, workloads, systems, "records_per_second"))
    section.add(
        "How many times as fast Penstock is as each of them, in its fastest way (median of the ratios of each round):"
    )
    section.add(ratios_table(peers, workloads, families_in(peers)))
    section.add("Peak memory of all processes of a run together, MB:")
    section.add(_by_system(peers, workloads, systems, "peak_mb"))
    section.add("Start-up, seconds: what a run takes apart from its records, from the start of the process:")
    section.add(_by_system(peers, workloads, systems, "startup_seconds"))
    failures = _failures(peers, workloads, systems)
    if failures:
        section.add("Runs that failed:\n\n" + "\n".join(failures))
    return section


def patterns_section(patterns: Results | None) -> Section:
    """Patterns, beside Flink's own library for them; measured apart from the rest."""
    section = Section("Patterns, beside Flink's CEP library")
    section.add("Flink's library runs on the JVM, a job in Java: no Python touches a record there.")
    return _apart(section, patterns, PATTERNS_COMMAND, (OWN, *FAMILIES[PATTERNS_FAMILY]), (PATTERNS_FAMILY,))


def kstreams_section(found: Results | None) -> Section:
    """Topologies, beside Kafka Streams itself; measured apart from the rest, because they need a broker."""
    section = Section("Kafka Streams, beside the Java library")
    section.add(
        "The same topologies from topics to topics, with a broker of the run's own on the same machine. Kafka Streams "
        "runs on the JVM, with RocksDB and changelog topics, and without record cache, so that it writes every update "
        "as well."
    )
    return _apart(section, found, KSTREAMS_COMMAND, (OWN, *FAMILIES[KSTREAMS_FAMILY]), (KSTREAMS_FAMILY,))


def sql_section(sql: Results | None) -> Section:
    """Queries, beside Flink SQL and Spark's own streaming; measured apart from the rest."""
    section = Section("SQL, beside Flink SQL")
    section.add(prose.SQL)
    return _apart(section, sql, SQL_COMMAND, SQL_SYSTEMS, ("Flink SQL", "Spark native"))


def _apart(
    section: Section, found: Results | None, command: str, systems: Sequence[str], families: Sequence[str]
) -> Section:
    """Fill a section with results of a file of its own."""
    if found is None:
        section.add(f"Not measured yet: `{command}`.")
        return section
    section.add(heading(found))
    workloads = [name for name in WORKLOADS if any(run["workload"] == name for run in found["runs"])]
    section.add("Records a second in steady state, medians:")
    section.add(_by_system(found, workloads, systems, "records_per_second"))
    section.add("How many times as fast Penstock is (median of the ratios of each round):")
    section.add(ratios_table(found, workloads, families))
    section.add("Peak memory of all processes of a run together, MB:")
    section.add(_by_system(found, workloads, systems, "peak_mb"))
    return section


def families_in(peers: Results) -> tuple[str, ...]:
    """The families of the comparison; those that are measured apart only where they were run."""
    systems = {run["system"] for run in peers["runs"]}
    apart = (PATTERNS_FAMILY, KSTREAMS_FAMILY)
    return tuple([family for family in FAMILIES if family not in apart or systems & set(FAMILIES[family])])


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
    """Penstock's rate, its multiple of each family, and how many rounds Penstock was run in."""
    rows = []
    for workload in workloads:
        cells = [_multiple(peers, workload, family) for family in families]
        own, rounds = rounded(middle(peers, workload, OWN)), len(runs(peers, workload, OWN))
        rows.append([WORKLOADS[workload], own, *cells, SINGLE if rounds == 1 else str(rounds)])
    against = (f"against {family}" for family in families)
    return table(("workload", "Penstock, records/s", *against, "rounds"), rows)


def _multiple(peers: Results, workload: str, family: str) -> str:
    text, fastest = times(ratio(peers, workload, family)), best(peers, workload, family)
    if not text or fastest is None:
        return _absent(peers, workload, family)
    counts = [len(runs(peers, workload, system)) for system in (OWN, fastest)]
    # A row whose rounds are single says so once.
    return f"{text} ({SINGLE})" if counts[0] > 1 and counts[1] == 1 else text


def _absent(peers: Results, workload: str, family: str) -> str:
    """Why a system has no figure."""
    if any(failure(peers, workload, system) for system in FAMILIES[family]):
        return "failed"
    return NOT_MEASURED if can_be_written(workload, FAMILIES[family]) else NONE


def _by_system(peers: Results, workloads: Sequence[str], systems: Sequence[str], field: str) -> str:
    rows = []
    for workload in workloads:
        cells = [_cell(peers, workload, system, field) for system in systems]
        rows.append([WORKLOADS[workload], *cells])
    return table(("workload", *(SYSTEMS[system] for system in systems)), rows)


def _cell(peers: Results, workload: str, system: str, field: str) -> str:
    value = middle(peers, workload, system, field)
    if value is None:
        if failure(peers, workload, system):
            return "failed"
        return NOT_MEASURED if can_be_written(workload, _ways_of(system)) else NONE
    if field == "records_per_second":
        return f"{rounded(value)} ({SINGLE})" if len(runs(peers, workload, system)) == 1 else rounded(value)
    return number(value, 1 if field == "startup_seconds" else 0)


def _ways_of(system: str) -> tuple[str, ...]:
    """The system with its other ways to be run, for which the same job is written."""
    return next((ways for ways in FAMILIES.values() if system in ways), (system,))


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
