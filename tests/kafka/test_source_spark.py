"""KafkaSource on Spark: tasks in worker processes, positions in Spark's log, figures, a restart from the checkpoint."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from penstock.common import SimpleStringSchema
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.kafka_broker import LocalBroker
from penstock.testing import CollectSink
from tests.kafka.conftest import NewTopic
from tests.kafka.producing import produce
from tests.spark.conftest import NewEnvironment
from tests.spark.waiting import wait_until

pytestmark = pytest.mark.slow

COUNT = 3_000


def test_a_job_reads_counts_and_goes_on_after_a_restart(
    kafka: LocalBroker, topic: NewTopic, new_environment: NewEnvironment
) -> None:
    name = topic(partitions=3)
    source = KafkaSource.builder().set_bootstrap_servers(kafka.address).set_topics(name)
    source.set_value_only_deserializer(SimpleStringSchema()).set_group_id(f"{name}-group")

    def start(sink: CollectSink, **settings: Any) -> Any:
        environment = new_environment(checkpoint="kafka", **settings)
        stream = environment.from_source(source.build(), WatermarkStrategy.no_watermarks(), "kafka").uid("kafka")
        counted = stream.map(lambda value: (value, 1)).key_by(lambda pair: pair[0])
        counted.reduce(lambda a, b: (a[0], a[1] + b[1])).add_sink(sink)
        return environment.execute_async()

    def write(first: int) -> None:
        for partition in range(3):
            produce(kafka.address, name, [f"k{n}" for n in range(first, first + COUNT)], partition=partition)

    first, second = CollectSink(), CollectSink()
    write(0)
    client = start(first)
    wait_until(lambda: len(first.results) == 3 * COUNT, "all was read")
    wait_until(lambda: client.metrics()["kafka"]["records_in"] == 3 * COUNT, "all was counted")
    figures = client.metrics()["kafka"]
    assert figures["bytes_in"] > 3 * COUNT
    assert [figures[f"lag.{name}-{partition}"] for partition in range(3)] == [0, 0, 0]
    assert figures["pending_records"] == 0
    client.cancel().result()
    write(COUNT // 2)
    client = start(second)
    wait_until(lambda: len(second.results) == 3 * COUNT, "the rest was read")
    client.stop().result()
    assert Counter(first.results) == Counter((f"k{n}", c) for n in range(COUNT) for c in (1, 2, 3))
    again = Counter((f"k{n}", c) for n in range(COUNT // 2, COUNT) for c in (4, 5, 6))
    new = Counter((f"k{n}", c) for n in range(COUNT, COUNT + COUNT // 2) for c in (1, 2, 3))
    assert Counter(second.results) == again + new


def test_a_bounded_job_ends(kafka: LocalBroker, topic: NewTopic, new_environment: NewEnvironment) -> None:
    name = topic(partitions=1)
    produce(kafka.address, name, [f"{n}" for n in range(COUNT)])
    source = KafkaSource.builder().set_bootstrap_servers(kafka.address).set_topics(name)
    source.set_value_only_deserializer(SimpleStringSchema()).set_bounded(KafkaOffsetsInitializer.latest())
    environment, sink = new_environment(), CollectSink()
    environment.from_source(source.build(), WatermarkStrategy.no_watermarks(), "kafka").map(int).add_sink(sink)
    environment.execute()
    assert sink.results == [*range(COUNT)]
