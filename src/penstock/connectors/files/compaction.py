"""Compaction of small files before they are published: how long finished files wait, and how they are merged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from penstock.errors import ConfigurationError
from penstock.formats.file_formats import Chunk

COMPACTED = "compacted-"
"""What the names of files start with that were compacted, as in Flink."""


@dataclass(frozen=True)
class FileCompactStrategy:
    """When to compact the waiting files of a bucket: after some checkpoints, or at some size; -1 means never."""

    num_checkpoints: int = -1
    size_threshold: int = -1

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Return a new builder."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Builds a `FileCompactStrategy`."""

        def __init__(self) -> None:
            self._num_checkpoints = -1
            self._size_threshold = -1

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Compact this many checkpoints after the first file."""
            self._num_checkpoints = _positive("enable_compaction_on_checkpoint", num_checkpoints_before_compaction)
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Compact when the waiting files have this many bytes."""
            self._size_threshold = _positive("set_size_threshold", size_threshold)
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Accepted without effect: every subtask compacts the files it wrote."""
            _positive("set_num_compact_threads", num_compact_threads)
            return self

        def build(self) -> FileCompactStrategy:
            """Make the strategy."""
            if self._num_checkpoints < 0 and self._size_threshold < 0:
                raise ConfigurationError(
                    "A FileCompactStrategy needs enable_compaction_on_checkpoint(n) or set_size_threshold(bytes)."
                )
            return FileCompactStrategy(self._num_checkpoints, self._size_threshold)

    def is_due(self, waiting: WaitingFiles) -> bool:
        """Whether the files of a bucket have waited long enough."""
        return 0 <= self.num_checkpoints <= waiting.checkpoints or 0 <= self.size_threshold <= waiting.size


@dataclass(frozen=True)
class FileCompactor:
    """How files are merged: as their format requires, with an optional `delimiter`, or not at all."""

    is_joining: bool = True
    delimiter: bytes = b""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Merge files as their format requires; only line formats take a delimiter."""
        if file_delimiter is not None and not isinstance(file_delimiter, bytes):
            raise ConfigurationError(f"concat_file_compactor: the delimiter is bytes, got {file_delimiter!r}.")
        return FileCompactor(True, file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Publish files together, without merging them."""
        return FileCompactor(False)


@dataclass(frozen=True)
class Compaction:
    """What a sink was told of compaction."""

    strategy: FileCompactStrategy
    compactor: FileCompactor


@dataclass(frozen=True)
class WaitingFiles:
    """Finished files of a bucket, each as its chunks, that have waited for some checkpoints."""

    bucket: str
    files: tuple[tuple[Chunk, ...], ...] = ()
    checkpoints: int = 0

    def to_plain(self) -> list[Any]:
        """Return it as plain data."""
        return [self.bucket, [[chunk.to_plain() for chunk in file] for file in self.files], self.checkpoints]

    @classmethod
    def from_plain(cls, plain: list[Any]) -> WaitingFiles:
        """Return what `to_plain` described."""
        bucket, files, checkpoints = plain
        return cls(bucket, tuple(tuple(map(Chunk.from_plain, file)) for file in files), checkpoints)

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(chunk.size for chunks in self.files for chunk in chunks)


@dataclass(frozen=True)
class OutputFile:
    """What becomes one published file; `files` are joined with `delimiter` between them."""

    bucket: str
    files: tuple[tuple[Chunk, ...], ...]
    prefix: str = ""
    delimiter: bytes = b""


class FinishedPart(Protocol):
    """A part that takes no more records."""

    @property
    def bucket(self) -> str:
        """Where it belongs."""

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """What it is made of."""


def outputs_of(
    waiting: Iterable[WaitingFiles], finished: Iterable[FinishedPart], compaction: Compaction | None, *, is_last: bool
) -> tuple[tuple[WaitingFiles, ...], list[OutputFile]]:
    """What goes on waiting at the end of a batch, and what is published.

    Without compaction nothing waits; what an earlier program let wait is published as it is.
    """
    if compaction is None:
        left = [OutputFile(each.bucket, (file,)) for each in waiting for file in each.files]
        return (), left + [OutputFile(part.bucket, (part.chunks,)) for part in finished]
    by_bucket = {each.bucket: each for each in waiting}
    for part in finished:
        known = by_bucket.get(part.bucket) or WaitingFiles(part.bucket)
        by_bucket[part.bucket] = replace(known, files=(*known.files, part.chunks))
    still: list[WaitingFiles] = []
    outputs: list[OutputFile] = []
    for each in by_bucket.values():
        counted = replace(each, checkpoints=each.checkpoints + 1)
        if is_last or compaction.strategy.is_due(counted):
            outputs += _compacted(counted, compaction.compactor)
        else:
            still.append(counted)
    return tuple(still), outputs


def _compacted(waiting: WaitingFiles, compactor: FileCompactor) -> list[OutputFile]:
    if compactor.is_joining:
        return [OutputFile(waiting.bucket, waiting.files, COMPACTED, compactor.delimiter)]
    return [OutputFile(waiting.bucket, (file,), COMPACTED) for file in waiting.files]


def _positive(method: str, number: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or number <= 0:
        raise ConfigurationError(f"{method}: expected a whole number above 0, got {number!r}.")
    return number
