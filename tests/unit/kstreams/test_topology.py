"""Topologies: what is refused before anything runs, sub-topologies, and names."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from penstock.errors import ConfigurationError, StreamsError
from penstock.kstreams import (
    BufferConfig,
    Consumed,
    Grouped,
    JoinWindows,
    KafkaStreams,
    Materialized,
    Named,
    Printed,
    Processor,
    Repartitioned,
    Serdes,
    Stores,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    Topology,
    TopologyTestDriver,
)
from penstock.kstreams.java_sets import hash_order
from penstock.kstreams.partitioning import Partitions
from penstock.runtime.operators.kstreams.routing import partition_of_bytes, task_keys

TEXT = Serdes.String()
BOTH = Consumed.with_(TEXT, TEXT)


class Idle(Processor):
    """Forwards nothing."""

    def process(self, record: Any) -> None:
        """Take it."""


def stream() -> Any:
    return StreamsBuilder().stream("in", BOTH)


REFUSED: list[tuple[str, Callable[[], Any]]] = [
    (r"needs JoinWindows, got 5", lambda: stream().join(stream(), lambda a, b: a, 5)),
    (r"join\(\) needs a KStream, a KTable or a GlobalKTable, got 5", lambda: stream().join(5, lambda a, b: a)),
    (r"'a b' cannot be a name: use letters", lambda: stream().filter(lambda k, v: True, Named.as_("a b"))),
    (r"to\(\) needs the name of a topic or a function that gives one, got ''", lambda: stream().to("")),
    (r"needs a topic, several topics, or a compiled pattern", lambda: StreamsBuilder().stream([])),
    (r"needs TimeWindows, SlidingWindows or SessionWindows, got 5", lambda: stream().group_by_key().windowed_by(5)),
    (r"size must be at least 1 ms, got 0", lambda: TimeWindows.of_size_with_no_grace(0)),
    (r"advance_by: 20 ms is more than the window's size", lambda: TimeWindows.of_size_with_no_grace(10).advance_by(20)),
    (
        r"before and after must not be negative in sum",
        lambda: JoinWindows.of_time_difference_with_no_grace(5).before(-9),
    ),
    (r"Grouped needs a Serde such as Serdes.String\(\), got 'x'", lambda: Grouped.with_("x")),  # type: ignore[arg-type]
    (r"at least one partition, got 0", lambda: Repartitioned.number_of_partitions(0)),
    (
        r"final results need a buffer that does not emit early",
        lambda: Suppressed.until_window_closes(BufferConfig.max_records(5)),
    ),
    (
        r"needs a windowed table, but this one has no windows",
        lambda: stream().to_table().suppress(Suppressed.until_window_closes(BufferConfig.unbounded())),
    ),
    (
        r"is to keep windows for 5 ms, but windows and their grace period take 10 ms",
        lambda: (
            stream()
            .group_by_key()
            .windowed_by(TimeWindows.of_size_with_no_grace(10))
            .count(Materialized.as_("c").with_retention(5))
        ),
    ),
    (r"offset reset policy is 'earliest' or 'latest', not 'x'", lambda: Consumed().with_offset_reset_policy("x")),
    (r"retention of 5 ms is shorter than a window", lambda: Stores.persistent_window_store("w", 5, 10)),
    (r"source 'a' already; read it once", lambda: Topology().add_source("a", "t").add_source("b", "t")),
    (r"There is a node 'a' already", lambda: Topology().add_source("a", "t").add_source("a", "u")),
    (r"has the parent 'b', which was not added yet", lambda: Topology().add_processor("a", Idle, "b")),
    (
        r"uses the store 's', which was not added",
        lambda: (
            Topology().add_source("a", "t").add_processor("p", Idle, "a").connect_processor_and_state_stores("p", "s")
        ),
    ),
    (
        r"'s', which is a sink and forwards nothing",
        lambda: Topology().add_source("a", "t").add_sink("s", "u", "a").add_processor("p", Idle, "s"),
    ),
]


@pytest.mark.parametrize(("text", "build"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_cannot_be_is_refused_at_once(text: str, build: Callable[[], Any]) -> None:
    with pytest.raises(StreamsError, match=text):
        build()


def test_an_application_needs_ids_and_serdes() -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    config = {"application.id": "a", "bootstrap.servers": "nowhere:9092"}
    with pytest.raises(ConfigurationError, match=r"needs 'bootstrap.servers' in its configuration"):
        KafkaStreams(builder.build(), {"application.id": "a"})
    with pytest.raises(StreamsError, match=r"KSTREAM-SOURCE-0000000000 has no serde for its keys: give one with Cons"):
        KafkaStreams(builder.build(), config)
    with pytest.raises(ConfigurationError, match=r"processing.guarantee must be one of"):
        KafkaStreams(builder.build(), {**config, "processing.guarantee": "perhaps"})
    with pytest.raises(ConfigurationError, match=r"default.key.serde is 'no.such', which is no serde"):
        KafkaStreams(builder.build(), {**config, "default.key.serde": "no.such"})
    java = "org.apache.kafka.common.serialization.Serdes$StringSerde"
    streams = KafkaStreams(builder.build(), {**config, "default.key.serde": java, "default.value.serde": "Long"})
    assert streams.state() is KafkaStreams.State.CREATED
    assert streams.close()
    with pytest.raises(StreamsError, match="The application is NOT_RUNNING; make a new KafkaStreams"):
        streams.start()


def test_streams_of_one_topic_share_its_source() -> None:
    builder = StreamsBuilder()
    builder.stream("in", BOTH).to("one")
    builder.stream("in", BOTH).map_values(str.upper).to("two")
    topology = builder.build()
    assert [len(names) for names in topology.groups()] == [4]
    with TopologyTestDriver(topology) as driver:
        driver.create_input_topic("in").pipe_input("k", "v")
        found = [driver.create_output_topic(topic).read_value() for topic in ("one", "two")]
    assert found == ["v", "V"]


def test_topics_by_pattern_and_by_function() -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("in-.*"), BOTH).to(lambda key, value, metadata: f"out-{metadata.topic}-{key}")
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in-7").pipe_input("k", "v")
        assert driver.produced_topic_names() == {"out-in-7-k"}


def test_records_are_printed_as_kafka_streams_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    builder = StreamsBuilder()
    builder.stream("in", BOTH).print(Printed.to_sys_out().with_label("seen"))
    with TopologyTestDriver(builder.build()) as driver:
        driver.create_input_topic("in").pipe_input("k", "v")
    assert capsys.readouterr().out == "[seen]: k, v\n"


def partitions_of(topology: Topology, known: dict[str, int]) -> dict[int, int]:
    return Partitions(topology, topology.parts(), known).of_part


def test_a_repartition_has_as_many_partitions_as_what_feeds_or_joins_it() -> None:
    builder = StreamsBuilder()
    builder.stream("in", BOTH).group_by(lambda k, v: v).count().to_stream().to("out")
    assert partitions_of(builder.build(), {"in": 4}) == {0: 4, 1: 4}
    told = StreamsBuilder()
    told.stream("in", BOTH).repartition(Repartitioned.number_of_partitions(7)).to("out")
    assert partitions_of(told.build(), {"in": 4}) == {0: 4, 1: 7}
    joined = StreamsBuilder()
    table = joined.table("table", BOTH)
    joined.stream("in", BOTH).select_key(lambda k, v: v).join(table, lambda a, b: a).to("out")
    assert sorted(partitions_of(joined.build(), {"in": 4, "table": 3}).values()) == [3, 4]


def test_joined_topics_must_have_equal_numbers_of_partitions() -> None:
    builder = StreamsBuilder()
    builder.stream("a", BOTH).join(builder.table("b", BOTH), lambda a, b: a).to("out")
    with pytest.raises(StreamsError, match=r"but 'a' has 2, 'b' has 3; repartition one of the streams"):
        partitions_of(builder.build(), {"a": 2, "b": 3})


@pytest.mark.parametrize(
    ("key", "partition"),
    [(b"21", 973_932_308), (b"foobar", 790_332_482), (b"a-little-bit-long-string", 985_981_536)],
)
def test_keys_go_where_the_producers_of_kafka_put_them(key: bytes, partition: int) -> None:
    """Hashes of Kafka's own tests of its murmur2, negative ones as its partitioner makes them positive."""
    known = {b"21": -973_932_308, b"foobar": -790_332_482, b"a-little-bit-long-string": -985_981_536}
    everything = 2**31
    assert partition_of_bytes(key, everything) == known[key] & 0x7FFFFFFF
    assert partition == -known[key]


def test_tasks_are_spread_over_subtasks_evenly() -> None:
    from penstock.keys.codec import encode_key
    from penstock.keys.groups import key_group, subtask_of

    for parallelism in (1, 2, 4):
        keys = task_keys(3, 8, 128)
        subtasks = [subtask_of(key_group(encode_key(key), 128), parallelism, 128) for key in keys]
        assert [subtasks.count(number) for number in range(parallelism)] == [8 // parallelism] * parallelism
    assert not set(task_keys(0, 8, 128)) & set(task_keys(1, 8, 128))
    with pytest.raises(StreamsError, match="has 200 partitions, but there are 128 key groups"):
        task_keys(0, 200, 128)


def test_texts_are_in_the_order_of_a_java_hash_map() -> None:
    """By the hash codes of Java: "a" is 97, in bucket 1 of 16; "q" is 113, in the same; "Aa" is 2112, in bucket 0."""
    assert hash_order(["q", "b", "a", "Aa"]) == ["Aa", "q", "a", "b"]
