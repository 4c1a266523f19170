"""The nodes of a topology, as data: sources, processors and sinks, by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.vocabulary.kstreams.processors import StreamPartitioner, TimestampExtractor
from penstock.vocabulary.kstreams.records import RecordMetadata
from penstock.vocabulary.kstreams.serdes import Serde
from penstock.vocabulary.kstreams.stores import StoreBuilder


class ProcessorSupplier(Protocol):
    """Makes a fresh processor for each task."""

    def get(self) -> Any:
        """A new processor."""


@dataclass
class SourceNode:
    """Reads topics; its records enter the topology here."""

    name: str
    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None = None
    key_serde: Serde | None = None
    value_serde: Serde | None = None
    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: str | None = None
    is_internal: bool = False

    def reads(self, topic: str) -> bool:
        """Whether records of a topic enter here."""
        return topic in self.topics or (self.pattern is not None and self.pattern.fullmatch(topic) is not None)


@dataclass
class ProcessorNode:
    """Runs a processor on what its parents forward."""

    name: str
    supplier: ProcessorSupplier
    parents: tuple[str, ...]
    stores: list[str] = field(default_factory=list)


TopicNameExtractor = Callable[[Any, Any, Any], str]
"""From key, value and record metadata (None in punctuators) to the name of a topic."""


@dataclass
class SinkNode:
    """Writes what its parents forward to a topic, or to the topic that a function names for each record."""

    name: str
    topic: str | TopicNameExtractor
    parents: tuple[str, ...]
    key_serde: Serde | None = None
    value_serde: Serde | None = None
    partitioner: StreamPartitioner | None = None
    is_internal: bool = False

    def topic_of(self, key: Any, value: Any, metadata: RecordMetadata | None) -> str:
        """The topic for a record."""
        return self.topic if isinstance(self.topic, str) else self.topic(key, value, metadata)


Node = SourceNode | ProcessorNode | SinkNode


@dataclass
class TopologyPart:
    """Some nodes, in an order in which parents come first, with the stores they use: what a task runs."""

    number: int
    nodes: list[Node]
    stores: dict[str, StoreBuilder]
    global_stores: frozenset[str] = frozenset()
    global_sources: frozenset[str] = frozenset()
