"""Sinks written by users: a function called with every record, or two-phase transactions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

from penstock.common.type_variables import T_contra
from penstock.connectors.sink import Committer, RecordError, Sink, SinkContext, SinkWriter
from penstock.errors import ConfigurationError
from penstock.vocabulary.functions import SinkFunction


@dataclass(frozen=True)
class InvokeContext(SinkFunction.Context):
    """Passed to a sink function: the record's event time (ms, or None), the watermark and the clock."""

    element_timestamp: int | None
    watermark: int
    clock: Callable[[], int]

    def timestamp(self) -> int | None:
        """Event time of the record in milliseconds, or None."""
        return self.element_timestamp

    def current_watermark(self) -> int:
        """Watermark at the sink."""
        return self.watermark

    def current_processing_time(self) -> int:
        """The clock, in milliseconds."""
        return self.clock()


class FunctionSink(Sink):
    """Call `function.invoke(value, context)`, or a plain callable with the value, for every record.

    At-least-once: a failed batch runs again and repeats its records. A function that buffers must write its buffer in
    `flush()`, which is called at the end of every batch if it exists.
    """

    state_identity = "FunctionSink"

    def __init__(self, function: Any) -> None:
        """Take a SinkFunction or a callable of one argument."""
        if not callable(getattr(function, "invoke", None)) and not callable(function):
            raise ConfigurationError(f"add_sink needs a SinkFunction or a function of the value, got {function!r}.")
        self.function = function

    def user_function(self) -> Any:
        """The function, to be opened and closed."""
        return self.function

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Make the writer that calls the function."""
        return _FunctionWriter(self.function, context.clock)


class _FunctionWriter(SinkWriter):
    def __init__(self, function: Any, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._invoke: Callable[[Any, InvokeContext], Any] | None = getattr(function, "invoke", None)
        self._call: Callable[[Any], Any] = function
        self._flush: Callable[[], Any] | None = getattr(function, "flush", None)

    def begin(self, version: int, attempt: str, state: Any) -> None:
        pass

    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        if self._invoke is None:
            _invoke_all(lambda value, _: self._call(value), values, timestamps, watermark, self._clock)
        else:
            _invoke_all(self._invoke, values, timestamps, watermark, self._clock)

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        if self._flush is not None:
            self._flush()
        return []


def _invoke_all(
    invoke: Callable[[Any, InvokeContext], Any],
    values: list[Any],
    timestamps: list[int | None] | None,
    watermark: int,
    clock: Callable[[], int],
) -> None:
    value = None
    try:
        for value, timestamp in zip(values, timestamps or repeat(None), strict=False):
            invoke(value, InvokeContext(timestamp, watermark, clock))
    except Exception as error:
        raise RecordError(value) from error


@dataclass(frozen=True)
class TransactionContext:
    """Identifies one attempt of one batch in one subtask; never repeats."""

    sink: SinkContext
    version: int
    attempt: str


class TwoPhaseCommitSink(Sink[T_contra]):
    """A sink with one transaction for each subtask and batch with records: exactly-once.

    A transaction is any picklable handle. `commit` runs on the driver, after the batch is sealed in the checkpoint,
    and may run again for a transaction that is already committed: it must then do nothing. A process that is killed
    cannot abort; `recover` is the place to abort what earlier tries of the same subtask left open.
    """

    @abstractmethod
    def begin_transaction(self, context: TransactionContext) -> Any:
        """Open a transaction and return its handle; called in a task, before the first record of a batch."""

    @abstractmethod
    def invoke(self, transaction: Any, value: T_contra, context: InvokeContext) -> None:
        """Write one record into the transaction; called in a task."""

    @abstractmethod
    def pre_commit(self, transaction: Any) -> None:
        """Make the transaction durable: after this `commit` must succeed, even from another process."""

    @abstractmethod
    def commit(self, transaction: Any) -> None:
        """Make the transaction visible; called on the driver, possibly more than once."""

    @abstractmethod
    def abort(self, transaction: Any) -> None:
        """Roll back a transaction; called in the task that began it, when it fails."""

    def recover(self, context: TransactionContext) -> None:
        """Roll back transactions of failed attempts; called in a task when a batch begins.

        All transactions of versions before `context.version` that were sealed are committed by then.
        """

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Make the writer that drives the transactions."""
        return _TransactionWriter(self, context)

    def create_committer(self) -> Committer | None:
        """Make the committer that calls `commit`."""
        return _TransactionCommitter(self)


class _TransactionWriter(SinkWriter):
    def __init__(self, sink: TwoPhaseCommitSink, context: SinkContext) -> None:
        self._sink = sink
        self._context = context
        self._batch: TransactionContext | None = None
        self._open: list[Any] = []  # at most one; a list because None is a valid handle

    def begin(self, version: int, attempt: str, state: Any) -> None:
        self._open = []
        self._batch = TransactionContext(self._context, version, attempt)
        self._sink.recover(self._batch)

    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        assert self._batch is not None, "write before begin"
        if not values:
            return
        if not self._open:
            self._open.append(self._sink.begin_transaction(self._batch))
        _invoke_all(partial(self._sink.invoke, self._open[0]), values, timestamps, watermark, self._context.clock)

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        for transaction in self._open:
            self._sink.pre_commit(transaction)
        committables = self._open
        self._open = []
        return committables

    def abort(self) -> None:
        for transaction in self._open:
            self._sink.abort(transaction)
        self._open = []


class _TransactionCommitter(Committer):
    def __init__(self, sink: TwoPhaseCommitSink) -> None:
        self._sink = sink

    def commit(self, committables: list[Any]) -> None:
        for transaction in committables:
            self._sink.commit(transaction)
