"""A subtask over batches: many channels, senders that come and go, metrics, and what it reports."""

from __future__ import annotations

from pathlib import Path

from penstock.common.constants import MAX_WATERMARK, MIN_WATERMARK
from penstock.datastream.functions import MapFunction, RuntimeContext
from penstock.runtime.operators import MapOperator
from tests.unit.runtime.rig import Rig


def test_the_slowest_channel_counts_also_in_another_process(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(str), channels=2)
    rig.watermark(9, channel=1)
    rig.next_batch()
    rig.watermark(4, channel=0)
    assert rig.take() == [("watermark", 4)]
    assert rig.finish().entry.watermark == 4


def test_a_subtask_ends_when_all_its_channels_have(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(str), channels=2)
    rig.end(channel=1)
    assert not rig.finish().entry.has_ended
    rig.watermark(4, channel=0)
    rig.next_batch()
    rig.end(channel=0)
    assert rig.finish().entry.has_ended
    assert rig.take()[-2:] == [("watermark", MAX_WATERMARK), ("end",)]


def test_status_is_remembered_over_processes(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(str))
    rig.idle()
    rig.next_batch()
    rig.idle()
    assert rig.take() == [("idle",)]


def test_tasks_of_an_ephemeral_sender_start_where_all_had_got_to(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(str), is_ephemeral=True)
    rig.senders = {0, 1}
    rig.watermark(10, channel=0)
    rig.watermark(20, channel=1)
    rig.next_batch()
    assert rig.take() == [("watermark", 10)]
    rig.senders = {7}
    rig.watermark(15, channel=7)
    assert rig.take() == [("watermark", 15)]
    rig.next_batch()
    rig.senders = {3, 4}
    rig.watermark(30, channel=3)
    assert rig.take() == []
    rig.end(channel=3)
    assert rig.take() == [("watermark", MAX_WATERMARK), ("end",)]
    assert rig.finish().entry.has_ended


def test_a_batch_without_an_ephemeral_senders_tasks_changes_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(str), is_ephemeral=True)
    rig.senders = {0}
    rig.watermark(10, channel=0)
    rig.next_batch()
    rig.take()
    rig.senders = set()
    report = rig.finish()
    assert rig.take() == []
    assert report.entry.watermark == 10


def test_a_subtask_that_heard_nothing_reports_the_beginning(tmp_path: Path) -> None:
    report = Rig(tmp_path, MapOperator(str)).finish()
    assert (report.vertex_uid, report.subtask) == ("uid-0", 0)
    assert (report.entry.watermark, report.entry.has_ended, report.entry.deadline) == (MIN_WATERMARK, False, None)


class Measured(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        self.seen = group.counter("seen")
        self.sizes = group.add_group("deep").distribution("sizes")

    def map(self, value: int) -> int:
        self.seen.inc()
        self.sizes.update(value)
        return value


def test_metrics_of_functions_are_told_batch_by_batch_and_add_up(tmp_path: Path) -> None:
    rig = Rig(tmp_path, MapOperator(Measured()))
    rig.process(5, 7)
    first = rig.finish().metrics["uid-0"]
    rig.process(1)
    second = rig.finish().metrics["uid-0"]
    assert (first["seen"], second["seen"]) == (2, 1)
    assert (first["deep.sizes.count"], second["deep.sizes.count"]) == (2, 1)
    assert (first["deep.sizes.sum"], second["deep.sizes.sum"]) == (12, 1)
