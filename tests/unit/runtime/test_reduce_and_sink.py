"""Rolling reduce and sinks on one subtask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.common.constants import MAX_WATERMARK
from penstock.connectors.sink import Sink, SinkContext, SinkWriter
from penstock.datastream.functions import ReduceFunction
from penstock.runtime.failure import OperatorFailure
from penstock.runtime.operators import MapOperator, ReduceOperator, SinkOperator
from tests.unit.runtime.rig import Rig


class Sum(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return (value1[0], value1[1] + value2[1])


def first(value: tuple[Any, ...]) -> Any:
    return value[0]


@pytest.mark.parametrize("function", [Sum(), lambda a, b: (a[0], a[1] + b[1])], ids=["class", "lambda"])
def test_reduce_emits_every_result_with_the_timestamp_of_its_record(tmp_path: Path, function: Any) -> None:
    rig = Rig(tmp_path, ReduceOperator(function), key=first)
    rig.process(("a", 1), ("b", 5), ("a", 2), at=[10, 20, 30])
    rig.next_batch()
    rig.process(("a", 3), at=40)
    assert rig.take() == [(("a", 1), 10), (("b", 5), 20), (("a", 3), 30), (("a", 6), 40)]


def test_in_batch_mode_only_finals_come_and_before_time_ends(tmp_path: Path) -> None:
    rig = Rig(tmp_path, ReduceOperator(Sum()), MapOperator(lambda value: value), key=first, is_batch_mode=True)
    rig.process(("a", 1), ("b", 5), ("a", 2), at=1)
    rig.watermark(5)
    rig.next_batch()
    rig.process(("a", 3), at=1)
    rig.end()
    events = rig.take()
    assert events[0] == ("watermark", 5)
    assert sorted(value for value, _ in events[1:3]) == [("a", 6), ("b", 5)]
    assert events[3:] == [("watermark", MAX_WATERMARK), ("end",)]


def test_a_failing_reduce_names_the_record(tmp_path: Path) -> None:
    rig = Rig(tmp_path, ReduceOperator(lambda a, b: a[1] // b[1]), key=first)
    with pytest.raises(OperatorFailure, match=r"ZeroDivisionError[\s\S]*record: \('a', 0\)"):
        rig.process(("a", 1), ("b", 0), ("a", 0), ("a", 1))


class Notes(Sink):
    """Writes down the calls of its writer in a list that each committable carries."""

    def create_writer(self, context: SinkContext) -> SinkWriter:
        return NotesWriter(context)


class NotesWriter(SinkWriter):
    def __init__(self, context: SinkContext) -> None:
        self.calls: list[Any] = [("context", context.job_id, context.uid, context.subtask, context.parallelism)]

    def begin(self, version: int, attempt: str, state: Any) -> None:
        self.calls.append(("begin", version, attempt, state))

    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        if "bad" in values:
            raise OSError("disk full")
        self.calls.append(("write", values, timestamps, watermark))

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        calls, self.calls = self.calls, []
        return [(*calls, ("prepare", now_ms, end_of_input))]

    def snapshot(self) -> Any:
        return "carried"

    def next_deadline(self) -> int | None:
        return 500


def test_a_sink_writer_sees_batches_blocks_and_the_end(tmp_path: Path) -> None:
    rig = Rig(tmp_path, SinkOperator(Notes()))
    rig.process("x", "y", at=[1, 2])
    rig.watermark(2)
    rig.process("z")
    report = rig.finish()
    assert report.committables["uid-0"] == [
        (
            ("context", "job", "uid-0", 0, 1),
            ("begin", 0, "try-0", None),
            ("write", ["x", "y"], [1, 2], -(2**63)),
            ("write", ["z"], None, 2),
            ("prepare", 0, False),
        )
    ]
    assert report.entry.deadline == 500
    rig.clock.now_ms = 9
    rig.end()
    report = rig.finish()
    assert report.committables["uid-0"] == [(("begin", 1, "try-1", "carried"), ("prepare", 9, True))]
    assert report.entry.deadline is None


def test_a_failing_sink_is_named(tmp_path: Path) -> None:
    rig = Rig(tmp_path, SinkOperator(Notes()))
    with pytest.raises(OperatorFailure, match=r"disk full[\s\S]*in operator 'operator-0' \(uid 'uid-0', subtask 0\)"):
        rig.process("bad")
