"""How far the reader of Penstock's own sources lets a batch go, and what it tells the tasks to do."""

from __future__ import annotations

import dataclasses
import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from penstock.connectors.generated.collection import CollectionSource
from penstock.connectors.source import SplitSource
from penstock.engine.spark import control as control_module
from penstock.engine.spark import native_source
from penstock.engine.spark.control import Control, ControlReader
from penstock.engine.spark.native_source import PenstockReader
from penstock.job.intake import FrameVertex, IntakeRequest, SourceList, SplitVertex, grouped
from penstock.runtime.source_tasks import Offset, SourceTask

LIMIT = ReadAllAvailable()


class Endless(SplitSource):
    def is_bounded(self) -> bool:
        return False

    def split_count(self, parallelism: int) -> int:
        return 2

    def split_end(self, split: int, split_count: int) -> int | None:
        return None

    def read(self, split: int, split_count: int, start: int, stop: int) -> Any:
        raise AssertionError("the reader names ranges only")


class Shrinking(Endless):
    def available(self, split: int, split_count: int, position: int, elapsed_ms: int, limit: int) -> int:
        return position - 5


@pytest.fixture
def controls() -> Iterator[list[Control]]:
    made: list[Control] = []
    yield made
    for control in made:
        control.remove()


class Sources:
    """A control and its reader, with the offset that the last batch came to."""

    def __init__(
        self, made: list[Control], splits: dict[int, SplitVertex], frames: dict[int, bool], limit: int
    ) -> None:
        by_uid = {f"u{vertex}": dataclasses.replace(known, vertex=vertex) for vertex, known in splits.items()}
        frame_uids = {f"u{vertex}": FrameVertex(vertex, has_idleness) for vertex, has_idleness in frames.items()}
        self.list = SourceList(by_uid, frame_uids, limit)
        self.control = Control(self.list)
        made.append(self.control)
        self.reader = PenstockReader(self.control.directory)
        self.offset = self.reader.initialOffset()

    def batch(self) -> list[tuple[int, int, int, int, bool]]:
        """Run the next batch and return its tasks; an empty list if there is nothing to do."""
        end = json.loads(json.dumps(self.reader.latestOffset(self.offset, LIMIT)))
        start, self.offset = self.offset, end
        groups = [pickle.loads(part.value) for part in self.reader.partitions(start, end)] if start != end else []
        # A batch without anything to do is still a batch.
        return [() if not group else dataclasses.astuple(task)[:5] for group in groups for task in group or [None]]  # type: ignore[misc]


def collection(size: int) -> SplitVertex:
    return SplitVertex(0, CollectionSource(list(range(size))), 1, False)


def test_batches_take_at_most_the_limit_and_the_last_one_ends_the_split(controls: list[Control]) -> None:
    sources = Sources(controls, {4: collection(7)}, {}, 3)
    assert [sources.batch() for _ in range(4)] == [
        [(4, 0, 0, 3, False)],
        [(4, 0, 3, 6, False)],
        [(4, 0, 6, 7, True)],
        [],
    ]


def test_the_limit_is_shared_by_all_splits_but_each_gets_on(controls: list[Control]) -> None:
    splits = {1: collection(10), 2: SplitVertex(0, Endless(), 2, False)}
    assert [stop for _, _, _, stop, _ in Sources(controls, splits, {}, 9).batch()] == [3, 3, 3]
    assert [stop for _, _, _, stop, _ in Sources(controls, splits, {}, 1).batch()] == [1, 1, 1]


def test_an_empty_collection_ends_in_the_first_batch_and_only_there(controls: list[Control]) -> None:
    sources = Sources(controls, {4: collection(0)}, {}, 3)
    assert sources.batch() == [(4, 0, 0, 0, True)]
    assert sources.batch() == []


def test_a_job_of_frames_only_has_a_first_batch_too(controls: list[Control]) -> None:
    sources = Sources(controls, {}, {3: False}, 3)
    assert sources.batch() == [()]
    assert sources.batch() == []


def test_a_position_never_goes_back(controls: list[Control]) -> None:
    sources = Sources(controls, {1: SplitVertex(0, Shrinking(), 2, False)}, {}, 9)
    assert sources.offset["positions"] == {"u1": [0, 0]}
    sources.batch()
    assert sources.offset["positions"] == {"u1": [0, 0]}


