"""Records, changes of a table, windows and windowed keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.errors import StreamsError

Headers = tuple[tuple[str, bytes | None], ...]
"""Headers of a record, in their order; a name may occur more than once."""

NO_TIMESTAMP = -1
"""The timestamp that stands for "none seen yet", as in Kafka."""


class KeyValue(NamedTuple):
    """A key with its value: what `map` and `flat_map` return, and what stores iterate over."""

    key: Any
    value: Any

    @staticmethod
    def pair(key: Any, value: Any) -> KeyValue:
        """Make a pair; the same as `KeyValue(key, value)`."""
        return KeyValue(key, value)


class ValueAndTimestamp(NamedTuple):
    """A value with the timestamp of its last update, as timestamped stores hold it."""

    value: Any
    timestamp: int


class RecordMetadata(NamedTuple):
    """Where a record was read: topic, partition and offset."""

    topic: str
    partition: int
    offset: int


class Record:
    """A record on its way through a topology: key, value, timestamp in milliseconds, headers.

    Records are not changed: `with_key`, `with_value`, `with_timestamp` and `with_headers` give new ones.
    """

    __slots__ = ("headers", "key", "timestamp", "value")

    def __init__(self, key: Any, value: Any, timestamp: int, headers: Headers = ()) -> None:
        """Make a record; a negative timestamp is refused."""
        if timestamp < 0:
            raise StreamsError(f"A record's timestamp must not be negative, got {timestamp}.")
        self.key = key
        self.value = value
        self.timestamp = timestamp
        self.headers = headers

    def with_key(self, key: Any) -> Record:
        """The record with another key."""
        return Record(key, self.value, self.timestamp, self.headers)

    def with_value(self, value: Any) -> Record:
        """The record with another value."""
        return Record(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> Record:
        """The record with another timestamp."""
        return Record(self.key, self.value, timestamp, self.headers)

    def with_headers(self, headers: Headers) -> Record:
        """The record with other headers."""
        return Record(self.key, self.value, self.timestamp, tuple(headers))

    def __repr__(self) -> str:
        """Key, value, timestamp, and headers if there are any."""
        headers = f", headers={self.headers!r}" if self.headers else ""
        return f"Record({self.key!r}, {self.value!r}, timestamp={self.timestamp}{headers})"

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal."""
        return (
            isinstance(other, Record)
            and (self.key, self.value, self.timestamp) == (other.key, other.value, other.timestamp)
            and tuple(self.headers) == tuple(other.headers)
        )

    __hash__ = None  # type: ignore[assignment]


class Change(NamedTuple):
    """An update of a table: the new value and, where somebody needs it, the old one. None means absent."""

    new: Any
    old: Any = None


@dataclass(frozen=True, order=True)
class Window:
    """A span of time from `start`; whether `end` belongs to it depends on the kind of window."""

    start: int
    end: int

    def overlaps(self, other: Window) -> bool:
        """Whether two windows share a moment."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Windowed:
    """A key together with the window that a result is for."""

    key: Any
    window: Window

    def __str__(self) -> str:
        """The text that Kafka Streams prints: [key@start/end]."""
        return f"[{self.key}@{self.window.start}/{self.window.end}]"
