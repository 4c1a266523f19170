"""Entry files: sorted or unsorted changes of a store in one checksummed file.

Layout: magic and format version; frames; trailer. A frame is the length of its content, the length of the compressed
content, and a zstd-compressed Arrow record batch of keys and values (a null value means deleted). The trailer is an end
mark and the CRC-32 of everything before it. A file is checked as a whole before its first entry is given.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from zlib import crc32

import pyarrow as pa
from pyarrow import fs

from penstock.errors import CheckpointError
from penstock.storage.disk_space import told_if_full

Change = tuple[bytes, bytes | None]

_MAGIC = b"PENSTOCK"
_FORMAT = 1
_HEADER = struct.Struct(">8sH")
_FRAME = struct.Struct(">QQ")
_TRAILER = struct.Struct(">8sI")
_END = b"PSTKEND\n"
_CHUNK_ENTRIES = 65536
_PIECE_ENTRIES = 64  # the size of a chunk is looked at after so many entries
_SLICE_ENTRIES = 2048
_CHUNK_BYTES = 8 * 2**20
_WHOLE_READ_BYTES = 32 * 2**20
_REMEDY = "restore it from a copy, or go back to an older version of the checkpoint, see docs/state.md"
_SCHEMA = pa.schema([("key", pa.large_binary()), ("value", pa.large_binary())])


@dataclass(frozen=True)
class FileInfo:
    """What was written: path of the file, its length and its number of entries."""

    path: str
    bytes: int
    entries: int


def write_entries(filesystem: fs.FileSystem, path: str, entries: Iterable[Change]) -> FileInfo:
    """Write entries to a file that appears under its name only when it is whole."""
    temporary = f"{path}.{uuid.uuid4().hex}.tmp"
    try:
        with told_if_full(path):
            with _open_for_writing(filesystem, temporary) as stream:
                writer = _Writer(stream)
                for chunk in _chunks(entries):
                    writer.write(chunk)
                writer.finish()
            filesystem.move(temporary, path)
    except BaseException:
        _discard(filesystem, temporary)
        raise
    return FileInfo(path, writer.length, writer.entries)


def read_entries(filesystem: fs.FileSystem, path: str) -> Iterator[Change]:
    """Iterate over the entries of a file; raises `CheckpointError` before the first one if the file is not whole."""
    try:
        size = _file_size(filesystem, path)
        # A small file is fetched once; a large one is read twice, because memory must stay bounded.
        source = _read_whole(filesystem, path) if size <= _WHOLE_READ_BYTES else None
        with _reopen(filesystem, path, source) as stream:
            _check(stream, size, path)
        with _reopen(filesystem, path, source) as stream:
            yield from _decode(stream, size)
    except OSError as error:
        raise CheckpointError(f"State file {path} cannot be read ({error}): check the checkpoint storage.") from error


def damage_of(filesystem: fs.FileSystem, path: str, size: int, *, read: bool) -> str | None:
    """Return what is wrong with a file that should have this size, or None; `read` compares its checksum too."""
    try:
        info = filesystem.get_file_info(path)
        if info.type != fs.FileType.File:
            return f"state file {path} is missing"
        if info.size != size:
            return f"state file {path} has {info.size} bytes instead of {size}"
        if read:
            with filesystem.open_input_stream(path, compression=None) as stream:
                _check(stream, size, path)
    except OSError as error:
        return f"state file {path} cannot be read ({error})"
    except CheckpointError as error:
        return str(error)
    return None


class _Writer:
    """Appends frames to a stream and keeps the running checksum."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._codec = pa.Codec("zstd")
        self._sum = 0
        self.length = 0
        self.entries = 0
        self._append(_HEADER.pack(_MAGIC, _FORMAT))

    def write(self, chunk: list[Change]) -> None:
        keys = pa.array([key for key, _ in chunk], pa.large_binary())
        values = pa.array([value for _, value in chunk], pa.large_binary())
        content = pa.record_batch([keys, values], schema=_SCHEMA).serialize()
        packed = self._codec.compress(content, asbytes=True)
        self._append(_FRAME.pack(content.size, len(packed)))
        self._append(packed)
        self.entries += len(chunk)

    def finish(self) -> None:
        self._append(_TRAILER.pack(_END, self._sum))

    def _append(self, data: bytes) -> None:
        self._stream.write(data)
        self._sum = crc32(data, self._sum)
        self.length += len(data)


