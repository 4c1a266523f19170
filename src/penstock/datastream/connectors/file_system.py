"""File sources and sinks, under PyFlink's names."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypedDict, Unpack

from penstock.common.no_effect import warn_of_no_effect
from penstock.common.serialization import Encoder
from penstock.common.time import Duration
from penstock.common.type_variables import A, T_co
from penstock.connectors.files import sink as file_sink
from penstock.connectors.files import source as file_source
from penstock.connectors.files.avro_files import plain_schema
from penstock.connectors.files.bucketing import BucketAssigner
from penstock.connectors.files.compaction import Compaction, FileCompactor, FileCompactStrategy
from penstock.connectors.files.rolling import DefaultRollingPolicy, OnCheckpointRollingPolicy, RollingPolicy
from penstock.connectors.files.source import FileReading
from penstock.connectors.frame_source import RowFormat
from penstock.datastream.connectors.file_enumeration import (
    BY_THE_ENGINE,
    FileEnumeratorProvider,
    FileSplitAssignerProvider,
)
from penstock.errors import ConfigurationError
from penstock.formats.file_formats import CsvFormat, FileFormat, JsonFormat, TextFormat, line_of
from penstock.formats.parquet_format import ParquetFormat
from penstock.pyflink_names import names_from_elsewhere

__all__ = [
    "BucketAssigner",
    "BulkFormat",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
]

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class StreamFormat(Generic[T_co]):
    """A format that is read record by record."""

    reading: FileReading
    row_format: RowFormat = "row"

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat[str]:
        """Each line is a record, a str without its line end."""
        return StreamFormat(FileReading("text", {"encoding": charset_name}), "value")


@dataclass(frozen=True)
class BulkFormat(Generic[T_co]):
    """A format that is read in column batches."""

    reading: FileReading
    row_format: RowFormat = "row"


class FileSourceBuilder(Generic[T_co]):
    """Builds a file source."""

    def __init__(self, source_format: StreamFormat[T_co] | BulkFormat[T_co], paths: list[str]) -> None:
        self._format = source_format
        self._paths = paths
        self._discovery_ms: int | None = None

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder[T_co]:
        """Watch the paths for new files; makes the source unbounded."""
        self._discovery_ms = _interval_ms("FileSourceBuilder.monitor_continuously", discovery_interval)
        return self

    def process_static_file_set(self) -> FileSourceBuilder[T_co]:
        """Read the files present when the job starts, then end (the default)."""
        self._discovery_ms = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder[T_co]:
        """Accepted; the one that splits no files with a warning, because Spark decides about it."""
        if not isinstance(file_enumerator, FileEnumeratorProvider):
            raise ConfigurationError(f"set_file_enumerator: expected a FileEnumeratorProvider, not {file_enumerator!r}")
        if not file_enumerator.splits_files:
            warn_of_no_effect("set_file_enumerator", BY_THE_ENGINE)
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder[T_co]:
        """Accepted: tasks go where the files are, if the engine can."""
        if not isinstance(split_assigner, FileSplitAssignerProvider):
            raise ConfigurationError(
                f"set_split_assigner: expected a FileSplitAssignerProvider, not {split_assigner!r}"
            )
        return self

    def build(self) -> FileSource[T_co]:
        """Make the source."""
        return FileSource(
            list(self._paths), self._format.reading, discovery_ms=self._discovery_ms, row_format=self._format.row_format
        )


class FileReadingSettings(TypedDict, total=False):
    """Settings common to the short forms of `FileSource`."""

    monitor_interval: Duration | None
    max_files_per_batch: int | None
    glob: str | None
    recursive: bool
    row_format: RowFormat | None


class FileSource(file_source.FileSource[T_co]):
    """Reads files exactly-once; bounded unless `monitor_continuously` or `monitor_interval` is used."""

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat[A], *paths: str) -> FileSourceBuilder[A]:
        """Read files record by record."""
        return FileSourceBuilder(stream_format, list(paths))

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat[A], *paths: str) -> FileSourceBuilder[A]:
        """Read files in column batches."""
        return FileSourceBuilder(bulk_format, list(paths))

    @classmethod
    def text(cls, path: PathLike, **settings: Unpack[FileReadingSettings]) -> FileSource[str]:
        """Read lines of text, each a str."""
        return cls._of("text", path, FileReading("text"), settings)

    @classmethod
    def csv(
        cls,
        path: PathLike,
        schema: Any = None,
        header: bool = False,
        delimiter: str = ",",
        **settings: Unpack[FileReadingSettings],
    ) -> FileSource[Any]:
        """Read CSV as rows; without a schema the columns are inferred when the job starts.

        A quote inside quotes is doubled, as in `FileSink.csv`; use `CsvReaderFormat` for other layouts.
        """
        if not isinstance(header, bool):
            raise ConfigurationError(f"FileSource.csv: header must be True or False, got {header!r}.")
        if not isinstance(delimiter, str) or not delimiter:
            raise ConfigurationError(
                f"FileSource.csv: delimiter must be a single character such as ';', got {delimiter!r}."
            )
        options = {"header": str(header).lower(), "sep": delimiter, "escape": '"'}
        return cls._of("csv", path, FileReading("csv", options, schema), settings)

    @classmethod
    def json(cls, path: PathLike, schema: Any = None, **settings: Unpack[FileReadingSettings]) -> FileSource[Any]:
        """Read JSON lines as rows; without a schema the columns are inferred when the job starts."""
        return cls._of("json", path, FileReading("json", {}, schema), settings)

    @classmethod
    def parquet(cls, path: PathLike, schema: Any = None, **settings: Unpack[FileReadingSettings]) -> FileSource[Any]:
        """Read Parquet as rows."""
        return cls._of("parquet", path, FileReading("parquet", {}, schema), settings)

    @classmethod
    def orc(cls, path: PathLike, schema: Any = None, **settings: Unpack[FileReadingSettings]) -> FileSource[Any]:
        """Read ORC as rows."""
        return cls._of("orc", path, FileReading("orc", {}, schema), settings)

    @classmethod
    def avro(cls, path: PathLike, schema: Any = None, **settings: Unpack[FileReadingSettings]) -> FileSource[Any]:
        """Read Avro container files as rows; `schema` (JSON text or AvroSchema) chooses and evolves the fields."""
        return cls._of("avro", path, FileReading("avro", {}, plain_schema("FileSource.avro", schema)), settings)

    @classmethod
    def _of(cls, form: str, path: PathLike, reading: FileReading, settings: FileReadingSettings) -> FileSource[Any]:
        _check_settings(
            f"FileSource.{form}", dict(settings), [*_SETTING_TYPES, *inspect.signature(getattr(cls, form)).parameters]
        )
        interval = settings.get("monitor_interval")
        taken = FileReading(
            reading.file_format,
            reading.options,
            reading.schema,
            glob=settings.get("glob"),
            recursive=settings.get("recursive", True),
            max_files_per_batch=settings.get("max_files_per_batch"),
        )
        discovery_ms = None if interval is None else _interval_ms(f"FileSource.{form}: monitor_interval", interval)
        return cls(path, taken, discovery_ms=discovery_ms, row_format=settings.get("row_format"))


_SETTING_TYPES: dict[str, tuple[type, ...]] = {
    "monitor_interval": (),  # checked where it is read
    "max_files_per_batch": (int, type(None)),
    "glob": (str, type(None)),
    "recursive": (bool,),
    "row_format": (),
}


def _check_settings(form: str, settings: dict[str, Any], known: list[str]) -> None:
    """Python lets everything pass that is taken by **settings."""
    for name, value in settings.items():
        if name not in _SETTING_TYPES:
            near = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ConfigurationError(
                f"{form}: there is no setting {name!r}{hint}; known settings: {', '.join(_SETTING_TYPES)}."
            )
        expected = _SETTING_TYPES[name]
        if expected and (not isinstance(value, expected) or (isinstance(value, bool) and bool not in expected)):
            raise ConfigurationError(f"{form}: {name} must be a {expected[0].__name__}, got {value!r}.")


def _interval_ms(what: str, interval: Any) -> int:
    if not isinstance(interval, Duration):
        raise ConfigurationError(f"{what} must be a Duration, such as Duration.of_seconds(5), got {interval!r}.")
    return interval.to_millis()


class OutputFileConfig:
    """The names of part files: prefix, then owner, subtask, version and number, then suffix."""

    class OutputFileConfigBuilder:
        """Builds an `OutputFileConfig`."""

        def __init__(self) -> None:
            self._prefix = "part"
            self._suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the prefix of file names."""
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the suffix of file names, such as ".json"."""
            self._suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """Make the configuration."""
            return OutputFileConfig(self._prefix, self._suffix)

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Start with prefix "part" and no suffix."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        self.part_prefix = part_prefix
        self.part_suffix = part_suffix

    def get_part_prefix(self) -> str:
        """Return the prefix."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """Return the suffix."""
        return self.part_suffix


class FileSinkSettings(TypedDict, total=False):
    """Settings common to the short forms of `FileSink`."""

    bucket_assigner: BucketAssigner | None
    rolling_policy: RollingPolicy | None
    part_prefix: str
    part_suffix: str | None


class FileSink(file_sink.FileSink):
    """Writes files exactly-once. Row formats and bulk formats use the same rolling policies."""

    state_identity = "FileSink"

    class BaseBuilder:
        """Builds a file sink; by default there is a bucket for each hour."""

        def __init__(self, path: PathLike, file_format: FileFormat, rolling_policy: RollingPolicy) -> None:
            self._path = path
            self._format = file_format
            self._policy = rolling_policy
            self._assigner: BucketAssigner = BucketAssigner.date_time_bucket_assigner()
            self._files: OutputFileConfig | None = None
            self._compaction: Compaction | None = None

        def with_bucket_check_interval(self, interval: int) -> Self:
            """No effect (ms): parts are checked when they are due."""
            if interval <= 0:
                raise ConfigurationError(f"The bucket check interval must be above 0 ms, got {interval}.")
            return self

        def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
            """Set which folder a record goes to."""
            self._assigner = _checked(bucket_assigner, BucketAssigner, "with_bucket_assigner")
            return self

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            """Set when a part file is finished."""
            self._policy = _checked(rolling_policy, RollingPolicy, "with_rolling_policy")
            return self

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
            """Set prefix and suffix of the file names."""
            self._files = _checked(output_file_config, OutputFileConfig, "with_output_file_config")
            return self

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
            """Merge finished files of a bucket into one before publishing them."""
            _checked(strategy, FileCompactStrategy, "enable_compact")
            if _checked(compactor, FileCompactor, "enable_compact").delimiter and not isinstance(
                self._format, TextFormat
            ):
                raise ConfigurationError(
                    "FileSink.enable_compact: a delimiter between files goes with for_row_format only; leave it out; "
                    "files are merged as their format requires."
                )
            self._compaction = Compaction(strategy, compactor)
            return self

        def disable_compact(self) -> Self:
            """Publish files when they are finished; files that still wait in a checkpoint are published at once."""
            self._compaction = None
            return self

        def build(self) -> FileSink:
            """Make the sink."""
            files = self._files or OutputFileConfig("part", self._format.suffix)
            return FileSink(
                self._path,
                self._format,
                bucket_assigner=self._assigner,
                rolling_policy=self._policy,
                part_prefix=files.part_prefix,
                part_suffix=files.part_suffix,
                compaction=self._compaction,
            )

    class RowFormatBuilder(BaseBuilder):
        """Builds a sink that writes record by record; rolls by size and time by default."""

    class BulkFormatBuilder(BaseBuilder):
        """Builds a sink that writes column batches; rolls with every batch by default."""

    @staticmethod
    def for_row_format(base_path: PathLike, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """Write each record with an encoder, such as `Encoder.simple_string_encoder()`."""
        encode = _checked(encoder, Encoder, "for_row_format").encode
        return FileSink.RowFormatBuilder(base_path, TextFormat(encode), RollingPolicy.default_rolling_policy())

    @staticmethod
    def for_bulk_format(base_path: PathLike, writer_factory: FileFormat) -> FileSink.BulkFormatBuilder:
        """Write column batches, with `ParquetBulkWriters.for_row_type(...)` or `CsvBulkWriters.for_schema(...)`."""
        file_format = _checked(writer_factory, FileFormat, "for_bulk_format")
        return FileSink.BulkFormatBuilder(base_path, file_format, RollingPolicy.on_checkpoint_rolling_policy())

    @classmethod
    def text(
        cls, path: PathLike, encode: Callable[[Any], bytes] = line_of, **settings: Unpack[FileSinkSettings]
    ) -> FileSink:
        """Write str(record), or the result of `encode`, and a line feed."""
        return cls(path, TextFormat(encode), **settings)

    @classmethod
    def json(cls, path: PathLike, type_info: Any = None, **settings: Unpack[FileSinkSettings]) -> FileSink:
        """Write one JSON object per line; `type_info` names the fields of plain tuples."""
        return cls(path, JsonFormat(type_info), **settings)

    @classmethod
    def csv(
        cls,
        path: PathLike,
        type_info: Any = None,
        header: bool = False,
        delimiter: str = ",",
        **settings: Unpack[FileSinkSettings],
    ) -> FileSink:
        """Write CSV; the columns are those of `type_info`, or of the first record."""
        return cls(path, CsvFormat(type_info, header, delimiter), **settings)

    @classmethod
    def parquet(
        cls, path: PathLike, type_info: Any = None, compression: str = "snappy", **settings: Unpack[FileSinkSettings]
    ) -> FileSink:
        """Write Parquet; the columns are those of `type_info`, or inferred from the first records."""
        return cls(path, ParquetFormat(type_info, compression), **settings)


def _checked(value: Any, kind: type[Any], method: str) -> Any:
    if not isinstance(value, kind):
        raise ConfigurationError(f"FileSink.{method} needs a {kind.__name__}, got {value!r}.")
    return value


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
