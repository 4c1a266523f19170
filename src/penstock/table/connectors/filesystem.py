"""The connector 'filesystem': files of JSON, CSV, raw lines, Parquet, Avro or ORC, perhaps in folders by partition."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.common.column_block import ColumnBlock
from penstock.common.time import Duration
from penstock.datastream.connectors.file_system import FileSink, FileSource, RollingPolicy
from penstock.datastream.stream import DataStream
from penstock.errors import SqlError
from penstock.formats.file_formats import BlockEncoder, ByteEncoder, FileFormat
from penstock.graph.setting_values import memory_size
from penstock.table.connectors.contract import INSERTS, Connector, TableContext, TableSink, TableSource
from penstock.table.connectors.file_columns import (
    COLUMNAR,
    DEFAULT_PARTITION,
    FolderAssigner,
    Folders,
    StoredRows,
    file_format,
)
from penstock.table.connectors.row_formats import FORMAT_KEYS, RowFormat, row_format
from penstock.table.element_functions import ToRow
from penstock.vocabulary.sql.external_values import to_internal
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of

__all__ = ["FileSystemConnector"]

LINES = ("json", "csv", "raw")


class FileSystemConnector(Connector):
    """A folder of files; exactly once in both directions."""

    name = "filesystem"

    def keys(self) -> Mapping[str, str]:
        """Where the files are, and what is in them."""
        return {
            "path": "the folder, or a file to read",
            "format": "json, csv, raw, parquet, avro or orc",
            "source.monitor-interval": "look for new files this often; without it the table ends",
            "partition.default-name": "the folder of NULL",
            "sink.rolling-policy.file-size": "a file ends with this size, 128MB unless set",
            "sink.rolling-policy.rollover-interval": "a file ends after this time, 30 min unless set",
            "sink.rolling-policy.inactivity-interval": "a file ends after so long without a row, 30 min unless set",
            "sink.rolling-policy.check-interval": "kept for Flink programs",
            "parquet.": "compression",
            "orc.": "compress",
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
        readers: dict[str, Any] = {"parquet": FileSource.parquet, "avro": FileSource.avro, "orc": FileSource.orc}
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
                default = table.options.get("partition.default-name") or DEFAULT_PARTITION
                self.places.append((True, _partition_value(declared, values[name], default)))
            else:
                stored += 1
                self.places.append((False, stored))

    def __call__(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (row[0], *[value if is_fixed else row[value] for is_fixed, value in self.places])


def _partition_value(declared: LogicalType, text: str, default: str) -> Any:
    if text == default:
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
        return stream.sink_to(self._sink(row_type))

    def _sink(self, row_type: LogicalType) -> FileSink:
        options, form = self.table.options, self.table.options["format"]
        stored = _stored_type(self.table)
        keep = tuple(row_type.names.index(each) for each in stored.names)
        places = [(each, row_type.names.index(each)) for each in self.table.entry.partition_keys]
        default = options.get("partition.default-name") or DEFAULT_PARTITION
        folders = Folders([(key, at, row_type.parts[at]) for key, at in places], default)
        if form in LINES:
            lines = _Lines(row_format(form, stored, options, self.table.name), keep)
            assigner = FolderAssigner(folders) if places else None
            return FileSink(options["path"], lines, bucket_assigner=assigner, rolling_policy=self._rolling())
        if form not in COLUMNAR:
            raise SqlError(
                f"Table {self.table.name}: files of format '{form}' cannot be written; these can: "
                f"{', '.join([*LINES, *COLUMNAR])}."
            )
        kind = file_format(form, stored, options.under(f"{form}."))
        rows = StoredRows(folders, stored, keep)
        return FileSink(options["path"], kind, bucket_assigner=rows, rolling_policy=self._rolling())

    def _rolling(self) -> RollingPolicy | None:
        options = self.table.options
        size = options.get("sink.rolling-policy.file-size")
        rollover = options.millis("sink.rolling-policy.rollover-interval")
        inactive = options.millis("sink.rolling-policy.inactivity-interval")
        if size is None and rollover is None and inactive is None:
            return None
        half_an_hour = 30 * 60_000
        bytes_ = 128 << 20 if size is None else memory_size(size)
        return RollingPolicy.default_rolling_policy(bytes_, rollover or half_an_hour, inactive or half_an_hour)


@dataclass(frozen=True)
class _Lines(FileFormat):
    """A line for the fields `keep` of each row."""

    form: RowFormat
    keep: tuple[int, ...]

    def create_encoder(self, sink_name: str, learned: Any) -> BlockEncoder:
        return _LineEncoder(sink_name, self.form, self.keep)


class _LineEncoder(ByteEncoder):
    def __init__(self, sink_name: str, form: RowFormat, keep: tuple[int, ...]) -> None:
        super().__init__(sink_name)
        self._form = form
        self._keep = keep

    def encode_columns(self, block: ColumnBlock) -> bytes | None:
        return self._form.encode_columns([block.batch.column(at + 1) for at in self._keep])

    def encode(self, values: list[Any]) -> bytes:
        try:
            return self._form.encode_lines(values, self._keep)
        except (TypeError, UnicodeError, csv.Error):
            for value in values:
                try:
                    self._form.encode_lines([value], self._keep)
                except (TypeError, UnicodeError, csv.Error) as failure:
                    raise self.refused(value, "a line", failure) from None
            raise
