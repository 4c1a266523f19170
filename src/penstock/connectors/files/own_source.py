"""A file source that Penstock reads itself, without Spark: each file is a partition, read in ranges.

The formats are in `penstock.connectors.files.readers`. Every file that was ever read stays in the positions of the job,
so folders with very many files belong on Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyarrow import fs as arrow_fs

from penstock.connectors.files.listing import FileListing, ListedFile
from penstock.connectors.files.readers import FileReader
from penstock.connectors.source import (
    FoundPartition,
    PartitionedSource,
    PartitionEnumerator,
    PartitionItem,
    PartitionRange,
    PartitionReader,
)
from penstock.storage.places import Storage

_AT_A_TIME = 64
"""How many files are open for reading at once: all of a folder in every batch would mean opening all of them."""


@dataclass(frozen=True)
class OwnFileSource(PartitionedSource):
    """Files, read whole and in their order; watched for new ones if there is an interval."""

    listing: FileListing
    reader: FileReader
    discovery_ms: int | None = None
    files_at_a_time: int | None = None

    def is_bounded(self) -> bool:
        """Whether the files that are there at the start are all."""
        return self.discovery_ms is None

    def ends_partitions(self) -> bool:
        """A file ends; that others may come does not change it."""
        return True

    def begins_when_read(self) -> bool:
        """A file that nobody has begun to read holds up no watermark, as in Flink."""
        return True

    def create_enumerator(self, name: str) -> PartitionEnumerator:
        """Make what lists the files."""
        return _FileEnumerator(self)

    def create_reader(self, name: str, subtask: int) -> PartitionReader:
        """Make what reads them."""
        return _FileReader(self)

    def file_system(self) -> arrow_fs.FileSystem:
        """Where the files are."""
        return Storage(self.listing.paths[0]).file_system


class _FileEnumerator(PartitionEnumerator):
    """Lists files at the start, and then at the interval; knows how many positions each has."""

    def __init__(self, source: OwnFileSource) -> None:
        self._source = source
        self._files = source.file_system()
        self._ends: dict[str, int] = {}
        self._looked_ms: int | None = None

    def discover(self, known: Mapping[str, int] | None, now_ms: int) -> dict[str, FoundPartition]:
        interval = self._source.discovery_ms or 0
        # A clock that was set back must not keep new files out for as long as that.
        if known is not None and self._looked_ms is not None and abs(now_ms - self._looked_ms) < interval:
            return {}
        self._looked_ms = now_ms
        found: dict[str, FoundPartition] = {}
        for file in self._source.listing.files():
            if file.path not in (known or {}):
                found[file.path] = FoundPartition(0, self._end(file))
        return found

    def ends(self, positions: Mapping[str, int]) -> dict[str, int]:
        most = self._source.files_at_a_time or _AT_A_TIME
        unread = [name for name, at in positions.items() if at < self._known_end(name)]
        return {**positions, **{name: self._known_end(name) for name in unread[:most]}}

    def stops(self, names: Collection[str]) -> dict[str, int]:
        return {name: self._known_end(name) for name in names}

    def _known_end(self, path: str) -> int:
        if path not in self._ends:  # a job that goes on
            info = self._files.get_file_info(path)
            self._end(ListedFile(path, info.size or 0, 0))
        return self._ends[path]

    def _end(self, file: ListedFile) -> int:
        end = self._ends[file.path] = self._source.reader.positions(self._files, file)
        return end


class _FileReader(PartitionReader):
    def __init__(self, source: OwnFileSource) -> None:
        self._reader = source.reader
        self._files = source.file_system()

    def read(self, ranges: Sequence[PartitionRange]) -> Iterator[tuple[str, PartitionItem]]:
        for each in ranges:
            for block in self._reader.read(self._files, each.name, each.start, each.stop):
                yield each.name, (block, None)
