"""Alerts by the job are those that a loop over the sorted readings finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gallery.json_rows import read_rows
from gallery.readme_commands import ExampleRun
from sensor_alerts.generate import lines, readings
from sensor_alerts.job import LATE, SILENT_MS, WARM_MS, Reading, Watch

BOUND_MS = 20_000
Alert = tuple[str, str, str, int]


def expected_alerts(room: str, series: list[tuple[int, float]]) -> Iterator[Alert]:
    warm_since, is_alarmed = None, False
    for (at_ms, celsius), next_ms in zip(series, [*(at_ms for at_ms, _ in series[1:]), float("inf")], strict=True):
        warm_since = None if celsius <= 8 else (warm_since or at_ms)
        if warm_since is None and is_alarmed:
            yield room, "too warm", "off", at_ms
        if warm_since is not None and not is_alarmed and at_ms - warm_since >= WARM_MS:
            yield room, "too warm", "on", at_ms
        is_alarmed = warm_since is not None and (is_alarmed or at_ms - warm_since >= WARM_MS)
        if next_ms - at_ms > SILENT_MS:
            yield room, "silent", "on", at_ms + SILENT_MS
            if next_ms != float("inf"):
                yield room, "silent", "off", int(next_ms)


def test_the_job_agrees_with_plain_python(example_run: ExampleRun) -> None:
    late = [reading for reading in readings() if reading["received_ms"] - reading["at_ms"] > BOUND_MS]
    by_room: dict[str, list[tuple[int, float]]] = {}
    for reading in readings():
        if reading not in late:
            by_room.setdefault(reading["room"], []).append((reading["at_ms"], reading["celsius"]))
    expected = [alert for room, series in by_room.items() for alert in expected_alerts(room, sorted(series))]
    assert {alert[1:3] for alert in expected} == {(a, s) for a in ("too warm", "silent") for s in ("on", "off")}
    assert sorted(tuple(row.values()) for row in read_rows(example_run.output / "alerts")) == sorted(expected)
    found = sorted(row["at_ms"] for row in read_rows(example_run.output / "late"))
    assert found == sorted(reading["at_ms"] for reading in late) and len(found) > 3


def test_nonsense_is_put_aside(example_run: ExampleRun) -> None:
    rejected = [
        line for part in (example_run.output / "rejected").glob("part-*") for line in part.read_text().splitlines()
    ]
    assert len(rejected) == len(lines()) - len(readings()) > 10


def test_a_short_rise_is_no_alert_and_silence_is_told_once(penstock_harness: Callable[..., Any]) -> None:
    harness = penstock_harness(Watch(), key=lambda reading: reading.room, side_outputs=[LATE])
    for at_ms, celsius in ((120_000, 9.0), (60_000, 9.5), (200_000, 4.0)):
        harness.process_element(Reading("fish", celsius, at_ms), timestamp=at_ms)
    harness.process_watermark(200_000 + 3 * SILENT_MS)
    (row,) = harness.output_values()
    assert (row.alert, row.state, row.at_ms) == ("silent", "on", 200_000 + SILENT_MS)


def test_the_picture_is_of_this_run(example_run: ExampleRun) -> None:
    assert example_run.has_the_committed_picture(), "run the commands of the README and commit the picture"
