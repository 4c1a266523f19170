"""The delay of a record in every system, from delays.json, and over a long time, from soak.json."""

from __future__ import annotations

from typing import Any

from benchmarks.delays.stolen import QUIET_SHARE
from benchmarks.delays.summary import EDGES_MS
from benchmarks.delays.systems import JOBS, SYSTEMS
from benchmarks.pages.charts import Bar, BarPanel
from benchmarks.pages.section import NONE, Section, heading, number
from benchmarks.verdicts import Results

COMMAND = "make bench-latency"
SOAK_COMMAND = "python -m benchmarks.delays.soak"
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
        "timer when the timer is. From a topic to a topic a producer without linger sends, a consumer that asks for "
        "single messages reads, both in processes of their own, and the sink delivers at least once; the broker takes "
        "its share of the two cores. Bytewax runs in one process; the others have two subtasks for each operator. "
        "*Stolen* is the share of processor time that the host of this shared machine gave to others meanwhile; it "
        "makes the longest delays longer. The columns *quiet* count only the seconds in which the host gave less than "
        f"{QUIET_SHARE:.0%} to others, in that second and in the one before. "
        "A delay of many seconds at the median means that the system does not keep up "
        "with the rate on this machine: records wait in a queue that grows as long as the job runs."
    )
    for job, title in JOBS.items():
        runs = [run for run in delays["runs"] if run["job"] == job]
        if runs:
            section.add(f"### {title[0].upper()}{title[1:]}")
            titles = (
                "system",
                "records/s",
                "p50",
                "p90",
                "p99",
                "p99.9",
                "max",
                "stolen",
                "quiet seconds",
                "p50 quiet",
                "p99 quiet",
            )
            section.add_table(titles, list(map(_row, runs)))
            panels = _panels(runs)
            if panels:
                section.add_picture(f"delays_{job}", panels, f"Delays: {title}")
    return section


def soak_section(soak: Results | None) -> Section:
    """Every few minutes of a long run: delays, and the size of the job."""
    section = Section("Continuous mode for a long time")
    if soak is None:
        section.add(f"Not measured yet: `{SOAK_COMMAND}`.")
        return section
    section.add(heading(soak))
    minutes: list[dict[str, Any]] = soak["minutes"]
    section.add(
        f"One job ({JOBS[soak['job']]}) at {number(soak['rate'])} records/s for {len(minutes)} minutes, with a "
        "checkpoint every second. Delays in milliseconds are those of the records of one minute; memory, threads and "
        "open files are those of all processes of the job at its end. Java compiles its code in the first minutes."
    )
    step = max(len(minutes) // 10, 1)
    shown = [minute for minute in range(1, len(minutes) + 1) if minute == 2 or minute % step == 0]
    titles = ("minute", "records", "p50", "p99", "p99.9", "Java, MB", "Python, MB", "threads", "files", "stolen")
    section.add_table(titles, [_minute_row(minute, minutes[minute - 1]) for minute in shown])
    return section


def _minute_row(minute: int, found: dict[str, Any]) -> tuple[str, ...]:
    delays = [number(found[name], 1) if name in found else NONE for name in ("p50", "p99", "p999")]
    sizes = [number(found[name]) if name in found else NONE for name in ("java_mb", "python_mb", "threads", "files")]
    return number(minute), number(found["records"]), *delays, *sizes, _share(found)


def _share(found: dict[str, Any]) -> str:
    stolen = found.get("stolen")
    return NONE if stolen is None else f"{stolen:.0%}"


def _row(run: dict[str, Any]) -> tuple[str, ...]:
    figures = [number(run[name], 1) if name in run else NONE for name in FIGURES]
    return SYSTEMS[run["system"]].title, number(run["rate"]), *figures, _share(run), *_quiet(run)


def _quiet(run: dict[str, Any]) -> tuple[str, str, str]:
    quiet = run.get("quiet", {})
    delays = [number(quiet[name], 1) if name in quiet else NONE for name in ("p50", "p99")]
    return (number(quiet["seconds"]) if quiet else NONE), *delays  # runs of before have none


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
