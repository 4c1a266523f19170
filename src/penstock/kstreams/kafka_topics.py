"""What is asked of Kafka before an application starts: which topics there are, and their partitions."""

from __future__ import annotations

from typing import Any

from penstock.connectors.kafka.library import ConnectionErrors
from penstock.connectors.kafka.producing import common_settings, listed_topics, new_producer, producer_settings
from penstock.errors import SinkError, StreamsError
from penstock.kstreams.topology import Topology
from penstock.vocabulary.kstreams.topology_nodes import SinkNode, SourceNode

_PATIENCE_SECONDS = 30.0


def topic_partitions(topology: Topology, servers: str, properties: dict[str, str]) -> dict[str, int]:
    """The partitions of all topics that a topology reads, and of those that it writes and that are there."""
    listed = _listed(servers, properties)
    for node in topology.nodes.values():
        if isinstance(node, SourceNode) and not node.is_internal:
            _check_source(node, listed, servers)
        if isinstance(node, SinkNode) and not node.is_internal and node.partitioner is not None:
            _check_partitioned_sink(node, listed)
    return listed


def _check_partitioned_sink(sink: SinkNode, listed: dict[str, int]) -> None:
    if not isinstance(sink.topic, str):
        raise StreamsError(f"{sink.name} chooses topics by a function; it cannot choose partitions as well.")
    if sink.topic not in listed:
        raise StreamsError(f"Topic {sink.topic!r} is written with a partitioner, but is not there; create it.")


def _check_source(source: SourceNode, listed: dict[str, int], servers: str) -> None:
    for topic in source.topics:
        if topic not in listed:
            raise StreamsError(f"The topology reads topic {topic!r}, which is not at {servers}; create it first.")
    if source.pattern is not None and not any(map(source.reads, listed)):
        raise StreamsError(f"No topic at {servers} has a name like {source.pattern.pattern!r}; create one first.")


def _listed(servers: str, properties: dict[str, str]) -> dict[str, int]:
    given = {**properties, "bootstrap.servers": servers}
    settings: dict[str, Any] = common_settings(producer_settings(given, "KafkaStreams", transactional=False))
    errors = ConnectionErrors()
    client = new_producer(settings, "KafkaStreams", errors)
    try:
        found = listed_topics(client, "KafkaStreams", servers, errors, _PATIENCE_SECONDS)
    except SinkError as failure:
        raise StreamsError(str(failure)) from None
    return {name: len(topic.partitions) for name, topic in found.topics.items() if topic.error is None}
