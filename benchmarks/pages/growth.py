"""How the cost of a record grows: tables, lines and what they say, from growth.json."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from benchmarks.names import AXES
from benchmarks.pages import prose
from benchmarks.pages.charts import LinePanel, Point
from benchmarks.pages.section import Section, heading, rounded
from benchmarks.verdicts import Results

COMMAND = "make bench-growth"
LOGARITHMIC = ("keys", "state_bytes")
ADDED = {"operators": "map", "levels": "level"}
"""Axes where each step adds work: what should stay flat there is the cost of one more."""


def growth_section(growth: Results | None) -> Section:
    """One table and one panel for each axis."""
    section = Section("Growth")
    if growth is None:
        section.add(f"Not measured yet: `{COMMAND}`.")
        return section
    section.add(prose.GROWTH)
    section.add(heading(growth))
    by_axis = {axis: points for axis in AXES if (points := axis_points(growth, axis))}
    panels = [_panel(axis, points) for axis, points in by_axis.items()]
    section.add_picture("growth", [*panels, _memory_panel(growth)], "Cost of a record as something grows")
    section.add("\n".join(f"- {sentence(axis, points)}" for axis, points in by_axis.items()))
    for axis, points in by_axis.items():
        _add_table(section, axis, points)
    return section


def axis_points(growth: Results, axis: str, field: str = "records_per_second") -> list[Point]:
    """Medians of the rounds, and their ranges."""
    seen: dict[float, list[float]] = {}
    for row in growth["series"]:
        if row["axis"] == axis and row[field]:
            seen.setdefault(row["x"], []).append(row[field])
    return [Point(x, median(seen[x]), min(seen[x]), max(seen[x])) for x in sorted(seen)]


def cost(point: Point) -> float:
    """Microseconds for a record, by the clock and with all cores at work."""
    return 1e6 / point.y


def cost_of_one_more(points: Sequence[Point]) -> list[float | None]:
    """What each unit costs beyond the point before, in microseconds for a record; None for the first."""
    return [None, *((cost(after) - cost(before)) / (after.x - before.x) for before, after in pairwise(points))]


def sentence(axis: str, points: Sequence[Point]) -> str:
    """What the first and the last point say."""
    first, last = points[0], points[-1]
    if axis in ADDED:
        one_more = (cost(last) - cost(first)) / ((last.x - first.x) or 1)
        return f"Each further {ADDED[axis]} costs a record {one_more:.2f} us; the first point is {cost(first):.2f} us."
    name = AXES[axis]
    if axis == "parallelism":
        return f"From parallelism {first.x:g} to {last.x:g}, the speed becomes {last.y / first.y:.2f} of what it was."
    return (
        f"From {first.x:,.0f} to {last.x:,.0f} {name} ({last.x / first.x:,.0f} times as many), a record comes to cost "
        f"{cost(last) / cost(first):.2f} times as much: {cost(first):.2f} us and {cost(last):.2f} us."
    )


def _panel(axis: str, points: Sequence[Point]) -> LinePanel:
    if axis in ADDED:
        costs = [Point(point.x, cost(point), 1e6 / point.high, 1e6 / point.low) for point in points]
        return LinePanel(AXES[axis].capitalize(), "us for a record", AXES[axis], costs)
    return LinePanel(AXES[axis].capitalize(), "records/s", AXES[axis], points, axis in LOGARITHMIC)


def _memory_panel(growth: Results) -> LinePanel:
    points = axis_points(growth, "keys", "largest_worker_mb")
    return LinePanel("Keys", "MB, largest Python worker", AXES["keys"], points, is_logarithmic=True)


def _add_table(section: Section, axis: str, points: Sequence[Point]) -> None:
    added = cost_of_one_more(points) if axis in ADDED else None
    header = [AXES[axis], "records/s", "slowest and fastest round", "us for a record"]
    rows = []
    for number, point in enumerate(points):
        row = [
            f"{point.x:,.0f}",
            rounded(point.y),
            f"{rounded(point.low)} to {rounded(point.high)}",
            f"{cost(point):.2f}",
        ]
        if added is not None:
            more = added[number]
            row.append("" if more is None else f"{more:.2f}")
        rows.append(row)
    section.add_table(header + ([f"us for one more {ADDED[axis]}"] if added is not None else []), rows, left=0)
