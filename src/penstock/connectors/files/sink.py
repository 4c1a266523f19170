"""The exactly-once file sink: staged chunks in the task, rolled into part files, published by the committer.

A *chunk* is a staged file written in one batch. A *part* is the list of chunks that will become one published file;
with a rolling policy by size and time it grows over several batches and is carried in the writer's state. Formats,
buckets and rolling rules have modules of their own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from penstock.common.column_block import ColumnBlock
from penstock.common.plain_data import UserValue, kept_as, loaded
from penstock.connectors.files.bucketing import BasePathBucketAssigner, BucketAssigner, checked_bucket
from penstock.connectors.files.checksums import SummedStream, damage_of
from penstock.connectors.files.committer import ClearStaging, FileCommitter, PublishFile
from penstock.connectors.files.compaction import Compaction, OutputFile, WaitingFiles, outputs_of
from penstock.connectors.files.rolling import DefaultRollingPolicy, OnCheckpointRollingPolicy, RollingPolicy
from penstock.connectors.sink import Committer, Sink, SinkContext, SinkWriter, UnfinishedFile
from penstock.errors import ConfigurationError, SinkError
from penstock.formats.file_formats import BlockEncoder, Chunk, ChunkWriter, FileFormat
from penstock.storage.places import Storage, path_segment

STAGING = ".penstock-staging"
_CHECKPOINT_AT_LEAST_MS = 1_000  # a stream without records must not keep files that wait for checkpoints
OPEN_CHUNKS_MAX = 64  # a sink with a bucket for each of a million keys must not run out of file handles


@dataclass(frozen=True)
class Part:
    """Chunks of one bucket that will be published as one file; times are those of the batches' ends."""

    bucket: str
    chunks: tuple[Chunk, ...]
    created_ms: int
    updated_ms: int

    def to_plain(self) -> list[Any]:
        """Return it as plain data."""
        return [self.bucket, [chunk.to_plain() for chunk in self.chunks], self.created_ms, self.updated_ms]

    @classmethod
    def from_plain(cls, plain: list[Any]) -> Part:
        """Return what `to_plain` described."""
        bucket, chunks, created_ms, updated_ms = plain
        return cls(bucket, tuple(map(Chunk.from_plain, chunks)), created_ms, updated_ms)