def test_drain_ends_every_source_where_it_is_once(controls: list[Control]) -> None:
    sources = Sources(controls, {1: SplitVertex(0, Endless(), 2, False), 2: collection(2)}, {3: False}, 6)
    assert sources.batch() == [(1, 0, 0, 2, False), (1, 1, 0, 2, False), (2, 0, 0, 2, True)]
    sources.control.drain()
    assert sources.batch() == [(1, 0, 2, 2, True), (1, 1, 2, 2, True), (3, 0, 0, 0, True)]
    assert sources.batch() == []


def test_the_end_of_a_frame_is_told_once(controls: list[Control]) -> None:
    sources = Sources(controls, {}, {3: False, 5: False}, 6)
    sources.batch()
    sources.control.end_frame("u3")
    sources.control.end_frame("u3")
    assert sources.batch() == [(3, 0, 0, 0, True)]
    assert sources.batch() == []
    sources.control.end_frame("u5")
    assert sources.batch() == [(5, 0, 0, 0, True)]


def test_what_has_ended_stays_ended_after_a_restart(controls: list[Control]) -> None:
    before = Sources(controls, {}, {3: False}, 6)
    before.control.end_frame("u3")
    before.batch()
    after = Sources(controls, {}, {3: False}, 6)
    after.offset = before.offset
    assert after.batch() == []
    after.control.end_frame("u3")
    assert after.batch() == []


