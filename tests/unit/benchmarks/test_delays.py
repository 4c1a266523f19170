"""Delays of records: how they are noted, and what becomes of them."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.delays import marks
from benchmarks.delays.marks import DelayTask, Marks, seconds_of
from benchmarks.delays.stolen import StolenBySecond, StolenTime
from benchmarks.delays.summary import EDGES_MS, histogram, is_unmeasured, measured, percentile
from benchmarks.delays.systems import SYSTEMS
from benchmarks.pages.delays import delays_section, soak_section
from tests.spark.waiting import wait_until

HEADING = {
    "machine": {"cpu": "a", "cores": 2, "memory_gb": 1, "system": "b"},
    **{"versions": {}, "commit": "c", "rounds": 1, "parallelism": 2, "date": "d"},
}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Milliseconds that the clock shows."""
    shown = [0]
    monkeypatch.setattr(marks, "time", type("Clock", (), {"time_ns": staticmethod(lambda: shown[0] * 1_000_000)}))
    return shown


def test_delays_are_kept_by_second_and_tenth(tmp_path: Path, clock: list[int]) -> None:
    noted = Marks(str(tmp_path))
    for now, due in ((5_000, 4_990.0), (5_001, 4_990.95), (6_000, 5_999.75), (7_000, 7_000.0)):
        clock[0] = now
        noted.note(due)
    assert seconds_of(tmp_path) == {5: Counter({100: 2}), 6: Counter({2: 1})}  # the second that runs is not written yet


def test_files_of_all_processes_count_together(tmp_path: Path, clock: list[int]) -> None:
    for _ in range(2):
        noted = Marks(str(tmp_path))
        for clock[0] in (1_000, 2_000):
            noted.note(990.0)
    assert seconds_of(tmp_path) == {1: Counter({100: 2})}


def test_percentiles_are_those_of_all_records() -> None:
    counts = Counter({tenth: 1 for tenth in range(1, 1001)})
    assert [percentile(counts, share) for share in (0.5, 0.99, 1.0)] == [50.0, 99.0, 100.0]


def test_memory_is_not_looked_at_while_delays_are_measured(
    tmp_path: Path, clock: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: clock[0] / 1_000)
    looks = []
    noted = Marks(str(tmp_path))
    for clock[0] in range(1_000, 13_000, 1_000):
        noted.note(clock[0] - 10.0)
        looks.append(is_unmeasured(tmp_path, 3, 5))
    # Seconds 4 to 8 are measured; a look that begins before may take a second.
    assert looks == [True] * 2 + [False] * 7 + [True] * 3


def test_the_warm_up_is_left_out(tmp_path: Path, clock: list[int]) -> None:
    noted = Marks(str(tmp_path))
    for clock[0], due in ((1_000, 0.0), (2_000, 1_000.0), (3_000, 2_990.0), (4_000, 4_000.0)):
        noted.note(due)
    found = measured(tmp_path, 2, 1, lambda second: False)
    assert found is not None
    assert (found["samples"], found["p50"], found["max"]) == (1, 10.0, 10.0)
    assert found["quiet"] == {"seconds": 0}
    assert measured(tmp_path, 60, 1, lambda second: True) is None


def test_quiet_seconds_have_figures_of_their_own(tmp_path: Path, clock: list[int]) -> None:
    noted = Marks(str(tmp_path))
    for clock[0], due in ((1_000, 900.0), (2_000, 1_990.0), (3_000, 2_980.0), (4_000, 4_000.0)):
        noted.note(due)
    found = measured(tmp_path, 0, 3, lambda second: second > 1)
    assert found is not None
    assert (found["p50"], found["p99"], found["per_second"]) == (20.0, 100.0, 1)
    assert found["quiet"] == {"seconds": 2, "p50": 10.0, "p90": 20.0, "p99": 20.0, "p999": 20.0}


