"""Topics of the test driver: where a test pipes records in and reads results."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from penstock.common.time import to_millis
from penstock.errors import StreamsError
from penstock.vocabulary.kstreams.records import Headers, KeyValue
from penstock.vocabulary.kstreams.serdes import Deserializer, Serde, Serializer
from penstock.vocabulary.window.durations import Length

Coder = Serde | Serializer | Deserializer | None


class TestRecord(NamedTuple):
    """A record of a test: key, value, timestamp in milliseconds, headers."""

    key: Any
    value: Any
    timestamp: int | None = None
    headers: Headers = ()


TestRecord.__test__ = False  # type: ignore[attr-defined] # it is no test, whatever pytest thinks of its name


class Written(NamedTuple):
    """A record in a topic, and the serdes it was written with, if it was."""

    record: TestRecord
    key_serde: Serde | None
    value_serde: Serde | None


class Driver(Protocol):
    """What topics ask of the driver."""

    def pipe_record(self, topic: str, record: TestRecord, *, has_key_bytes: bool, has_value_bytes: bool) -> None:
        """Send a record through the topology."""

    def output_queue(self, topic: str) -> deque[Written]:
        """What was written to a topic and not read yet."""


def _serialized(coder: Coder, value: Any) -> Any:
    if coder is None or value is None:
        return value
    return coder.serialize(value) if isinstance(coder, Serde) else coder(value)


def _deserialized(coder: Coder, data: Any) -> Any:
    if coder is None or data is None:
        return data
    return coder.deserialize(data) if isinstance(coder, Serde) else coder(data)


class TestInputTopic:
    """A topic that a test pipes records into."""

    __test__ = False

    def __init__(self, driver: Driver, topic: str, key: Coder, value: Coder, start: int, advance_ms: int) -> None:
        self._driver = driver
        self._topic = topic
        self._coders = key, value
        self._now = start
        self._advance_ms = advance_ms

    def pipe_input(self, key: Any, value: Any = ..., timestamp: int | None = None, headers: Headers = ()) -> None:
        """Pipe a record in: `(key, value)`, `(key, value, timestamp)`, a `TestRecord`, or a value alone."""
        if isinstance(key, TestRecord):
            key, value, timestamp, headers = key
        elif value is ...:
            key, value = None, key
        if timestamp is None:
            timestamp = self._now
            self._now += self._advance_ms
        key_coder, value_coder = self._coders
        record = TestRecord(_serialized(key_coder, key), _serialized(value_coder, value), timestamp, tuple(headers))
        self._driver.pipe_record(
            self._topic, record, has_key_bytes=key_coder is not None, has_value_bytes=value_coder is not None
        )

    def pipe_key_value_list(
        self, pairs: Iterable[tuple[Any, Any]], start_timestamp: int | None = None, advance: Length = 0
    ) -> None:
        """Pipe pairs of key and value in; with a start, their timestamps advance from there."""
        for number, (key, value) in enumerate(pairs):
            given = None if start_timestamp is None else start_timestamp + number * to_millis(advance)
            self.pipe_input(key, value, given)

    def pipe_value_list(self, values: Iterable[Any]) -> None:
        """Pipe values without keys in."""
        for value in values:
            self.pipe_input(None, value)

    def pipe_record_list(self, records: Iterable[TestRecord]) -> None:
        """Pipe records in."""
        for record in records:
            self.pipe_input(record)

    def advance_time(self, advance: Length) -> None:
        """Advance the timestamp of records that are piped in without one."""
        self._now += to_millis(advance)


class TestOutputTopic:
    """A topic that a test reads results from."""

    __test__ = False

    def __init__(self, driver: Driver, topic: str, key: Coder, value: Coder) -> None:
        self._driver = driver
        self._topic = topic
        self._coders = key, value

    def read_record(self) -> TestRecord:
        """The next record; none left is an error."""
        queue = self._driver.output_queue(self._topic)
        if not queue:
            raise StreamsError(f"Topic {self._topic!r} is empty: every record was read, or none was written.")
        return self._decoded(queue.popleft())

    def _decoded(self, written: Written) -> TestRecord:
        record, (key, value) = written.record, self._coders
        return record._replace(
            key=_deserialized(written.key_serde if key is None else key, record.key),
            value=_deserialized(written.value_serde if value is None else value, record.value),
        )

    def read_key_value(self) -> KeyValue:
        """Key and value of the next record."""
        record = self.read_record()
        return KeyValue(record.key, record.value)

    def read_value(self) -> Any:
        """The value of the next record."""
        return self.read_record().value

    def read_records_to_list(self) -> list[TestRecord]:
        """All records that were not read yet."""
        return [self.read_record() for _ in range(self.get_queue_size())]

    def read_key_values_to_list(self) -> list[KeyValue]:
        """Keys and values of all records that were not read yet."""
        return [self.read_key_value() for _ in range(self.get_queue_size())]

    def read_key_values_to_map(self) -> dict[Any, Any]:
        """The last value of each key."""
        return dict(self.read_key_values_to_list())

    def read_values_to_list(self) -> list[Any]:
        """Values of all records that were not read yet."""
        return [self.read_value() for _ in range(self.get_queue_size())]

    def is_empty(self) -> bool:
        """Whether every record was read."""
        return not self._driver.output_queue(self._topic)

    def get_queue_size(self) -> int:
        """How many records were not read yet."""
        return len(self._driver.output_queue(self._topic))
