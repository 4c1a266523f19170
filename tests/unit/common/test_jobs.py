"""Job handles, futures, schemas and the runnable examples of the vocabulary."""

from __future__ import annotations

import io
import pickle
from concurrent.futures import Future
from typing import Any, BinaryIO

import pytest

from penstock.common import (
    ByteArraySchema,
    CompletableFuture,
    Encoder,
    JobExecutionResult,
    JobID,
    JobStatus,
    Row,
    SimpleStringSchema,
    TypeSerializer,
)
from penstock.common.serialization import RowFieldExtractorSchema


def test_job_ids() -> None:
    assert JobID() != JobID()
    job_id = JobID()
    assert JobID(str(job_id)) == pickle.loads(pickle.dumps(job_id)) == job_id
    for wrong in ("", "xyz", "A" * 32):
        with pytest.raises(ValueError, match="32 hexadecimal digits"):
            JobID(wrong)


def test_job_status() -> None:
    final = {status.name for status in JobStatus if status.is_globally_terminal_state()}
    ended = {status.name for status in JobStatus if status.is_terminal_state()}
    assert final == {"FAILED", "CANCELED", "FINISHED"}
    assert ended - final == {"SUSPENDED"}


def test_job_result() -> None:
    result = JobExecutionResult(JobID(), 1500, {"seen": 3})
    assert (result.get_net_runtime(), result.get_accumulator_result("seen")) == (1500, 3)
    assert result.get_accumulator_result("other") is None
    assert result.get_all_accumulator_results() == {"seen": 3}


def test_futures() -> None:
    future: Future[int] = Future()
    waiting = CompletableFuture(future, str)
    assert not waiting.done()
    with pytest.raises(TimeoutError):
        waiting.result(timeout=0)
    future.set_result(5)
    assert (waiting.done(), waiting.result(), waiting.exception()) == (True, "5", None)
    failed = CompletableFuture.failed(ValueError("broken"))
    assert isinstance(failed.exception(), ValueError)
    with pytest.raises(ValueError, match="broken"):
        failed.result()
    other: CompletableFuture[int] = CompletableFuture(Future())
    assert other.cancel() and other.cancelled()
    assert CompletableFuture.completed(7).result() == 7


def test_schemas() -> None:
    text = SimpleStringSchema("latin-1")
    assert text.deserialize(text.serialize("é")) == "é" and text.serialize("é") == b"\xe9"
    assert ByteArraySchema().serialize(bytearray(b"x")) == b"x"
    assert RowFieldExtractorSchema(1).serialize(Row(1, "a")) == b"a"
    assert Encoder.simple_string_encoder().encode(Row(1, "a")) == b"+I[1, a]\n"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SimpleStringSchema().serialize(5), "expected str, got int: map to str first"),
        (lambda: ByteArraySchema().serialize("x"), "expected bytes, got str: map to bytes first"),
        (lambda: RowFieldExtractorSchema(2).serialize(Row(1)), "a field at position 2"),
        (lambda: RowFieldExtractorSchema(0).serialize(Row(1)), "must be bytes or str, got int"),
    ],
)
def test_wrong_values_are_refused(call: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


def test_unknown_character_set_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown character set 'nope'"):
        Encoder.simple_string_encoder("nope")


def test_serializers_compare_by_class_and_settings() -> None:
    class Text(TypeSerializer[str]):
        def __init__(self, charset: str) -> None:
            self.charset = charset

        def serialize(self, element: str, stream: BinaryIO) -> None:
            stream.write(element.encode(self.charset))

        def deserialize(self, stream: BinaryIO) -> str:
            return stream.read().decode(self.charset)

    assert Text("utf-8") == Text("utf-8") != Text("latin-1")
    stream = io.BytesIO()
    Text("utf-8").serialize("é", stream)
    assert Text("utf-8").deserialize(io.BytesIO(stream.getvalue())) == "é"
