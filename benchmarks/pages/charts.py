"""Charts as SVG text: bars and lines in small panels, for light and dark pages; same data, same bytes.

It knows nothing of benchmarks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

PANEL_WIDTH = 440
LABEL_WIDTH, VALUE_WIDTH = 150, 96
ROW, TITLE = 22, 42
PLOT_HEIGHT, LEFT, RIGHT, BELOW = 150, 58, 16, 44
GAP = 24
TICKS = 4

# A background of its own: the page's theme and the system's may differ, and text must be readable on either.
STYLE = """<style>
text{font:12px -apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328}
.card{fill:#ffffff}.title{font-weight:600;font-size:13px}.unit{font-weight:400;font-size:12px}.quiet,.unit{fill:#59636e}
.own{fill:#1f6feb}.other{fill:#afb8c1}.grid{stroke:#d1d9e0}.axis{stroke:#818b98}
.line{fill:none;stroke:#1f6feb;stroke-width:2}.spread{stroke:#1f6feb;opacity:.4;stroke-width:5}
.limit{stroke:#cf222e;stroke-width:1.5;stroke-dasharray:5 4}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.card{fill:#0d1117}.quiet,.unit{fill:#9198a1}
.own{fill:#58a6ff}.other{fill:#656c76}.grid{stroke:#30363d}.axis{stroke:#656c76}
.line,.spread{stroke:#58a6ff}.limit{stroke:#ff7b72}
}
</style>"""


@dataclass(frozen=True)
class Bar:
    """One bar and the text at its end, or instead of it where there is no value."""

    label: str
    value: float | None
    text: str
    is_own: bool = False


@dataclass(frozen=True)
class BarPanel:
    """Bars on a scale of their own, from zero."""

    title: str
    unit: str
    bars: Sequence[Bar]

    @property
    def height(self) -> int:
        return TITLE + ROW * len(self.bars) + 8

    def draw(self) -> Iterator[str]:
        yield _title(self.title, self.unit)
        longest = max((bar.value or 0 for bar in self.bars), default=0) or 1
        room = PANEL_WIDTH - LABEL_WIDTH - VALUE_WIDTH
        for number, bar in enumerate(self.bars):
            top = TITLE - 8 + ROW * number
            yield _text(LABEL_WIDTH - 8, top + 13, bar.label, anchor="end")
            if bar.value is None:
                yield _text(LABEL_WIDTH + 6, top + 13, bar.text, "quiet")
                continue
            width = max(1.0, room * bar.value / longest)
            colour = "own" if bar.is_own else "other"
            yield f'<rect class="{colour}" x="{LABEL_WIDTH}" y="{top}" width="{width:.1f}" height="17" rx="2"/>'
            yield _text(LABEL_WIDTH + width + 6, top + 13, bar.text)


@dataclass(frozen=True)
class Point:
    """A value, and the range it was seen in."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class LinePanel:
    """A line through points, from zero; `limit` is a dashed line that the points should keep to."""

    title: str
    unit: str
    x_title: str
    points: Sequence[Point]
    is_logarithmic: bool = False
    limit: float | None = None
    ticks: Sequence[float] | None = None
    """Where the x axis has numbers; at the points if not given."""

    height = TITLE + PLOT_HEIGHT + BELOW

    def draw(self) -> Iterator[str]:
        top = nice_ceiling(max([point.high for point in self.points] + [self.limit or 0]))
        across, up = self._across(), _scaled(0, top, TITLE + PLOT_HEIGHT, TITLE)
        yield _title(self.title, self.unit)
        for number in range(TICKS + 1):
            value = top * number / TICKS
            colour = "grid" if number else "axis"
            yield _line(LEFT, up(value), PANEL_WIDTH - RIGHT, up(value), colour)
            yield _text(LEFT - 8, up(value) + 4, short(value), "quiet", "end")
        for x in self.ticks or [point.x for point in self.points]:
            yield _text(across(x), TITLE + PLOT_HEIGHT + 17, short(x), "quiet", "middle")
        yield _text((LEFT + PANEL_WIDTH - RIGHT) / 2, TITLE + PLOT_HEIGHT + 35, self.x_title, "quiet", "middle")
        if self.limit is not None:
            yield _line(LEFT, up(self.limit), PANEL_WIDTH - RIGHT, up(self.limit), "limit")
        path = " ".join(f"{across(point.x):.1f},{up(point.y):.1f}" for point in self.points)
        yield f'<polyline class="line" points="{path}"/>'
        for point in self.points:
            if point.low < point.high:
                yield _line(across(point.x), up(point.low), across(point.x), up(point.high), "spread")
            radius = 3.5 if len(self.points) <= 12 else 2
            yield f'<circle class="own" cx="{across(point.x):.1f}" cy="{up(point.y):.1f}" r="{radius}"/>'

    def _across(self) -> Callable[[float], float]:
        values = [point.x for point in self.points]
        return _scaled(min(values), max(values), LEFT + 14, PANEL_WIDTH - RIGHT - 14, self.is_logarithmic)


def svg(panels: Sequence[BarPanel | LinePanel], *, description: str, columns: int = 2) -> str:
    """Panels beside and below each other, as one picture."""
    columns = min(columns, len(panels))
    rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    width = GAP + columns * (PANEL_WIDTH + GAP)
    lines, top = [], GAP // 2
    for row in rows:
        for column, panel in enumerate(row):
            lines.append(f'<g transform="translate({GAP + column * (PANEL_WIDTH + GAP)},{top})">')
            lines.extend(panel.draw())
            lines.append("</g>")
        top += max(panel.height for panel in row) + GAP // 2
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top}" width="{width}" height="{top}" '
    opening += f'role="img" aria-label="{escape(description)}">'
    card = f'<rect class="card" width="{width}" height="{top}" rx="8"/>'
    return "\n".join([opening, STYLE, card, *lines, "</svg>", ""])


def nice_ceiling(value: float) -> float:
    """The next number above that divides into four round ticks."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return power * next(step for step in (1, 1.2, 1.6, 2, 2.4, 3, 4, 6, 8, 10) if value <= step * power * (1 + 1e-9))


def short(value: float) -> str:
    """A number for the axis: 1,500,000 as 1.5M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= 10 * size or (value >= size and value % (size / 10) == 0):
            return f"{value / size:.3g}{letter}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _scaled(
    low: float, high: float, start: float, end: float, is_logarithmic: bool = False
) -> Callable[[float], float]:
    """From values to places."""
    change: Callable[[float], float] = math.log10 if is_logarithmic else float
    span = (change(high) - change(low)) or 1.0
    return lambda value: start + (end - start) * (change(value) - change(low)) / span


def _title(title: str, unit: str) -> str:
    return f'<text x="0" y="18" class="title">{escape(title)}<tspan class="unit" dx="8">{escape(unit)}</tspan></text>'


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    attributes = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