def test_ticks_come_when_due_and_poke_sources_that_watch_for_idleness(
    controls: list[Control], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ms = 1_000
    monkeypatch.setattr(control_module.time, "time_ns", lambda: now_ms * 1_000_000)
    watched = SplitVertex(0, CollectionSource([]), 1, True)
    still = SplitVertex(0, Endless(), 2, True)
    monkeypatch.setattr(Endless, "available", lambda self, split, count, position, elapsed, limit: position)
    sources = Sources(controls, {1: watched, 2: still}, {3: True, 4: False}, 6)
    pokes = [(2, 0, 0, 0, False), (2, 1, 0, 0, False), (3, 0, 0, 0, False)]
    assert sources.batch() == [(1, 0, 0, 0, True), *pokes], "the first batch starts their clocks"
    sources.control.wake_at(1_001)
    assert sources.batch() == []
    now_ms = 1_001
    assert sources.batch() == pokes
    sources.control.wake_at(None)
    assert sources.batch() == []


def test_a_tick_that_pokes_nobody_still_makes_a_batch(controls: list[Control]) -> None:
    sources = Sources(controls, {4: collection(0)}, {}, 3)
    sources.batch()
    sources.control.wake_at(0)
    assert sources.batch() == [()]


def test_the_same_offsets_give_the_same_tasks_in_another_process(controls: list[Control]) -> None:
    sources = Sources(controls, {4: collection(7)}, {}, 3)
    start = sources.offset
    sources.batch()
    again = PenstockReader(sources.control.directory)
    assert [pickle.loads(part.value)[0].stop for part in again.partitions(start, sources.offset)] == [3]


def test_the_search_path_of_the_driver_reaches_the_reader(controls: list[Control], tmp_path: Path) -> None:
    sys.path.append(str(tmp_path))
    control = Control(SourceList({}, {}, 1))
    sys.path.remove(str(tmp_path))
    controls.append(control)
    try:
        PenstockReader(control.directory).initialOffset()
        assert str(tmp_path) in sys.path
    finally:
        sys.path.remove(str(tmp_path))


def test_a_copy_for_tasks_has_the_plan_and_nothing_of_the_driver(controls: list[Control]) -> None:
    sources = Sources(controls, {4: collection(2)}, {}, 3)
    assert sources.reader._plan is None
    sources.control.write_plan(b"the plan")
    copy = pickle.loads(pickle.dumps(sources.reader))
    assert (copy._plan, copy._sources) == (b"the plan", None)


def test_what_the_driver_says_is_what_the_reader_sees(controls: list[Control]) -> None:
    control = Control(SourceList({}, {}, 1))
    controls.append(control)
    reader = ControlReader(control.directory)
    assert reader.state() == IntakeRequest()
    for change in (
        lambda: control.wake_at(5),
        lambda: control.end_frame("u2"),
        control.drain,
        lambda: control.wake_at(None),
        lambda: control.take_at_most(7),
        lambda: control.pause({"u1": ["3"]}),
    ):
        change()
        assert reader.state() == control.state
    assert reader.state() == IntakeRequest(is_draining=True, ended=("u2",), due_ms=None, limit=7, paused={"u1": ["3"]})


def test_paused_splits_are_not_read_and_leave_their_share_to_others(controls: list[Control]) -> None:
    sources = Sources(controls, {4: collection(40), 5: collection(40)}, {}, 16)
    assert sources.batch() == [(4, 0, 0, 8, False), (5, 0, 0, 8, False)]
    paused = next(uid for uid, each in sources.list.splits.items() if each.vertex == 5)
    sources.control.pause({paused: ["0"]})
    start = Offset.from_json(sources.offset)
    assert sources.batch() == [(4, 0, 8, 24, False)]
    end = Offset.from_json(sources.offset)
    assert end.paused == {paused: ["0"]}, "a batch that is run again pauses the same"
    assert sources.list.is_limited(start, end, 16)
    assert sources.batch() == [(4, 0, 24, 40, True)]
    assert sources.batch() == []
    sources.control.pause({})
    assert sources.batch() == [(5, 0, 8, 16, False)]
    sources.control.pause({paused: ["0"]})
    sources.control.drain()
    assert sources.batch() == [(5, 0, 16, 16, True)], "a drain waits for nobody"


def test_a_batch_takes_no_more_than_the_driver_allows(controls: list[Control]) -> None:
    sources = Sources(controls, {4: collection(20), 5: collection(4)}, {}, 16)
    first = Offset.from_json(sources.offset)
    assert sources.batch() == [(4, 0, 0, 8, False), (5, 0, 0, 4, True)]
    sources.control.take_at_most(6)
    start = Offset.from_json(sources.offset)
    assert sources.batch() == [(4, 0, 8, 11, False)]
    end = Offset.from_json(sources.offset)
    assert sources.list.is_limited(start, end, 6)
    assert not sources.list.is_limited(start, end, 16)
    assert sources.list.is_limited(first, start, 16), "one split had more to give"
    sources.control.take_at_most(1)
    assert sources.batch() == [(4, 0, 11, 12, False)], "a split that may give nothing would never go on"


class Clock:
    """The monotonic clock of the reader, which goes on only while it sleeps."""

    def __init__(self, now: float) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(100.0)
    monkeypatch.setattr(native_source, "time", clock)
    return clock


def test_a_batch_rests_until_the_driver_says_and_then_takes_what_there_is(
    controls: list[Control], clock: Clock
) -> None:
    sources = Sources(controls, {4: collection(20)}, {}, 6)
    assert sources.batch() == [(4, 0, 0, 6, False)]
    sources.control.rest_until(100.12)
    assert sources.batch() == []
    assert clock.now == pytest.approx(100.05), "Spark has its answer soon, and asks again"
    assert sources.batch() == []
    assert sources.batch() == [(4, 0, 6, 12, False)]
    assert clock.now == pytest.approx(100.12)


def test_an_end_and_a_timer_that_is_due_do_not_rest(
    controls: list[Control], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_module.time, "time_ns", lambda: 1_000 * 1_000_000)
    sources = Sources(controls, {4: collection(20)}, {3: False, 5: False}, 6)
    sources.batch()
    sources.control.rest_until(900.0)
    sources.control.wake_at(1_001)
    assert sources.batch() == []
    sources.control.wake_at(1_000)
    assert sources.batch() == [(4, 0, 6, 12, False)]
    sources.control.wake_at(None)
    sources.control.end_frame("u3")
    assert sources.batch() == [(4, 0, 12, 18, False), (3, 0, 0, 0, True)]
    assert sources.batch() == []
    sources.control.drain()
    assert sources.batch() == [(4, 0, 18, 18, True), (5, 0, 0, 0, True)]


def test_a_reader_looks_more_than_once_before_it_says_that_there_is_nothing(
    controls: list[Control], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    come = {1: 0}
    monkeypatch.setattr(Endless, "available", lambda self, split, count, position, elapsed, limit: come[1])
    sources = Sources(controls, {1: SplitVertex(0, Endless(), 1, False)}, {}, 6)
    sources.batch()
    monkeypatch.setattr(clock, "sleep", lambda seconds: come.update({1: 3}))
    assert sources.batch() == [(1, 0, 0, 3, False)]


def test_removing_leaves_nothing(controls: list[Control]) -> None:
    control = Control(SourceList({}, {}, 1))
    control.remove()
    assert not Path(control.directory).exists()


def test_small_tasks_share_a_partition_and_large_ones_do_not() -> None:
    sizes = [10, 1_990, 1, 5_000, *[0] * 40]
    tasks = [SourceTask(vertex, 0, 0, size) for vertex, size in enumerate(sizes)]
    groups = grouped(tasks)
    assert [[task.vertex for task in group] for group in groups] == [
        [3],
        [0, 1],
        [2, *range(4, 35)],
        [*range(35, 44)],
    ]
