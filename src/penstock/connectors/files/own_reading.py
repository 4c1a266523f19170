"""From the description of a file source to a source that Penstock reads itself; learns columns nobody declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

from penstock.connectors.files.listing import FileListing
from penstock.connectors.files.own_source import OwnFileSource
from penstock.connectors.files.readers import (
    AvroReader,
    ColumnReader,
    CsvReader,
    FileReader,
    JsonReader,
    LineReader,
    TextReader,
    check_options,
    open_columns,
)
from penstock.connectors.files.schemas import csv_schema, json_schema, spark_type
from penstock.errors import ConfigurationError
from penstock.formats.avro_library import fastavro_library, parsed_schema
from penstock.formats.column_types import ddl_to_arrow
from penstock.formats.csv_lines import CsvLayout
from penstock.formats.ddl import schema_to_ddl
from penstock.storage.places import Storage

if TYPE_CHECKING:
    from penstock.connectors.files.source import FileSource

_TEXT = pa.schema([("value", pa.string())])


def own_source(source: FileSource) -> OwnFileSource:
    """The same files, read by Penstock itself."""
    reading = source.reading
    listing = FileListing(tuple(source.paths), reading.glob, reading.recursive, needs_paths=source.discovery_ms is None)
    makers: dict[str, Callable[[FileSource, FileListing], FileReader]] = {
        "text": _text_reader,
        "csv": _csv_reader,
        "json": _json_reader,
        "parquet": _column_reader,
        "orc": _column_reader,
        "avro": _avro_reader,
    }
    maker = makers.get(reading.file_format)
    if maker is None:
        raise ConfigurationError(
            f"Files of format {reading.file_format!r} are read by Spark only: run the job on Spark."
        )
    return OwnFileSource(listing, maker(source, listing), source.discovery_ms, reading.max_files_per_batch)


def _text_reader(source: FileSource, listing: FileListing) -> FileReader:
    check_options("text", source.reading.options)
    return TextReader(_TEXT, source.row_format, dict(source.reading.options))


def _csv_reader(source: FileSource, listing: FileListing) -> FileReader:
    reading = source.reading
    options = dict(reading.options)
    check_options("csv", options)
    layout = replace(CsvLayout.of(options), literal=reading.csv_escape)
    has_header = options.get("header", "false").lower() == "true"
    schema = _declared(source)
    if schema is None:
        plain = TextReader(_TEXT, "value", options)
        schema = csv_schema(_lines(listing, plain), layout, has_header=has_header) or _nothing(source)
    header = tuple(schema.names) if options.get("enforceSchema") == "false" else None
    skipped = has_header + reading.skips_first_row
    return CsvReader(schema, source.row_format, options, layout, skipped, dict(reading.array_separators), header)


def _json_reader(source: FileSource, listing: FileListing) -> FileReader:
    options = dict(source.reading.options)
    check_options("json", options)
    schema = _declared(source)
    if schema is None:
        schema = json_schema(_lines(listing, TextReader(_TEXT, "value", options))) or _nothing(source)
    return JsonReader(schema, source.row_format, options)


def _column_reader(source: FileSource, listing: FileListing) -> FileReader:
    check_options(source.reading.file_format, source.reading.options)
    schema = _declared(source)
    if schema is None:
        files = listing.files()
        if not files:
            _nothing(source)
        storage = Storage(listing.paths[0])
        found = open_columns(storage.file_system, files[0].path, source.reading.file_format).schema
        schema = pa.schema([(each.name, spark_type(each.type)) for each in found])
    return ColumnReader(source.reading.file_format, schema, source.row_format)


def _avro_reader(source: FileSource, listing: FileListing) -> FileReader:
    schema = source.reading.schema
    fastavro_library()  # before the job starts
    try:
        return AvroReader(None if schema is None else parsed_schema(schema), source.row_format)
    except ValueError as error:
        raise ConfigurationError(f"the Avro schema of the file source cannot be used: {error}") from None


def _declared(source: FileSource) -> pa.Schema | None:
    schema = source.reading.schema
    return None if schema is None else ddl_to_arrow(schema_to_ddl(schema))


def _lines(listing: FileListing, reader: LineReader) -> Iterator[Iterator[str]]:
    storage = Storage(listing.paths[0])
    for file in listing.files():
        yield reader.lines(storage.file_system, file.path, 0, reader.positions(storage.file_system, file))


def _nothing(source: FileSource) -> NoReturn:
    raise source.nothing_to_infer()
