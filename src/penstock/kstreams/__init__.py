"""Kafka Streams' DSL and processor API, in snake case, over Penstock's runtime: no broker-side topics of its own."""

from penstock.errors import StreamsError
from penstock.kstreams.branches import BranchedKStream
from penstock.kstreams.cogrouped_stream import CogroupedKStream, WindowedCogroupedKStream
from penstock.kstreams.description import TopologyDescription
from penstock.kstreams.global_table import GlobalKTable
from penstock.kstreams.grouped_stream import KGroupedStream
from penstock.kstreams.grouped_table import KGroupedTable
from penstock.kstreams.kafka_streams import KafkaStreams
from penstock.kstreams.naming import Named
from penstock.kstreams.options import (
    Branched,
    Consumed,
    Grouped,
    Joined,
    Materialized,
    Printed,
    Produced,
    Repartitioned,
    StreamJoined,
    TableJoined,
)
from penstock.kstreams.queries import QueryableStoreType, QueryableStoreTypes, StoreQueryParameters
from penstock.kstreams.stream import KStream
from penstock.kstreams.streams_builder import StreamsBuilder
from penstock.kstreams.streams_config import StreamsConfig
from penstock.kstreams.suppressed import BufferConfig, Suppressed
from penstock.kstreams.table import KTable
from penstock.kstreams.test_driver import TopologyTestDriver
from penstock.kstreams.test_topics import TestInputTopic, TestOutputTopic, TestRecord
from penstock.kstreams.topology import Topology
from penstock.kstreams.windowed_streams import SessionWindowedKStream, TimeWindowedKStream
from penstock.vocabulary.kstreams.processors import (
    Cancellable,
    ContextualFixedKeyProcessor,
    ContextualProcessor,
    FixedKeyProcessor,
    Processor,
    ProcessorContext,
    PunctuationType,
)
from penstock.vocabulary.kstreams.records import KeyValue, Record, RecordMetadata, ValueAndTimestamp, Window, Windowed
from penstock.vocabulary.kstreams.serdes import Serde, Serdes, WindowedSerdes
from penstock.vocabulary.kstreams.stores import (
    KeyValueStore,
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyWindowStore,
    SessionStore,
    StoreBuilder,
    Stores,
    StoreSupplier,
    WindowStore,
)
from penstock.vocabulary.kstreams.windows import (
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

__all__ = [
    "Branched",
    "BranchedKStream",
    "BufferConfig",
    "Cancellable",
    "CogroupedKStream",
    "Consumed",
    "ContextualFixedKeyProcessor",
    "ContextualProcessor",
    "EmitStrategy",
    "FixedKeyProcessor",
    "GlobalKTable",
    "Grouped",
    "JoinWindows",
    "Joined",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "KafkaStreams",
    "KeyValue",
    "KeyValueStore",
    "Materialized",
    "Named",
    "Printed",
    "Processor",
    "ProcessorContext",
    "Produced",
    "PunctuationType",
    "QueryableStoreType",
    "QueryableStoreTypes",
    "ReadOnlyKeyValueStore",
    "ReadOnlySessionStore",
    "ReadOnlyWindowStore",
    "Record",
    "RecordMetadata",
    "Repartitioned",
    "Serde",
    "Serdes",
    "SessionStore",
    "SessionWindowedKStream",
    "SessionWindows",
    "SlidingWindows",
    "StoreBuilder",
    "StoreQueryParameters",
    "StoreSupplier",
    "Stores",
    "StreamJoined",
    "StreamsBuilder",
    "StreamsConfig",
    "StreamsError",
    "Suppressed",
    "TableJoined",
    "TestInputTopic",
    "TestOutputTopic",
    "TestRecord",
    "TimeWindowedKStream",
    "TimeWindows",
    "Topology",
    "TopologyDescription",
    "TopologyTestDriver",
    "UnlimitedWindows",
    "ValueAndTimestamp",
    "Window",
    "WindowStore",
    "Windowed",
    "WindowedCogroupedKStream",
    "WindowedSerdes",
]
