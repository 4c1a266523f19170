"""Sinks: written by Penstock's own tasks, or handed to the driver's side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.plain_data import UserValue, loaded
from penstock.connectors.sink import RecordError, Sink, SinkContext
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps


def kept_writer_state(state: Any) -> tuple[bool, UserValue] | None:
    """Return what a checkpoint keeps of a writer: whether records depend on its state, and the state."""
    return None if state is None else (bool(state), UserValue(state))


def writer_state(kept: tuple[bool, Any] | None) -> Any:
    """Return the state of a writer from what a checkpoint keeps of it."""
    return None if kept is None else loaded(kept[1])


class SinkOperator(StreamOperator):
    """Feeds a sink's writer and hands its committables over at the end of each batch."""

    kind = "sink"
    state_identity = "SinkOperator"

    def __init__(self, sink: Sink) -> None:
        self.sink = sink

    @property
    def needs_stable_subtask(self) -> bool:
        """Whether the writer may carry something from batch to batch."""
        return not self.sink.ignores_records

    def open(self) -> None:
        """Open the user's function, if there is one, and make the writer."""
        context = self.context
        self.open_function(self.sink.user_function())
        self._writer = self.sink.create_writer(
            SinkContext(
                context.job_id,
                context.uid,
                context.name,
                context.subtask,
                context.parallelism,
                context.clock,
                context.staging,
                context.metrics,
                context.is_endless,
                context.hold,
            )
        )

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Start a batch of the writer."""
        self._committables: list[Any] = []
        self.guarded(lambda: self._writer.begin(version, attempt, writer_state(state)), "starting a batch")

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Write a block."""
        self._write(lambda: self._writer.write(values, timestamps, self.watermark))  # type: ignore[arg-type]

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Write a block of columns."""
        self._write(lambda: self._writer.write_columns(block, timestamps, self.watermark))

    def _write(self, write: Callable[[], None]) -> None:
        try:
            write()
        except RecordError as error:
            cause = error.__cause__
            assert isinstance(cause, Exception)
            raise self.failure(cause, "writing a record", error.record) from None
        except Exception as error:
            raise self.failure(error, "writing") from None

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Make the batch durable."""

        def prepare() -> None:
            self._committables = self._writer.prepare_commit(now_ms, end_of_input)

        self.guarded(prepare, "preparing the commit")

    def snapshot(self) -> Any:
        """What the writer carries over; the writer of a sink of the user's may carry any object."""
        return kept_writer_state(self._writer.snapshot())

    def committables(self) -> list[Any]:
        """What the committer gets once the batch is sealed."""
        return self._committables

    def next_deadline(self) -> int | None:
        """When files want to be rolled."""
        return self._writer.next_deadline()

    def abort(self) -> None:
        """Drop what this try of the batch wrote."""
        self._writer.abort()

    def close(self) -> None:
        """Close the user's function."""
        self.close_function(self.sink.user_function())


class DriverSinkOperator(StreamOperator):
    """A sink whose records travel to the driver: print, collect, Spark writers. Never runs in a task."""

    kind = "driver sink"
    state_identity = "DriverSinkOperator"
    runs_on_driver = True

    def __init__(self, description: Any) -> None:
        self.description = description
