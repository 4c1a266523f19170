"""A task of continuous mode does not read on where the driver has told that others of the group are behind."""

from __future__ import annotations

from penstock.engine.in_process.continuous import ContinuousRunner
from penstock.job.continuous.source_station import SourceStation
from penstock.testing import CollectSink
from tests.unit.datastream.test_watermark_alignment import FAST, SLOW, aligned, environment, job, partitions, source


def station(count: int = 30) -> SourceStation:
    env = environment("continuous")
    slow = source(env, partitions(ends=False, a=count, b=count), SLOW, aligned(1_000))
    fast = source(env, partitions(ends=False, c=count), FAST, aligned(1_000))
    runner = job(slow.union(fast), CollectSink()).job.runner
    assert isinstance(runner, ContinuousRunner)
    found = runner.stations()[0]
    assert isinstance(found, SourceStation)
    return found


def test_splits_beyond_the_bound_are_not_read_until_it_is_raised() -> None:
    reading = station()
    reading.poll(0, 0, 5)  # finds the partitions
    assert reading.poll(0, 0, 5) == 15
    reading.on_interval(0)
    assert reading.split_times() == {
        SLOW: {"a": (3_999, False), "b": (3_999, False)},
        FAST: {"c": (3_999, False)},
    }
    reading.highest = {SLOW: 9_000, FAST: 3_998}
    assert reading.poll(0, 0, 5) == 10, "who is ahead is not read, and the others no faster"
    reading.on_interval(0)
    assert reading.split_times()[FAST] == {"c": (3_999, False)}
    reading.highest = {SLOW: 8_998, FAST: 3_998}
    assert reading.poll(0, 0, 5) == 0
    reading.highest = {}
    assert reading.poll(0, 0, 5) == 15


def test_in_a_backlog_nothing_waits_for_a_watermark_that_is_due_later() -> None:
    reading = station(10_000)
    reading.poll(0, 0, 500)
    reading.highest = {SLOW: 100_000_000, FAST: 600_000}
    assert [reading.poll(0, 0, 500) for _ in range(4)] == [1_500, 1_500, 1_000, 1_000]
    assert reading.split_times()[FAST] == {"c": (998_999, False)}, "two times 500 records of a second"


def test_a_drain_waits_for_nobody() -> None:
    reading = station()
    reading.poll(0, 0, 5)
    reading.poll(0, 0, 5)
    reading.on_interval(0)
    reading.highest = {SLOW: 0, FAST: 0}
    assert reading.poll(0, 0, 5) == 0
    reading.drain()
    reading.poll(0, 0, 5)
    assert reading.has_ended()