def _open_for_writing(filesystem: fs.FileSystem, path: str) -> Any:
    try:
        return filesystem.open_output_stream(path, compression=None)
    except FileNotFoundError:
        # Asking first would cost a round trip for every file of a remote store.
        filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        return filesystem.open_output_stream(path, compression=None)


def _discard(filesystem: fs.FileSystem, path: str) -> None:
    try:
        filesystem.delete_file(path)
    except OSError:
        return  # the failure that led here is the one to report


def _chunks(entries: Iterable[Change]) -> Iterator[list[Change]]:
    source = iter(entries)
    chunk: list[Change] = []
    size = 0
    while piece := list(islice(source, _PIECE_ENTRIES)):
        chunk += piece
        size += sum([len(key) + len(value or b"") for key, value in piece])
        if len(chunk) >= _CHUNK_ENTRIES or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _file_size(filesystem: fs.FileSystem, path: str) -> int:
    info = filesystem.get_file_info(path)
    if info.type != fs.FileType.File:
        raise CheckpointError(f"State file {path} is missing: {_REMEDY}.")
    return int(info.size)


def _read_whole(filesystem: fs.FileSystem, path: str) -> Any:
    with filesystem.open_input_stream(path, compression=None) as stream:
        return stream.read_buffer()


def _reopen(filesystem: fs.FileSystem, path: str, source: Any) -> Any:
    return filesystem.open_input_stream(path, compression=None) if source is None else pa.BufferReader(source)


def _check(stream: Any, size: int, path: str) -> None:
    header = stream.read(_HEADER.size)
    if header[: len(_MAGIC)] != _MAGIC[: len(header)] or not header:
        raise _damaged(path, "it is not a Penstock state file")
    if size < _HEADER.size + _TRAILER.size:
        raise _damaged(path, "it is truncated")
    version = _HEADER.unpack(header)[1]
    if version != _FORMAT:
        raise CheckpointError(f"State file {path} has format {version}, known is {_FORMAT}: use a matching Penstock.")
    total = crc32(header)
    left = size - _HEADER.size - _TRAILER.size
    while left:
        data = stream.read(min(left, _CHUNK_BYTES))
        if not data:
            raise _damaged(path, "it is truncated")
        total = crc32(data, total)
        left -= len(data)
    _check_trailer(stream.read(_TRAILER.size), total, path)


def _check_trailer(data: bytes, total: int, path: str) -> None:
    if len(data) != _TRAILER.size or not data.startswith(_END):
        raise _damaged(path, "it is truncated")
    if _TRAILER.unpack(data)[1] != total:
        raise _damaged(path, "its checksum does not match")


def _damaged(path: str, reason: str) -> CheckpointError:
    return CheckpointError(f"State file {path} is damaged ({reason}): {_REMEDY}.")


def _decode(stream: Any, size: int) -> Iterator[Change]:
    codec = pa.Codec("zstd")
    stream.read(_HEADER.size)
    left = size - _HEADER.size - _TRAILER.size
    while left:
        content_size, packed_size = _FRAME.unpack(stream.read(_FRAME.size))
        content = codec.decompress(stream.read_buffer(packed_size), decompressed_size=content_size)
        batch = pa.ipc.read_record_batch(content, _SCHEMA)
        # In slices: other threads of a process that serves reads must not wait for a whole frame.
        for start in range(0, batch.num_rows, _SLICE_ENTRIES):
            part = batch.slice(start, _SLICE_ENTRIES)
            yield from zip(part.column(0).to_pylist(), part.column(1).to_pylist(), strict=True)
        left -= _FRAME.size + packed_size
