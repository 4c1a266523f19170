"""A driver for tests of topologies: records in, records out, one at a time, in milliseconds and without a broker.

It runs the same tasks and stores as an application, with one partition for each topic and a clock set by hand.
"""

from __future__ import annotations

import time
from collections import deque
from types import TracebackType
from typing import Any, NamedTuple, Self

from penstock.common.time import to_millis
from penstock.errors import StreamsError
from penstock.kstreams.streams_config import StreamsConfig, checked_config
from penstock.kstreams.test_stores import PlainValues, PlainWindows
from penstock.kstreams.test_topics import Coder, TestInputTopic, TestOutputTopic, TestRecord, Written
from penstock.kstreams.topology import Topology
from penstock.runtime.operators.kstreams.earliest_first import EarliestFirst
from penstock.runtime.operators.kstreams.task import Task
from penstock.state.keyed import KeyedStateBackend
from penstock.state.memory_store import MemoryStore
from penstock.vocabulary.kstreams.records import NO_TIMESTAMP, Record, RecordMetadata
from penstock.vocabulary.kstreams.topology_nodes import SinkNode, SourceNode
from penstock.vocabulary.window.durations import Length

_TASK = 0


class _Arrival(NamedTuple):
    """A record on its way into the topology."""

    source: SourceNode
    record: Record
    metadata: RecordMetadata


def _time_of(arrival: _Arrival) -> int:
    return arrival.record.timestamp


