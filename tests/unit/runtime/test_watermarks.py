"""Timestamps and watermarks in sources and in the middle of a stream: pace, cuts, idleness, batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.time import Duration
from penstock.common.watermark_strategy import WatermarkGenerator, WatermarkStrategy
from penstock.connectors.generated.collection import CollectionSource
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import MapOperator, SourceOperator, WatermarkOperator
from tests.unit.runtime.rig import Rig


def by_value(strategy: WatermarkStrategy) -> WatermarkStrategy:
    return strategy.with_timestamp_assigner(lambda value, record_timestamp: value)


MONOTONOUS = by_value(WatermarkStrategy.for_monotonous_timestamps())


class EveryThird(WatermarkGenerator):
    """Punctuated: a watermark after each multiple of 3, nothing periodically."""

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if event % 3 == 0:
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: Any) -> None:
        pass


class Counting(WatermarkGenerator):
    """Periodic: its watermark is how many records it has seen, so its state shows."""

    def __init__(self) -> None:
        self.seen = 0

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self.seen += 1

    def on_periodic_emit(self, output: Any) -> None:
        output.emit_watermark(self.seen)


def test_the_operator_gives_timestamps_and_its_watermark_at_the_end_of_a_batch(tmp_path: Path) -> None:
    rig = Rig(tmp_path, WatermarkOperator(MONOTONOUS))
    rig.process(3, 9, 5)
    assert rig.take() == [(3, 3), (9, 9), (5, 5)]
    rig.next_batch()
    assert rig.take() == [("watermark", 8)]


def test_bounded_disorder_holds_the_watermark_back(tmp_path: Path) -> None:
    strategy = by_value(WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(4)))
    rig = Rig(tmp_path, WatermarkOperator(strategy))
    rig.process(10)
    rig.next_batch()
    rig.process(7)
    rig.next_batch()
    rig.process(20)
    rig.next_batch()
    assert [event for event in rig.take() if event[0] == "watermark"] == [("watermark", 5), ("watermark", 15)]


def test_upstream_watermarks_end_here_except_the_last(tmp_path: Path) -> None:
    rig = Rig(tmp_path, WatermarkOperator(MONOTONOUS))
    rig.watermark(500)
    rig.idle()
    rig.idle(is_idle=False)
    assert rig.take() == []
    rig.end()
    assert rig.take() == [("watermark", MAX_WATERMARK), ("end",)]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 10])
def test_watermarks_come_at_the_pace_asked_for_whatever_the_blocks(tmp_path: Path, block: int) -> None:
    rig = Rig(tmp_path, WatermarkOperator(MONOTONOUS), watermark_every_records=5)
    for start in range(1, 11, block):
        rig.process(*range(start, min(start + block, 11)))
    events = rig.take()
    places = [index for index, event in enumerate(events) if event[0] == "watermark"]
    between = [len(events[:place]) - number for number, place in enumerate(places)]
    assert all(5 <= after - before <= 5 + block for before, after in zip([0, *between], between, strict=False))
    assert len(between) >= 1


def test_a_punctuated_generator_cuts_the_block_where_it_emits(tmp_path: Path) -> None:
    strategy = by_value(WatermarkStrategy.for_generator(EveryThird))
    rig = Rig(tmp_path, WatermarkOperator(strategy))
    rig.process(1, 3, 4, 6, 7)
    assert rig.take() == [(1, 1), (3, 3), ("watermark", 3), (4, 4), (6, 6), ("watermark", 6), (7, 7)]


def test_a_generator_lives_on_in_another_process_and_does_not_go_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, WatermarkOperator(WatermarkStrategy.for_generator(Counting)))
    rig.process("x", "y")
    rig.next_batch()
    rig.process("z")
    rig.next_batch()
    rig.next_batch()
    assert [event for event in rig.take() if event[0] == "watermark"] == [("watermark", 2), ("watermark", 3)]


def test_without_an_assigner_timestamps_stay(tmp_path: Path) -> None:
    rig = Rig(tmp_path, WatermarkOperator(WatermarkStrategy.for_monotonous_timestamps()))
    rig.process("x", "y", at=[4, None])
    rig.process("z")
    rig.finish()
    assert rig.take() == [("x", 4), ("y", None), ("z", None), ("watermark", 3)]


def test_an_assigner_is_told_the_old_timestamp_or_the_minimum(tmp_path: Path) -> None:
    seen = WatermarkStrategy.no_watermarks().with_timestamp_assigner(
        lambda value, old: 1 if old == MIN_WATERMARK else old
    )
    rig = Rig(tmp_path, WatermarkOperator(seen))
    rig.process("x", "y", at=[4, None])
    rig.process("z")
    assert rig.take() == [("x", 4), ("y", 1), ("z", 1)]


def failing_assigner(value: int, old: int) -> int:
    return 1 // value


class FailingGenerator(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if event == 0:
            raise LookupError("on_event")

    def on_periodic_emit(self, output: Any) -> None:
        raise LookupError("periodic")


@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        (WatermarkStrategy.no_watermarks().with_timestamp_assigner(failing_assigner), "assigner\nrecord: 0"),
        (by_value(WatermarkStrategy.for_generator(FailingGenerator)), "generator\nrecord: 0"),
    ],
    ids=["assigner", "on_event"],
)
def test_failures_name_the_record(tmp_path: Path, strategy: WatermarkStrategy, text: str) -> None:
    rig = Rig(tmp_path, WatermarkOperator(strategy))
    with pytest.raises(OperatorFailure) as failure:
        rig.process(1, 0, 2)
    assert text in str(failure.value)


def test_a_failing_periodic_emit_is_named(tmp_path: Path) -> None:
    rig = Rig(tmp_path, WatermarkOperator(WatermarkStrategy.for_generator(FailingGenerator)))
    with pytest.raises(OperatorFailure, match="in on_periodic_emit of the watermark generator"):
        rig.finish()


@pytest.mark.parametrize("wrong", [1.5, "7", None, 2**70])
def test_a_timestamp_that_is_none_names_the_record(tmp_path: Path, wrong: Any) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, old: wrong)
    rig = Rig(tmp_path, WatermarkOperator(strategy))
    with pytest.raises(OperatorFailure, match=r"whole milliseconds[\s\S]*record: 'x'"):
        rig.process("x")


# Idleness

IDLE_AFTER_10 = MONOTONOUS.with_idleness(Duration.of_millis(10))


def test_idleness_is_noticed_after_the_timeout_and_ends_with_a_record(tmp_path: Path) -> None:
    rig = Rig(tmp_path, WatermarkOperator(IDLE_AFTER_10))
    rig.process(5)
    assert rig.finish().entry.deadline == 10
    rig.clock.now_ms = 9
    rig.next_batch()
    assert rig.take() == [(5, 5), ("watermark", 4)]
    rig.clock.now_ms = 10
    rig.next_batch()
    assert rig.take() == [("idle",)]
    rig.clock.now_ms = 30
    assert rig.finish().entry.deadline is None
    rig.process(6)
    assert rig.take() == [("active",), (6, 6)]
    assert rig.finish().entry.deadline == 40


def test_the_time_a_job_was_down_is_nobodys_idleness(tmp_path: Path) -> None:
    rig = Rig(tmp_path, WatermarkOperator(IDLE_AFTER_10), started_ms=100)
    rig.process(5)
    rig.finish()
    rig.clock.now_ms = 105
    rig.finish()
    assert ("idle",) not in rig.take()
    rig.clock.now_ms = 110
    rig.finish()
    assert rig.take() == [("idle",)]


class Sleepy(WatermarkGenerator):
    """Says itself that it is idle, and wakes by a watermark."""

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        output.mark_idle() if event == "sleep" else output.emit_watermark(event)

    def on_periodic_emit(self, output: Any) -> None:
        pass


def test_a_generator_may_mark_itself_idle_and_a_watermark_ends_that(tmp_path: Path) -> None:
    rig = Rig(tmp_path, WatermarkOperator(WatermarkStrategy.for_generator(Sleepy)))
    rig.process("sleep", 3, "sleep")
    events = [event for event in rig.take() if len(event) == 1 or event[0] == "watermark"]
    assert events == [("idle",), ("active",), ("watermark", 3), ("idle",)]


class WallClock(WatermarkGenerator):
    """Emits something new whenever it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        pass

    def on_periodic_emit(self, output: Any) -> None:
        self.asked += 1
        output.emit_watermark(self.asked)


