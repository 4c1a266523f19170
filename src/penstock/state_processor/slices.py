"""Pieces of an operator's keyed rows that a task reads by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from penstock.checkpoint.directory import resolve
from penstock.savepoint.origin import Origin
from penstock.savepoint.parts import check_file
from penstock.savepoint.row_sources import RowSource, SavepointRows

_EVERYTHING = range(1 << 16)
_BLOCK_ROWS = 10_000
_CUT_BYTES = 2**20  # of a file; smaller ones are not worth a look at how they are made
_SLICE_ROWS = 200_000
_COLUMNS = ["key_group", "state", "kind", "namespace", "key", "suffix", "value"]


class Block(NamedTuple):
    """Some rows of one state, column by column, as they are in `PortableRow`."""

    namespaces: list[bytes]
    keys: list[bytes]
    suffixes: list[bytes]
    values: list[bytes]


@dataclass(frozen=True)
class Slice:
    """Rows of a source; of a Parquet file perhaps only some of its row groups."""

    source: RowSource
    row_groups: range | None = None

    def blocks(self, state: str, kind: str) -> Iterator[Block]:
        """The entries of a state, in the order of the source."""
        if isinstance(self.source, SavepointRows):
            return self._parquet_blocks(self.source, state, kind)
        return self._other_blocks(state, kind)

    def _other_blocks(self, state: str, kind: str) -> Iterator[Block]:
        rows = (
            (row.namespace, row.key, row.suffix, row.value)
            for row in self.source.rows(_EVERYTHING)
            if row.state == state and row.kind == kind and row.key_group is not None
        )
        while chunk := list(islice(rows, _BLOCK_ROWS)):
            yield Block(*map(list, zip(*chunk, strict=True)))

    def _parquet_blocks(self, source: SavepointRows, state: str, kind: str) -> Iterator[Block]:
        filesystem, folder = resolve(source.uri)
        path = f"{folder}/{source.file}"
        if not self.row_groups or self.row_groups.start == 0:
            check_file(filesystem, path, source.record)  # once for each file, by whoever reads its beginning
        try:
            yield from _blocks_of_file(filesystem, path, self.row_groups, state, kind)
        except (pa.ArrowInvalid, OSError):
            check_file(filesystem, path, source.record)
            raise


def slices_of(origin: Origin, uid: str, kind: str) -> list[Slice]:
    """All rows of an operator in pieces. Lists are cut by file only: a list may lie across any other border."""
    found: list[Slice] = []
    for source in origin.row_sources(uid, _EVERYTHING):
        if kind != "list" and isinstance(source, SavepointRows) and source.record.bytes > _CUT_BYTES:
            found += [Slice(source, groups) for groups in _cuts(source)]
        else:
            found.append(Slice(source))
    return found


def _cuts(source: SavepointRows) -> list[range]:
    filesystem, folder = resolve(source.uri)
    with filesystem.open_input_file(f"{folder}/{source.file}") as stream:
        metadata = pq.ParquetFile(stream).metadata
        count, rows = metadata.num_row_groups, metadata.num_rows
    step = max(1, count * _SLICE_ROWS // max(rows, 1))
    return [range(start, min(start + step, count)) for start in range(0, count, step)]


def _blocks_of_file(
    filesystem: fs.FileSystem, path: str, row_groups: range | None, state: str, kind: str
) -> Iterator[Block]:
    with filesystem.open_input_file(path) as stream:
        file = pq.ParquetFile(stream)
        for number in row_groups or range(file.metadata.num_row_groups):
            statistics = file.metadata.row_group(number).column(1).statistics
            if statistics is not None and statistics.has_min_max and not statistics.min <= state <= statistics.max:
                continue
            for batch in file.iter_batches(_BLOCK_ROWS, row_groups=[number], columns=_COLUMNS):
                wanted = pc.and_(pc.equal(batch["state"], state), pc.equal(batch["kind"], kind))
                rows = batch.filter(pc.and_(wanted, pc.is_valid(batch["key_group"])))
                if rows.num_rows:
                    yield Block(*(rows[name].to_pylist() for name in _COLUMNS[3:]))
