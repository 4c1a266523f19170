"""Avro container files read by blocks, entered anywhere by their sync markers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyarrow import fs as arrow_fs

from penstock.common.avro_type import AvroSchema
from penstock.common.types import Row
from penstock.connectors.files.damaged import naming
from penstock.connectors.frame_source import RowFormat
from penstock.errors import ConfigurationError, SourceError
from penstock.formats.avro_library import fastavro_library

_SYNC_BYTES = 16
_PIECE = 1 << 16


def plain_schema(method: str, given: Any) -> Any:
    """A schema as parsed JSON, from an AvroSchema, a JSON text or what is parsed already; None stays None."""
    if isinstance(given, AvroSchema):
        return given.to_plain()
    if isinstance(given, str):
        try:
            return json.loads(given)
        except ValueError as error:
            raise ConfigurationError(f"{method}: the schema is no JSON: {error}") from None
    if given is None or isinstance(given, (dict, list)):
        return given
    raise ConfigurationError(f"{method}: expected an AvroSchema or its JSON text, got {given!r}")


def avro_blocks(
    files: arrow_fs.FileSystem, path: str, reader_schema: Any, start: int, stop: int
) -> Iterator[tuple[list[str], list[Any]]]:
    """Field names and records of the blocks that begin at the bytes start..stop-1."""
    library = fastavro_library()
    with naming(path, "Avro"), files.open_input_file(path) as stream:
        blocks = library.block_reader(stream, reader_schema)
        names = _names(reader_schema or blocks.writer_schema)
        marker = blocks._header["sync"]
        at = stream.tell()
        if start > at:
            at = _behind_marker(stream, marker, max(at, start - _SYNC_BYTES))
            if at is None:
                return
            stream.seek(at)
        while at < stop and at < stream.size():
            block = next(blocks, None)
            if block is None:
                return
            yield names, list(block)
            at = stream.tell()


def _behind_marker(stream: Any, marker: bytes, at: int) -> Any:
    """Where the first block begins whose marker in front begins at that byte or later."""
    stream.seek(at)
    held = b""
    while piece := stream.read(_PIECE):
        held += piece
        found = held.find(marker)
        if found >= 0:
            return at + found + len(marker)
        at += max(0, len(held) - len(marker) + 1)
        held = held[-(len(marker) - 1) :]
    return None


def _names(schema: Any) -> list[str]:
    return [each["name"] for each in schema["fields"]] if isinstance(schema, dict) and "fields" in schema else []


def shaped(records: list[Any], names: list[str], row_format: RowFormat) -> list[Any]:
    """Records as the row format has them; what is no record stays itself."""
    if callable(row_format):
        return [row_format(each) for each in records]
    if not names or row_format == "dict":
        return records
    values = [tuple(each.get(name) for name in names) for each in records]
    if row_format == "row":
        return Row.of_all(tuple(names), values)
    if row_format == "value":
        if len(names) != 1:
            raise SourceError(f'row_format "value" needs records of one field, but they have {", ".join(names)}')
        return [each[0] for each in values]
    return values