def test_a_generator_is_not_asked_while_its_input_is_idle(tmp_path: Path) -> None:
    strategy = WatermarkStrategy.for_generator(WallClock).with_idleness(Duration.of_millis(10))
    rig = Rig(tmp_path, WatermarkOperator(strategy))
    rig.process("x")
    rig.finish()
    for now in (10, 20, 30):
        rig.clock.now_ms = now
        rig.next_batch()
    assert rig.take() == [("x", None), ("watermark", 1), ("watermark", 2), ("idle",)]


def test_one_idle_channel_does_not_stall_the_operator(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(str), channels=2)
    rig.watermark(7, channel=0)
    assert rig.take() == []
    rig.idle(channel=1)
    assert rig.take() == [("watermark", 7)]
    rig.next_batch()
    rig.idle(channel=0)
    assert rig.take() == [("idle",)]


# Sources


def source(
    values: list[int], strategy: WatermarkStrategy | None = MONOTONOUS, **settings: Any
) -> Callable[[Path], Rig]:
    return lambda path: Rig(path, SourceOperator(CollectionSource(values), strategy), MapOperator(str), **settings)


def test_a_source_reads_a_range_with_timestamps_and_ends_with_the_maximum(tmp_path: Path) -> None:
    rig = source([3, 5, 9])(tmp_path)
    rig.read(0, 2)
    report = rig.finish()
    assert rig.take() == [("3", 3), ("5", 5), ("watermark", 4)]
    assert (report.entry.watermark, report.entry.has_ended) == (4, False)
    rig.next_batch()
    rig.read(2, 3)
    rig.end_source()
    report = rig.finish()
    assert rig.take() == [("9", 9), ("watermark", MAX_WATERMARK), ("end",)]
    assert (report.entry.watermark, report.entry.has_ended) == (MAX_WATERMARK, True)


