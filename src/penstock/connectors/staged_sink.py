"""Staged publication: the base of exactly-once sinks to systems with transactions of their own (Kafka, databases).

The life of a record: the task encodes it and stages it; the seal makes the stage final; then the driver has it
*published*: all records and a marker in one transaction of the outside system. Whoever dies in between, the stage is
published again from the seal, and the marker tells whether that has happened already. A batch that is run again with
another result (clocks, timers) never shows: what was not sealed was not published.

To write a sink of this kind derive from `StagedSink` and give it an *encoder*, which runs in tasks and makes plain data
of the user's records, and a *publisher*, which knows the outside system. Stages live in the checkpoint directory and
are removed when they are published.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.common.type_variables import T_contra
from penstock.connectors.sink import Committer, Sink, SinkContext, SinkWriter, WorkRunner, run_here
from penstock.connectors.stages import Stage, StageWriter
from penstock.errors import SinkError
from penstock.storage.places import path_segment

INLINE_BYTES = 64 * 1024
"""What a subtask may put into the seal: a file, and a task that publishes it, would cost more."""

_INLINE_BYTES_OF_ALL = 2**20  # every task reads the seal
INLINE_PART = "inline"


@dataclass(frozen=True)
class Marker:
    """What the outside system remembers of the last publication of an owner."""

    version: int
    id: str

    def to_text(self) -> str:
        """The marker as one short text."""
        return f"{self.version}:{self.id}"

    @classmethod
    def from_text(cls, text: str) -> Marker:
        """The marker in a text."""
        version, _, identity = text.partition(":")
        return cls(int(version), identity)


@dataclass(frozen=True)
class Publication:
    """What has to become visible in one transaction.

    `job_id`, `uid` and `part` say whose it is: the outside system keeps one marker for each such owner. Parts are
    published one after the other and their versions only rise, but not every version has every part.
    """

    job_id: str
    uid: str
    part: str
    version: int
    stages: tuple[Stage, ...]

    @property
    def marker(self) -> Marker:
        """What to write together with the records."""
        tries = "/".join(stage.attempt for stage in self.stages)
        return Marker(self.version, hashlib.sha256(tries.encode()).hexdigest()[:16])

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(stage.records for stage in self.stages)

    def blocks(self) -> Iterator[Any]:
        """What the encoders made, in its order; raises if something is missing, and then nothing may be published."""
        for stage in self.stages:
            yield from stage.blocks()

    def is_done(self, found: Marker | None) -> bool:
        """Whether the marker that was found for its owner says so.

        Versions are published in their order, and a version that may be published is not run again. So another marker
        of the same version, or a later one, means that the checkpoint was put back, or that a process goes on whose
        job has been started elsewhere: neither to publish nor to leave out would be right.
        """
        if found is None or found.version < self.version:
            return False
        if found == self.marker:
            return True
        raise SinkError(
            f"Sink {self.uid!r} is to publish version {self.version}, but has already published version "
            f"{found.version}: the job has been started a second time, or its checkpoint was put back. To publish "
            "again what "
            "came after the checkpoint, start the job in a new checkpoint directory with this one as "
            "`execution.state-recovery.path`."
        )

    def remove(self) -> None:
        """Remove the stages."""
        for stage in self.stages:
            stage.remove()


class Publisher(ABC):
    """Publishes to an outside system; a picklable description that is used on the driver and in worker processes.

    Connections are made when they are first needed, and kept for later publications of the same process. An owner may
    be published by one process now and by another one next time.
    """

    @abstractmethod
    def publish(self, publication: Publication) -> None:
        """Publish all of it or nothing; when this returns, it is visible and durable.

        In this order: shut out any other process that may be publishing for the owner (a lock, a fence); read the
        owner's marker; if `publication.is_done(marker)` there is nothing to do; otherwise write all blocks and the
        new marker in one transaction. Errors that may pass are tried again here, within bounds; then `SinkError`.
        """


class RecordEncoder(ABC):
    """Makes plain data of records; runs in tasks, where the user's own code belongs."""

    @abstractmethod
    def encode(self, values: list[Any], timestamps: list[int | None] | None) -> Any:
        """Make one block of plain data (no classes) of some records.

        `RecordError(record)` raised from what the user's code raised lets the failure of the job name the record.
        """

    def note(self, block: Any) -> str:
        """Return a short text about the first block of a stage, for a publisher that must not read the stage yet."""
        return ""


