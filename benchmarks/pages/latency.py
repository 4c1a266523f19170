"""The time of a tiny batch and the delay of a record: table and line from latency.json."""

from __future__ import annotations

from statistics import median, quantiles

from benchmarks.pages.charts import LinePanel, Point
from benchmarks.pages.section import Section, heading, number
from benchmarks.verdicts import FLOOR_MS, Results, floors

COMMAND = "make bench-parts ARGS='--only latency'"
PICTURED = 120
"""Batches; more would be a smear."""


def latency_section(latency: Results | None) -> Section:
    """The floor, batch by batch, and percentiles of the delay."""
    section = Section("Delay")
    if latency is None:
        section.add(f"Not measured yet: `{COMMAND}`.")
        return section
    section.add(heading(latency))
    measured = floors(latency)
    section.add(
        "A batch that has next to nothing to do, in a job of two levels (source, key_by, process, sink), takes "
        f"{median(measured):,.0f} ms at the median of {len(measured)} batches; "
        f"nine in ten take at most {quantiles(measured, n=10)[-1]:,.0f} ms."
    )
    shown = measured[:PICTURED]
    points = [Point(place, each, each, each) for place, each in enumerate(shown, 1)]
    ticks = [1, *range(10, len(shown) + 1, 10)] if len(shown) <= 60 else [1, *range(20, len(shown) + 1, 20)]
    panel = LinePanel(
        "Tiny batches", f"ms; dashed: the aim, {FLOOR_MS} ms", "batch", points, limit=FLOOR_MS, ticks=ticks
    )
    section.add_picture("floor", [panel], "Milliseconds of each tiny batch")
    if "parts_ms" in latency:
        section.add("What Spark says that such a batch is made of, at the median ([more](internals/tiny_batch.md)):")
        section.add_table(("part", "ms"), [(part, number(each)) for part, each in latency["parts_ms"].items()])
    section.add("From the moment a record is due at the source to the moment it can be seen behind the sink:")
    rows = [
        (str(turn), number(each["rate"]), number(each["samples"]), number(each["p50"]), number(each["p99"]))
        for turn, each in enumerate(latency["delay_ms"], 1)
    ]
    section.add_table(("round", "records/s", "records", "p50, ms", "p99, ms"), rows)
    if "idle_cores" in latency:
        section.add(
            f"A job that has nothing to do takes {latency['idle_cores']:.0%} of one core, all processes together."
        )
    if "little" in latency:
        section.add(_of_little(latency["little"]))
    return section


def _of_little(little: Results) -> str:
    return (
        f"A job at {little['rate']:,} records/s without any settings takes {little['cores']:.0%} of one core, "
        f"{little['processes']} processes and {little['megabytes']:,} MB (shared pages counted once). Its records are "
        f"seen after {little['p50']:,} ms at the median and {little['p99']:,} ms at the 99th percentile: its batches "
        "wait for records, see `penstock.batch.min-interval`. In the tables above they do not."
    )