def test_a_second_is_quiet_if_the_one_before_was_quiet_too() -> None:
    stolen = StolenBySecond()
    stolen.shares.update({1: 0.0, 2: 0.01, 3: 0.3, 4: 0.0, 5: 0.0})
    assert [second for second in range(8) if stolen.is_quiet(second)] == [2, 5]


def test_what_is_stolen_is_noted_by_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StolenTime, "share", lambda self: 0.25)
    with StolenBySecond() as stolen:
        wait_until(lambda: bool(stolen.shares), "a second has passed")
    assert set(stolen.shares.values()) == {0.25}
    assert abs(max(stolen.shares) - (time.time() - 1)) < 5


def test_the_page_shows_quiet_seconds_and_runs_that_did_not_note_them() -> None:
    figures = {"p50": 4.0, "p90": 4.5, "p99": 444.0, "p999": 4.9, "max": 5.0, "samples": 7}
    run = {"system": "bytewax", "job": "count", "rate": 1_000, "error": None, "peak_mb": 1, **figures}
    runs = [run, {**run, "quiet": {"seconds": 12, "p50": 3.5, "p99": 8.5}}, {**run, "quiet": {"seconds": 0}}]
    timing = {"checkpoint_ms": 1_000, "warm_up_s": 1, "seconds": 2}
    text = delays_section({**HEADING, **timing, "runs": runs}).text()
    assert [line.split("|")[-4:-1] for line in text.splitlines() if "444" in line] == [
        [" - ", " - ", " - "],
        [" 12 ", " 3.5 ", " 8.5 "],
        [" 0 ", " - ", " - "],
    ]


def test_every_delay_has_its_bar() -> None:
    bars = histogram(Counter({0: 1, 9: 1, 10: 1, 49_999: 2, 50_000: 4}))
    assert (bars[0], bars[1], bars[-2], bars[-1]) == (2, 1, 2, 4)
    assert len(bars) == len(EDGES_MS) + 1


def test_a_task_survives_the_command_line() -> None:
    task = DelayTask("window", "/folder", 1_000, 5.0, options={"a": "b"})
    assert DelayTask.from_words([task.as_json()]) == task


def test_the_page_has_every_run() -> None:
    bars = [0] * (len(EDGES_MS) + 1)
    bars[3] = 7
    figures = {"p50": 4.0, "p90": 4.5, "p99": 4.9, "p999": 4.9, "max": 5.0, "samples": 7, "histogram": bars}
    runs = [{"system": name, "job": "count", "rate": 1_000, "error": None, "peak_mb": 1, **figures} for name in SYSTEMS]
    runs.append({"system": "bytewax", "job": "window", "rate": 10_000, "error": "ended with 1", "peak_mb": 1})
    timing = {"checkpoint_ms": 1_000, "warm_up_s": 1, "seconds": 2}
    section = delays_section({**HEADING, **timing, "runs": runs})
    for system in SYSTEMS.values():
        assert f"| {system.title} | 1,000 | 4.0 |" in section.text()
    assert "| Bytewax, one process | 10,000 | - |" in section.text()
    assert set(section.pictures) == {"delays_count"}


def test_a_long_run_is_shown_every_few_minutes() -> None:
    assert "python -m benchmarks.delays.soak" in soak_section(None).text()
    sizes = {"java_mb": 500, "python_mb": 300, "threads": 90, "files": 200}
    delays = {"records": 300_000, "p50": 9.5, "p999": 80.0}
    minutes = [{"records": 0, **sizes}, *[{**delays, "p99": 40.0 + n, **sizes} for n in range(29)]]
    text = soak_section({**HEADING, "job": "count", "rate": 5_000, "minutes": minutes}).text()
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("|")][2:]
    assert [row[0].strip() for row in rows] == ["2", "3", "6", "9", "12", "15", "18", "21", "24", "27", "30"]
    assert [row[3].strip() for row in rows][-2:] == ["65.0", "68.0"]
