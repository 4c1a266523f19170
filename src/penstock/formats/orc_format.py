"""ORC files for file sinks: the columns of a declared type, chunks as stripes, chunks merged to one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import orc

from penstock.errors import ConfigurationError
from penstock.formats.file_formats import BlockEncoder, Chunk, ChunkWriter, FileFormat, declared_schema
from penstock.formats.parquet_format import TableEncoder
from penstock.storage.places import Storage


@dataclass(frozen=True)
class OrcFormat(FileFormat):
    """ORC; a value that its column cannot hold as it is fails the job."""

    type_info: Any
    compression: str = "zlib"
    suffix: str = ".orc"

    def __post_init__(self) -> None:
        """Refuse a type that is none: there is nothing to learn columns of ORC from."""
        if not callable(getattr(self.type_info, "arrow_type", None)):
            raise ConfigurationError(f"ORC files need a type such as Types.ROW_NAMED(...), got {self.type_info!r}.")

    def create_encoder(self, sink_name: str, learned: Any) -> BlockEncoder:
        """Make the encoder."""
        return _OrcEncoder(sink_name, declared_schema(self.type_info), None, self.compression, "ORC")


class _OrcEncoder(TableEncoder):
    def open_chunk(self, stream: Any) -> ChunkWriter:
        return _OrcChunkWriter(stream, self._compression)

    def merge(self, storage: Storage, chunks: Sequence[Chunk], stream: Any) -> None:
        merged = _OrcChunkWriter(stream, self._compression)
        for chunk in chunks:
            with storage.open_input(chunk.path) as source:
                stored = orc.ORCFile(source)
                for number in range(stored.nstripes):
                    stripe = pa.Table.from_batches([stored.read_stripe(number)])
                    merged.write(stripe.cast(self._schema))  # ORC gives times in nanoseconds back
        merged.finish()


class _OrcChunkWriter(ChunkWriter):
    def __init__(self, stream: Any, compression: str) -> None:
        self._stream = stream
        self._writer = orc.ORCWriter(stream, compression=compression)

    def write(self, block: pa.Table) -> None:
        self._writer.write(block)

    def size(self) -> int:
        return int(self._stream.tell())

    def finish(self) -> None:
        self._writer.close()
