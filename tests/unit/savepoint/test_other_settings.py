"""Jobs whose operators have other settings than their state was laid out with: brought over, or refused at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import WatermarkStrategy
from penstock.connectors.generated.numbered import DataGenerator
from penstock.datastream import (
    DataStream,
    ProcessJoinFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    commutative,
    count,
    sum_of,
)
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.errors import CheckpointError
from penstock.savepoint import open_origin
from penstock.testing import CollectSink, InProcessJobClient
from tests.unit.savepoint.ledger import Start, run_some, started

COUNT, BATCH, KEYS = 60, 20, 3
BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[1])
Build = Callable[[DataStream], DataStream]


class Tell(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        for element in elements:
            yield key, context.window().start, context.window().end, element[2]


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield left[1], right[1]


@commutative
def added(first: Any, second: Any) -> Any:
    return (first[0], first[1], first[2] + second[2])


def windows(assigner: Any) -> Build:
    return lambda stream: keyed(stream).window(assigner).reduce(added, Tell())


def joined(lower: int, upper: int) -> Build:
    return lambda stream: keyed(stream).interval_join(keyed(stream)).between(lower, upper).process(Pairs())


def summed(*aggregates: Any) -> Build:
    return lambda stream: stream.key_by(0).aggregate_fields(*aggregates)


def keyed(stream: DataStream) -> Any:
    return stream.key_by(lambda event: event[0])


def program(start: Start, build: Build) -> tuple[StreamExecutionEnvironment, CollectSink]:
    environment = start.environment()
    source = DataGenerator(lambda n: (n % KEYS, n, 1), COUNT)
    events = environment.from_source(source, BY_TIME, "events").uid("events")
    sink = CollectSink()
    build(events).uid("changing").name("Changing").add_sink(sink).uid("sink")
    return environment, sink


def begun(start: Start, build: Build) -> tuple[InProcessJobClient, CollectSink]:
    environment, sink = program(start, build)
    client = started(environment)
    run_some(client, 1)
    return client, sink


def starting(tmp_path: Path, **more: Any) -> Start:
    return Start(tmp_path / "out", batch=BATCH, seed=None, **more)


def next_start(tmp_path: Path, origin: str, client: InProcessJobClient, parallelism: int = 2) -> Start:
    """The start that goes on from where a job is, in one of three ways."""
    if origin == "its own directory":
        client.cancel()
        return starting(tmp_path, checkpoint=tmp_path / "first")
    if origin == "savepoint":
        place = client.stop_with_savepoint(False, str(tmp_path)).result()
    else:
        client.cancel()
        place = str(tmp_path / "first")
    return starting(tmp_path, recovery=place, checkpoint=tmp_path / "second", parallelism=parallelism)


ORIGINS = ["savepoint", "checkpoint of another job", "its own directory"]


def windows_by_hand(before: Any, after: Any) -> list[Any]:
    held: dict[Any, int] = {}
    for n in range(COUNT):
        for window in (before if n < BATCH else after).assign_windows(None, n, None):
            place = (n % KEYS, window.start, window.end)
            held[place] = held.get(place, 0) + 1
    return sorted((*place, number) for place, number in held.items())


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SlidingEventTimeWindows.of(30, 10), SlidingEventTimeWindows.of(30, 6)),
        (SlidingEventTimeWindows.of(30, 10), SlidingEventTimeWindows.of(24, 8)),
        (SlidingEventTimeWindows.of(100, 50), SlidingEventTimeWindows.of(100, 10)),
    ],
)
def test_a_sliding_window_may_have_another_slide(tmp_path: Path, origin: str, before: Any, after: Any) -> None:
    client, first = begun(starting(tmp_path, checkpoint=tmp_path / "first"), windows(before))
    environment, second = program(next_start(tmp_path, origin, client, parallelism=3), windows(after))
    started(environment).wait()
    assert sorted(first.results + second.results) == windows_by_hand(before, after)


def test_a_window_of_a_minute_may_become_one_of_five(tmp_path: Path) -> None:
    before, after = TumblingEventTimeWindows.of(25), TumblingEventTimeWindows.of(50)
    client, first = begun(starting(tmp_path), windows(before))
    environment, second = program(next_start(tmp_path, "savepoint", client), windows(after))
    started(environment).wait()
    assert sorted(first.results + second.results) == windows_by_hand(before, after)


@pytest.mark.parametrize("origin", ORIGINS)
def test_an_interval_join_may_have_other_bounds(tmp_path: Path, origin: str) -> None:
    client, first = begun(starting(tmp_path, checkpoint=tmp_path / "first"), joined(-30, 30))
    environment, second = program(next_start(tmp_path, origin, client), joined(-6, 6))
    started(environment).wait()
    found = sorted(first.results + second.results)
    same_key = [(a, b) for a in range(COUNT) for b in range(COUNT) if a % KEYS == b % KEYS]
    # Pairs of which one came before the change were made by the bounds that held when the other came.
    wanted = [(a, b) for a, b in same_key if abs(a - b) <= (30 if max(a, b) < BATCH else 6)]
    assert found == sorted(wanted)


REFUSED: list[tuple[Build, Build, str]] = [
    (
        lambda s: keyed(s).count_window(4).reduce(added),
        lambda s: keyed(s).count_window(5).reduce(added),
        r"window_size 4\), but now has assigner \(of CountTumblingWindowAssigner, window_size 5\)",
    ),
    (
        summed(count()),
        summed(count(), sum_of(2)),
        r"aggregates \[\['count', None\]\], but now has aggregates \[\['count', None\], \['sum', 2\]\]",
    ),
]


@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize(("before", "after", "reason"), REFUSED)
def test_what_cannot_be_brought_over_is_refused_before_the_job_starts(
    tmp_path: Path, origin: str, before: Build, after: Build, reason: str
) -> None:
    client, _ = begun(starting(tmp_path, checkpoint=tmp_path / "first"), before)
    start = next_start(tmp_path, origin, client)
    environment, _ = program(start, after)
    with pytest.raises(
        CheckpointError,
        match=rf"operator 'Changing' \(uid 'changing'\) cannot resume .*{reason}\. Change the settings back",
    ):
        started(environment)
    environment, _ = program(start, before)
    started(environment).wait()  # the directory can be used by the former program


def test_a_savepoint_tells_the_settings(tmp_path: Path) -> None:
    client, _ = begun(starting(tmp_path), windows(SlidingEventTimeWindows.of(30, 10)))
    origin = open_origin(client.stop_with_savepoint(False, str(tmp_path)).result())
    (layout,) = origin.manifest.operators["changing"].layouts
    assert layout["assigner"] == {"of": "SlidingEventTimeWindows", "size": 30, "slide": 10, "offset": 0}
    assert layout["kept as"] == "panes"
