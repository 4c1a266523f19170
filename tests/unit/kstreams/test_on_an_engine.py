"""Topologies as jobs of an engine: what the test driver gives, however batches are cut, with crashes."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.datastream import StreamExecutionEnvironment
from penstock.kstreams import Serdes, Topology
from penstock.kstreams.translation import Application, Translation
from penstock.runtime.operators.kstreams.routing import partition_of_bytes
from tests.conformance.kstreams.interpreter import Program, play
from tests.conformance.kstreams.programs import PROGRAMS, outputs, random_input

TEXT = Serdes.String()
Event = dict[str, Any]
Row = tuple[str, str | None, str | None, int]

# Of one topic, so that the order of records is that of the topic, and without punctuators that follow the clock.
ONE_TOPIC = [
    name
    for name, program in PROGRAMS.items()
    if {step.get("topic") for step in program if step["op"] in ("stream", "table", "global_table")} == {"a"}
    and not any("wall_clock" in step for step in program)
]
TABLES = ["table_join", "table_outer_join", "foreign_key", "foreign_key_left"]


def run(
    topology: Topology, events: list[Event], partitions: int, seed: int, crash_rate: float, parallelism: int
) -> list[Row]:
    """What a topology writes when it runs as a job on records of these topics."""
    topology.with_default_serdes(TEXT, TEXT)
    environment = StreamExecutionEnvironment.in_process(seed, crash_rate=crash_rate)
    environment.set_parallelism(parallelism)
    topics = {event["topic"] for event in events} | {"a", "b", "out", "out2"}
    application = Application("test", {}, dict.fromkeys(topics, partitions))
    translation = Translation(topology, application, environment)
    streams = []
    for reading in translation.readings():
        rows = [
            row
            for offset, event in enumerate(events)
            if event["topic"] in reading.source.topics
            for row in reading.schema.arrivals(
                _bytes(event["key"]),
                _bytes(event["value"]),
                event["ts"],
                (),
                (event["topic"], partition_of(event, partitions), offset),
            )
        ]
        streams.append((reading, environment.from_collection(rows)))
    results = translation.build(streams)
    assert results is not None
    # As the sink of an application takes them: what one task writes must not be overtaken on the way.
    results = results.map(lambda departure: departure).set_parallelism(translation.sink_parallelism())
    return [(each.topic, _hex(each.key), _hex(each.value), each.timestamp) for each in results.execute_and_collect()]


def partition_of(event: Event, partitions: int) -> int:
    return 0 if event["key"] is None else partition_of_bytes(event["key"].encode(), partitions)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def driven(name: str, events: list[Event]) -> list[Row]:
    """What the test driver gives."""
    program = PROGRAMS[name]
    steps = play({"program": program, "input": events, "outputs": outputs(program)})["output"]
    return [tuple(row) for step in steps for row in step]


@pytest.mark.parametrize("name", ONE_TOPIC)
def test_a_job_gives_what_the_driver_gives(name: str, seed: int) -> None:
    events = random_input(PROGRAMS[name], seed)
    topology = Program().build(PROGRAMS[name])
    found = run(topology, events, partitions=1, seed=seed, crash_rate=0.05, parallelism=2)
    expected = driven(name, events)
    # Records of two topics are told apart: nothing says which of two topics is written first.
    for topic in outputs(PROGRAMS[name]):
        assert [row for row in found if row[0] == topic] == [row for row in expected if row[0] == topic]


ALONE = [name for name in ONE_TOPIC if len(Program().build(PROGRAMS[name]).groups()) == 1]


@pytest.mark.parametrize("name", ALONE)
def test_each_partition_has_a_time_of_its_own(name: str, seed: int) -> None:
    partitions = 3
    events = random_input(PROGRAMS[name], seed, length=80)
    found = run(Program().build(PROGRAMS[name]), events, partitions, seed, crash_rate=0.05, parallelism=2)
    expected: list[Row] = []
    for partition in range(partitions):
        expected += driven(name, [event for event in events if partition_of(event, partitions) == partition])
    assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize("name", TABLES)
def test_joined_tables_end_up_the_same(name: str, seed: int) -> None:
    events = [event for event in random_input(PROGRAMS[name], seed, length=120) if event["key"] is not None]
    # The last change of a key has the last word only if times do not go back.
    for number, event in enumerate(events):
        event["ts"] = number
    found = run(Program().build(PROGRAMS[name]), events, 2, seed, crash_rate=0.05, parallelism=2)
    assert last_values(found) == last_values(driven(name, events))


def last_values(rows: list[Row]) -> dict[str | None, str]:
    """The table that updates make: the last value of each key that is not deleted."""
    table = {key: value for _, key, value, _ in rows}
    return {key: value for key, value in table.items() if value is not None}
