"""A small job with a Kafka sink, for this process and for one that is killed in the middle of a transaction.

As a program: `sink_job.py ADDRESS TOPIC CHECKPOINT` runs it until it has sent some messages of its second transaction,
and kills itself.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from penstock.common import Configuration
from penstock.common.serialization import SimpleStringSchema
from penstock.connectors.kafka import publisher as kafka_publisher
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from penstock.engine.in_process.client import InProcessJobClient

NUMBERS = 40
PREFIX = "sink-job"


class KeySchema(SimpleStringSchema):
    def serialize(self, value: Any) -> bytes:
        return str(int(value) % 5).encode()


def kafka_sink(
    address: str, topic: str, guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE, prefix: str = PREFIX
) -> KafkaSink:
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_key_serialization_schema(KeySchema())
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    builder = KafkaSink.builder().set_bootstrap_servers(address).set_record_serializer(schema)
    return builder.set_delivery_guarantee(guarantee).set_transactional_id_prefix(f"{prefix}-{topic}").build()


def start(
    sink: KafkaSink, checkpoint: str | None = None, *, numbers: int = NUMBERS, batch: int = 15, **options: Any
) -> InProcessJobClient:
    configuration = Configuration()
    configuration.set_string("penstock.batch.max-records", str(batch))
    if checkpoint is not None:
        configuration.set_string("execution.checkpointing.dir", checkpoint)
    environment = StreamExecutionEnvironment.in_process(configuration=configuration, **options)
    environment.set_parallelism(2)
    stream = environment.from_collection(list(range(numbers))).key_by(lambda number: number % 5)
    stream.map(str).sink_to(sink).uid("sink")
    client = environment.execute_async()
    assert isinstance(client, InProcessJobClient)
    return client


def die_in_second_transaction() -> None:
    produce, calls = kafka_publisher.produce_block, [0]

    def produce_and_die(producer: Any, block: Any) -> None:
        produce(producer, block)
        calls[0] += 1
        if calls[0] == 3:  # the first transaction has two blocks, one of each subtask
            producer.flush()
            os.kill(os.getpid(), signal.SIGKILL)

    kafka_publisher.produce_block = produce_and_die  # type: ignore[assignment]


if __name__ == "__main__":
    die_in_second_transaction()
    start(kafka_sink(sys.argv[1], sys.argv[2]), sys.argv[3]).wait()
