"""Growth: the points, and that the jobs of all axes are ones that run and give what they should."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from benchmarks import growth, growth_jobs
from benchmarks.growth import AXES, Axis
from benchmarks.measuring import Run
from benchmarks.names import AXES as NAMES
from benchmarks.workloads import Build
from penstock.datastream import StreamExecutionEnvironment
from penstock.errors import JobFailedError
from penstock.testing import CollectSink


def test_every_axis_has_a_name_on_the_page() -> None:
    assert [axis.name for axis in AXES] == list(NAMES)


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_the_two_sizes_of_a_point_are_far_apart(axis: Axis) -> None:
    for value, small, large in axis.points(0.1):
        assert value in axis.values
        assert large - small >= 50_000


def test_nearly_all_keys_are_met_before_the_clock_starts() -> None:
    (keys,) = [axis for axis in AXES if axis.name == "keys"]
    assert all(small >= 2 * value for value, small, _ in keys.points(1.0))


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_jobs_run(axis: Axis) -> None:
    environment = StreamExecutionEnvironment.in_process().set_parallelism(2)
    axis.job(axis.values[1])(environment, 50)
    environment.execute()


def test_keys_are_drawn_and_differ_in_every_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth_jobs, "DRAWN", 101)
    growth_jobs.drawn_keys.cache_clear()
    sink = CollectSink()
    environment = StreamExecutionEnvironment.in_process()
    growth_jobs.records(environment, 303, 1_000).add_sink(sink)
    environment.execute()
    growth_jobs.drawn_keys.cache_clear()
    keys = [key for key, _ in sorted(sink.results, key=lambda record: record[1])]
    assert keys[:101] != keys[101:202]
    assert max(Counter(keys).values()) < 10
    assert all(0 <= key < 1_000 for key in keys)


def test_a_point_that_fails_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def slope(build: Build, small: int, large: int, *, parallelism: int) -> tuple[float, Run]:
        if parallelism == 2:
            raise JobFailedError("no luck\nat all")
        return math.nan if parallelism == 3 else 1000.4, Run(large, 1.0, 99.6)

    monkeypatch.setattr(growth, "slope", slope)
    monkeypatch.setattr(growth, "run", lambda build, records: None)
    rows = list(growth.measure([axis for axis in AXES if axis.name == "parallelism"], 1, 1.0))
    assert [row["records_per_second"] for row in rows] == [1000, None, None, 1000]
    assert [row["error"] for row in rows] == [None, "no luck", None, None]