def test_a_source_without_strategy_has_no_timestamps(tmp_path: Path) -> None:
    rig = source([3], None)(tmp_path)
    rig.read(0, 1)
    rig.finish()
    assert rig.take() == [("3", None)]


def test_watermarks_come_inside_a_large_batch_of_a_source(tmp_path: Path) -> None:
    rig = source(list(range(1, 8)), watermark_every_records=3)(tmp_path)
    rig.read(0, 7)
    assert rig.take() == [
        ("1", 1), ("2", 2), ("3", 3), ("watermark", 2), ("4", 4), ("5", 5), ("6", 6), ("watermark", 5), ("7", 7)
    ]  # fmt: skip


def test_a_source_that_cannot_be_read_says_where(tmp_path: Path) -> None:
    class Broken(CollectionSource):
        def read(self, split: int, split_count: int, start: int, stop: int) -> Any:
            raise OSError("connection lost")

    rig = Rig(tmp_path, SourceOperator(Broken([1, 2, 3])))
    with pytest.raises(OperatorFailure, match=r"connection lost[\s\S]*reading positions 1..2 of split 0"):
        rig.read(1, 3)


def test_a_failure_behind_a_source_is_told_once_and_names_its_own_operator(tmp_path: Path) -> None:
    rig = Rig(tmp_path, SourceOperator(CollectionSource([1, 0])), MapOperator(lambda value: 1 // value))
    with pytest.raises(OperatorFailure) as failure:
        rig.read(0, 2)
    assert str(failure.value).count("in operator") == 1
    assert failure.value.uid == "uid-1"


def test_a_subtask_that_wakes_says_so_before_what_its_watermark_sets_off(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(lambda value: value), channels=2)
    rig.watermark(5, channel=0)
    rig.idle(0)
    rig.idle(1)
    rig.take()
    rig.watermark(9, channel=1)
    assert rig.take() == [("active",), ("watermark", 9)]