@kept_as("file sink")
@dataclass(frozen=True)
class FileSinkState:
    """What a writer carries to the next batch: unfinished parts, what the encoder learned, files to be compacted."""

    parts: tuple[Part, ...] = ()
    learned: Any = None
    waiting: tuple[WaitingFiles, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is something that must not be lost."""
        return bool(self.parts or self.waiting)

    def to_plain(self) -> list[Any]:
        """Return it as plain data; what a format of the user's learned may be any object."""
        parts, waiting = [part.to_plain() for part in self.parts], [each.to_plain() for each in self.waiting]
        return [parts, UserValue(self.learned), waiting]

    @classmethod
    def from_plain(cls, plain: list[Any], version: int) -> FileSinkState:
        """Return what `to_plain` described."""
        parts, learned, waiting = plain
        return cls(tuple(map(Part.from_plain, parts)), learned, tuple(map(WaitingFiles.from_plain, waiting)))

    def staged(self) -> set[str]:
        """The paths of all chunks."""
        files = [part.chunks for part in self.parts] + [file for each in self.waiting for file in each.files]
        return {chunk.path for chunks in files for chunk in chunks}


class FileSink(Sink):
    """Writes records to files below a directory: exactly-once.

    Files show under their final names, whole, when the batch that finished them is committed. Until then they
    are in a hidden folder of the directory, which is empty when the job has ended.
    """

    state_identity = "FileSink"

    def __init__(
        self,
        path: str | os.PathLike[str],
        file_format: FileFormat,
        *,
        bucket_assigner: BucketAssigner | None = None,
        rolling_policy: RollingPolicy | None = None,
        part_prefix: str = "part",
        part_suffix: str | None = None,
        compaction: Compaction | None = None,
    ) -> None:
        """Describe the sink; `part_suffix` None means the format's own, such as ".json".

        `rolling_policy` None means by size and time, and with every checkpoint in a job without an end, where files
        would show a minute late otherwise.
        """
        self.location = Storage(path).location
        self.file_format = file_format
        self.bucket_assigner = bucket_assigner or BasePathBucketAssigner()
        self.rolling_policy = rolling_policy
        self.part_prefix = part_prefix
        self.part_suffix = file_format.suffix if part_suffix is None else part_suffix
        self.compaction = compaction
        _check_file_name(self.part_prefix, self.part_suffix)

    def validate(self, name: str) -> None:
        """Write and remove a file in the staging folder."""
        storage = Storage(self.location)
        directory = f"{STAGING}/probe-{os.getpid()}"
        try:
            with storage.open_output(f"{directory}/probe") as stream:
                stream.write(b"")
            storage.remove_directory(directory)
        except OSError as failure:
            raise SinkError(
                f"Sink {name!r} cannot write to {self.location}: {failure}. Choose a directory this user may write to."
            ) from failure

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Make the writer of one subtask."""
        return FileWriter(self, context)

    def create_committer(self) -> Committer | None:
        """Make the committer that renames."""
        return FileCommitter(self.location)

    def unfinished_files(self, name: str, state: FileSinkState | None) -> list[UnfinishedFile]:
        """Each part that is carried, as the file it would become now, and each file that waits to be compacted."""
        state = state or FileSinkState()
        files = [(part.bucket, part.chunks) for part in state.parts]
        files += [(each.bucket, chunks) for each in state.waiting for chunks in each.files]
        return [
            UnfinishedFile(bucket, partial(self._copy_part, name, state.learned, chunks)) for bucket, chunks in files
        ]

    def _copy_part(self, name: str, learned: Any, chunks: tuple[Chunk, ...], stream: Any) -> None:
        storage = Storage(self.location)
        check_chunks(storage, name, chunks)
        try:
            self.file_format.create_encoder(name, loaded(learned)).merge(storage, chunks, stream)
        except FileNotFoundError as failure:
            raise SinkError(
                f"Sink {name!r} has unfinished files that are not in {self.location} ({failure}): keep the directory "
                "of the "
                "sink, and start from a savepoint or from the newest checkpoint."
            ) from failure

    def publication(self, context: SinkContext, number: int, file: UnfinishedFile) -> PublishFile:
        """Stage the copy beside the folders of the job's writers, under a name that no version has."""
        storage = Storage(self.location)
        job, uid = path_segment(context.job_id), path_segment(context.uid)
        staged = f"{STAGING}/{job}/{uid}/carried-{number}"
        with SummedStream(storage.open_output(staged)) as stream:
            file.copy_to(stream)
        storage.sync(staged)
        name = f"{self.part_prefix}-{_owner(context)}-carried-{number}{self.part_suffix}"
        final = f"{file.place}/{name}" if file.place else name
        return PublishFile(staged, final, (), stream.size, stream.checksum)

    def restored_states(self, states: list[FileSinkState | None], parallelism: int) -> list[Any]:
        """No parts; what a subtask learned of its records is of no use where others come to it."""
        if len(states) != parallelism:
            return [None] * parallelism
        return [None if state is None else FileSinkState((), state.learned) for state in states]


def _owner(context: SinkContext) -> str:
    """Two sinks, or two runs of a job, may share a directory, and their versions may be the same."""
    return hashlib.sha256(f"{context.job_id}\0{context.uid}".encode()).hexdigest()[:8]


def _check_file_name(prefix: Any, suffix: Any) -> None:
    for label, text in (("prefix", prefix), ("suffix", suffix)):
        if not isinstance(text, str) or "/" in text or "\0" in text:
            raise ConfigurationError(f"The part {label} of a file sink is part of a file name, got {text!r}.")
    if prefix[:1] in ("", ".", "_"):
        raise ConfigurationError(f"Readers skip files with the part prefix {prefix!r}: start it with a letter.")


def check_chunks(storage: Storage, name: str, chunks: tuple[Chunk, ...]) -> None:
    """Raise SinkError if a chunk is not as it was written."""
    for chunk in chunks:
        size = -1 if chunk.checksum is None else chunk.size
        damage = damage_of(storage, chunk.path, size, chunk.checksum)
        if damage is not None:
            raise SinkError(
                f"Sink {name!r} cannot finish a file of {storage.location}: its staged part "
                f"{storage.full(chunk.path)} {damage}. Nothing of it was published. Restore it from a copy, or "
                f"start from a savepoint. The folder {STAGING} must not be changed while the job runs."
            )


@dataclass
class _OpenChunk:
    path: str
    stream: SummedStream
    writer: ChunkWriter


@dataclass
class _PartInProgress:
    """A part while its batch runs; `carried` is what earlier batches left of it."""

    bucket: str
    carried: Part | None
    added: list[Chunk] = field(default_factory=list)

    def size(self) -> int:
        return sum(chunk.size for chunk in self.chunks())

    def chunks(self) -> tuple[Chunk, ...]:
        return (self.carried.chunks if self.carried else ()) + tuple(self.added)

    def at_end_of_batch(self, now_ms: int) -> Part:
        if self.carried is None:
            return Part(self.bucket, self.chunks(), now_ms, now_ms)
        updated_ms = now_ms if self.added else self.carried.updated_ms
        return replace(self.carried, chunks=self.chunks(), updated_ms=updated_ms)


class FileWriter(SinkWriter):
    """Writes the chunks of one subtask and decides which parts are finished."""

    def __init__(self, sink: FileSink, context: SinkContext) -> None:
        """Prepare for the first `begin`."""
        self._sink = sink
        self._name = context.name
        own = OnCheckpointRollingPolicy() if context.is_endless else DefaultRollingPolicy()
        self._policy: RollingPolicy = sink.rolling_policy or own
        self._storage = Storage(sink.location)
        # The parallelism is part of the folder's name because a subtask clears its own folder: after a change of
        # parallelism the folders of before must be left to the states that list their files.
        subtask = f"{context.subtask}-of-{context.parallelism}"
        self._directory = f"{STAGING}/{path_segment(context.job_id)}/{path_segment(context.uid)}/{subtask}"
        self._final_stem = f"{sink.part_prefix}-{_owner(context)}-{context.subtask}"
        self._open: dict[str, _OpenChunk] = {}
        self._parts: dict[str, _PartInProgress]
        self._full: list[_PartInProgress]
        self._written: list[str]
        self._waiting: tuple[WaitingFiles, ...]
        self._reset(0, "", FileSinkState())

    def begin(self, version: int, attempt: str, state: FileSinkState | None) -> None:
        """Take over the carried parts and remove what earlier batches left behind."""
        self._close_streams()
        is_new_try = path_segment(attempt) != self._attempt
        self._reset(version, path_segment(attempt), FileSinkState() if state is None else state)
        # In continuous mode versions of one try overlap: what the next one begins with is not sealed yet, and a restart
        # would need files that are not listed any more.
        if is_new_try:
            self._remove_orphans()

    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        """Sort the records into buckets and append them to the chunks there."""
        if not values:
            return
        for bucket, group in self._sink.bucket_assigner.assign(values, timestamps, watermark):
            self._append(checked_bucket(bucket, self._name), self._encoder.encode(group))

    def write_columns(self, block: ColumnBlock, timestamps: Any, watermark: int) -> None:
        """Append columns to the chunks of their buckets, where the assigner and the format take columns."""
        if not len(block):
            return
        buckets = self._sink.bucket_assigner.assign_columns(block)
        if buckets is None:
            super().write_columns(block, timestamps, watermark)
            return
        for bucket, part in buckets:
            encoded = self._encoder.encode_columns(part)
            made = self._encoder.encode(part.values()) if encoded is None else encoded
            self._append(checked_bucket(bucket, self._name), made)

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        """Close the chunks, and merge those of each finished part into the file to publish."""
        for bucket in list(self._open):
            self._close_chunk(bucket)
        parts = [part.at_end_of_batch(now_ms) for part in self._parts.values()]
        due = [end_of_input or self._is_due(part, now_ms) for part in parts]
        self._carried = tuple(part for part, is_due in zip(parts, due, strict=True) if not is_due)
        finished = [part.at_end_of_batch(now_ms) for part in self._full]
        finished += [part for part, is_due in zip(parts, due, strict=True) if is_due]
        self._waiting, outputs = outputs_of(self._waiting, finished, self._sink.compaction, is_last=end_of_input)
        committables: list[Any] = [self._publication(output, number) for number, output in enumerate(outputs)]
        staged = {item.staged for item in committables} | self.snapshot().staged()
        self._storage.sync(*staged.intersection(self._written))  # others have been before
        self._prepared_ms = now_ms
        if end_of_input:
            committables.append(ClearStaging(self._directory))
        return committables

    def snapshot(self) -> FileSinkState:
        """Return the unfinished parts and what was learned of the records."""
        return FileSinkState(self._carried, self._encoder.learned(), self._waiting)

    def next_deadline(self) -> int | None:
        """Return when the first of the unfinished parts is due; files that wait for checkpoints want some to come."""
        policy, compaction = self._policy, self._sink.compaction
        deadlines = [policy.deadline(part.created_ms, part.updated_ms) for part in self._carried]
        if self._waiting and compaction is not None and compaction.strategy.num_checkpoints > 0:
            deadlines.append(self._prepared_ms + _CHECKPOINT_AT_LEAST_MS)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def abort(self) -> None:
        """Remove the files of this try."""
        self._close_streams()
        for path in self._written:
            with contextlib.suppress(OSError):
                self._storage.remove(path)
        self._written = []

    def _reset(self, version: int, attempt: str, state: FileSinkState) -> None:
        self._version = version
        self._attempt = attempt
        self._encoder: BlockEncoder = self._sink.file_format.create_encoder(self._name, loaded(state.learned))
        self._carried = state.parts
        self._waiting = state.waiting
        self._prepared_ms = 0
        self._parts = {part.bucket: _PartInProgress(part.bucket, part) for part in state.parts}
        self._full = []
        self._written = []

    def _remove_orphans(self) -> None:
        """Delete staged files of earlier versions that the state does not list.

        Sealed batches are committed before the next one begins, so these belong to failed tries. Files of other
        tries of this very version stay for now: one of them may be a twin that Spark still runs and may accept.
        """
        needed = self.snapshot().staged()
        for name in list(self._storage.names(self._directory)):
            path = f"{self._directory}/{name}"
            version = name.partition("-")[0]
            if path not in needed and version.isdigit() and int(version) < self._version:
                self._storage.remove(path)

    def _append(self, bucket: str, block: Any) -> None:
        chunk = self._chunk_for(bucket, block)
        chunk.writer.write(block)
        part = self._parts[bucket]
        if self._policy.is_full(part.size() + chunk.writer.size()):
            self._close_chunk(bucket)
            self._full.append(self._parts.pop(bucket))

    def _chunk_for(self, bucket: str, block: Any) -> _OpenChunk:
        chunk = self._open.pop(bucket, None)
        if chunk is not None:
            self._open[bucket] = chunk  # to the end: the bucket longest unused is closed first
            if chunk.writer.accepts(block):
                return chunk
            self._close_chunk(bucket)
        if len(self._open) >= OPEN_CHUNKS_MAX:
            self._close_chunk(next(iter(self._open)))
        self._parts.setdefault(bucket, _PartInProgress(bucket, None))
        path, stream = self._open_staged()
        self._open[bucket] = chunk = _OpenChunk(path, stream, self._encoder.open_chunk(stream))
        return chunk

    def _close_chunk(self, bucket: str) -> None:
        chunk = self._open.pop(bucket)
        stream = chunk.stream
        with stream:
            chunk.writer.finish()
        self._parts[bucket].added.append(Chunk(chunk.path, stream.size, chunk.writer.header_size, stream.checksum))

    def _open_staged(self) -> tuple[str, SummedStream]:
        path = f"{self._directory}/{self._version}-{self._attempt}-{len(self._written)}"
        self._written.append(path)
        try:
            return path, SummedStream(self._storage.open_output(path))
        except OSError as failure:
            raise SinkError(f"Sink {self._name!r} cannot write to {self._sink.location}: {failure}.") from failure

    def _is_due(self, part: Part, now_ms: int) -> bool:
        policy = self._policy
        size = sum(chunk.size for chunk in part.chunks)
        return policy.is_full(size) or policy.is_due(part.created_ms, part.updated_ms, now_ms)

    def _publication(self, output: OutputFile, number: int) -> PublishFile:
        name = f"{output.prefix}{self._final_stem}-{self._version}-{number}{self._sink.part_suffix}"
        final = f"{output.bucket}/{name}" if output.bucket else name
        chunks = [chunk for file in output.files for chunk in file]
        if len(chunks) == 1:
            (chunk,) = chunks
            return PublishFile(chunk.path, final, (), -1 if chunk.checksum is None else chunk.size, chunk.checksum)
        path, stream = self._merged(output)
        return PublishFile(path, final, tuple(chunk.path for chunk in chunks), stream.size, stream.checksum)

    def _merged(self, output: OutputFile) -> tuple[str, SummedStream]:
        chunks = tuple(chunk for file in output.files for chunk in file)
        check_chunks(self._storage, self._name, chunks)
        path, stream = self._open_staged()
        try:
            with stream:
                self._merge(output, chunks, stream)
        except FileNotFoundError as failure:
            raise SinkError(
                f"Sink {self._name!r} cannot finish a file of {self._sink.location}: a staged part of it is gone "
                f"({failure}). The folder {STAGING} must not be changed while the job runs."
            ) from failure
        return path, stream

    def _merge(self, output: OutputFile, chunks: tuple[Chunk, ...], stream: SummedStream) -> None:
        if not output.delimiter:
            self._encoder.merge(self._storage, chunks, stream)
            return
        for number, file in enumerate(output.files):
            stream.write(output.delimiter if number else b"")
            self._encoder.merge(self._storage, file, stream)

    def _close_streams(self) -> None:
        for chunk in self._open.values():
            # The try has failed already; what matters is its own error.
            with contextlib.suppress(Exception), chunk.stream:
                chunk.writer.finish()
        self._open = {}
