"""A source that could give ten times what the sink takes, in virtual time: what batches take and what is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.job_progress import Pace
from penstock.connectors.source import SplitSource
from penstock.graph import JobSettings
from penstock.graph.plan import JobPlan
from penstock.job.backpressure import Backpressure
from penstock.job.intake import FrameVertex, IntakeRequest, SourceList, SplitVertex
from penstock.job.statistics import JobStatistics
from penstock.runtime.report import Report, SubtaskEntry

SINK_SECONDS = 1e-3
ARRIVING_PER_SECOND = 10 / SINK_SECONDS


class Arriving(SplitSource):
    """Records come by time; `end` of them, or no end."""

    def __init__(self, end: int | None = None) -> None:
        self.end = end

    def is_bounded(self) -> bool:
        return self.end is not None

    def split_count(self, parallelism: int) -> int:
        return 2

    def split_end(self, split: int, split_count: int) -> int | None:
        return self.end

    def available(self, split: int, split_count: int, position: int, elapsed_ms: int, limit: int) -> int:
        come = int(elapsed_ms / 1000 * ARRIVING_PER_SECOND / split_count)
        return min(come, position + limit, come if self.end is None else self.end)

    def read(self, split: int, split_count: int, start: int, stop: int) -> Any:
        raise AssertionError("nothing is read here")


class Job:
    """The driver's side of a job whose batches cost virtual seconds."""

    def __init__(self, source: SplitSource, settings: JobSettings, record_bytes: float = 0) -> None:
        self.sources = SourceList({"in": SplitVertex(0, source, 2, False)}, {}, settings.max_records_per_batch)
        self.backpressure = Backpressure(self.sources, settings)
        self.offset = self.sources.first_offset()
        self.now = 0.0
        self.taken: list[int] = []
        self.seconds: list[float] = []
        self.record_bytes = record_bytes

    def batch(self, sink_seconds: float = SINK_SECONDS) -> Pace:
        start = self.offset
        self.now += 0.3
        request = IntakeRequest(limit=self.backpressure.pace.limit)
        end = self.sources.next_offset(start, request, now_ms=0, elapsed_ms=int(self.now * 1000))
        taken = sum(end.positions["in"]) - sum(start.positions["in"])
        seconds = 0.2 + taken * sink_seconds
        self.now += seconds
        self.taken.append(taken)
        self.seconds.append(seconds)
        figures = {"records_in": float(taken), "bytes_in": taken * self.record_bytes}
        reports = [
            Report("in", 0, SubtaskEntry(), {}, {"in": figures, "map": {"records_in": 10.0 * taken}}),
            Report("sink", 0, SubtaskEntry(), {}, {"sink": {"records_in": 10.0 * taken}}),
        ]
        pace = self.backpressure.on_batch(self.offset, end, reports, seconds)
        self.offset = end
        return pace


def settings(**changes: Any) -> JobSettings:
    return JobSettings(**{"target_batch_ms": 5_000, **changes})


def test_a_slow_sink_slows_the_source_and_nothing_is_left_out() -> None:
    job = Job(Arriving(), settings())
    paces = [job.batch() for _ in range(20)]
    assert all(4 < seconds < 6 for seconds in job.seconds[5:])
    assert job.backpressure.pace.limit < 6_000
    assert paces[-1].backpressured > 0.9 and paces[-1].was_limited
    assert sum(job.offset.positions["in"]) == sum(job.taken)


def test_a_sink_that_is_fast_again_catches_up_and_the_pressure_ends() -> None:
    job = Job(Arriving(), settings())
    for _ in range(10):
        job.batch()
    paces = [job.batch(sink_seconds=1e-6) for _ in range(40)]
    assert paces[2].limit > 10 * paces[0].limit or paces[2].limit == 500_000
    assert not paces[-1].was_limited
    assert paces[-1].backpressured < 0.2
    assert sum(job.offset.positions["in"]) == pytest.approx(ARRIVING_PER_SECOND * job.now, rel=0.1)


def test_bytes_are_kept_too() -> None:
    job = Job(Arriving(), settings(max_bytes_per_batch=1_000_000), record_bytes=1_000)
    for _ in range(5):
        job.batch(sink_seconds=1e-6)
    assert job.taken[1:] == [1_000] * 4, "the mean is known after the first batch"


def test_the_backlog_is_known_where_the_end_is() -> None:
    job = Job(Arriving(end=50_000), settings(max_records_per_batch=2_000))
    job.batch()
    assert job.backpressure.pace.backlog == 100_000 - sum(job.taken)
    assert Job(Arriving(), settings()).batch().backlog is None


def test_a_target_of_zero_is_none() -> None:
    job = Job(Arriving(), settings(target_batch_ms=0, max_records_per_batch=400_000))
    for _ in range(5):
        job.batch()
    assert job.backpressure.pace.limit == 400_000


class Trickling(Arriving):
    """Some records a second for ever."""

    def available(self, split: int, split_count: int, position: int, elapsed_ms: int, limit: int) -> int:
        return min(elapsed_ms // 100, position + limit)


def test_batches_rest_where_they_take_all_there_is_and_never_with_more_to_read() -> None:
    quiet = Job(Trickling(), settings())
    quiet.batch()
    assert quiet.backpressure.rest_ms == 500
    busy = Job(Arriving(), settings())
    seen = set()
    for turn in range(50):
        was_limited = busy.batch(sink_seconds=SINK_SECONDS if turn < 10 else 1e-6).was_limited
        seen.add(was_limited)
        assert busy.backpressure.rest_ms == (0 if was_limited else 500)
    assert seen == {False, True}


def test_batches_do_not_rest_in_jobs_that_end_or_have_an_interval_or_frames() -> None:
    def rest_ms(source: SplitSource, frames: dict[str, FrameVertex] | None = None, **changes: Any) -> int:
        sources = SourceList({"in": SplitVertex(0, source, 2, False)}, frames or {}, 100_000)
        backpressure = Backpressure(sources, settings(**changes))
        backpressure.on_batch(None, None, [], 0.1)
        return backpressure.rest_ms

    assert rest_ms(Trickling()) == 500
    assert rest_ms(Trickling(), min_batch_interval_ms=80) == 80
    assert rest_ms(Trickling(), min_batch_interval_ms=0) == 0
    assert rest_ms(Trickling(end=7)) == 0
    assert rest_ms(Trickling(), trigger_interval_ms=100) == 0
    assert rest_ms(Trickling(), {"frame": FrameVertex(1, False)}) == 0


def test_what_is_told_of_it() -> None:
    statistics = JobStatistics(JobPlan("job", ()))
    statistics.on_pace(Pace(500, 1_000, True, 1.0), ["a", "b"])
    statistics.on_pace(Pace(400, 2_000, True, 1.0), ["a", "b"])
    statistics.on_pace(Pace(300, 4_000, False, 0.4), ["a", "b"])
    told = {"batch_limit": 300, "backpressured_ms": 3_000}
    assert statistics.metrics() == {"a": {**told, "uid": "a"}, "b": {**told, "uid": "b"}}
    assert statistics.progress.pace == Pace(300, 4_000, False, 0.4)
