"""From Kafka to Kafka, exactly once. Each run sends three payments and shows all balances from the very first; kill it
whenever you like and run it again. Mirrors Flink's KafkaSource and KafkaSink with `DeliveryGuarantee.EXACTLY_ONCE`.

    penstock kafka start --topic payments:2 --topic balances:2
    python examples/kafka_exactly_once.py
    penstock kafka stop
"""

from __future__ import annotations

import uuid

from confluent_kafka import Consumer, Producer

from penstock.common import SimpleStringSchema, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import KafkaProducerRecord as Message
from penstock.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink, KafkaSource


class Balance(KafkaRecordSerializationSchema):
    def to_record(self, balance: tuple[str, int], timestamp: int | None) -> Message:
        return Message("balances", f"{balance[0]}:{balance[1]}".encode(), key=balance[0].encode())


def job(servers: str, checkpoint: str) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.get_checkpoint_config().set_checkpoint_storage_dir(checkpoint)
    source = KafkaSource.builder().set_bootstrap_servers(servers).set_topics("payments")
    source.set_value_only_deserializer(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(Balance())
    sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("balances")
    texts = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "payments")
    payments = texts.map(lambda text: text.split(":")).map(lambda parts: (parts[0], int(parts[1])))
    payments.key_by(lambda payment: payment[0]).sum(1).sink_to(sink.build())
    return env


def main(servers: str = "127.0.0.1:9092", checkpoint: str = "kafka-checkpoint", count: int | None = None) -> list[str]:
    producer = Producer({"bootstrap.servers": servers})
    for payment in ("ann:10", "bob:5", "ann:7"):
        producer.produce("payments", key=payment.partition(":")[0], value=payment)
    producer.flush()
    running = job(servers, checkpoint).execute_async("balances")
    settings = {"group.id": str(uuid.uuid4()), "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    reader = Consumer({"bootstrap.servers": servers, **settings})
    reader.subscribe(["balances"])
    seen: list[str] = []
    while len(seen) != count and not running.get_job_execution_result().done():
        message = reader.poll(0.5)
        if message is not None and message.error() is None:
            seen.append((message.value() or b"").decode())
            print(seen[-1])
    running.cancel().result()
    return seen


if __name__ == "__main__":
    main()
