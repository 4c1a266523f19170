"""Drawn patterns, groups included, against the matcher that tries everything: on the core, and as jobs that crash."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from penstock.common import Configuration, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from tests.conformance.cep.notation import pattern_of
from tests.conformance.cep.playing import play
from tests.unit.cep import chance
from tests.unit.cep.core import Core


def assert_core_agrees(case: dict[str, Any]) -> None:
    found = []
    for key in {event[2] for event in case["events"]}:
        core = Core(pattern_of(case["pattern"])).play([event[:2] for event in case["events"] if event[2] == key])
        found += [sorted(event[0] for events in match.values() for event in events) for match, _ in core.matches]
    assert sorted(found) == sorted(sorted(names) for names in case["names"]), case


def test_the_core_finds_what_trying_everything_finds(seed: int) -> None:
    cases = chance.cases(seed, 400, streams=3)
    for case in cases:
        assert_core_agrees(case)
    assert sum(len(case["names"]) for case in cases) > 100


def assert_crashing_jobs_agree(seed: int, state: str, *, count: int) -> None:
    cases = chance.cases(seed, count, streams=4, size=9)
    numbers = itertools.count(seed)
    # A watermark behind each record, so that batches and crashes find matches half-finished.
    configuration = Configuration().set_string("pipeline.watermark-every-records", "1")

    def new_environment() -> StreamExecutionEnvironment:
        return StreamExecutionEnvironment.in_process(
            next(numbers), crash_rate=0.05, state=state, configuration=configuration
        )

    played = play(cases, new_environment, at_once=5, watermarks=WatermarkStrategy.for_monotonous_timestamps())
    assert chance.wrong(cases, played) == []


@pytest.mark.parametrize("state", ["memory", "lmdb"])
def test_jobs_that_are_cut_and_crash_at_random_find_the_same(seed: int, state: str) -> None:
    assert_crashing_jobs_agree(seed, state, count=20)


@pytest.mark.soak
@pytest.mark.parametrize("state", ["memory", "lmdb"])
def test_many_jobs_that_are_cut_and_crash_at_random_find_the_same(seed: int, state: str) -> None:
    for number in range(20):
        assert_crashing_jobs_agree(seed + number, state, count=100)
