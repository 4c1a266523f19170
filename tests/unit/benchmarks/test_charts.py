"""Charts: places follow values, and whatever the text is, the picture can be read."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from benchmarks.pages.charts import Bar, BarPanel, LinePanel, Point, nice_ceiling, short, svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(panel: BarPanel | LinePanel) -> ElementTree.Element:
    return ElementTree.fromstring(svg([panel], description="a < b"))


def test_bars_are_as_long_as_their_values() -> None:
    picture = drawn(
        BarPanel("t", "u", [Bar("a", 10.0, "10", is_own=True), Bar("b", 5.0, "5"), Bar("c", None, "failed")])
    )
    widths = [float(rect.get("width", 0)) for rect in picture.iter(f"{SVG}rect") if rect.get("class") != "card"]
    assert widths[0] == pytest.approx(2 * widths[1])
    assert len(widths) == 2
    assert "failed" in [text.text for text in picture.iter(f"{SVG}text")]


@pytest.mark.parametrize(("is_logarithmic", "expected"), [(False, 9.0), (True, 1.0)])
def test_points_stand_where_their_values_are(is_logarithmic: bool, expected: float) -> None:
    points = [Point(x, y, y, y) for x, y in ((1, 100), (10, 50), (91, 0))]
    if is_logarithmic:
        points[-1] = Point(100, 0, 0, 0)
    picture = drawn(LinePanel("t", "u", "x", points, is_logarithmic))
    places = [(float(dot.get("cx", 0)), float(dot.get("cy", 0))) for dot in picture.iter(f"{SVG}circle")]
    (x1, y1), (x2, y2), (x3, y3) = places
    assert (x3 - x2) / (x2 - x1) == pytest.approx(expected, rel=0.02)
    assert y1 - y2 == pytest.approx(y2 - y3)
    assert y1 < y3


def test_one_point_is_a_picture_too() -> None:
    assert len(list(drawn(LinePanel("t", "u", "x", [Point(1, 1, 1, 1)])).iter(f"{SVG}circle"))) == 1


def test_text_is_escaped() -> None:
    picture = drawn(BarPanel('<&"', "u", [Bar("a < b", 1.0, "1")]))
    assert "a < b" in [text.text for text in picture.iter(f"{SVG}text")]
    assert picture.get("aria-label") == "a < b"


def test_both_themes_have_colours() -> None:
    text = svg([BarPanel("t", "u", [])], description="d")
    light, _, dark = text.partition("prefers-color-scheme:dark")
    for name in (".card", ".own", ".other", ".grid"):
        assert name in light
        assert name in dark


@pytest.mark.parametrize(("value", "ceiling"), [(0, 1), (1, 1), (1.1, 1.2), (546_000, 600_000), (9_500, 10_000)])
def test_axes_end_at_round_numbers(value: float, ceiling: float) -> None:
    assert nice_ceiling(value) == pytest.approx(ceiling)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.75, "0.75"), (512, "512"), (4_096, "4,096"), (1_000, "1k"), (450_000, "450k"), (1_500_000, "1.5M")],
)
def test_numbers_on_axes_are_short(value: float, text: str) -> None:
    assert short(value) == text
