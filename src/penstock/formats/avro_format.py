"""Avro files for file sinks: records as a schema has them, blocks appended, chunks joined block by block.

Avro schemas as columns of Parquet are `penstock.formats.avro_columns`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import ConfigurationError, SinkError
from penstock.formats.avro_library import fastavro_library, parsed_schema
from penstock.formats.avro_values import avro_fitter
from penstock.formats.exact_columns import Misfit
from penstock.formats.file_formats import BlockEncoder, Chunk, ChunkWriter, FileFormat
from penstock.formats.shown_values import shortened
from penstock.storage.places import Storage

CODECS = ("null", "deflate", "bzip2", "xz")
"""What every reader knows, and needs no further package."""


@dataclass(frozen=True)
class AvroFormat(FileFormat):
    """Avro files with the schema inside; a value that the schema cannot hold as it is fails the job."""

    schema: str
    codec: str = "null"
    suffix: str = ".avro"

    def __post_init__(self) -> None:
        """Check schema and codec."""
        fastavro_library()
        if self.codec not in CODECS:
            raise ConfigurationError(f"An Avro codec is one of {', '.join(CODECS)}, got {self.codec!r}.")
        try:
            avro_fitter(parsed_schema(json.loads(self.schema)))
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"Not an Avro schema: {error}") from None

    def create_encoder(self, sink_name: str, learned: Any) -> BlockEncoder:
        """Make the encoder."""
        return _AvroEncoder(sink_name, parsed_schema(json.loads(self.schema)), self.codec)


class _AvroEncoder(BlockEncoder):
    def __init__(self, sink_name: str, schema: Any, codec: str) -> None:
        self._sink_name = sink_name
        self._schema = schema
        self._codec = codec
        self._fit = avro_fitter(schema)

    def encode(self, values: list[Any]) -> list[Any]:
        fitted = []
        for value in values:
            try:
                fitted.append(self._fit(value))
            except Misfit as misfit:
                raise SinkError(
                    f"Sink {self._sink_name!r} cannot write {shortened(value)} as Avro: {misfit}. Map the value, or "
                    "change the schema."
                ) from None
        return fitted

    def open_chunk(self, stream: Any) -> ChunkWriter:
        return _AvroChunkWriter(stream, self._schema, self._codec)

    def merge(self, storage: Storage, chunks: Sequence[Chunk], stream: Any) -> None:
        merged = _container(stream, self._schema, self._codec)
        for chunk in chunks:
            with storage.open_input(chunk.path) as source:
                for block in fastavro_library().block_reader(source):
                    merged.write_block(block)
        merged.flush()


class _AvroChunkWriter(ChunkWriter):
    def __init__(self, stream: Any, schema: Any, codec: str) -> None:
        self._stream = stream
        self._container = _container(stream, schema, codec)

    def write(self, block: list[Any]) -> None:
        for record in block:
            self._container.write(record)

    def size(self) -> int:
        return int(self._stream.tell())

    def finish(self) -> None:
        self._container.flush()


def _container(stream: Any, schema: Any, codec: str) -> Any:
    return importlib.import_module("fastavro.write").Writer(stream, schema, codec=codec)
