"""Bucket assigners: the folder of each record below the base path of a file sink."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from penstock.common.column_block import ColumnBlock
from penstock.errors import ConfigurationError, SinkError

_FOLDER_BYTES_MAX = 255


def wall_clock_ms() -> int:
    """Milliseconds since the epoch, by this machine's clock."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class BucketContext:
    """The times that a bucket assigner can use."""

    processing_time_ms: int
    watermark: int
    element_timestamp: int | None

    def current_processing_time(self) -> int:
        """Processing time in milliseconds."""
        return self.processing_time_ms

    def current_watermark(self) -> int:
        """Watermark at the sink."""
        return self.watermark

    def timestamp(self) -> int | None:
        """Event time of the record in milliseconds, or None."""
        return self.element_timestamp


class BucketAssigner(ABC):
    """Assigns each record to a bucket: a folder, possibly nested ("day=3/hour=7"); "" is the base path."""

    clock: Callable[[], int] = staticmethod(wall_clock_ms)

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Put all files into the base path."""
        return BasePathBucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> DateTimeBucketAssigner:
        """Name folders after the processing time, by a Java date pattern; the zone defaults to the machine's."""
        return DateTimeBucketAssigner(format_str, timezone_id)

    @staticmethod
    def by(function: Callable[[Any], Any]) -> FunctionBucketAssigner:
        """Name the folder of a record by a function of it, such as `lambda order: f"country={order.country}"`."""
        return FunctionBucketAssigner(function)

    @abstractmethod
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """Name the bucket of one record; called in a task for every record."""

    def assign(
        self, values: list[Any], timestamps: list[int | None] | None, watermark: int
    ) -> Iterable[tuple[str, list[Any]]]:
        """Sort a block of records into buckets, keeping their order in each."""
        now_ms = self.clock()
        buckets: dict[str, list[Any]] = {}
        for value, timestamp in zip(values, timestamps or [None] * len(values), strict=True):
            bucket = self.get_bucket_id(value, BucketContext(now_ms, watermark, timestamp))
            buckets.setdefault(bucket, []).append(value)
        return buckets.items()

    def assign_columns(self, block: ColumnBlock) -> Iterable[tuple[str, ColumnBlock]] | None:
        """Sort a block of columns into buckets, keeping their order in each; None where records have to be asked."""
        return None


class BasePathBucketAssigner(BucketAssigner):
    """One bucket, the base path."""

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """Name the base path."""
        return ""

    def assign(
        self, values: list[Any], timestamps: list[int | None] | None, watermark: int
    ) -> Iterable[tuple[str, list[Any]]]:
        """Keep the block whole."""
        return [("", values)]

    def assign_columns(self, block: ColumnBlock) -> Iterable[tuple[str, ColumnBlock]] | None:
        """Keep the block whole; a class derived from this one may not."""
        return [("", block)] if type(self) is BasePathBucketAssigner else None


@dataclass(frozen=True)
class DateTimeBucketAssigner(BucketAssigner):
    """A bucket for each hour (or what the pattern shows) of processing time."""

    format_str: str = "yyyy-MM-dd--HH"
    timezone_id: str | None = None
    clock: Callable[[], int] = wall_clock_ms
    strftime: str = field(init=False)

    def __post_init__(self) -> None:
        """Check pattern and zone, so that a mistake shows before the job starts."""
        object.__setattr__(self, "strftime", _strftime_pattern(self.format_str))
        self._zone()

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """Format the processing time."""
        return self._bucket_at(context.processing_time_ms)

    def assign(
        self, values: list[Any], timestamps: list[int | None] | None, watermark: int
    ) -> Iterable[tuple[str, list[Any]]]:
        """Give the whole block the time of its arrival."""
        return [(self._bucket_at(self.clock()), values)]

    def _bucket_at(self, now_ms: int) -> str:
        return datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(self._zone()).strftime(self.strftime)

    def _zone(self) -> ZoneInfo | None:
        if self.timezone_id is None:
            return None
        try:
            return ZoneInfo(self.timezone_id)
        except (KeyError, ValueError, OSError) as failure:
            raise ConfigurationError(
                f"Unknown time zone {self.timezone_id!r}: use a name such as 'Europe/Berlin' or 'UTC'."
            ) from failure


@dataclass(frozen=True)
class FunctionBucketAssigner(BucketAssigner):
    """Assigns buckets with a function of the record."""

    function: Callable[[Any], Any]

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """Ask the function."""
        return str(self.function(element))

    def assign(
        self, values: list[Any], timestamps: list[int | None] | None, watermark: int
    ) -> Iterable[tuple[str, list[Any]]]:
        """Sort by the function alone; it needs no context."""
        function = self.function
        buckets: dict[str, list[Any]] = {}
        for value in values:
            buckets.setdefault(str(function(value)), []).append(value)
        return buckets.items()


def checked_bucket(bucket: str, sink_name: str) -> str:
    """Return the bucket, or raise if it would leave the base path or hide its files from readers."""
    if bucket and not all(map(_is_readable_folder, bucket.split("/"))):
        raise SinkError(
            f"Sink {sink_name!r}: {bucket[:200]!r} cannot be a bucket; a folder name has 1 to {_FOLDER_BYTES_MAX} "
            f"bytes and does not start with '.' or '_', which readers skip. Change the bucket assigner."
        )
    return bucket


def _is_readable_folder(name: str) -> bool:
    if not name or "\0" in name or len(name.encode()) > _FOLDER_BYTES_MAX:
        return False
    return name[0] != "." and (name[0] != "_" or "=" in name)  # Spark's and Hive's rule for what readers skip


_JAVA_FIELDS = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "yy": "%y",
    "MM": "%m",
    "MMM": "%b",
    "dd": "%d",
    "DDD": "%j",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "EEE": "%a",
}


_JAVA_TOKEN = re.compile(r"'(?P<quoted>[^']*)'|(?P<field>(?P<letter>[a-zA-Z])(?P=letter)*)|(?P<other>.)", re.DOTALL)


def _strftime_pattern(java_pattern: str) -> str:
    """Translate a Java date pattern; letters are fields, text in quotes and other signs stay as they are."""
    parts = []
    for token in _JAVA_TOKEN.finditer(java_pattern):
        letters = token["field"]
        if letters and letters not in _JAVA_FIELDS:
            raise ConfigurationError(
                f"{letters!r} in the date pattern {java_pattern!r} is not supported; use {', '.join(_JAVA_FIELDS)}, "
                f"and quote plain text with '...'."
            )
        parts.append(_JAVA_FIELDS[letters] if letters else (token["quoted"] or token["other"] or "").replace("%", "%%"))
    return "".join(parts)
