"""The arithmetic of one run."""

from __future__ import annotations

from typing import Any

from benchmarks.steady import Measured, speed


def reported(*times: tuple[int, float, float]) -> list[dict[str, Any]]:
    return [{"records": records, "seconds": seconds, "ended": ended} for records, seconds, ended in times]


def test_speed_is_what_the_additional_records_cost_and_the_start_is_apart() -> None:
    runs = reported((1_000, 5.0, 107.0), (10_000, 3.0, 110.0), (60_000, 8.0, 118.0))
    # 50,000 records in 5 s; the first 1,000 of them were 0.1 s of the 7 s since the process began.
    assert speed(runs, started=100.0) == Measured(10_000.0, 6.9)


def test_times_that_are_too_near_give_no_speed() -> None:
    found = speed(reported((1_000, 1.0, 1.0), (10_000, 3.0, 4.0), (60_000, 3.1, 8.0)), started=0.0)
    assert found.records_per_second is None
    assert found.error == "too few records: the large input took 0.10 s more than the small one"


def test_a_run_that_stopped_half_way_has_no_speed() -> None:
    assert speed(reported((1_000, 1.0, 1.0)), started=0.0).error == "reported 1 of 3 inputs"
