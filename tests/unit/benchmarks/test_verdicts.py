"""Medians, ratios and verdicts from results files."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.names import FAMILIES, JOBS, SYSTEMS, WORKLOADS
from benchmarks.verdicts import AIMS, best, failure, middle, ratio, spread, times, verdicts


def peers(*rows: tuple[str, str, int, float | None]) -> dict[str, Any]:
    fields = ("workload", "system", "round", "records_per_second")
    return {"runs": [{**dict(zip(fields, row, strict=True)), "error": None if row[3] else "broke"} for row in rows]}


def test_ratios_are_taken_within_a_round() -> None:
    # The machine was twice as fast in the second round; the ratio was the same.
    results = peers(
        ("count_2k", "penstock", 1, 100.0),
        ("count_2k", "penstock", 2, 200.0),
        ("count_2k", "pyflink_thread", 1, 10.0),
        ("count_2k", "pyflink_thread", 2, 20.0),
        ("count_2k", "pyflink_thread", 3, 1.0),
    )
    assert ratio(results, "count_2k", "PyFlink") == 10.0
    assert ratio(results, "count_2k", "Bytewax") is None


def test_the_best_way_of_a_family_counts() -> None:
    results = peers(("timers", "bytewax_1", 1, 5.0), ("timers", "bytewax_2", 1, 7.0), ("timers", "penstock", 1, 14.0))
    assert best(results, "timers", "Bytewax") == "bytewax_2"
    assert ratio(results, "timers", "Bytewax") == 2.0


def test_failed_runs_do_not_count_but_are_told() -> None:
    results = peers(("timers", "penstock", 1, None), ("timers", "penstock", 2, 4.0), ("timers", "penstock", 3, 6.0))
    assert middle(results, "timers", "penstock") == 5.0
    assert failure(results, "timers", "penstock") == "broke"
    assert spread(results) == 0.5


def test_a_ratio_that_is_just_enough_is_reached() -> None:
    aim = AIMS[0]
    own, other = (aim.workload, "penstock", 1, 10.0 * aim.times), (aim.workload, FAMILIES[aim.family][0], 1, 10.0)
    assert verdicts(peers(own, other), None)[0].word == "reached"
    assert verdicts(peers((*own[:3], 9.9 * aim.times), other), None)[0].word == "**not reached**"


def test_checkpoints_may_cost_a_quarter() -> None:
    rows = ("count_2k", "penstock", 1, 100.0), ("count_checkpointed", "penstock", 1, 74.0)
    verdict = verdicts(peers(*rows), None)[len(AIMS)]
    assert (verdict.seen, verdict.is_reached) == ("74% of its speed", False)


@pytest.mark.parametrize(("floor", "word"), [(250.0, "reached"), (251.0, "**not reached**")])
def test_delays_are_judged_by_their_medians(floor: float, word: str) -> None:
    latency = {"floor_ms": [1.0, floor, 900.0], "delay_ms": [{"p50": 399.0, "p99": 801.0}]}
    assert [verdict.word for verdict in verdicts(None, latency)[-3:]] == [word, "reached", "**not reached**"]


def test_nothing_measured_is_nothing_reached() -> None:
    assert {verdict.word for verdict in verdicts(None, None)} == {"not measured"}


def test_every_name_has_its_words() -> None:
    assert WORKLOADS.keys() == JOBS.keys()
    assert {aim.workload for aim in AIMS} <= WORKLOADS.keys()
    assert {system for systems in FAMILIES.values() for system in systems} == SYSTEMS.keys() - {"penstock"}


@pytest.mark.parametrize(("value", "text"), [(None, None), (0.987, "0.99 x"), (2.34, "2.3 x"), (41.4, "41 x")])
def test_ratios_have_no_more_digits_than_they_deserve(value: float | None, text: str | None) -> None:
    assert times(value) == text