class StagedSink(Sink[T_contra]):
    """A sink that shows each record exactly once, by staged publication."""

    inline_bytes = INLINE_BYTES

    @abstractmethod
    def create_encoder(self, context: SinkContext) -> RecordEncoder:
        """Make the encoder of one subtask (in a task)."""

    @abstractmethod
    def create_publisher(self) -> Publisher:
        """Make the publisher."""

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Make the writer that stages."""
        return StagingWriter(self.create_encoder(context), context, self.inline_bytes)

    def create_committer(self) -> Committer | None:
        """Make the committer that publishes."""
        return StagedCommitter(self.create_publisher())


class StagingWriter(SinkWriter):
    """Stages the records of one subtask."""

    def __init__(self, encoder: RecordEncoder, context: SinkContext, inline_bytes: int) -> None:
        """Prepare for the first `begin`; what may be inline is shared by all subtasks."""
        self._encoder = encoder
        self._context = context
        self._inline_bytes = min(inline_bytes, _INLINE_BYTES_OF_ALL // context.parallelism)
        self._version = 0
        self._attempt = ""
        self._note = ""
        self._stage: StageWriter | None = None

    def begin(self, version: int, attempt: str, state: Any) -> None:
        """Start with nothing."""
        self._version = version
        self._attempt = attempt
        self._stage = None

    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        """Encode a block and stage it."""
        if not values:
            return
        if self._stage is None:
            self._stage = StageWriter(self._context.staging, self._file(), self._inline_bytes)
        block = self._encoder.encode(values, timestamps)
        if not self._stage.records:
            self._note = self._encoder.note(block)
        self._stage.append(block, len(values))

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        """Make the stage durable."""
        if self._stage is None:
            return []
        context = self._context
        stage = self._stage.finish(
            job_id=context.job_id,
            uid=context.uid,
            subtask=context.subtask,
            version=self._version,
            attempt=self._attempt,
            note=self._note,
        )
        return [] if stage is None else [stage]

    def abort(self) -> None:
        """Remove the stage of this try."""
        if self._stage is not None:
            self._stage.discard()

    def _file(self) -> str:
        name = f"{self._version}-{self._context.subtask}-{path_segment(self._attempt)}"
        return f"{path_segment(self._context.uid)}/{name}.stage"


class StagedCommitter(Committer):
    """Has the stages of a version published.

    Inline stages are small, and the driver has read them anyway: it publishes all of them in one transaction. Each file
    is published by a worker. A stage is one or the other for ever, so that driver and workers, who publish for
    different parts, never shut each other out.
    """

    def __init__(self, publisher: Publisher) -> None:
        """Take what knows the outside system."""
        self._publisher = publisher
        self._run: WorkRunner = run_here

    def use_workers(self, run: WorkRunner) -> None:
        """Take the way to worker processes."""
        self._run = run

    def commit(self, committables: list[Any]) -> None:
        """Publish everything that is not published."""
        publications = _publications(committables)
        self._run(partial(_publish, self._publisher), [each for each in publications if each.part != INLINE_PART])
        for publication in publications:
            if publication.part == INLINE_PART:
                _publish(self._publisher, publication)


def _publications(stages: list[Stage]) -> list[Publication]:
    grouped: dict[tuple[str, str, int, str], list[Stage]] = {}
    for stage in sorted(stages, key=lambda stage: stage.subtask):
        part = str(stage.subtask) if stage.file else INLINE_PART
        grouped.setdefault((stage.job_id, stage.uid, stage.version, part), []).append(stage)
    return [
        Publication(job_id, uid, part, version, tuple(found)) for (job_id, uid, version, part), found in grouped.items()
    ]


def _publish(publisher: Publisher, publication: Publication) -> None:
    """Publish, and only then remove what was published; whoever dies in between leaves this to the next."""
    publisher.publish(publication)
    publication.remove()
