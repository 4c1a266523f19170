"""Files as a source: text, CSV, JSON lines, Parquet, ORC, Avro; once or watched for new ones.

Spark lists and reads them, and keeps the offsets. Where there is no Spark, or it would not read the files as they are
meant, Penstock reads them (`penstock.connectors.files.own_source`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from penstock.common.type_variables import T_co
from penstock.connectors.files.own_reading import own_source
from penstock.connectors.files.own_source import OwnFileSource
from penstock.connectors.frame_source import FrameSource, RowFormat
from penstock.connectors.source import Source
from penstock.errors import ConfigurationError, SourceError
from penstock.formats.ddl import schema_to_ddl
from penstock.storage.places import absolute

_GLOB_SIGNS = frozenset("*?[]{}\\")
_DEFAULT_ROW_FORMATS = {"text": "value"}


@dataclass(frozen=True)
class FileReading:
    """How files are read: Spark's format name and options, and which files are taken.

    `recursive` takes files of all folders below a path, as Flink does. Without it Spark reads the path's own files
    and folders such as `day=3` as partition columns, but Spark 4.3 then reads files of a batch twice if the name of
    another one holds a glob sign such as `[`: see that no such names occur. `array_separators` are for columns of CSV
    that are arrays, by name; `skips_first_row` leaves out a line of CSV beside the header; `csv_escape` makes the
    sign behind it literal, within quotes and without.
    """

    file_format: str
    options: Mapping[str, str] = field(default_factory=dict)
    schema: Any = None
    glob: str | None = None
    recursive: bool = True
    max_files_per_batch: int | None = None
    array_separators: Mapping[str, str] = field(default_factory=dict)
    skips_first_row: bool = False
    csv_escape: str = ""

    def is_for_spark(self) -> bool:
        """Whether Spark reads such files as they are meant; the rest Penstock reads itself, on Spark too."""
        charset = self.options.get("encoding", "UTF-8").upper()
        return not (
            self.file_format == "avro"
            or self.array_separators
            or self.skips_first_row
            or self.csv_escape
            or (self.file_format == "text" and charset not in ("UTF-8", "UTF8", "US-ASCII"))
        )


class FileSource(FrameSource[T_co]):
    """Files of one or more directories, globs or single files: exactly-once, order of files not promised.

    Bounded by default: what is there when the job starts is read, then the source ends. With `discovery_ms` the
    paths are watched, and files that appear are read whole; a file must appear at once (by rename), not grow.
    """

    def __init__(
        self,
        paths: str | os.PathLike[str] | list[str],
        reading: FileReading,
        *,
        discovery_ms: int | None = None,
        row_format: RowFormat | None = None,
    ) -> None:
        """Describe the source; `row_format` None means lines for text and named rows for other formats."""
        self.paths = [os.fspath(path) for path in (paths if isinstance(paths, list) else [paths])]
        if not self.paths or not all(self.paths):
            raise ConfigurationError("A file source needs at least one path, and no path may be empty.")
        self.paths = [absolute(path) for path in self.paths]
        if discovery_ms is not None and discovery_ms <= 0:
            raise ConfigurationError(f"The discovery interval of a file source must be above 0, got {discovery_ms} ms.")
        if reading.max_files_per_batch is not None and reading.max_files_per_batch <= 0:
            raise ConfigurationError(f"max_files_per_batch must be above 0, got {reading.max_files_per_batch}.")
        self.reading = reading
        self.discovery_ms = discovery_ms
        is_avro = reading.file_format == "avro"  # whose schemas are of another kind
        self._ddl = None if reading.schema is None or is_avro else schema_to_ddl(reading.schema)
        super().__init__(
            self._read_stream,
            bounded=discovery_ms is None,
            row_format=row_format or _DEFAULT_ROW_FORMATS.get(reading.file_format, "row"),
        )

    def gives_columns(self) -> bool | None:
        """Return whether files of columns stay columns; of other files it depends on the engine."""
        is_known = callable(self.row_format) or self.reading.file_format in ("parquet", "orc")
        return super().gives_columns() if is_known else None

    def on_engine(self, name: str, *, has_spark: bool, is_continuous: bool = False) -> Source[T_co]:
        """Spark reads files, where there is one and it reads them right; what it is not told is learned here."""
        if has_spark and not is_continuous and self.reading.is_for_spark():
            return self
        return self.own()

    def own(self) -> OwnFileSource:
        """Return the same files as a source that Penstock reads itself."""
        return own_source(self)

    def _read_stream(self, spark: Any) -> Any:
        schema = self._schema(spark)
        frames = [self._stream_of(spark, path, schema) for path in self.paths]
        return reduce(lambda left, right: left.unionByName(right), frames)

    def _stream_of(self, spark: Any, path: str, schema: Any) -> Any:
        reader = spark.readStream.format(self.reading.file_format).options(**self._options())
        if self.reading.max_files_per_batch is not None:
            reader = reader.option("maxFilesPerTrigger", str(self.reading.max_files_per_batch))
        try:
            if schema is not None:
                reader = reader.schema(schema)
            return reader.load(self._streamable(path))
        except Exception as failure:
            raise _unreadable(path, failure) from failure

    def _schema(self, spark: Any) -> Any:
        """Return the declared schema, or the one Spark infers from the files that are there now."""
        if self.reading.file_format == "text":
            return None
        if self._ddl is not None:
            return self._ddl
        reader = spark.read.format(self.reading.file_format).options(**self._options())
        try:
            schema = reader.load([self._streamable(path) for path in self.paths]).schema
        except Exception as failure:
            if "UNABLE_TO_INFER_SCHEMA" not in str(failure):
                raise _unreadable(", ".join(self.paths), failure) from failure
            raise self.nothing_to_infer() from failure
        if not len(schema):
            raise self.nothing_to_infer()
        return schema

    def nothing_to_infer(self) -> SourceError:
        """Return the error for a source without schema and without files to infer it from."""
        return SourceError(
            f"The file source {', '.join(self.paths)} has no {self.reading.file_format} files to infer columns from: "
            "pass a schema, such as schema='id BIGINT, name STRING', or start the job when there are files."
        )

    def _options(self) -> dict[str, str]:
        options = dict(self.reading.options)
        if self.reading.file_format == "csv" and self._ddl is None:
            options.setdefault("inferSchema", "true")
        if self.reading.glob is not None:
            options["pathGlobFilter"] = self.reading.glob
        if self.reading.recursive:
            options["recursiveFileLookup"] = "true"
        return options

    def _streamable(self, path: str) -> str:
        """Spark streams directories and globs only, so a single local file is given as a glob that matches it."""
        local = path.removeprefix("file://")
        if "://" in local or not os.path.isfile(local):
            return path
        return glob_of_file(path)


def glob_of_file(path: str) -> str:
    """Return a glob that matches the file of that name and nothing else."""
    directory, name = os.path.split(path)
    escaped = "".join(f"\\{sign}" if sign in _GLOB_SIGNS else sign for sign in name)
    if escaped == name:
        plain_at = next((at for at, sign in enumerate(name) if sign.isalnum()), None)
        if plain_at is not None:
            escaped = f"{name[:plain_at]}[{name[plain_at]}]{name[plain_at + 1 :]}"
    return os.path.join(directory, escaped)


def _unreadable(path: str, failure: Exception) -> SourceError:
    reason = (str(failure).strip() or type(failure).__name__).splitlines()[0]
    if "PATH_NOT_FOUND" in reason:
        return SourceError(f"The file source cannot read {path}: there is no such file or directory.")
    return SourceError(f"The file source cannot read {path}: {reason}")
