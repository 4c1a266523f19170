"""Charts as SVG text, for the pictures of the examples: the same data always gives the same bytes.

A chart has two axes; everything is placed in the units of the data. `str(chart)` is the picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape

BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#3b6fb6", "#e08a2e", "#4a9d5b", "#cc3d3d", "#8560a8", "#9aa3ad"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, "#4fa3a5", "#b8863b", "#d4739d", GREY)
INK, SOFT, PALE = "#2b3036", "#6b747d", "#e6e9ed"
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 84, 52

Points = Iterable[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """What the values along one side mean: their range, and the marks with their texts."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    title: str = ""
    is_log: bool = False
    has_grid: bool = True

    @classmethod
    def numbers(cls, low: float, high: float, title: str = "") -> Axis:
        """A range of numbers with marks at round ones."""
        rough = (high - low) / 6
        power = 10 ** math.floor(math.log10(rough))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
        marks = [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
        return cls(low, high, [(mark, f"{mark:,.10g}") for mark in marks], title)

    @classmethod
    def powers(cls, low: float, high: float, title: str = "") -> Axis:
        """A logarithmic range with marks at the powers of ten."""
        exponents = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        return cls(low, high, [(10.0**number, f"{10.0**number:,.10g}") for number in exponents], title, is_log=True)

    @classmethod
    def clock(cls, start_ms: float, end_ms: float, title: str = "") -> Axis:
        """A range of event time with marks at round times of the day, in UTC."""
        minutes = (end_ms - start_ms) / 60_000
        step = (
            next(each for each in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440) if minutes / each <= 9) * 60_000
        )
        marks = range(math.ceil(start_ms / step) * step, math.floor(end_ms) + 1, step)
        return cls(
            start_ms, end_ms, [(mark, f"{datetime.fromtimestamp(mark / 1000, UTC):%H:%M}") for mark in marks], title
        )

    @classmethod
    def names(cls, names: Sequence[str], title: str = "") -> Axis:
        """One place for each name: the first is at 0, the next at 1."""
        return cls(-0.6, len(names) - 0.4, list(enumerate(names)), title, has_grid=False)

    def share(self, value: float) -> float:
        """How far along the axis a value is, from 0 to 1."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass
class Chart:
    """A picture in the making: add marks, then take its text with `str`."""

    title: str
    subtitle: str
    x: Axis
    y: Axis
    width: int = 860
    height: int = 420
    marks: list[str] = field(default_factory=list)
    legend: list[tuple[str, str, str]] = field(default_factory=list)

    def line(self, points: Points, colour: str, label: str = "", *, dashed: bool = False) -> None:
        """Join the points."""
        path = " ".join(f"{self._x(x)},{self._y(y)}" for x, y in points)
        dashes = ' stroke-dasharray="6 4"' if dashed else ""
        self._add(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>', colour, label, "line"
        )

    def steps(self, points: Sequence[tuple[float, float]], colour: str, label: str = "") -> None:
        """Join the points by stairs: a value holds until the next point, the last one to the end of the axis."""
        stairs: list[tuple[float, float]] = []
        for x, y in points:
            stairs += [(x, stairs[-1][1])] * bool(stairs) + [(x, y)]
        self.line([*stairs, (self.x.high, stairs[-1][1])], colour, label)

    def dots(self, points: Points, colour: str, label: str = "", *, radius: float = 3) -> None:
        """A disc at each point."""
        circles = [f'<circle cx="{self._x(x)}" cy="{self._y(y)}" r="{radius:g}"/>' for x, y in points]
        self._add(f'<g fill="{colour}" fill-opacity="0.75">{"".join(circles)}</g>', colour, label, "dot")

    def rings(self, points: Points, colour: str, label: str = "", *, radius: float = 7) -> None:
        """A circle around each point."""
        circles = [f'<circle cx="{self._x(x)}" cy="{self._y(y)}" r="{radius:g}"/>' for x, y in points]
        self._add(f'<g fill="none" stroke="{colour}" stroke-width="2">{"".join(circles)}</g>', colour, label, "ring")

    def crosses(self, points: Points, colour: str, label: str = "", *, radius: float = 4) -> None:
        """A cross at each point."""
        arm = f"m-{radius:g} -{radius:g}l{2 * radius:g} {2 * radius:g}m0 -{2 * radius:g}l-{2 * radius:g} {2 * radius:g}"
        arms = [f"M{self._x(x)} {self._y(y)}{arm}" for x, y in points]
        self._add(f'<path d="{"".join(arms)}" stroke="{colour}" stroke-width="2" fill="none"/>', colour, label, "cross")

    def boxes(
        self, corners: Iterable[tuple[float, float, float, float]], colour: str, label: str = "", *, opacity: float = 1
    ) -> None:
        """Rectangles, each given as (x from, x to, y from, y to)."""
        found = []
        for x0, x1, y0, y1 in corners:
            left, right = sorted((float(self._x(x0)), float(self._x(x1))))
            top, bottom = sorted((float(self._y(y0)), float(self._y(y1))))
            size = f'width="{max(right - left, 0.5):.1f}" height="{max(bottom - top, 0.5):.1f}"'
            found.append(f'<rect x="{left:.1f}" y="{top:.1f}" {size}/>')
        self._add(f'<g fill="{colour}" fill-opacity="{opacity:g}">{"".join(found)}</g>', colour, label, "box")

    def text(self, x: float, y: float, words: str, colour: str = INK, anchor: str = "start") -> None:
        """Words at a point."""
        self.marks.append(_text(self._x(x), self._y(y), words, f'fill="{colour}" text-anchor="{anchor}"'))

    def __str__(self) -> str:
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
            f'<rect width="{self.width}" height="{self.height}" fill="white"/>',
            _text("24", "28", self.title, f'fill="{INK}" font-size="17" font-weight="bold"'),
            _text("24", "47", self.subtitle, f'fill="{SOFT}"'),
            *self._axes(),
            *self.marks,
            *self._legend(),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def _x(self, value: float) -> str:
        return f"{LEFT + self.x.share(value) * (self.width - LEFT - RIGHT):.1f}"

    def _y(self, value: float) -> str:
        return f"{self.height - BOTTOM - self.y.share(value) * (self.height - TOP - BOTTOM):.1f}"

    def _add(self, mark: str, colour: str, label: str, shape: str) -> None:
        self.marks.append(mark)
        if label:
            self.legend.append((shape, colour, label))

    def _axes(self) -> list[str]:
        bottom, right = self.height - BOTTOM, self.width - RIGHT
        found = []
        for value, words in self.y.ticks:
            if self.y.has_grid:
                found.append(f'<path d="M{LEFT} {self._y(value)}H{right}" stroke="{PALE}"/>')
            found.append(
                _text(str(LEFT - 8), f"{float(self._y(value)) + 4:.1f}", words, f'fill="{INK}" text-anchor="end"')
            )
        for value, words in self.x.ticks:
            found.append(f'<path d="M{self._x(value)} {bottom}v5" stroke="{GREY}"/>')
            found.append(_text(self._x(value), str(bottom + 19), words, f'fill="{INK}" text-anchor="middle"'))
        found.append(f'<path d="M{LEFT} {TOP}V{bottom}H{right}" stroke="{GREY}" fill="none"/>')
        found.append(_text(str(right), str(bottom + 40), self.x.title, f'fill="{SOFT}" text-anchor="end"'))
        found.append(_text("24", str(TOP - 12), self.y.title, f'fill="{SOFT}"'))
        return found

    def _legend(self) -> list[str]:
        """Keys of what was drawn, in one row that ends at the right edge above the plot."""
        found: list[str] = []
        right = float(self.width - RIGHT)
        for shape, colour, label in reversed(self.legend):
            right -= 6.9 * len(label)
            found.append(_text(f"{right:.1f}", str(TOP - 12), label, f'fill="{INK}"'))
            found.append(_KEYS[shape].format(x=f"{right - 12:.1f}", y=TOP - 16, colour=colour))
            right -= 34
        return found


_KEYS = {
    "line": '<path d="M{x} {y}m-8 0h14" stroke="{colour}" stroke-width="2"/>',
    "dot": '<circle cx="{x}" cy="{y}" r="4" fill="{colour}"/>',
    "ring": '<circle cx="{x}" cy="{y}" r="5" fill="none" stroke="{colour}" stroke-width="2"/>',
    "cross": '<path d="M{x} {y}m-4 -4l8 8m0 -8l-8 8" stroke="{colour}" stroke-width="2"/>',
    "box": '<path d="M{x} {y}m-5 -5h10v10h-10z" fill="{colour}"/>',
}


def _text(x: str, y: str, words: str, style: str) -> str:
    return f'<text x="{x}" y="{y}" {style}>{escape(words)}</text>' if words else ""
