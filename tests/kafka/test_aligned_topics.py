"""Watermark alignment over topics and partitions of a real broker: those that are ahead in event time wait."""

from __future__ import annotations

import pytest

from penstock.common import Configuration, SimpleStringSchema
from penstock.common.time import Duration
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.engine.in_process.client import InProcessJobClient
from penstock.kafka_broker import LocalBroker
from penstock.testing import CollectSink
from tests.kafka.conftest import NewTopic
from tests.kafka.producing import produce
from tests.unit.datastream.test_watermark_alignment import OpenWindows


def bounded(kafka: LocalBroker, topic: str) -> KafkaSource:
    source = KafkaSource.builder().set_bootstrap_servers(kafka.address).set_topics(topic)
    return (
        source.set_value_only_deserializer(SimpleStringSchema()).set_bounded(KafkaOffsetsInitializer.latest()).build()
    )


@pytest.mark.parametrize("mode", ["micro-batch", "continuous"])
def test_a_backfill_of_two_skewed_topics_has_bounded_state(kafka: LocalBroker, topic: NewTopic, mode: str) -> None:
    dense, sparse = topic(partitions=1), topic(partitions=2)
    produce(kafka.address, dense, [f"{n * 1_000}" for n in range(200)])
    for partition in range(2):
        produce(kafka.address, sparse, [f"{n * 10_000}" for n in range(200)], partition=partition)

    def most_open(drift: Duration | None) -> int:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: int(value))
        if drift is not None:
            strategy = strategy.with_watermark_alignment("backfill", drift)
        told = Configuration.from_dict({"penstock.batch.max-records": "30", "penstock.execution.mode": mode})
        environment = StreamExecutionEnvironment.in_process(configuration=told).set_parallelism(1)
        streams = [environment.from_source(bounded(kafka, name), strategy, name).uid(name) for name in (dense, sparse)]
        sink = CollectSink()
        streams[0].union(streams[1]).key_by(lambda _: 0).process(OpenWindows()).add_sink(sink)
        client = environment.execute_async()
        assert isinstance(client, InProcessJobClient)
        client.wait()
        assert len(sink.results) == 600
        assert client.metrics()[sparse]["pending_records"] == 0
        return int(max(count for count, _ in sink.results))

    assert most_open(None) > 150
    assert most_open(Duration.of_seconds(20)) < 70
