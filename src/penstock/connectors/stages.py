"""What a subtask stages for publication: blocks of encoded records, inline in the seal or in a file.

A block is what the sink's encoder made: plain data (`penstock.common.plain_data`), or any object of a user's encoder.
Blocks are gathered into compressed frames: the lengths of the packed and the plain content, a CRC-32, and the packed
content, in which each block has its length in front. A last, empty frame holds the number of records, so
that a file that was cut off is told from a whole one. What is published, and how, is not decided here.
"""

from __future__ import annotations

import contextlib
import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import pyarrow as pa

from penstock.common.plain_data import UserValue, kept_as, loaded, pack, unpack
from penstock.errors import SinkError
from penstock.storage.disk_space import told_if_full
from penstock.storage.places import Storage

_FRAME = struct.Struct(">QQI")
_LENGTHS = struct.Struct(">QQ")
_BLOCK = struct.Struct(">Q")
_FRAME_BYTES = 512 * 1024
_CODEC = "zstd"


@kept_as("stage")
@dataclass(frozen=True)
class Stage:
    """What one subtask staged in one try of a version: `inline` has the frames, or `file` of the folder `folder`.

    `note` is what the encoder lets the publisher know without reading the stage, which may be gone.
    """

    job_id: str
    uid: str
    subtask: int
    version: int
    attempt: str
    records: int
    size: int
    inline: bytes = b""
    folder: str = ""
    file: str = ""
    note: str = ""

    def to_plain(self) -> list[Any]:
        """Return it as plain data."""
        owner = [self.job_id, self.uid, self.subtask, self.version, self.attempt]
        return [*owner, self.records, self.size, self.inline, self.folder, self.file, self.note]

    @classmethod
    def from_plain(cls, plain: list[Any], version: int) -> Stage:
        """Return what `to_plain` described."""
        return cls(*plain)

    def blocks(self) -> Iterator[Any]:
        """The blocks as they were staged; raises `SinkError`, perhaps after some of them, if not all are there."""
        if not self.file:
            return _read(io.BytesIO(self.inline), self, f"the stage of {self._owner()}")
        return self._from_file()

    def remove(self) -> None:
        """Forget what was published; a file that is gone already is fine."""
        if self.file:
            Storage(self.folder).remove(self.file)

    def _from_file(self) -> Iterator[Any]:
        storage = Storage(self.folder)
        try:
            with storage.file_system.open_input_stream(storage.full(self.file), compression=None) as stream:
                yield from _read(stream, self, f"stage file {self.folder}/{self.file}")
        except FileNotFoundError:
            raise SinkError(
                f"Sink {self.uid!r} cannot publish version {self.version}: its stage file {self.folder}/{self.file} is "
                "gone, and the target system does not have it. Tasks and driver must use the same checkpoint "
                "directory, and nothing else may change it; restore the file from a copy, or start from a savepoint."
            ) from None
        except OSError as failure:
            raise SinkError(
                f"Sink {self.uid!r} cannot read its stage file {self.folder}/{self.file}: {failure}."
            ) from failure

    def _owner(self) -> str:
        return f"sink {self.uid!r}, subtask {self.subtask}, version {self.version}"


