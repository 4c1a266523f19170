"""Cached streams as files: a sink writes the records, and sources of later jobs read them.

A file holds what one subtask got in one version: frames of some thousands of records, each with its number of records,
its length and a CRC-32 in front, so that a reader skips what it does not need. The name says the rest: subtask, version
and number of records. A subtask that has seen the end of the stream from its beginning leaves a file that says so: only
a folder with one of each subtask is a whole cache.
"""

from __future__ import annotations

import contextlib
import pickle
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast
from zlib import crc32

import cloudpickle
import pyarrow as pa

from penstock.common.plain_data import kept_as
from penstock.connectors.sink import Committer, Sink, SinkContext, SinkWriter
from penstock.connectors.source import Chunk, SplitSource
from penstock.errors import SinkError, SourceError
from penstock.storage.disk_space import told_if_full
from penstock.storage.places import Storage, path_segment

_FRAME = struct.Struct(">IQQI")  # records, length, length without compression, checksum
_FRAME_RECORDS = 5_000
_CODEC = "zstd"
_RECORDS = re.compile(r"records-(\d+)-(\d+)-(\d+)")
_END = re.compile(r"end-(\d+)-of-(\d+)")


@dataclass(frozen=True)
class CachedFile:
    """A file with some records of one subtask."""

    subtask: int
    version: int
    records: int

    @property
    def name(self) -> str:
        """The file name."""
        return f"records-{self.subtask}-{self.version}-{self.records}"


@kept_as("cached records")
@dataclass(frozen=True)
class _Finished:
    """For the committer: a file, or without one an end, and the name that makes it part of the cache."""

    location: str
    name: str
    written: str = ""

    def to_plain(self) -> list[Any]:
        return [self.location, self.name, self.written]

    @classmethod
    def from_plain(cls, plain: list[Any], version: int) -> _Finished:
        return cls(*plain)


def whole_cache(location: str) -> tuple[CachedFile, ...] | None:
    """Return the files of a complete cache in order; None if a subtask did not finish."""
    names = list(Storage(location).names(""))
    ends = [found for found in map(_END.fullmatch, names) if found]
    if not ends or len(ends) != int(ends[0][2]):
        return None
    files = [CachedFile(*map(int, found.groups())) for found in map(_RECORDS.fullmatch, names) if found]
    return tuple(sorted(files, key=lambda file: (file.subtask, file.version)))


class CacheSink(Sink):
    """Writes the records of a stream with their timestamps, exactly once, to its own folder."""

    state_identity = "CacheSink"

    def __init__(self, location: str, owner: object = None) -> None:
        """Take the folder, which all tasks must reach, and what has to live as long as the job that writes it."""
        self.location = location
        self._owner = owner

    def __reduce__(self) -> tuple[Any, ...]:
        return CacheSink, (self.location,)

    def create_writer(self, context: SinkContext) -> SinkWriter:
        """Make the writer of one subtask."""
        return _CacheWriter(self.location, context.subtask, context.parallelism)

    def create_committer(self) -> Committer:
        """Make what gives files their names."""
        return _CacheCommitter(self.location)


class _CacheWriter(SinkWriter):
    def __init__(self, location: str, subtask: int, parallelism: int) -> None:
        self._storage = Storage(location)
        self._location = location
        self._subtask = subtask
        self._parallelism = parallelism
        self._is_whole = True
        self._stream: Any = None

    def begin(self, version: int, attempt: str, state: Any) -> None:
        # What another process wrote before this one went on with its job is not in this folder.
        self._is_whole = state is None or state == self._location
        self._version = version
        self._written = f"written/{self._subtask}-{version}-{path_segment(attempt)}"
        self._stream = None
        self._records = 0
        self._values: list[Any] = []
        self._timestamps: list[int | None] = []

    def write(self, values: list[Any], timestamps: list[int | None] | None, watermark: int) -> None:
        if not self._is_whole:
            return
        self._values.extend(values)
        self._timestamps.extend([None] * len(values) if timestamps is None else timestamps)
        if len(self._values) >= _FRAME_RECORDS:
            self._put()

    def prepare_commit(self, now_ms: int, end_of_input: bool) -> list[Any]:
        if not self._is_whole:
            return []
        finished = []
        if self._values:
            self._put()
        if self._stream is not None:
            with told_if_full(self._storage.full(self._written)):
                self._stream.close()
            self._stream = None
            file = CachedFile(self._subtask, self._version, self._records)
            finished.append(_Finished(self._location, file.name, self._written))
        if end_of_input:
            finished.append(_Finished(self._location, f"end-{self._subtask}-of-{self._parallelism}"))
        return finished

    def snapshot(self) -> Any:
        return self._location if self._is_whole else ""

    def abort(self) -> None:
        with contextlib.suppress(OSError):
            if self._stream is not None:
                self._stream.close()
            self._storage.remove(self._written)

    def _put(self) -> None:
        has_times = any(timestamp is not None for timestamp in self._timestamps)
        plain = _pickled((self._values, self._timestamps if has_times else None))
        packed = pa.compress(plain, codec=_CODEC, asbytes=True)
        with told_if_full(self._storage.full(self._written)):
            if self._stream is None:
                self._stream = self._storage.open_private_output(self._written)
            self._stream.write(_FRAME.pack(len(self._values), len(packed), len(plain), crc32(packed)))
            self._stream.write(packed)
        self._records += len(self._values)
        self._values, self._timestamps = [], []


