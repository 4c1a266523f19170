"""The local broker itself: started, killed, found again, refused; what clients see of it."""

from __future__ import annotations

import json
import os
import socket

import pytest
from confluent_kafka import Consumer, Producer
from typer.testing import CliRunner

from penstock.cli.commands import app
from penstock.errors import BrokerError
from penstock.kafka_broker import LocalBroker
from tests.kafka.conftest import NewTopic


def send(broker: LocalBroker, topic: str, values: list[str]) -> None:
    producer = Producer({"bootstrap.servers": broker.address})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def received(broker: LocalBroker, topic: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    values: list[str] = []
    while len(values) < count:
        values += [message.value().decode() for message in consumer.consume(count, timeout=5)]
    consumer.close()
    return values


def test_what_was_sent_is_received(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic()
    send(kafka, name, ["a", "b", "c"])
    assert received(kafka, name, 3) == ["a", "b", "c"]


def test_a_killed_broker_comes_back_with_its_data_at_its_address(own_kafka: LocalBroker) -> None:
    own_kafka.start()
    own_kafka.create_topic("numbers", 2)
    send(own_kafka, "numbers", [str(n) for n in range(100)])
    before = (own_kafka.address, own_kafka.pid)
    own_kafka.kill()
    record = own_kafka.folder / "broker.json"
    record.write_text(record.read_text().replace(str(before[1]), str(os.getpid())))
    own_kafka.stop()  # the number is this very process now, and must not be believed
    assert not own_kafka.is_running
    own_kafka.start()
    assert own_kafka.address == before[0]
    assert own_kafka.pid != before[1]
    assert own_kafka.topics() == {"numbers": 2}
    assert sorted(map(int, received(own_kafka, "numbers", 100))) == list(range(100))


def test_the_broker_of_a_folder_is_the_same_for_whoever_names_it(kafka: LocalBroker) -> None:
    again = LocalBroker(kafka.folder).start()
    assert (again.address, again.pid) == (kafka.address, kafka.pid)
    with pytest.raises(BrokerError, match=r"runs at port .* not 1: stop it first"):
        LocalBroker(kafka.folder, port=1).start()


def test_a_topic_that_exists_is_left_alone_unless_it_is_another_one(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(partitions=3)
    kafka.create_topic(name, 3)
    with pytest.raises(BrokerError, match="exists with 3 partitions, not 2"):
        kafka.create_topic(name, 2)


def test_a_port_that_is_taken_is_refused_before_anything_starts(own_kafka: LocalBroker) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BrokerError, match=f"port {port} .* in use"):
            LocalBroker(own_kafka.folder, port=port).start()
    assert not own_kafka.is_running


def test_a_broker_that_cannot_run_says_what_its_log_says(own_kafka: LocalBroker) -> None:
    data = own_kafka.folder / "data"
    data.mkdir(parents=True)
    (own_kafka.folder / "cluster.id").write_text("another")
    (data / "meta.properties").write_text("version=1\ncluster.id=another\nnode.id=7\n")
    with pytest.raises(BrokerError, match=r"(?s)ended while it started:.*node"):
        own_kafka.start()


def test_the_commands_show_the_broker_and_its_topics(kafka: LocalBroker, topic: NewTopic) -> None:
    name = topic(partitions=2)
    place = ["--data-dir", str(kafka.folder)]
    started = CliRunner().invoke(app, ["kafka", "start", *place, "--topic", f"{name}:2", "--topic", f"{name}x"])
    assert (started.exit_code, f"runs at {kafka.address} (process {kafka.pid}" in started.output) == (0, True)
    shown = json.loads(CliRunner().invoke(app, ["kafka", "status", *place, "--json"]).stdout)
    assert (shown["address"], shown["pid"]) == (kafka.address, kafka.pid)
    assert (shown["topics"][name], shown["topics"][f"{name}x"]) == (2, 1)
    assert f"  {name}:2\n" in CliRunner().invoke(app, ["kafka", "status", *place]).stdout
