"""Patterns on Spark: measured and drawn cases, and a worker that dies while matches are half-finished."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from penstock.cep import CEP, Pattern, PatternUpdate
from penstock.common import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from tests.conformance import cep
from tests.conformance.cep.playing import Played, play
from tests.spark.conftest import NewEnvironment
from tests.unit.cep import chance
from tests.unit.cep.core import Core


def test_measured_cases_give_what_flink_gave(new_environment: NewEnvironment) -> None:
    measured = json.loads((Path(cep.__file__).with_name("measured") / "chosen.json").read_text())["cases"]
    # Skipping, timeouts, groups, what must not come; each is a branch of one job.
    chosen = [measured[number] for number in (2, 17, 24, 29, 31, 42, 46, 50)]
    for case, played in zip(chosen, play(chosen, lambda: new_environment(1)), strict=True):
        assert played.agrees(case), (case, played)


@pytest.mark.slow
def test_all_measured_cases_give_what_flink_gave(new_environment: NewEnvironment) -> None:
    measured = json.loads((Path(cep.__file__).with_name("measured") / "chosen.json").read_text())["cases"]
    for case, played in zip(measured, play(measured, lambda: new_environment(1), at_once=15), strict=True):
        assert played.agrees(case), (case, played)


def test_drawn_patterns_find_what_trying_everything_finds(new_environment: NewEnvironment, seed: int) -> None:
    """Each pattern is a branch of one job, with streams that are its keys."""
    cases = chance.cases(seed, 6, streams=20)
    assert chance.wrong(cases, played_in_batches(cases, new_environment)) == []


@pytest.mark.soak
def test_many_drawn_patterns_find_what_trying_everything_finds(new_environment: NewEnvironment, seed: int) -> None:
    cases = chance.cases(seed, 150, streams=50, size=10)
    assert chance.wrong(cases, played_in_batches(cases, new_environment)) == []


def played_in_batches(cases: list[dict[str, Any]], new_environment: NewEnvironment) -> list[Played]:
    """With watermarks in between, so that batches find matches half-finished."""
    settings = {"penstock.batch.max-records": 40, "pipeline.watermark-every-records": 5}
    monotonous = WatermarkStrategy.for_monotonous_timestamps()
    return play(cases, lambda: new_environment(1, **settings), at_once=15, watermarks=monotonous)


class Ends:
    """Whether an event ends a match; the worker that sees a certain event for the first time dies."""

    def __init__(self, deadly: int, marker: str) -> None:
        self.deadly = deadly
        self.marker = marker

    def __call__(self, event: Any) -> bool:
        if event[2] == self.deadly and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return bool(event[1] == "end")


def pattern(deadly: int, marker: str) -> Pattern:
    begun = Pattern.begin("begin").where(lambda event: event[1] == "begin")
    return begun.followed_by("end").where(Ends(deadly, marker)).within(1_000)


def test_matches_that_are_half_finished_when_a_worker_dies_are_found_once(
    new_environment: NewEnvironment, tmp_path: Path
) -> None:
    # Every key begins in the first batches; the ends come when the state of all of them is on disk.
    kinds = ["begin"] * 60 + ["other"] * 60 + ["end"] * 60
    events = [(number % 20, kind, number) for number, kind in enumerate(kinds)]
    environment = new_environment(2, **{"penstock.batch.max-records": 30, "pipeline.watermark-every-records": 10})
    found = sorted(_matches(environment, events, pattern(125, str(tmp_path / "died"))))
    assert (tmp_path / "died").exists()
    expected = []
    for key in range(20):
        core = Core(pattern(-1, ""))
        for event in events:
            if event[0] == key:
                core.offer(event, event[2])
        expected += [(key, match["begin"][0][2], match["end"][0][2]) for match, _ in core.matches]
    assert found == sorted(expected)
    assert len(found) == 60


def _matches(environment: StreamExecutionEnvironment, events: list[Any], looked_for: Pattern) -> list[Any]:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[2])
    stream = environment.from_collection(events).assign_timestamps_and_watermarks(strategy)
    matches = CEP.pattern(stream.key_by(lambda event: event[0]), looked_for).select(
        lambda match: (match["begin"][0][0], match["begin"][0][2], match["end"][0][2])
    )
    with matches.execute_and_collect() as results:
        return list(results)


def test_patterns_that_come_and_go_match_by_the_time_of_their_updates(new_environment: NewEnvironment) -> None:
    environment = new_environment(2, **{"penstock.batch.max-records": 40})
    events = [(number % 10, "ab"[number // 10 % 2], number) for number in range(200)]
    python = Pattern.begin("b").where(lambda event: event[1] == "b")
    data = {"elements": [{"name": "a", "where": {"field": 1, "op": "==", "value": "a"}}]}
    both = {"elements": [*data["elements"], {"name": "b", "follows": "next"}]}
    updates: list[tuple[int, Any]] = [
        (0, json.dumps({"put": "data", "pattern": data})),
        (100, PatternUpdate.put("python", python)),
        (120, {"put": "data", "pattern": both}),
        (160, {"remove": "data"}),
    ]
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = environment.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event[2])
    )
    timed = environment.from_collection(updates).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda update, _: update[0])
    )
    patterns = CEP.dynamic_patterns(stream.key_by(lambda event: event[0]), timed.map(lambda update: update[1]))
    matches = patterns.updates_in_event_time().select(
        lambda match, name: (name, [event[2] for taken in match.values() for event in taken])
    )
    with matches.execute_and_collect() as results:
        found = sorted(results)
    ones = [("data", [time]) for _, letter, time in events if letter == "a" and time < 120]
    twos = [("data", [time, time + 10]) for _, letter, time in events if letter == "a" and 120 <= time < 150]
    others = [("python", [time]) for _, letter, time in events if letter == "b" and time >= 100]
    assert found == sorted([*ones, *twos, *others])
