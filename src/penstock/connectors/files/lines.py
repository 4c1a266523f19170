"""Lines of files, by ranges of bytes; compressed files are read whole.

A range has the lines that begin in it, so every line is in exactly one range, however a file is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import fs as arrow_fs

from penstock.connectors.files.damaged import naming
from penstock.errors import SourceError

_PIECE = 1 << 20
_MARK = b"\xef\xbb\xbf"
_ENDS = re.compile(rb"\r\n|\n|\r")
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_NOT_OURS = (".lz4", ".snappy", ".lzo", ".deflate", ".xz")


def is_compressed(path: str) -> bool:
    """Whether a file has to be read from its start."""
    if path.endswith(_NOT_OURS):
        raise SourceError(
            f"{path} is compressed in a way that only Spark reads: run the job on Spark, or use gzip, bzip2 or zstd."
        )
    return path.endswith(tuple(_CODECS))


def _codec(path: str) -> str | None:
    return next((name for suffix, name in _CODECS.items() if path.endswith(suffix)), None)


def _opened(files: arrow_fs.FileSystem, path: str) -> Any:
    """A stream of a file's bytes, uncompressed."""
    raw, codec = files.open_input_file(path), _codec(path)
    return raw if codec is None else pa.CompressedInputStream(raw, codec)


def lines_of(files: arrow_fs.FileSystem, path: str, start: int, stop: int | None, end: bytes | None) -> Iterator[bytes]:
    """The lines that begin at the bytes start..stop-1; `end` ends a line, or what ends one anywhere if it is None."""
    with naming(path, _codec(path) or "text"), _opened(files, path) as stream:
        at = 0
        if start > 0:
            # A line that began before belongs to another range; the line end in front tells whether one begins here.
            at = max(start - 2, 0)
            stream.seek(at)
        for line_start, line in _numbered(stream, at, end, is_first=at == 0):
            if stop is not None and line_start >= stop:
                return
            if line_start >= start:
                yield line


def _numbered(stream: Any, at: int, end: bytes | None, *, is_first: bool) -> Iterator[tuple[int, bytes]]:
    """Lines with where they begin; what comes first may be the rest of one, which begins before `at`."""
    begins = at if is_first else -1  # unknown, in any case before every range that is asked for
    pending = b""
    base = at
    while piece := stream.read(_PIECE):
        if is_first:
            is_first = False
            if piece.startswith(_MARK):
                pending, piece, base = b"", piece[len(_MARK) :], base + len(_MARK)
        pending += piece
        used = 0
        for stopped, after in _line_ends(pending, end):
            yield begins, pending[used:stopped]
            used = after
            begins = base + after
        base += used
        pending = pending[used:]
    if pending.endswith(b"\r") and end is None:
        yield begins, pending[:-1]
    elif pending:
        yield begins, pending


def _line_ends(text: bytes, end: bytes | None) -> Iterator[tuple[int, int]]:
    """Where lines stop and the next begin; a carriage return at the very end may be half of a line end."""
    if end is not None:
        at = text.find(end)
        while at >= 0:
            yield at, at + len(end)
            at = text.find(end, at + len(end))
        return
    for found in _ENDS.finditer(text):
        if found.end() < len(text) or found.group() != b"\r":
            yield found.start(), found.end()
