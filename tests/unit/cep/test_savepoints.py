"""A job in the middle of matches goes on from a savepoint: with another parallelism, condition or pattern."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from penstock.connectors.generated.numbered import DataGenerator
from penstock.datastream import OutputTag, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, RollingPolicy
from penstock.errors import PenstockError
from penstock.testing import InProcessJobClient
from tests.unit.cep.core import Core
from tests.unit.savepoint.ledger import Start, published, run_some, started

COUNT, KEYS, WINDOW_MS = 300, 9, 400
TIMEOUTS = OutputTag("timeouts")

Event = tuple[int, str, int]


def event(number: int) -> Event:
    return number * 5 % KEYS, "abcxb"[number * 7 // 3 % 5], number * 7


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        return value[2]


def pattern(skip: str = "no_skip", *, window: int = WINDOW_MS, last: str = "c") -> Pattern:
    begun = Pattern.begin("a", getattr(AfterMatchSkipStrategy, skip)()).where(lambda each: each[1] == "a")
    begun = begun.followed_by("b").where(lambda each: each[1] == "b").one_or_more()
    return begun.followed_by("end").where(lambda each: each[1] == last).within(window)


class Show(PatternProcessFunction[Event, Any], TimedOutPartialMatchHandler):
    def process_match(self, match: dict[str, list[Event]], ctx: Any) -> Iterator[Any]:
        yield shown("match", match, ctx.timestamp())

    def process_timed_out_match(self, match: dict[str, list[Event]], ctx: Any) -> None:
        ctx.output(TIMEOUTS, shown("timeout", match, ctx.timestamp()))


def shown(kind: str, match: dict[str, list[Event]], time: int) -> list[Any]:
    return [kind, [each[2] for found in match.values() for each in found], time]


def straight(looked_for: Pattern) -> list[str]:
    lines = []
    for key in range(KEYS):
        core = Core(looked_for)
        for each in map(event, range(COUNT)):
            if each[0] == key:
                core.advance(each[2])
                core.offer(each, each[2])
        core.advance(1 << 60)
        lines += [shown("match", match, time) for match, time in core.matches]
        lines += [shown("timeout", match, time) for match, time in core.timeouts]
    return sorted(map(json.dumps, lines))


def job(start: Start, looked_for: Pattern, *, allows_change: bool = False) -> InProcessJobClient:
    environment: StreamExecutionEnvironment = start.environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    keyed = (
        environment.from_source(DataGenerator(event, COUNT), strategy, "events").uid("events").key_by(lambda e: e[0])
    )
    stream = CEP.pattern(keyed, looked_for)
    matches = (stream.allow_changed_pattern() if allows_change else stream).process(Show()).uid("pattern").name("Rises")
    sink = FileSink.json(start.output, rolling_policy=RollingPolicy.on_checkpoint_rolling_policy())
    matches.union(matches.get_side_output(TIMEOUTS)).sink_to(sink).uid("sink")
    return started(environment)


def left_in_the_middle(folder: Path, parallelism: int, looked_for: Pattern) -> str:
    """A savepoint of a job with partial matches."""
    client = job(Start(folder / "out", parallelism, folder / "first"), looked_for)
    run_some(client, 7)
    path: str = client.stop_with_savepoint(False, str(folder / "savepoints")).result()
    return path


@pytest.mark.parametrize("skip", ["no_skip", "skip_past_last_event"])
@pytest.mark.parametrize(("before", "after"), [(1, 3), (4, 2), (2, 2), (5, 1)])
def test_any_parallelism_goes_on_with_matches_that_are_half_finished(
    tmp_path: Path, before: int, after: int, skip: str
) -> None:
    path = left_in_the_middle(tmp_path, before, pattern(skip))
    some = published(tmp_path / "out")
    job(Start(tmp_path / "out", after, tmp_path / "second", path, seed=after), pattern(skip)).wait()
    expected = straight(pattern(skip))
    assert published(tmp_path / "out") == expected
    assert 0 < len(some) < len(expected)
    # Some matches are in the output only because their first events were in the savepoint.
    assert spanning(expected, last_read=max(json.loads(line)[2] for line in some))


def spanning(lines: list[str], last_read: int) -> list[str]:
    found = map(json.loads, lines)
    return [line for line in found if line[0] == "match" and line[1][0] < last_read < line[1][-1]]


CHANGES: list[tuple[dict[str, Any], str]] = [
    (
        {"window": 500},
        r"element 3 followed by 'end' within 400 ms, but now has element 3 followed by 'end' within 500 ms",
    ),
    ({"skip": "skip_to_next"}, r"skip no_skip\(\), but now has skip skip_to_next\(\)"),
]


@pytest.mark.parametrize(("change", "difference"), CHANGES)
def test_a_job_with_a_changed_pattern_is_refused_with_the_difference(
    tmp_path: Path, change: dict[str, Any], difference: str
) -> None:
    path = left_in_the_middle(tmp_path, 2, pattern())
    changed = {"skip": "no_skip", **change}
    with pytest.raises(PenstockError, match=rf"Rises(.|\n)*{difference}"):
        job(Start(tmp_path / "out", 2, tmp_path / "second", path), pattern(**changed)).wait()


def test_a_changed_pattern_that_is_allowed_drops_the_partial_matches_and_counts_them(tmp_path: Path) -> None:
    path = left_in_the_middle(tmp_path, 2, pattern())
    before = published(tmp_path / "out")
    client = job(Start(tmp_path / "out", 3, tmp_path / "second", path), pattern(window=500), allows_change=True)
    client.wait()
    added = [json.loads(line) for line in published(tmp_path / "out") if line not in before]
    first_after = min(line[1][0] for line in added)
    assert all(line[1][0] >= first_after for line in added)
    # What began before the savepoint is gone: the new pattern alone would have found it.
    expected = straight(pattern(window=500))
    assert set(map(json.dumps, added)) < set(expected)
    assert {line for line in expected if json.loads(line)[1][0] >= first_after} <= {*map(json.dumps, added)}
    assert client.metrics()["Rises"]["numPartialMatchesDropped"] > 0


def test_a_changed_condition_is_asked_from_the_savepoint_on(tmp_path: Path) -> None:
    path = left_in_the_middle(tmp_path, 2, pattern())
    before = published(tmp_path / "out")
    job(Start(tmp_path / "out", 1, tmp_path / "second", path), pattern(last="x")).wait()
    added = [json.loads(line) for line in published(tmp_path / "out") if line not in before]
    ends = {event(line[1][-1] // 7)[1] for line in added if line[0] == "match"}
    assert ends == {"x"}
    last_read = max(json.loads(line)[2] for line in before)
    assert any(line[1][0] < last_read for line in added if line[0] == "match")
