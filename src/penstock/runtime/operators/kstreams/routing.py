"""Where records go: the partition of a key, and the key of keyed state that stands for a task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.errors import StreamsError
from penstock.keys.codec import encode_key
from penstock.keys.groups import key_group
from penstock.vocabulary.kstreams.records import Headers
from penstock.vocabulary.kstreams.serdes import Serde, key_bytes
from penstock.vocabulary.kstreams.topology_nodes import SinkNode

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF
_ROUTES_KEPT = 100_000
_KEYS_OF_A_PART = 1_000_000_000


def murmur2(data: bytes) -> int:
    """The hash by which Kafka's producers choose the partition of a key."""
    code = _SEED ^ len(data)
    whole = len(data) & ~3
    for place in range(0, whole, 4):
        word = int.from_bytes(data[place : place + 4], "little") * _M & _MASK
        word = (word ^ word >> 24) * _M & _MASK
        code = (code * _M & _MASK) ^ word
    if whole != len(data):
        code = (code ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    code = (code ^ code >> 13) * _M & _MASK
    return code ^ code >> 15


def partition_of_bytes(data: bytes, partitions: int) -> int:
    """The partition of a key's bytes."""
    return (murmur2(data) & 0x7FFFFFFF) % partitions


class Arrival(NamedTuple):
    """A record on its way to a task. `task` is the key of the task's state."""

    task: int
    source: str
    key: Any
    value: Any
    timestamp: int
    headers: Headers
    topic: str
    partition: int
    offset: int


class Departure(NamedTuple):
    """A record on its way to a topic, with its bytes; a partition of -1 leaves the choice to the producer."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers
    partition: int


def task_keys(part: int, partitions: int, max_parallelism: int) -> list[int]:
    """A key of state for each partition of a part, so that partitions are spread evenly over key groups.

    They depend on nothing that may change between two starts of an application.
    """
    if partitions > max_parallelism:
        raise StreamsError(
            f"Sub-topology {part} has {partitions} partitions, but there are {max_parallelism} key groups; set "
            "pipeline.max-parallelism to at least the number of partitions."
        )
    wanted = {partition * max_parallelism // partitions: partition for partition in range(partitions)}
    found: dict[int, int] = {}
    number = part * _KEYS_OF_A_PART
    while len(found) < partitions:
        partition = wanted.get(key_group(encode_key(number), max_parallelism))
        if partition is not None and partition not in found:
            found[partition] = number
        number += 1
    return [found[partition] for partition in range(partitions)]


@dataclass
class Route:
    """How records of an internal topic find their task: the part and source that read it, and keys of its tasks."""

    part: int
    source: str
    tasks: list[int]
    key_serde: Serde | None
    _known: dict[Any, int] = field(default_factory=dict)

    def partition(self, sink: SinkNode, topic: str, key: Any, value: Any, turn: int) -> int:
        """The partition of a record; records without key take turns."""
        partitions = len(self.tasks)
        if sink.partitioner is not None:
            chosen = sink.partitioner(topic, key, value, partitions)
            if chosen is not None:
                return chosen % partitions
        if key is None:
            return turn % partitions
        try:
            return self._known[key]
        except (KeyError, TypeError):
            return self._computed(key, partitions)

    def _computed(self, key: Any, partitions: int) -> int:
        found = partition_of_bytes(key_bytes(key, self.key_serde), partitions)
        if len(self._known) < _ROUTES_KEPT and key.__hash__ is not None:
            self._known[key] = found
        return found
