"""The Parquet files of a savepoint: keyed rows and operator state.

Any Parquet reader can read them: one row for each entry of a state, timers included.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from penstock.errors import CheckpointError
from penstock.savepoint.manifest import FileRecord
from penstock.state.portable import PortableRow

KEYED_SCHEMA = pa.schema(
    [
        ("key_group", pa.int32()),
        ("state", pa.string()),
        ("kind", pa.string()),
        ("namespace", pa.binary()),
        ("key", pa.binary()),
        ("suffix", pa.binary()),
        ("value", pa.binary()),
    ]
)
OPERATOR_SCHEMA = pa.schema(
    [
        ("subtask", pa.int32()),
        ("state", pa.string()),
        ("kind", pa.string()),
        ("position", pa.int64()),
        ("value", pa.binary()),
    ]
)
# Keys and values hardly repeat: dictionaries of them made files a third larger.
_REPEATED = ["state", "kind", "namespace"]
_CHUNK_ROWS = 10_000
_CHUNK_BYTES = 8 * 2**20
_READ_BYTES = 4 * 2**20


class OperatorStateRow(NamedTuple):
    """One element of an operator's state in one subtask."""

    subtask: int
    state: str
    kind: str
    position: int
    value: bytes


def write_rows(
    filesystem: fs.FileSystem, path: str, schema: pa.Schema, rows: Iterable[tuple[Any, ...]], **metadata: str
) -> FileRecord | None:
    """Write a file that appears under its name only when it is whole; None if there are no rows, and no file then."""
    chunks = _chunks(rows)
    first = next(chunks, None)
    if first is None:
        return None
    temporary = f"{path}.{uuid.uuid4().hex}.tmp"
    filesystem.create_dir(path.rpartition("/")[0], recursive=True)
    described = schema.with_metadata({f"penstock.{key}": value for key, value in metadata.items()})
    with (
        filesystem.open_output_stream(temporary, compression=None) as stream,
        pq.ParquetWriter(stream, described, compression="zstd", use_dictionary=_REPEATED) as writer,
    ):
        while first is not None:
            columns = zip(*first, strict=True)
            arrays = [pa.array(list(each), item.type) for each, item in zip(columns, schema, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=described))
            first = next(chunks, None)
    filesystem.move(temporary, path)
    return summed(filesystem, path)


def read_keyed_rows(filesystem: fs.FileSystem, path: str, groups: range) -> Iterator[PortableRow]:
    """The rows of some key groups, and those about the operator; what lies between is not decoded."""
    with filesystem.open_input_file(path) as stream:
        file = pq.ParquetFile(stream)
        for number in range(file.metadata.num_row_groups):
            statistics = file.metadata.row_group(number).column(0).statistics
            if _is_apart(statistics, groups):
                continue
            for batch in file.iter_batches(_CHUNK_ROWS, row_groups=[number]):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    if row[0] is None or row[0] in groups:
                        yield PortableRow(*row)


def read_operator_rows(filesystem: fs.FileSystem, path: str) -> Iterator[OperatorStateRow]:
    """The rows of an operator's state."""
    with filesystem.open_input_file(path) as stream:
        for batch in pq.ParquetFile(stream).iter_batches(_CHUNK_ROWS):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield OperatorStateRow(*row)


def summed(filesystem: fs.FileSystem, path: str) -> FileRecord:
    """Size and checksum of a file as it is on disk."""
    total = length = 0
    with filesystem.open_input_stream(path, compression=None) as stream:
        while piece := stream.read(_READ_BYTES):
            total = crc32(piece, total)
            length += len(piece)
    return FileRecord(length, total)


def check_file(filesystem: fs.FileSystem, path: str, record: FileRecord) -> None:
    """Refuse a file that is not what the savepoint says it is."""
    try:
        found = summed(filesystem, path)
    except OSError as error:
        raise CheckpointError(f"savepoint file {path} cannot be read ({error}): use another savepoint") from None
    if found != record:
        raise CheckpointError(f"savepoint file {path} is damaged (its checksum does not match): use another savepoint")


def _chunks(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    source = iter(rows)
    while True:
        chunk: list[tuple[Any, ...]] = []
        size = 0
        for row in islice(source, _CHUNK_ROWS):
            chunk.append(row)
            size += sum(len(cell) for cell in row if isinstance(cell, bytes))
            if size >= _CHUNK_BYTES:
                break
        if not chunk:
            return
        yield chunk


def _is_apart(statistics: Any, groups: range) -> bool:
    """Whether no row of a Parquet row group can be wanted; one with nulls tells about the operator."""
    if statistics is None or not statistics.has_min_max or statistics.null_count != 0:
        return False
    return bool(statistics.max < groups.start or statistics.min >= groups.stop)
