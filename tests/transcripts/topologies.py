"""Topologies of Kafka Streams as pipelines of transcripts, and a player of those transcripts on the test driver.

A record that goes in is `Element((topic, key, value), timestamp)`, one that comes out is `((key, value), timestamp)`.
Keys and values are texts. Stream time is all the time there is: there are no watermarks, and the end changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.datastream import DataStream, ProcessFunction
from penstock.kstreams import Serdes, StreamsBuilder, Topology, TopologyTestDriver
from penstock.kstreams.translation import Application, Reading, Translation
from penstock.testing import Clock, Element
from penstock.testing.transcripts import MAIN, Heard, Step, Transcript, compare_steps
from penstock.vocabulary.kstreams.topology_nodes import SourceNode

MANY_OPERATORS = "a topology is an operator for each sub-topology: it is played on the test driver"
MEET = "a task takes records of several topics by time, so what is behind depends on which ones a batch has"
OUT = "out"
_TEXT = Serdes.String()


@dataclass(frozen=True)
class Streams:
    """The pipeline of a transcript that runs a topology; `build` writes its results to the topic `out`."""

    build: Callable[[StreamsBuilder], Any]

    def topology(self) -> Topology:
        """Build the topology."""
        builder = StreamsBuilder()
        self.build(builder)
        topology = builder.build()
        topology.with_default_serdes(_TEXT, _TEXT)
        return topology

    def __call__(self, records: DataStream) -> DataStream:
        """Build the topology behind a stream of records of all its topics, each with one partition as in the driver."""
        topology = self.topology()
        graph = records.get_execution_environment().graph
        known = set(graph.nodes)
        sources = [node for node in topology.nodes.values() if isinstance(node, SourceNode)]
        partitions = dict.fromkeys([OUT, *(topic for node in sources for topic in node.topics)], 1)
        application = Application("transcript", {}, partitions)
        translation = Translation(topology, application, records.get_execution_environment())
        # Records of all topics of a part in one stream: what comes first in the script is given first.
        parts: dict[int, list[Reading]] = {}
        for reading in translation.readings():
            parts.setdefault(reading.part, []).append(reading)
        streams = [(each[0], records.process(_Arrivals(each)).set_parallelism(1)) for each in parts.values()]
        results = translation.build(streams)
        assert results is not None
        for node in list(graph.nodes.values()):
            if node.id not in known and node.uid is not None:  # an application is a job, but here several share one
                graph.change(node.id, uid=f"{node.uid} of {max(known)}")
        return results.map(_shown).set_parallelism(translation.sink_parallelism())


class _Arrivals(ProcessFunction):
    """Makes of a record what the tasks of a part take."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._schemas = {topic: each.schema for each in readings for topic in each.source.topics}

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        topic, key, data = value
        if topic in self._schemas:
            yield from self._schemas[topic].arrivals(
                _TEXT.serialize(key), _TEXT.serialize(data), ctx.timestamp(), (), (topic, 0, 0)
            )


def _shown(departure: Any) -> tuple[str | None, str | None]:
    return _TEXT.deserialize(departure.key), _TEXT.deserialize(departure.value)


def ran(name: str, build: Callable[[StreamsBuilder], Any], steps: Sequence[Step], **more: Any) -> Transcript:
    """Return the transcript of a topology; `more` is for `Transcript`. What its stores keep is not looked at."""
    return Transcript(name, Streams(build), steps, left=None, job_only=MANY_OPERATORS, **more)


def play_on_driver(transcript: Transcript) -> None:
    """Play on the driver of tests, one record at a time."""
    streams = transcript.pipeline
    assert isinstance(streams, Streams)
    now_ms = 0
    heard = [Heard() for _ in transcript.steps]
    with TopologyTestDriver(streams.topology(), initial_wall_clock_time=now_ms) as driver:
        for number, items in transcript.batches():
            for item in items[MAIN]:
                if isinstance(item, Clock):
                    driver.advance_wall_clock_time(item.now_ms - now_ms)
                    now_ms = item.now_ms
                elif isinstance(item, Element):
                    topic, key, value = item.value
                    driver.create_input_topic(topic, _TEXT, _TEXT).pipe_input(key, value, item.timestamp)
            for record in driver.create_output_topic(OUT, _TEXT, _TEXT).read_records_to_list():
                heard[number].add(None, Element((record.key, record.value), record.timestamp))
    compare_steps(transcript, "test driver", heard)
