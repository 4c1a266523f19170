"""When tasks of continuous mode send what they have: sources together, tasks behind them when they have heard all."""

from __future__ import annotations

from typing import Any

from penstock.engine.spark.continuous.pace import LevelPace, SourcePace


class Clock:
    """Both clocks of the machine; they do not begin at the same moment."""

    def __init__(self, wall: float) -> None:
        self.now = wall

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now - 1_000.0


class Sent:
    """Stands for a station, and notes when it sends."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.at: list[float] = []
        self.watermarks: list[int] = []

    def flush(self) -> None:
        self.at.append(round(self._clock.now, 4))

    def on_interval(self, now_ms: int) -> None:
        self.watermarks.append(now_ms)


def source(began: float, linger_ms: int = 10, interval_ms: int = 0) -> tuple[Clock, Any, SourcePace]:
    clock = Clock(began)
    return clock, Sent(clock), SourcePace(linger_ms, interval_ms, clock.wall, clock.monotonic)


def level(linger_ms: int = 10, interval_ms: int = 0) -> tuple[Clock, Any, LevelPace]:
    clock = Clock(5_000.0)
    return clock, Sent(clock), LevelPace(linger_ms, interval_ms, clock.wall, clock.monotonic)


def run(clock: Clock, sent: Any, pace: SourcePace, until: float) -> None:
    """A source that has few records: it waits as long as it may, and looks."""
    while clock.now < until:
        clock.now += max(pace.wait_seconds(None), 1e-4)
        pace.attend(sent, is_behind=False)


def test_sources_that_begin_at_different_times_send_at_the_same_moments() -> None:
    moments = []
    for began in (5_000.0031, 5_000.0078):
        clock, sent, pace = source(began)
        run(clock, sent, pace, 5_000.055)
        moments.append([at for at in sent.at if at > 5_000.0101])
    assert [len(each) for each in moments] == [5, 5]
    assert all(abs(one - other) < 0.001 for one, other in zip(*moments, strict=True))


def test_a_source_looks_once_for_each_sending_and_not_before() -> None:
    _, _, pace = source(5_000.004)
    assert abs(pace.wait_seconds(None) - 0.006) < 1e-6
    assert abs(pace.wait_seconds(5_000_005) - 0.001) < 1e-6, "a timer is due before that"
    assert pace.wait_seconds(4_999_000) == 0.001, "it does not spin"


def test_a_source_with_a_long_linger_still_looks_often() -> None:
    clock, sent, pace = source(5_000.5, linger_ms=1_000)
    assert pace.wait_seconds(None) == 0.01
    run(clock, sent, pace, 5_002.5)
    assert [int(at) for at in sent.at] == [5_001, 5_002]


def test_without_a_linger_everything_is_sent_at_once() -> None:
    _, sent, pace = source(5_000.0, linger_ms=0)
    for _ in range(3):
        pace.attend(sent, is_behind=False)
    assert len(sent.at) == 3
    assert 0.0 < pace.wait_seconds(None) < 0.01


def test_a_source_that_has_more_to_read_sends_larger_blocks() -> None:
    clock, sent, pace = source(5_000.0)
    for _ in range(120):
        clock.now += 0.001
        pace.attend(sent, is_behind=True)
    assert len(sent.at) == 2


def test_a_clock_that_is_put_back_holds_nothing_back() -> None:
    clock, sent, pace = source(5_000.0)
    clock.now = 4_000.0
    pace.attend(sent, is_behind=False)
    assert sent.at == [4_000.0]
    assert 0.0 < pace.wait_seconds(None) <= 0.01


def test_periodic_watermarks_of_sources() -> None:
    clock, sent, pace = source(5_000.0, interval_ms=20)
    run(clock, sent, pace, 5_000.1)
    assert 4 <= len(sent.watermarks) <= 5
    assert all(5_000_000 < each <= 5_000_111 for each in sent.watermarks)


def test_watermarks_as_frequent_as_sendings_go_with_each_of_them() -> None:
    clock, sent, pace = source(5_000.0001, interval_ms=10)
    for late in (0.0004, 0.0001, 0.0003, 0.0002):
        clock.now = round(clock.now, 2) + 0.01 + late
        pace.attend(sent, is_behind=False)
    assert (len(sent.at), len(sent.watermarks)) == (4, 4)


def test_results_are_sent_at_once_if_nobody_else_is_expected() -> None:
    _, sent, pace = level()
    pace.on_work(0)
    pace.attend(sent, is_idle=True)
    assert sent.at == [5_000.0]


def test_a_task_waits_for_those_that_sent_something_the_time_before() -> None:
    clock, sent, pace = level()
    for sender in (0, 1):
        pace.on_work(sender)
    pace.attend(sent, is_idle=True)
    pace.on_work(1)
    pace.attend(sent, is_idle=True)
    assert len(sent.at) == 1, "task 0 has not been heard"
    clock.now += 0.0005
    pace.on_work(0)
    pace.attend(sent, is_idle=True)
    assert len(sent.at) == 2


def test_it_does_not_wait_long_and_not_again() -> None:
    clock, sent, pace = level()
    for sender in (0, 1):
        pace.on_work(sender)
    pace.attend(sent, is_idle=True)
    clock.now += 0.01
    pace.on_work(1)
    pace.attend(sent, is_idle=True)
    assert abs(pace.wait_seconds(None) - 0.002) < 1e-6
    clock.now += 0.0021
    pace.attend(sent, is_idle=True)
    assert len(sent.at) == 2
    clock.now += 0.01
    pace.on_work(1)
    pace.attend(sent, is_idle=True)
    assert len(sent.at) == 3, "task 0 was not heard the time before"


def test_while_more_has_come_results_wait_for_it_up_to_the_linger() -> None:
    clock, sent, pace = level()
    pace.on_work(0)
    pace.attend(sent, is_idle=False)
    clock.now += 0.009
    pace.on_work(0)
    pace.attend(sent, is_idle=False)
    assert sent.at == []
    clock.now += 0.0011
    pace.attend(sent, is_idle=False)
    assert len(sent.at) == 1


def test_what_timers_give_is_sent_too() -> None:
    _, sent, pace = level()
    pace.on_work()
    pace.attend(sent, is_idle=True)
    assert len(sent.at) == 1


def test_a_task_with_nothing_to_send_sleeps_until_something_is_due() -> None:
    clock, sent, pace = level()
    clock.now += 1.0
    pace.attend(sent, is_idle=True)
    assert sent.at == []
    assert pace.wait_seconds(None) == 0.05
    assert abs(pace.wait_seconds(5_001_004) - 0.004) < 1e-6
    assert pace.wait_seconds(4_999_000) == 0.001, "it does not spin"
    clock, sent, pace = level(interval_ms=20)
    clock.now += 0.015
    assert abs(pace.wait_seconds(None) - 0.005) < 1e-6
    clock.now += 0.006
    pace.attend(sent, is_idle=True)
    assert sent.watermarks == [5_000_021]
