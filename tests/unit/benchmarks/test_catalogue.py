"""What is compared fits together: names, who takes part, sizes of inputs."""

from __future__ import annotations

import pytest

from benchmarks import names
from benchmarks.catalogue import QUICK, SYSTEMS, WORKLOADS
from benchmarks.expected import EXPECTED


def test_what_is_measured_has_a_name() -> None:
    assert list(WORKLOADS) == list(names.WORKLOADS)
    assert list(SYSTEMS) == list(names.SYSTEMS)


def test_who_takes_part_is_known_and_penstock_always_does() -> None:
    for workload in WORKLOADS.values():
        assert "penstock" in workload.rates
        assert set(workload.rates) <= set(SYSTEMS)
        assert set(workload.options) <= set(workload.rates)
        assert workload.job in EXPECTED


def test_the_quick_comparison_is_part_of_the_whole_one() -> None:
    assert all(set(systems) <= set(WORKLOADS[name].rates) for name, systems in QUICK.items())


@pytest.mark.parametrize("scale", [0.001, 1.0])
def test_the_large_input_is_well_above_the_small_one_and_whole_batches(scale: float) -> None:
    for workload in WORKLOADS.values():
        for name in workload.rates:
            small, large = workload.sizes(SYSTEMS[name], 5.0, scale)
            batch = workload.options_of(SYSTEMS[name]).get("batch", 1)
            assert large >= 3 * small or large - small >= 2 * batch
            assert small % batch == large % batch == 0 < small
