"""The limit of a batch against systems of every cost: how fast it gets there, and that it stays there."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.job.pacing import FIRST_LIMIT, BatchCost, PaceSettings, Pacing

MOST = 500_000
PLENTY = 10**12

Cost = Callable[[int, int], float]
"""Seconds of a batch, by its number and its records."""


class Run:
    """A job in virtual time: what each batch took and how long it lasted."""

    def __init__(self, settings: PaceSettings, cost: Cost, batches: int = 40, offered: int = PLENTY) -> None:
        self.pacing = Pacing(settings)
        self.records: list[int] = []
        self.seconds: list[float] = []
        for number in range(batches):
            limit = self.pacing.limit
            taken = min(limit, offered)
            self.records.append(taken)
            self.seconds.append(cost(number, taken))
            self.pacing.on_batch(BatchCost(taken, 0, self.seconds[-1], taken == limit))


def target(seconds: float) -> PaceSettings:
    return PaceSettings(MOST, target_seconds=seconds)


def linear(fixed: float, each: float) -> Cost:
    return lambda _, records: fixed + each * records


def test_a_fast_job_takes_all_it_may_after_three_batches() -> None:
    assert Run(target(5), linear(0.3, 4e-6), 5).records == [FIRST_LIMIT, 200_000, MOST, MOST, MOST]


def test_the_most_is_kept_to_the_digit() -> None:
    assert Run(PaceSettings(123_456, target_seconds=5), linear(0, 1e-6)).records[-1] == 123_456
    assert Run(PaceSettings(7, target_seconds=5), linear(0, 1e-6)).records == [7] * 40


@given(st.floats(0, 2), st.floats(1e-5, 1e-2))
def test_batches_last_as_long_as_the_target(fixed: float, each: float) -> None:
    seconds = Run(target(5), linear(fixed, each)).seconds
    # Bounded by what a batch may take, by the floor, and by the digits that are kept.
    assert all(4 <= taken <= 6 for taken in seconds[8:]) or Run(target(5), linear(fixed, each)).records[-1] in (
        MOST,
        100,
    )


@given(st.floats(0, 2), st.floats(1e-5, 1e-2))
def test_a_system_that_stays_the_same_is_left_alone(fixed: float, each: float) -> None:
    assert len(set(Run(target(5), linear(fixed, each)).records[15:])) == 1


@given(st.floats(0, 1), st.floats(1e-5, 1e-3), st.integers(3, 25))
def test_a_sink_that_becomes_ten_times_slower_and_recovers(fixed: float, each: float, moment: int) -> None:
    def cost(number: int, records: int) -> float:
        return fixed + records * each * (10 if moment <= number < moment + 15 else 1)

    run = Run(target(5), cost, moment + 30)
    assert all(seconds <= 6.5 for seconds in run.seconds[moment + 3 : moment + 15]), "three batches after it began"
    wanted = min(MOST, (5 - fixed) / each)
    assert all(records >= 0.8 * wanted for records in run.records[moment + 18 :]), "three batches after it ended"


@given(st.integers(0, 2**32), st.floats(0, 1), st.floats(2e-5, 1e-3))
def test_noise_does_not_build_up(seed: int, fixed: float, each: float) -> None:
    noise = random.Random(seed)
    run = Run(target(5), lambda _, records: (fixed + records * each) * noise.uniform(0.6, 1.4), 60)
    settled = run.records[10:]
    wanted = min(MOST, (5 - fixed) / each)
    assert wanted / 4 <= min(settled) and max(settled) <= 4 * wanted
    assert sum(settled) / len(settled) == pytest.approx(wanted, rel=0.5)


def test_one_slow_batch_is_soon_forgotten() -> None:
    run = Run(target(5), lambda number, records: 0.2 + records * 5e-5 + (30 if number == 20 else 0))
    assert run.records[21] >= run.records[20] / 4.1
    assert run.records[24] == pytest.approx(run.records[20], rel=0.1)


@given(st.floats(0.6, 20), st.floats(1e-6, 1e-4))
def test_a_fixed_cost_above_the_target_does_not_eat_the_throughput(fixed: float, each: float) -> None:
    run = Run(target(0.5), linear(fixed, each), 60)
    best = MOST / (fixed + each * MOST)
    assert run.records[-1] / run.seconds[-1] >= 0.4 * min(best, 1 / each)
    assert run.seconds[-1] <= 3 * fixed


def test_a_trickle_does_not_lower_the_limit_for_the_flood() -> None:
    assert Run(target(5), linear(0.4, 5e-5), 30, offered=100).pacing.limit == FIRST_LIMIT


def test_what_came_is_too_much_even_if_more_was_allowed() -> None:
    run = Run(target(5), linear(0, 1e-3), 10, offered=20_000)
    assert run.seconds[:2] == [20, pytest.approx(12, abs=1)]
    assert run.seconds[-1] == pytest.approx(5, rel=0.15)


def test_the_first_of_a_split_that_gives_less_than_the_limit_counts_by_what_it_gave() -> None:
    """One of four splits has data: a batch takes a quarter of the limit, and could take four times that."""
    pacing = Pacing(target(5))
    for _ in range(20):
        pacing.on_batch(BatchCost(pacing.limit // 4, 0, pacing.limit // 4 * 1e-4, True))
    assert pacing.limit == pytest.approx(200_000, rel=0.15)


def test_a_batch_without_records_teaches_nothing() -> None:
    pacing = Pacing(target(5))
    pacing.on_batch(BatchCost(0, 0, 60, False))
    assert pacing.limit == FIRST_LIMIT


def test_a_batch_takes_no_more_bytes_than_allowed() -> None:
    pacing = Pacing(PaceSettings(MOST, max_bytes=1_000_000, target_seconds=5))
    pacing.on_batch(BatchCost(50_000, 50_000 * 100, 0.1, True))
    assert pacing.limit == 10_000
    pacing.on_batch(BatchCost(10_000, 10_000 * 1000, 0.1, True))
    assert pacing.limit == 1_000, "larger records count at once"
    for _ in range(10):
        pacing.on_batch(BatchCost(1_000, 1_000 * 10, 0.1, True))
    assert pacing.limit == pytest.approx(100_000, rel=0.15), "and smaller ones after a while"
    pacing.on_batch(BatchCost(1, 10_000_000, 0.1, True))
    assert pacing.limit == 1, "a record has to go on however large it is"


def test_without_a_target_only_bytes_count() -> None:
    fixed = Pacing(PaceSettings(MOST))
    fixed.on_batch(BatchCost(MOST, 0, 1000, True))
    assert fixed.limit == MOST
    assert Run(PaceSettings(MOST, max_bytes=1 << 30), linear(0, 1)).records[-1] == MOST


def test_the_limit_never_leaves_its_bounds() -> None:
    chance = random.Random(5)
    pacing = Pacing(PaceSettings(1_000, max_bytes=1 << 20, target_seconds=1))
    for _ in range(2_000):
        seconds, size = 10 ** chance.uniform(-9, 9), 10 ** chance.uniform(0, 9)
        pacing.on_batch(BatchCost(chance.randint(0, pacing.limit), size, seconds, chance.random() < 0.5))
        assert 1 <= pacing.limit <= 1_000