class StageWriter:
    """Gathers the blocks of one try of a version; what outgrows `inline_bytes` goes to a file.

    The file has its final name from the start: nobody looks for it before a seal names it.
    """

    def __init__(self, folder: str, file: str, inline_bytes: int) -> None:
        """Take where a file would go; without a folder everything stays inline."""
        self._folder = folder
        self._file = file
        self._inline_bytes = inline_bytes
        self._plain = io.BytesIO()
        self._frames: list[bytes] = []
        self._stream: Any = None
        self.size = 0
        self.records = 0

    def append(self, block: Any, records: int) -> None:
        """Take a block that stands for so many records."""
        data = pack(UserValue(block))
        self._plain.write(_BLOCK.pack(len(data)))
        self._plain.write(data)
        self.records += records
        if self._plain.tell() >= _FRAME_BYTES:
            self._end_frame()

    def finish(
        self, *, job_id: str, uid: str, subtask: int, version: int, attempt: str, note: str = ""
    ) -> Stage | None:
        """Make it durable; None if there is nothing."""
        if not self.records:
            return None
        self._end_frame()
        self._put(_frame(b"", self.records))
        inline, folder, file = b"".join(self._frames), "", ""
        if self._stream is not None:
            with told_if_full(f"{self._folder}/{self._file}"):
                self._stream.close()
                self._stream = None
                Storage(self._folder).sync(self._file)
            inline, folder, file = b"", self._folder, self._file
        return Stage(job_id, uid, subtask, version, attempt, self.records, self.size, inline, folder, file, note)

    def discard(self) -> None:
        """Remove what was written, as far as possible."""
        if self._stream is not None:
            with contextlib.suppress(OSError):
                self._stream.close()
            self._stream = None
        if self._folder and self.size > self._inline_bytes:
            with contextlib.suppress(OSError):
                Storage(self._folder).remove(self._file)

    def _end_frame(self) -> None:
        plain = self._plain.getvalue()
        if not plain:
            return
        self._plain = io.BytesIO()
        packed = pa.compress(plain, codec=_CODEC, asbytes=True)
        self._put(_frame(packed, len(plain)))

    def _put(self, data: bytes) -> None:
        with told_if_full(f"{self._folder}/{self._file}"):
            self._write(data)

    def _write(self, data: bytes) -> None:
        self.size += len(data)
        if self._stream is None and self._folder and self.size > self._inline_bytes:
            self._stream = _opened(self._folder, self._file)
            for frame in self._frames:
                self._stream.write(frame)
            self._frames = []
        if self._stream is None:
            self._frames.append(data)
        else:
            self._stream.write(data)


def _opened(folder: str, file: str) -> Any:
    try:
        return Storage(folder).open_private_output(file)
    except OSError as failure:
        raise SinkError(f"Cannot stage records in {folder}: {failure}.") from failure


def _read(stream: Any, stage: Stage, what: str) -> Iterator[Any]:
    while True:
        header = stream.read(_FRAME.size)
        if len(header) < _FRAME.size:
            raise _damaged(what, "it is truncated")
        packed_size, plain_size, checksum = _FRAME.unpack(header)
        # A length that is damaged must not be asked for.
        packed = stream.read(packed_size) if packed_size <= stage.size else b""
        if len(packed) < packed_size:
            raise _damaged(what, "it is truncated")
        if _checksum(packed_size, plain_size, packed) != checksum:
            raise _damaged(what, "its checksum does not match")
        if packed_size == 0:
            if plain_size != stage.records:
                raise _damaged(what, f"it ends with {plain_size} records instead of {stage.records}")
            return
        plain = io.BytesIO(pa.decompress(packed, plain_size, codec=_CODEC, asbytes=True))
        while plain.tell() < plain_size:
            (length,) = _BLOCK.unpack(plain.read(_BLOCK.size))
            yield loaded(unpack(plain.read(length)))


def _frame(packed: bytes, plain_size: int) -> bytes:
    return _FRAME.pack(len(packed), plain_size, _checksum(len(packed), plain_size, packed)) + packed


def _checksum(packed_size: int, plain_size: int, packed: bytes) -> int:
    return crc32(packed, crc32(_LENGTHS.pack(packed_size, plain_size)))


def _damaged(what: str, reason: str) -> SinkError:
    return SinkError(
        f"Cannot publish {what}: {reason}. Nothing of it was published: restore it from a copy, or start from a "
        "savepoint."
    )


def staged_file_names(committables: list[Any]) -> set[str]:
    """Names of the stage files that some committables refer to; each is unique in its checkpoint directory."""
    return {item.file for item in committables if isinstance(item, Stage) and item.file}