def _pickled(block: Any) -> bytes:
    try:
        return pickle.dumps(block, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):  # a class that is defined inside a function
        return bytes(cloudpickle.dumps(block, protocol=5))


class _CacheCommitter(Committer):
    def __init__(self, location: str) -> None:
        self._location = location

    def commit(self, committables: list[Any]) -> None:
        storage = Storage(self._location)
        for item in cast("list[_Finished]", committables):
            if item.location != self._location or storage.exists(item.name):
                continue
            if not item.written:
                storage.open_private_output(item.name).close()
            elif storage.exists(item.written):
                storage.move(item.written, item.name)
            else:
                raise SinkError(
                    f"The records of a cached stream are gone: there is no {storage.full(item.written)}. Tasks and "
                    "driver must use the same folder: set a checkpoint directory that every machine can reach."
                )


class CachedSource(SplitSource):
    """The records of a cache: split n of m has what subtasks n, n + m, ... wrote, in its order."""

    def __init__(self, location: str, files: tuple[CachedFile, ...], is_single: bool, owner: object = None) -> None:
        """Take the folder, its files by subtask and version, and what has to live as long as the job that reads."""
        self._location = location
        self._files = files
        self._is_single = is_single
        self._owner = owner

    def __reduce__(self) -> tuple[Any, ...]:
        return CachedSource, (self._location, self._files, self._is_single)

    def is_bounded(self) -> bool:
        """Always true."""
        return True

    def is_single(self) -> bool:
        """Whether the stream had one subtask by its nature."""
        return self._is_single

    def split_count(self, parallelism: int) -> int:
        """One for each subtask that reads."""
        return parallelism

    def split_end(self, split: int, split_count: int) -> int | None:
        """Number of records of the split."""
        return sum(file.records for file in self._of(split, split_count))

    def read(self, split: int, split_count: int, start: int, stop: int) -> Iterator[Chunk]:
        """Yield the records of a range, a frame at a time."""
        begin = 0
        for file in self._of(split, split_count):
            if begin < stop and begin + file.records > start:
                yield from self._read_file(file, max(start - begin, 0), stop - begin)
            begin += file.records

    def _of(self, split: int, split_count: int) -> list[CachedFile]:
        return [file for file in self._files if file.subtask % split_count == split]

    def _read_file(self, file: CachedFile, start: int, stop: int) -> Iterator[Chunk]:
        storage = Storage(self._location)
        try:
            with storage.open_input(file.name) as stream:
                begin = 0
                while begin < min(stop, file.records):
                    header = stream.read(_FRAME.size)
                    if len(header) < _FRAME.size:
                        raise _damaged(storage.full(file.name), "is truncated")
                    records, packed_size, plain_size, checksum = _FRAME.unpack(header)
                    if begin + records <= start:
                        stream.seek(packed_size, 1)
                    else:
                        packed = stream.read(packed_size)
                        if crc32(packed) != checksum:
                            raise _damaged(storage.full(file.name), "has changed")
                        plain = pa.decompress(packed, plain_size, codec=_CODEC, asbytes=True)
                        values, timestamps = pickle.loads(plain)
                        part = slice(max(start - begin, 0), stop - begin)
                        yield values[part], None if timestamps is None else timestamps[part]
                    begin += records
        except FileNotFoundError:
            raise _damaged(storage.full(file.name), "is gone") from None


def _damaged(name: str, what: str) -> SourceError:
    return SourceError(
        f"The file {name} of a cached stream {what}: call invalidate() on the stream, and the next job computes it "
        "again. Nothing else may change the folder, and every machine must reach it."
    )