class TopologyTestDriver:
    """Runs a topology on records that a test pipes in.

    >>> from penstock.kstreams import StreamsBuilder
    >>> builder = StreamsBuilder()
    >>> builder.stream("words").group_by_key().count().to_stream().to("counts")
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     words, counts = driver.create_input_topic("words"), driver.create_output_topic("counts")
    ...     for word in ["to", "be", "to"]:
    ...         words.pipe_input(word, word)
    ...     counts.read_key_values_to_list()
    [KeyValue(key='to', value=1), KeyValue(key='be', value=1), KeyValue(key='to', value=2)]
    """

    def __init__(
        self,
        topology: Topology,
        config: dict[str, Any] | None = None,
        initial_wall_clock_time: int | None = None,
    ) -> None:
        """Start the topology; the clock stands at a time, or at now, until a test advances it."""
        self.configs = checked_config(config or {})
        self.application_id = str(self.configs.get(StreamsConfig.APPLICATION_ID_CONFIG, "test-driver"))
        self._now = int(time.time() * 1000) if initial_wall_clock_time is None else initial_wall_clock_time
        key_serde, value_serde = StreamsConfig.default_serdes(self.configs)
        topology.with_default_serdes(key_serde, value_serde)
        topology.with_default_timestamp_extractor(StreamsConfig.default_timestamp_extractor(self.configs))
        self._topology = topology
        self._backend = KeyedStateBackend(128)
        self._backend.bind(MemoryStore(), 0)
        self._backend.set_key(_TASK)
        self._arrivals: EarliestFirst[_Arrival] = EarliestFirst(_time_of)
        self._outputs: dict[str, deque[Written]] = {}
        self._written_topics: set[str] = set()
        self._offsets: dict[str, int] = {}
        self._sent: list[tuple[SinkNode, str, Record]] = []
        self.dropped_records = 0
        self._task = Task(topology.whole(), _TASK, self, self._backend)
        self._task.open()

    def close(self) -> None:
        """Close the processors."""
        self._task.close()

    def __enter__(self) -> Self:
        """Use the driver in a `with` block, which closes it."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Close it."""
        self.close()

    # ---- topics ----

    def create_input_topic(
        self,
        topic: str,
        key_serializer: Coder = None,
        value_serializer: Coder = None,
        start_timestamp: int | None = None,
        auto_advance: Length = 0,
    ) -> TestInputTopic:
        """A topic to pipe records into. Serializers (or serdes) may be left out: those of the topology are used then.

        Records without a timestamp get `start_timestamp` (the clock, if it is left out), which advances each time.
        """
        if self._topology.source_of(topic) is None:
            raise StreamsError(f"No source of the topology reads the topic {topic!r}.")
        start = self._now if start_timestamp is None else start_timestamp
        return TestInputTopic(self, topic, key_serializer, value_serializer, start, to_millis(auto_advance))

    def create_output_topic(
        self, topic: str, key_deserializer: Coder = None, value_deserializer: Coder = None
    ) -> TestOutputTopic:
        """A topic to read results from. Deserializers (or serdes) may be left out, as serializers may."""
        return TestOutputTopic(self, topic, key_deserializer, value_deserializer)

    def produced_topic_names(self) -> set[str]:
        """The topics that something was written to."""
        return set(self._written_topics)

    def output_queue(self, topic: str) -> deque[Written]:
        """What was written to a topic and not read yet."""
        return self._outputs.setdefault(topic, deque())

    def pipe_record(self, topic: str, record: TestRecord, *, has_key_bytes: bool, has_value_bytes: bool) -> None:
        """Send a record through the topology, with all that follows from it."""
        source = self._topology.source_of(topic)
        assert source is not None
        if not has_key_bytes and source.key_serde is not None:
            record = record._replace(key=source.key_serde.serialize(record.key))
        if not has_value_bytes and source.value_serde is not None:
            record = record._replace(value=source.value_serde.serialize(record.value))
        self._enqueue(topic, source, record)
        self._work()

    def _enqueue(self, topic: str, source: SourceNode, given: TestRecord) -> None:
        offset = self._offsets.get(topic, 0)
        self._offsets[topic] = offset + 1
        key = given.key if source.key_serde is None or source.is_internal else source.key_serde.deserialize(given.key)
        value = (
            given.value
            if source.value_serde is None or source.is_internal
            else source.value_serde.deserialize(given.value)
        )
        timestamp = self._timestamp(source, key, value, given)
        if timestamp < 0:
            self.dropped_records += 1
            return
        record = Record(key, value, timestamp, given.headers)
        arrival = _Arrival(source, record, RecordMetadata(topic, 0, offset))
        if source.name in self._topology.global_sources:
            self._task.update_global(source.name, record, arrival.metadata)
        else:
            self._arrivals.put(topic, arrival)

    def _timestamp(self, source: SourceNode, key: Any, value: Any, given: TestRecord) -> int:
        timestamp = self._now if given.timestamp is None else given.timestamp
        if source.timestamp_extractor is None or timestamp < 0:
            return timestamp
        return source.timestamp_extractor(Record(key, value, timestamp, given.headers), self._task.stream_time)

    def _work(self) -> None:
        while len(self._arrivals):
            arrival = self._arrivals.take()
            self._task.process(arrival.source.name, arrival.record, arrival.metadata)
            self._deliver()

    def _deliver(self) -> None:
        """Take what sinks were given: to the output, and back into the topology if it reads the topic."""
        sent, self._sent = self._sent, []
        for sink, topic, record in sent:
            key_serde, value_serde = (None, None) if sink.is_internal else (sink.key_serde, sink.value_serde)
            encoded = TestRecord(
                record.key if key_serde is None else key_serde.serialize(record.key),
                record.value if value_serde is None else value_serde.serialize(record.value),
                record.timestamp,
                record.headers,
            )
            self._written_topics.add(topic)
            self.output_queue(topic).append(Written(encoded, key_serde, value_serde))
            source = self._topology.source_of(topic)
            if source is not None:
                self._enqueue(topic, source, encoded)

    # ---- what tasks ask of their host ----

    def now_ms(self) -> int:
        """The clock of the driver."""
        return self._now

    def send(self, sink: SinkNode, topic: str, record: Record) -> None:
        """Note what a sink was given."""
        self._sent.append((sink, topic, record))

    def dropped(self) -> None:
        """Count a dropped record."""
        self.dropped_records += 1

    # ---- time and state ----

    def advance_wall_clock_time(self, advance: Length) -> None:
        """Advance the clock, and call punctuators that are due."""
        self._now += to_millis(advance)
        self._task.punctuate_wall_clock(self._now)
        self._deliver()
        self._work()

    def stream_time(self) -> int | None:
        """The highest timestamp so far; None before the first record."""
        return None if self._task.stream_time == NO_TIMESTAMP else self._task.stream_time

    def get_state_store(self, name: str) -> Any:
        """A store by name, as processors see it."""
        if name not in self._topology.stores:
            known = ", ".join(sorted(self._topology.stores)) or "none"
            raise StreamsError(f"The topology has no state store {name!r}; its stores: {known}.")
        return self._task.store(name)

    def get_all_state_stores(self) -> dict[str, Any]:
        """All stores by name."""
        return {name: self._task.store(name) for name in self._topology.stores}

    def get_key_value_store(self, name: str) -> Any:
        """A key-value store of plain values, also where it keeps timestamps."""
        store = self.get_state_store(name)
        return PlainValues(store) if self._topology.stores[name].supplier.is_timestamped else store

    def get_timestamped_key_value_store(self, name: str) -> Any:
        """A key-value store of `ValueAndTimestamp`."""
        return self.get_state_store(name)

    def get_window_store(self, name: str) -> Any:
        """A window store of plain values, also where it keeps timestamps."""
        store = self.get_state_store(name)
        return PlainWindows(store) if self._topology.stores[name].supplier.is_timestamped else store

    def get_timestamped_window_store(self, name: str) -> Any:
        """A window store of `ValueAndTimestamp`."""
        return self.get_state_store(name)

    def get_session_store(self, name: str) -> Any:
        """A session store."""
        return self.get_state_store(name)
