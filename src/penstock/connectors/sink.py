"""The sink interface: a writer in each subtask and a committer on the driver.

Exactly-once in two steps: a writer hands over *committables* at the end of each batch; the driver seals the
batch (committables included) in the checkpoint and only then calls the committer. A batch that fails before
the seal is run again and its committables are never committed; one that fails after it is committed again from
the seal, so committing must be idempotent.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol

import numpy as np
import numpy.typing as npt

from penstock.common.column_block import ColumnBlock
from penstock.common.type_variables import T_contra
from penstock.errors import SinkError
from penstock.metrics import MetricGroup


class DeliveryGuarantee(enum.Enum):
    """How often a record may appear in the target system after failures."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"
    NONE = "none"


@dataclass(frozen=True)
class Hold:
    """Who may write: `driver` as long as `file` of the checkpoint directory (a URI) names it; both empty: anybody.

    A driver has a new name for each attempt, so what an earlier attempt left running is not it either.
    """

    file: str = ""
    driver: str = ""


@dataclass(frozen=True)
class SinkContext:
    """Where a writer runs.

    `clock` gives the processing time in milliseconds; `staging` is a folder of the checkpoint directory (a URI) for
    what waits to be published, see `penstock.connectors.staged_sink`; `metrics` those of the operator; `is_endless`
    says whether a source of the job has no end; `hold` tells a writer that was paused whether its rows are still
    wanted, see `penstock.connectors.holding`.
    """

    job_id: str
    uid: str
    name: str
    subtask: int
    parallelism: int
    clock: Callable[[], int]
    staging: str = ""
    metrics: MetricGroup = field(default_factory=MetricGroup)
    is_endless: bool = False
    hold: Hold = Hold()


@dataclass(frozen=True)
class UnfinishedFile:
    """A file that a writer has begun and not published: where it belongs, and how to copy its records to a stream."""

    place: str
    copy_to: Callable[[Any], None]


class RecordError(Exception):
    """User code of a writer raised (the cause) on this record; lets the failure of the job name it."""

    def __init__(self, record: Any) -> None:
        super().__init__(record)
        self.record = record


class SinkWriter(ABC):
    """Writes the records of one subtask. Lives for many batches of one worker process, or for one only."""

    @abstractmethod
    def begin(self, version: int, attempt: str, state: Any) -> None:
        """Start a batch. `state` is what `snapshot` returned for the previous one (None at first).

        The previous batch of this subtask may have been written by another process, or may be run again;
        nothing but `state` may be relied on. `attempt` is unique to this try of the batch.
        """

    @abstractmethod
    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        """Take a block of records."""

    def write_columns(self, block: ColumnBlock, timestamps: npt.NDArray[np.int64] | None, watermark: int) -> None:
        """Take a block of columns; as objects, unless the writer knows better."""
        self.write(block.values(), None if timestamps is None else timestamps.tolist(), watermark)

    @abstractmethod
    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        """End the batch: make what was written durable and return picklable committables for the driver."""

    def snapshot(self) -> Any:
        """Small picklable state to carry to the next batch; called right after `prepare_commit`.

        False (as `bool()` has it) if records that were written do not depend on it.
        """
        return None

    def next_deadline(self) -> int | None:
        """Processing time (ms) by which `prepare_commit` wants to be called even without data."""
        return None

    def abort(self) -> None:  # noqa: B027 - optional
        """The task failed: remove what this try wrote, as far as possible."""


class WorkRunner(Protocol):
    """Does the work for each order, in worker processes and side by side where there are such."""

    def __call__(self, work: Callable[[Any], Any], orders: list[Any]) -> list[Any]:
        """Return the results in the order of the orders; raise what a piece of work raised."""


def run_here(work: Callable[[Any], Any], orders: list[Any]) -> list[Any]:
    """The work runner of a single process."""
    return [work(order) for order in orders]


class Committer(ABC):
    """Makes committables visible; runs on the driver."""

    def use_workers(self, run: WorkRunner) -> None:  # noqa: B027 - optional
        """Told once, before the first commit: how to have heavy work done by worker processes."""

    @abstractmethod
    def commit(self, committables: list[Any]) -> None:
        """Publish what a batch has just handed over."""

    def commit_again(self, committables: list[Any]) -> None:
        """Publish after a crash what may have been published before, in part or whole; must not repeat the effect."""
        self.commit(committables)


class Sink(ABC, Generic[T_contra]):
    """Base class of sinks, for `DataStream.sink_to`; a `Sink[str]` takes strings."""

    ignores_records = False
    """Whether its writers do nothing with records, and so carry nothing over: then they may run where a source does."""

    def validate(self, name: str) -> None:
        """Raise an error before the job starts if the sink cannot work, such as an unwritable directory."""

    def user_function(self) -> Any:
        """The user's function object behind the sink, if any: its `open` and `close` are called in each subtask."""
        return None

    @abstractmethod
    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Make the writer of one subtask (in a task)."""

    def create_committer(self) -> Committer | None:
        """Make the committer (on the driver), or None if writers return no committables."""
        return None

    # A savepoint may be started from more than once and beside the job that made it, so what writers carry in their
    # state must not be shared: files are copied, the rest is handed on.

    def unfinished_files(self, name: str, state: Any) -> list[UnfinishedFile]:
        """The files that a writer's state refers to."""
        return []

    def publication(self, context: SinkContext, number: int, file: UnfinishedFile) -> Any:
        """Stage a copy of a file for another job; returns what the committer needs to publish it."""
        raise AssertionError(f"{type(self).__name__} carries no files")

    def restored_states(self, states: list[Any], parallelism: int) -> list[Any]:
        """What the writers of another job go on from, where the files of these states are taken care of."""
        if len(states) != parallelism and any(state is not None for state in states):
            raise SinkError(
                f"{type(self).__name__} has state that it cannot redistribute: keep its parallelism at {len(states)}, "
                "or "
                "let it implement restored_states()."
            )
        return states if len(states) == parallelism else [None] * parallelism
