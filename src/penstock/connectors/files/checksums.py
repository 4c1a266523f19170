"""Size and checksum of a file while it is written, and compared later."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from penstock.storage.places import Storage

_READ_BYTES = 4 * 1024 * 1024


class SummedStream:
    """An output stream that knows how much was written to it, and its CRC-32. Closes the stream that it wraps."""

    def __init__(self, stream: Any) -> None:
        """Take a stream that nothing was written to."""
        self._stream = stream
        self.size = 0
        self.checksum = 0

    def write(self, data: Any) -> int:
        """Write all of the data."""
        self._stream.write(data)
        length = memoryview(data).nbytes
        self.size += length
        self.checksum = crc32(data, self.checksum)
        return length

    def tell(self) -> int:
        """How much was written."""
        return self.size

    def flush(self) -> None:
        """Hand on what is held back."""
        self._stream.flush()

    def close(self) -> None:
        """End the file."""
        self._stream.close()

    @property
    def closed(self) -> bool:
        """Whether it has ended."""
        return bool(self._stream.closed)

    def readable(self) -> bool:
        """Never."""
        return False

    def writable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Never."""
        return False

    def __enter__(self) -> SummedStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def damage_of(storage: Storage, path: str, size: int, checksum: int | None) -> str | None:
    """What is wrong with a file ("is gone") that should have this size and checksum; None if nothing is.

    A size of -1 and a checksum of None are not known. Stores that are not local compare checksums themselves, and
    reading all again would double their work.
    """
    found = storage.size_of(path)
    if found is None:
        return "is gone"
    if size >= 0 and found != size:
        return f"has {found} bytes instead of {size}"
    if checksum is None or not storage.is_local or checksum_of(storage, path) == checksum:
        return None
    return "does not match its checksum"


def checksum_of(storage: Storage, path: str) -> int:
    """The CRC-32 of a file."""
    total = 0
    with storage.open_input(path) as source:
        while piece := source.read(_READ_BYTES):
            total = crc32(piece, total)
    return total
