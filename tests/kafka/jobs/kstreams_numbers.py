"""The job of `numbers` as a Kafka Streams application: `python -m tests.kafka.jobs.kstreams_numbers '{...}'`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from penstock.datastream.connectors.kafka import KafkaSink
from penstock.kstreams import Consumed, Grouped, KafkaStreams, Produced, Serdes, StreamsBuilder, Topology
from tests.kafka.jobs.numbers import Order
from tests.kafka.topics_of_numbers import key_of

MODULE = "tests.kafka.jobs.kstreams_numbers"
TEXT = Serdes.String()


class KStreamsOrder(Order):
    """How one process is to run the application."""

    def arguments(self) -> list[str]:
        """What to start the program with."""
        return [sys.executable, "-m", MODULE, json.dumps(asdict(self))]


def count(key: str, value: str, aggregate: tuple[int, str]) -> tuple[int, str]:
    """Number the records of a key from 1."""
    return aggregate[0] + 1, value


def topology(order: Order) -> Topology:
    """Count the numbers of each key; the key is selected anew, so that records go through a repartition."""
    builder = StreamsBuilder()
    (
        builder.stream(order.source, Consumed.with_(TEXT, TEXT))
        .map_values(str.strip)
        .group_by(lambda key, value: key_of(int(value)), Grouped.with_(TEXT, TEXT))
        .aggregate(lambda: (0, ""), count)
        .to_stream()
        .map_values(lambda key, aggregate: f"{key}:{aggregate[1]}:{aggregate[0]}")
        .to(order.sink, Produced.with_(TEXT, TEXT))
    )
    return builder.build()


class Application(KafkaStreams):
    """An application that publishes from files, if its order says so."""

    def __init__(self, order: Order, config: dict[str, Any]) -> None:
        super().__init__(topology(order), config)
        self._in_files = order.in_files

    def _sink(self) -> KafkaSink:
        sink = super()._sink()
        if self._in_files:
            sink.inline_bytes = 0
        return sink


def main(order: Order) -> None:
    """Run the application until it has processed what is there."""
    config: dict[str, Any] = {
        "application.id": order.sink,
        "bootstrap.servers": order.servers,
        "processing.guarantee": "exactly_once_v2",
        "num.stream.threads": 2,
        "state.dir": order.checkpoint,
        "kstreams.bounded": True,
        "penstock.batch.max-records": order.batch_records,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": order.restarts,
        "restart-strategy.fixed-delay.delay": "500 ms",
        **order.settings,
    }
    application = Application(order, config)
    application.start()
    assert application.wait() is KafkaStreams.State.NOT_RUNNING


if __name__ == "__main__":
    main(Order(**json.loads(sys.argv[1])))
