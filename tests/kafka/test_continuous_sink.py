"""The Kafka sink in continuous mode: without transactions, readers have records long before a checkpoint is final."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.kafka_broker import LocalBroker
from tests.kafka.conftest import NewTopic
from tests.kafka.reading import read_all
from tests.spark.processes import process_group

ENDLESS = """
import sys
from penstock.common import Configuration, SimpleStringSchema, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink

servers, topic, guarantee, place = sys.argv[1:]
told = {"penstock.execution.mode": "continuous", "execution.checkpointing.interval": "1 h"}
environment = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(told)).set_parallelism(2)
environment.get_checkpoint_config().set_checkpoint_storage_dir(place)
source = DataGeneratorSource(str, 10**9, RateLimiterStrategy(500.0))
records = KafkaRecordSerializationSchema.builder().set_topic(topic)
records = records.set_value_serialization_schema(SimpleStringSchema()).build()
sink = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(records)
sink = sink.set_delivery_guarantee(DeliveryGuarantee[guarantee]).build()
numbers = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
numbers.key_by(lambda number: number).map(lambda number: number).sink_to(sink)
environment.execute("endless")
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("guarantee", ["AT_LEAST_ONCE", "NONE"])
def test_records_are_there_before_a_checkpoint_is(
    kafka: LocalBroker, topic: NewTopic, tmp_path: Path, guarantee: str
) -> None:
    name, script, checkpoint = topic(2), tmp_path / "endless.py", tmp_path / "checkpoint"
    script.write_text(ENDLESS)
    with process_group(tmp_path) as group:
        command = [sys.executable, str(script), kafka.address, name, guarantee, str(checkpoint)]
        program = group.start(command, "endless")
        program.wait_until(lambda: len(read_all(kafka.address, name)) >= 100, "records are in the topic")
        assert not list(checkpoint.rglob("*.seal")), "a version was final: records may have waited for it"
        group.kill()
