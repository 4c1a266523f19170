"""Event time of a subtask with several partitions: the slowest counts, idle and ended ones do not hold it up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.common.constants import MIN_WATERMARK
from penstock.common.time import Duration
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.source import Counted, PartitionItem, PartitionRange, PartitionReader, SideRecords
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import PartitionedSourceOperator
from penstock.runtime.partition_watermarks import dealt_out
from penstock.runtime.source_tasks import SourceTask
from penstock.testing import ScriptedPartitions
from tests.unit.runtime.rig import Event, Rig

MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
IMPATIENT = MONOTONOUS.with_idleness(Duration.of_millis(100))


class Numbers(ScriptedPartitions):
    """Partition `a` gives 10, 20, 30, ...; others 1, 2, 3, ..."""

    def __init__(self) -> None:
        super().__init__({"a": [*range(10, 500, 10)], "b": [*range(1, 50)], "c": [*range(1, 50)]}, ends=False)


def rig_of(tmp_path: Path, strategy: WatermarkStrategy = MONOTONOUS, source: Any = None) -> Rig:
    return Rig(tmp_path, PartitionedSourceOperator(source or Numbers(), strategy))


def read(rig: Rig, *ranges: tuple[Any, ...]) -> list[Event]:
    """Run a batch that reads ranges; returns what came out that is no record."""
    rig.read_partitions(SourceTask(2, 0, ranges=tuple(PartitionRange(*each) for each in ranges)))
    rig.finish()
    return [event for event in rig.take() if isinstance(event[0], str)]


def test_the_slowest_partition_counts(tmp_path: Path) -> None:
    rig = rig_of(tmp_path)
    assert read(rig, ("a", 0, 2), ("b", 0, 2)) == [("watermark", 1)]
    assert read(rig, ("a", 2, 3)) == []
    assert read(rig, ("b", 2, 9)) == [("watermark", 8)]
    assert read(rig, ("b", 9, 49)) == [("watermark", 29)], "now the other one is the slower"


def test_a_partition_without_records_holds_the_others_up(tmp_path: Path) -> None:
    rig = rig_of(tmp_path)
    assert read(rig, ("a", 0, 2), ("b", 0, 0)) == []
    assert read(rig, ("b", 0, 1)) == [("watermark", 0)]


def test_one_that_turns_up_later_holds_but_does_not_turn_back(tmp_path: Path) -> None:
    rig = rig_of(tmp_path)
    assert read(rig, ("a", 0, 2)) == [("watermark", 19)]
    assert read(rig, ("a", 2, 3), ("b", 0, 0)) == []
    assert read(rig, ("b", 0, 5)) == []
    assert read(rig, ("b", 5, 25)) == [("watermark", 24)]


def test_an_idle_partition_holds_nobody_up_and_an_idle_subtask_says_so(tmp_path: Path) -> None:
    rig = rig_of(tmp_path, IMPATIENT)
    assert read(rig, ("a", 0, 2), ("b", 0, 0)) == []
    rig.clock.now_ms = 50
    assert read(rig, ("a", 2, 3)) == []
    rig.clock.now_ms = 100
    assert read(rig) == [("watermark", 29)], "the partition that never had a record is idle"
    rig.clock.now_ms = 150
    assert read(rig) == [("idle",)]
    assert read(rig, ("b", 0, 40)) == [("active",), ("watermark", 39)]


def test_idleness_has_a_deadline_as_long_as_a_partition_is_awake(tmp_path: Path) -> None:
    rig = rig_of(tmp_path, IMPATIENT)
    read(rig, ("a", 0, 1), ("b", 0, 0))
    rig.clock.now_ms = 30
    read(rig, ("a", 1, 2))
    assert rig.report is not None and rig.report.entry.deadline == 100
    rig.clock.now_ms = 100
    read(rig)
    assert rig.report.entry.deadline == 130
    rig.clock.now_ms = 130
    read(rig)
    assert rig.report.entry.deadline is None


def test_a_subtask_without_partitions_is_idle_until_it_gets_one(tmp_path: Path) -> None:
    rig = rig_of(tmp_path)
    assert read(rig) == [("idle",)]
    assert read(rig) == []
    assert read(rig, ("b", 0, 0)) == [("active",)]
    assert read(rig, ("b", 0, 3)) == [("watermark", 2)]


def test_a_partition_that_has_ended_holds_nobody_up(tmp_path: Path) -> None:
    rig = rig_of(tmp_path)
    assert read(rig, ("a", 0, 3), ("b", 0, 2, True)) == [("watermark", 29)]
    # What its last records say still counts; then an unbounded source waits for others.
    assert read(rig, ("a", 3, 4, True)) == [("watermark", 39), ("idle",)]


def test_partitions_are_gone_on_with_in_another_process(tmp_path: Path) -> None:
    rig = rig_of(tmp_path)
    read(rig, ("a", 0, 2), ("b", 0, 5))
    rig.read_partitions(SourceTask(2, 0, ranges=()))
    rig.next_batch()
    assert read(rig, ("a", 2, 3)) == [], "the other one is known to be slower"
    assert read(rig, ("b", 5, 7)) == [("watermark", 6)]


class Odd(Numbers):
    """Gives what no script can: side records, counts, and an error."""

    def create_reader(self, name: str, subtask: int) -> PartitionReader:
        return _OddReader()


class _OddReader(PartitionReader):
    def __init__(self) -> None:
        self.is_closed = False

    def read(self, ranges: Sequence[PartitionRange]) -> Iterator[tuple[str, PartitionItem]]:
        yield "a", Counted("bad_records", 2)
        yield "a", SideRecords("bad", ["x", "y"], [1, 2])
        if ranges[0].stop > 5:
            raise ValueError("no such record")

    def close(self) -> None:
        raise ValueError("does not close")


def test_counts_and_side_records(tmp_path: Path) -> None:
    rig = Rig(tmp_path, PartitionedSourceOperator(Odd(), MONOTONOUS), tags=["bad"])
    read(rig, ("a", 0, 1))
    assert rig.report is not None
    figures = rig.report.metrics[next(iter(rig.report.metrics))]
    assert figures["bad_records"] == 2 and figures["side_records_out"] == 2


def test_a_reader_that_fails_names_operator_and_offsets(tmp_path: Path) -> None:
    rig = rig_of(tmp_path, source=Odd())
    with pytest.raises(OperatorFailure, match=r"no such record(.|\n)*partition a 0\.\.8"):
        read(rig, ("a", 0, 9))


def test_lags_are_gauges(tmp_path: Path) -> None:
    rig = rig_of(tmp_path)
    for lag in (7, 3):
        task = SourceTask(2, 0, ranges=(PartitionRange("a", 0, 0),), lags={"a": lag}, pending=lag + 1)
        rig.read_partitions(task)
        rig.next_batch()
        assert rig.report is not None
        (figures, *_) = rig.report.metrics.values()
        assert (figures["lag.a"], figures["pending_records"]) == (lag, lag + 1)


def test_states_go_to_the_owners_of_their_partitions() -> None:
    def lane(mark: int) -> Any:
        return (mark, 5, True, b"generator")

    states = [(30, True, {"a": lane(30)}), None, (10, False, {"b": lane(10), "gone": lane(0)})]
    awake = {"a": (30, 5, False, b"generator"), "b": (10, 5, False, b"generator")}
    assert dealt_out(states, {"a": 1, "b": 1}, 2) == [(10, False, {}), (10, False, awake)]
    assert dealt_out(states, {"a": 0, "b": 2}, 3) == [
        (30, False, {"a": awake["a"]}),
        (MIN_WATERMARK, False, {}),
        (10, False, {"b": awake["b"]}),
    ]


def test_a_partition_that_is_not_read_does_not_become_idle(tmp_path: Path) -> None:
    rig = rig_of(tmp_path, IMPATIENT)
    read(rig, ("a", 0, 2), ("b", 0, 2))
    subtask = rig._running()
    subtask.pause_splits(("a",))
    rig.clock.now_ms = 150
    assert read(rig) == [("watermark", 19)], "the partition that is read is idle"
    assert subtask.split_times() == {"a": (19, False), "b": (1, True)}
    subtask.pause_splits(())
    rig.clock.now_ms = 249
    assert read(rig) == []
    rig.clock.now_ms = 250
    assert read(rig) == [("idle",)], "its clock goes on from when it was read again"
