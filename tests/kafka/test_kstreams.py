"""Applications of `penstock.kstreams` between real topics: partitions, exactly-once output, queries, restarts."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.errors import StreamsError
from penstock.kafka_broker import LocalBroker
from penstock.kstreams import (
    Consumed,
    Grouped,
    KafkaStreams,
    Materialized,
    Produced,
    QueryableStoreTypes,
    Serdes,
    StoreQueryParameters,
    StreamsBuilder,
    Topology,
)
from tests.kafka.conftest import NewTopic
from tests.kafka.reading import read_all

pytestmark = pytest.mark.slow

TEXT = Serdes.String()
BOTH = Consumed.with_(TEXT, TEXT)
PATIENCE_SECONDS = 120


def send(kafka: LocalBroker, topic: str, records: list[tuple[str, str]], start: int = 1_000) -> None:
    """Send records as a Java producer would, so that keys are where tasks look for them."""
    producer = Producer({"bootstrap.servers": kafka.address, "partitioner": "murmur2_random"})
    for number, (key, value) in enumerate(records):
        producer.produce(topic, key=key, value=value, timestamp=start + number)
    assert producer.flush(PATIENCE_SECONDS) == 0


def config(kafka: LocalBroker, name: str, folder: Path, **more: Any) -> dict[str, Any]:
    return {
        "application.id": name,
        "bootstrap.servers": kafka.address,
        "state.dir": str(folder),
        "penstock.engine": "in-process",
        "processing.guarantee": "exactly_once_v2",
        "num.stream.threads": 2,
        **more,
    }


def joined_counts(orders: str, people: str, regions: str, out: str) -> Topology:
    """Orders joined with a table and a global table, and counted by region."""
    builder = StreamsBuilder()
    table, regional = builder.table(people, BOTH), builder.global_table(regions, BOTH)
    (
        builder.stream(orders, BOTH)
        .join(table, lambda order, region: region)
        .left_join(regional, lambda key, region: region, lambda region, name: name or "nowhere")
        .group_by(lambda key, name: name, Grouped.with_(TEXT, TEXT))
        .count(Materialized.as_("by-region"))
        .to_stream()
        .map_values(str)
        .to(out, Produced.with_(TEXT, TEXT))
    )
    return builder.build()


def test_an_application_joins_and_counts_over_partitions(kafka: LocalBroker, topic: NewTopic, tmp_path: Path) -> None:
    orders, people, regions, out = topic(3, "orders"), topic(3, "people"), topic(2, "regions"), topic(2, "out")
    # The time of a global table does not matter; orders come after the people they join with.
    send(kafka, regions, [("r0", "north"), ("r1", "south")], start=90_000)
    send(kafka, people, [(f"p{number}", f"r{number % 3}") for number in range(6)])
    send(kafka, orders, [(f"p{number % 7}", "order") for number in range(70)], start=5_000)  # p6 is nobody
    topology = joined_counts(orders, people, regions, out)
    streams = KafkaStreams(topology, config(kafka, out, tmp_path, **{"kstreams.bounded": True}))
    states: list[str] = []
    streams.set_state_listener(lambda new, old: states.append(new.name))
    streams.start()
    assert streams.wait(PATIENCE_SECONDS) is KafkaStreams.State.NOT_RUNNING
    counts = streams.store(StoreQueryParameters.from_name_and_type("by-region", QueryableStoreTypes.key_value_store()))
    assert dict(counts.all()) == {"north": 20, "south": 20, "nowhere": 20}
    messages = read_all(kafka.address, out)
    assert len(messages) == 60
    assert {each.key: each.value for each in messages} == {b"north": b"20", b"south": b"20", b"nowhere": b"20"}
    assert states[0] == "REBALANCING"
    assert states[-1] == "NOT_RUNNING"
    streams.close()


def test_a_closed_application_goes_on_where_it_was(kafka: LocalBroker, topic: NewTopic, tmp_path: Path) -> None:
    source, out = topic(2, "source"), topic(1, "out")
    for round_number in range(2):
        send(kafka, source, [("a", "x"), ("b", "x")])
        builder = StreamsBuilder()
        counts = builder.stream(source, BOTH).group_by_key().count(Materialized.as_("counts"))
        counts.to_stream().map_values(str).to(out, Produced.with_(TEXT, TEXT))
        with KafkaStreams(builder.build(), config(kafka, out, tmp_path)) as streams:
            streams.start()
            kind = QueryableStoreTypes.key_value_store()
            store = streams.store(StoreQueryParameters.from_name_and_type("counts", kind))
            expected = {"a": round_number + 1, "b": round_number + 1}
            wait_until(lambda store=store, expected=expected: counted(store) == expected)
    assert sorted(each.value or b"" for each in read_all(kafka.address, out)) == [b"1", b"1", b"2", b"2"]


def counted(store: Any) -> dict[str, int]:
    """What a store has; nothing before the first version is sealed."""
    try:
        return dict(store.all())
    except Exception as error:
        assert "no sealed version" in str(error) or "has no" in str(error), error
        return {}


def wait_until(holds: Any) -> None:
    pause = threading.Event()
    for _ in range(PATIENCE_SECONDS * 10):
        if holds():
            return
        pause.wait(0.1)
    raise AssertionError(f"did not hold within {PATIENCE_SECONDS} s")


def test_a_function_that_raises_ends_in_the_state_error(kafka: LocalBroker, topic: NewTopic, tmp_path: Path) -> None:
    source, out = topic(1, "source"), topic(1, "out")
    send(kafka, source, [("a", "no number")])
    builder = StreamsBuilder()
    builder.stream(source, BOTH).map_values(int).map_values(str).to(out, Produced.with_(TEXT, TEXT))
    streams = KafkaStreams(builder.build(), config(kafka, out, tmp_path, **{"restart-strategy.type": "none"}))
    failures: list[BaseException] = []
    streams.set_uncaught_exception_handler(failures.append)
    streams.start()
    with pytest.raises(Exception, match="invalid literal for int"):
        streams.wait(PATIENCE_SECONDS)
    assert streams.state() is KafkaStreams.State.ERROR
    assert len(failures) == 1
    streams.clean_up()
    assert not Path(streams.checkpoint_directory()).exists()


def test_topics_that_do_not_fit_are_refused_before_anything_runs(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path
) -> None:
    left, right = topic(2, "left"), topic(3, "right")
    builder = StreamsBuilder()
    joined = builder.stream(left, BOTH).join(builder.table(right, BOTH), lambda a, b: a + b)
    joined.to("out", Produced.with_(TEXT, TEXT))
    with pytest.raises(StreamsError, match=r"same number of partitions, but .*has 2.*has 3"):
        KafkaStreams(builder.build(), config(kafka, "refused", tmp_path)).start()
    missing = StreamsBuilder()
    missing.stream("nobody-made-this", BOTH).to("out", Produced.with_(TEXT, TEXT))
    with pytest.raises(StreamsError, match="reads topic 'nobody-made-this', which is not at"):
        KafkaStreams(missing.build(), config(kafka, "refused", tmp_path)).start()
