"""What can be said about an operation: Consumed, Produced, Grouped, Joined, Materialized and the like.

All of them are immutable: each `with_...` gives a new one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from penstock.errors import StreamsError
from penstock.kstreams.naming import checked_name
from penstock.vocabulary.kstreams.processors import StreamPartitioner, TimestampExtractor
from penstock.vocabulary.kstreams.serdes import Serde
from penstock.vocabulary.kstreams.stores import StoreSupplier
from penstock.vocabulary.kstreams.windows import millis
from penstock.vocabulary.window.durations import Length


def checked_serde(serde: Serde | None, owner: str) -> Serde | None:
    """A serde or None."""
    if serde is None or isinstance(serde, Serde):
        return serde
    raise StreamsError(f"{owner} needs a Serde such as Serdes.String(), got {serde!r}.")


@dataclass(frozen=True)
class _Option:
    """Names and serdes, which most options have."""

    name: str | None = None
    key_serde: Serde | None = None
    value_serde: Serde | None = None

    @classmethod
    def as_(cls, name: str) -> Self:
        """Give the operator a name."""
        return cls(name=checked_name(name))

    @classmethod
    def with_(cls, key_serde: Serde | None = None, value_serde: Serde | None = None) -> Self:
        """Say how keys and values are serialized."""
        checked_serde(key_serde, cls.__name__)
        return cls(key_serde=key_serde, value_serde=checked_serde(value_serde, cls.__name__))

    @classmethod
    def key_serde_of(cls, key_serde: Serde) -> Self:
        """Say how keys are serialized."""
        return cls(key_serde=checked_serde(key_serde, cls.__name__))

    @classmethod
    def value_serde_of(cls, value_serde: Serde) -> Self:
        """Say how values are serialized."""
        return cls(value_serde=checked_serde(value_serde, cls.__name__))

    def with_name(self, name: str) -> Self:
        """The same with a name."""
        return replace(self, name=checked_name(name))

    def with_key_serde(self, key_serde: Serde | None) -> Self:
        """The same with a serde of keys."""
        return replace(self, key_serde=checked_serde(key_serde, type(self).__name__))

    def with_value_serde(self, value_serde: Serde | None) -> Self:
        """The same with a serde of values."""
        return replace(self, value_serde=checked_serde(value_serde, type(self).__name__))


@dataclass(frozen=True)
class Consumed(_Option):
    """How a topic is read: serdes, timestamps, and where to begin when there is no offset yet."""

    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: str | None = None

    def with_timestamp_extractor(self, extractor: TimestampExtractor) -> Consumed:
        """Take timestamps by a function of the record and the stream time so far."""
        return replace(self, timestamp_extractor=extractor)

    def with_offset_reset_policy(self, policy: str) -> Consumed:
        """Begin at the "earliest" or the "latest" offset."""
        if policy not in ("earliest", "latest"):
            raise StreamsError(f"Consumed: the offset reset policy is 'earliest' or 'latest', not {policy!r}.")
        return replace(self, offset_reset=policy)


@dataclass(frozen=True)
class Produced(_Option):
    """How a topic is written: serdes, and which partition a record goes to."""

    stream_partitioner: StreamPartitioner | None = None

    @classmethod
    def stream_partitioner_of(cls, partitioner: StreamPartitioner) -> Produced:
        """Choose partitions by a function."""
        return cls(stream_partitioner=partitioner)

    def with_stream_partitioner(self, partitioner: StreamPartitioner) -> Produced:
        """The same, choosing partitions by a function."""
        return replace(self, stream_partitioner=partitioner)


@dataclass(frozen=True)
class Grouped(_Option):
    """How a stream or table is grouped; the name is that of the repartition topic."""


@dataclass(frozen=True)
class Repartitioned(_Option):
    """How a stream is repartitioned."""

    partitions: int | None = None
    stream_partitioner: StreamPartitioner | None = None

    @classmethod
    def number_of_partitions(cls, partitions: int) -> Repartitioned:
        """Say how many partitions there are to be."""
        return cls().with_number_of_partitions(partitions)

    @classmethod
    def stream_partitioner_of(cls, partitioner: StreamPartitioner) -> Repartitioned:
        """Choose partitions by a function."""
        return cls(stream_partitioner=partitioner)

    def with_number_of_partitions(self, partitions: int) -> Repartitioned:
        """The same with a number of partitions."""
        if partitions < 1:
            raise StreamsError(f"Repartitioned: there must be at least one partition, got {partitions}.")
        return replace(self, partitions=partitions)

    def with_stream_partitioner(self, partitioner: StreamPartitioner) -> Repartitioned:
        """The same, choosing partitions by a function."""
        return replace(self, stream_partitioner=partitioner)


@dataclass(frozen=True)
class Joined:
    """How a stream is joined with a table: serdes for a repartition, and a name."""

    key_serde: Serde | None = None
    value_serde: Serde | None = None
    other_value_serde: Serde | None = None
    name: str | None = None

    @classmethod
    def with_(
        cls, key_serde: Serde | None = None, value_serde: Serde | None = None, other_value_serde: Serde | None = None
    ) -> Joined:
        """Say how keys and values are serialized."""
        return cls(key_serde, value_serde, other_value_serde)

    @classmethod
    def as_(cls, name: str) -> Joined:
        """Give the join a name."""
        return cls(name=checked_name(name))

    def with_name(self, name: str) -> Joined:
        """The same with a name."""
        return replace(self, name=checked_name(name))


@dataclass(frozen=True)
class StreamJoined:
    """How two streams are joined: serdes, a name for operators and one for stores."""

    key_serde: Serde | None = None
    value_serde: Serde | None = None
    other_value_serde: Serde | None = None
    name: str | None = None
    store_name: str | None = None

    @classmethod
    def with_(
        cls, key_serde: Serde | None = None, value_serde: Serde | None = None, other_value_serde: Serde | None = None
    ) -> StreamJoined:
        """Say how keys and values are serialized."""
        return cls(key_serde, value_serde, other_value_serde)

    @classmethod
    def as_(cls, store_name: str) -> StreamJoined:
        """Give the stores a name."""
        return cls(store_name=checked_name(store_name))

    def with_name(self, name: str) -> StreamJoined:
        """The same with a name for its operators."""
        return replace(self, name=checked_name(name))

    def with_store_name(self, store_name: str) -> StreamJoined:
        """The same with a name for its stores."""
        return replace(self, store_name=checked_name(store_name))


@dataclass(frozen=True)
class TableJoined:
    """How two tables are joined by a foreign key: a name, and partitioners of either table."""

    name: str | None = None
    partitioner: StreamPartitioner | None = None
    other_partitioner: StreamPartitioner | None = None

    @classmethod
    def as_(cls, name: str) -> TableJoined:
        """Give the join a name."""
        return cls(checked_name(name))

    @classmethod
    def with_(cls, partitioner: StreamPartitioner | None, other: StreamPartitioner | None) -> TableJoined:
        """Say how the tables are partitioned."""
        return cls(None, partitioner, other)


@dataclass(frozen=True)
class Materialized(_Option):
    """How a table is kept: the name of its store, by which it can be queried, serdes and retention."""

    supplier: StoreSupplier | None = None
    retention_ms: int | None = None

    @classmethod
    def as_(cls, name: str | StoreSupplier) -> Materialized:
        """Keep the table in a store of this name, or in a store made by `Stores`."""
        if isinstance(name, StoreSupplier):
            return cls(name=name.name, supplier=name)
        return cls(name=checked_name(name))

    def with_retention(self, retention: Length) -> Materialized:
        """Keep windows for that long."""
        return replace(self, retention_ms=millis(retention, "Materialized.with_retention", "retention"))

    def with_caching_enabled(self) -> Materialized:
        """Taken for compatibility: every update is forwarded, whatever is said here."""
        return self

    def with_caching_disabled(self) -> Materialized:
        """What Penstock does anyway."""
        return self

    def with_logging_enabled(self, config: dict[str, str] | None = None) -> Materialized:
        """Taken for compatibility: checkpoints keep the store, there is no changelog topic."""
        return self

    def with_logging_disabled(self) -> Materialized:
        """Taken for compatibility: checkpoints keep the store all the same."""
        return self


@dataclass(frozen=True)
class Branched:
    """What becomes of a branch: a name, and a function or consumer of its stream."""

    name: str | None = None
    function: Callable[[Any], Any] | None = None
    consumer: Callable[[Any], None] | None = None

    @classmethod
    def as_(cls, name: str) -> Branched:
        """Name the branch."""
        return cls(name)

    @classmethod
    def with_function(cls, function: Callable[[Any], Any], name: str | None = None) -> Branched:
        """Go on with the stream that a function makes of the branch."""
        return cls(name, function)

    @classmethod
    def with_consumer(cls, consumer: Callable[[Any], None], name: str | None = None) -> Branched:
        """Hand the branch to a function; it is not in the dict of branches."""
        return cls(name, None, consumer)


@dataclass(frozen=True)
class Printed:
    """How records are printed: where to, with which label, by which function."""

    path: str | None = None
    label: str | None = None
    mapper: Callable[[Any, Any], str] | None = None

    @classmethod
    def to_sys_out(cls) -> Printed:
        """Print to standard output."""
        return cls()

    @classmethod
    def to_file(cls, path: str) -> Printed:
        """Append to a file."""
        return cls(path)

    def with_label(self, label: str) -> Printed:
        """The same with a label instead of the operator's name."""
        return replace(self, label=label)

    def with_key_value_mapper(self, mapper: Callable[[Any, Any], str]) -> Printed:
        """The same with a function that makes the text."""
        return replace(self, mapper=mapper)

    def writer(self) -> LineWriter:
        """What writes the lines."""
        return LineWriter(self.path)


class LineWriter:
    """Writes a line to standard output or to the end of a file."""

    def __init__(self, path: str | None) -> None:
        self._path = path

    def __call__(self, line: str) -> None:
        """Write a line."""
        if self._path is None:
            sys.stdout.write(line + "\n")
            return
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(line + "\n")
