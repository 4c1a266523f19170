"""The connector 'filesystem': files of JSON, CSV, raw lines, Parquet or Avro in a folder, perhaps by partitions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from penstock.common.time import Duration
from penstock.connectors.files.bucketing import FunctionBucketAssigner
from penstock.datastream.connectors.file_system import FileSink, FileSource
from penstock.datastream.stream import DataStream
from penstock.errors import SqlError
from penstock.table.connectors.contract import INSERTS, Connector, TableContext, TableSink, TableSource
from penstock.table.connectors.row_formats import FORMAT_KEYS, RowFormat, row_format
from penstock.table.element_functions import ToElement, ToRow
from penstock.table.external_values import to_internal
from penstock.table.java_texts import java_text
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of

__all__ = ["FileSystemConnector"]

LINES = ("json", "csv", "raw")
DEFAULT_PARTITION = "__DEFAULT_PARTITION__"


class FileSystemConnector(Connector):
    """A folder of files; exactly once in both directions."""

    name = "filesystem"

    def keys(self) -> Mapping[str, str]:
        """Where the files are, and what is in them."""
        return {
            "path": "the folder, or a file to read",
            "format": "json, csv, raw, parquet or avro",
            "source.monitor-interval": "look for new files this often; without it the table ends",
            "partition.default-name": "the folder of NULL",
            **dict.fromkeys(FORMAT_KEYS, "options of the format"),
        }

    def source(self, table: TableContext) -> TableSource:
        """What reads the files."""
        return _FileTable(table)

    def sink(self, table: TableContext) -> TableSink:
        """What writes files."""
        return _FileTableSink(table)


def _stored_type(table: TableContext) -> LogicalType:
    """The columns that are in the files: partition columns are in the names of folders."""
    columns = [each for each in table.entry.schema.physical if each.name not in table.entry.partition_keys]
    return row_of(tuple(each.name for each in columns), tuple(each.type for each in columns))


class _FileTable(TableSource):
    def __init__(self, table: TableContext) -> None:
        self.table = table
        self.interval = table.options.millis("source.monitor-interval")
        self.is_bounded = self.interval is None
        self.format = table.options["format"]

    def stream(
        self, environment: Any, row_type: LogicalType, metadata: tuple[str, ...] = (), name: str = ""
    ) -> DataStream[tuple[Any, ...]]:
        label = name or self.table.path[-1]
        path = self.table.options["path"]
        if not self.table.entry.partition_keys:
            return self._rows(environment, path, label)
        streams = [
            self._rows(environment, folder, f"{label} {values}").map(_WithPartition(self.table, row_type, values))
            for folder, values in _partitions(path, self.table.entry.partition_keys)
        ]
        if not streams:
            raise SqlError(f"Table {self.table.name}: there are no partitions in {path}.")
        return streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]

    def _rows(self, environment: Any, path: str, name: str) -> DataStream[tuple[Any, ...]]:
        stored = _stored_type(self.table)
        settings: Any = {} if self.interval is None else {"monitor_interval": Duration.of_millis(self.interval)}
        if self.format in LINES:
            form = row_format(self.format, stored, self.table.options, self.table.name)
            lines = environment.from_source(FileSource.text(path, **settings), None, name)
            made: DataStream[tuple[Any, ...]] = lines.flat_map(_Decoder(form))
            return made
        readers: dict[str, Any] = {"parquet": FileSource.parquet, "avro": FileSource.avro}
        if self.format not in readers:
            raise SqlError(f"Table {self.table.name}: 'format' must be one of {', '.join([*LINES, *readers])}.")
        rows = environment.from_source(readers[self.format](path, row_format="dict", **settings), None, name)
        converted: DataStream[tuple[Any, ...]] = rows.map(ToRow(stored))
        return converted


def _partitions(path: str, keys: tuple[str, ...]) -> list[tuple[str, dict[str, str]]]:
    base = Path(urlsplit(path).path if path.startswith("file:") else path)
    found = []
    for folder in sorted(base.glob("/".join(f"{key}=*" for key in keys))):
        values = [unquote(part.split("=", 1)[1]) for part in folder.parts[-len(keys) :]]
        found.append((str(folder), dict(zip(keys, values, strict=True))))
    return found


class _Decoder:
    def __init__(self, form: RowFormat) -> None:
        self.form = form

    def __call__(self, line: str) -> list[tuple[Any, ...]]:
        return self.form.decode(line.encode())


class _WithPartition:
    """Puts the values of the partition among the fields of the file."""

    def __init__(self, table: TableContext, row_type: LogicalType, values: dict[str, str]) -> None:
        self.places: list[tuple[bool, Any]] = []
        stored = 0
        for name, declared in zip(row_type.names, row_type.parts, strict=True):
            if name in values:
                self.places.append((True, _partition_value(declared, values[name])))
            else:
                stored += 1
                self.places.append((False, stored))

    def __call__(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (row[0], *[value if is_fixed else row[value] for is_fixed, value in self.places])


def _partition_value(declared: LogicalType, text: str) -> Any:
    if text == DEFAULT_PARTITION:
        return None
    if declared.kind in (Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT):
        return int(text)
    if declared.kind is Kind.BOOLEAN:
        return text == "true"
    return to_internal(declared)(text)


class _FileTableSink(TableSink):
    def __init__(self, table: TableContext) -> None:
        self.table = table

    def accepts(self, kinds: frozenset[int]) -> frozenset[int]:
        return INSERTS

    def consume(
        self,
        stream: DataStream[tuple[Any, ...]],
        row_type: LogicalType,
        primary_key: tuple[int, ...] = (),
        name: str = "",
        metadata: tuple[str, ...] = (),
    ) -> Any:
        stored = _stored_type(self.table)
        keep = tuple(row_type.names.index(each) for each in stored.names)
        keys = [(each, row_type.names.index(each)) for each in self.table.entry.partition_keys]
        bucket = _Bucket([(key, at, row_type.parts[at]) for key, at in keys]) if keys else None
        assigner = FunctionBucketAssigner(bucket) if bucket else None
        if self.table.options["format"] == "parquet" and assigner is None:
            return stream.map(ToElement(stored)).sink_to(FileSink.parquet(self.table.options["path"]))
        return stream.sink_to(self._sink(stored, keep, assigner))

    def _sink(self, stored: LogicalType, keep: tuple[int, ...], assigner: Any) -> FileSink:
        form, path = self.table.options["format"], self.table.options["path"]
        if form in LINES:
            encode = _Encoder(row_format(form, stored, self.table.options, self.table.name), keep)
            return FileSink.text(path, encode, bucket_assigner=assigner)
        raise SqlError(
            f"Table {self.table.name}: files of format '{form}' "
            f"{'by partitions ' if assigner else ''}cannot be written; these can: {', '.join(LINES)}"
            f"{'' if assigner else ', parquet'}."
        )


class _Encoder:
    def __init__(self, form: RowFormat, keep: tuple[int, ...]) -> None:
        self.form = form
        self.keep = keep

    def __call__(self, row: tuple[Any, ...]) -> bytes:
        return self.form.encode((row[0], *[row[each + 1] for each in self.keep])) + b"\n"


class _Bucket:
    def __init__(self, keys: list[tuple[str, int, LogicalType]]) -> None:
        self.keys = keys

    def __call__(self, row: tuple[Any, ...]) -> str:
        parts = []
        for key, at, declared in self.keys:
            value = row[at + 1]
            text = DEFAULT_PARTITION if value is None else quote(java_text(declared)(value), safe=" +-.,_")
            parts.append(f"{key}={text}")
        return "/".join(parts)
