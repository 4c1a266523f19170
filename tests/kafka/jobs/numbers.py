"""A job from Kafka to Kafka as a program: `python -m tests.kafka.jobs.numbers '{"servers": ..., ...}'`.

What is sent and what must come out is in `topics_of_numbers`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass, field

from penstock.common import Configuration, RestartStrategies, SimpleStringSchema, WatermarkStrategy
from penstock.common.serialization import SerializationSchema
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.datastream.state import ValueStateDescriptor
from tests.kafka.topics_of_numbers import key_of

MODULE = "tests.kafka.jobs.numbers"
SLOW_SECONDS = 0.0002


@dataclass(frozen=True)
class Order:
    """How one process is to run the job; all but the topics and the checkpoint may differ from start to start.

    What the sink stages goes to files that worker processes publish if `in_files`, otherwise the driver publishes it
    from the seal. While the file `brake` exists, the sink is slow.
    """

    servers: str
    source: str
    sink: str
    checkpoint: str
    batch_records: int
    restarts: int = 0
    in_files: bool = False
    brake: str = ""
    settings: dict[str, str] = field(default_factory=dict)

    def arguments(self) -> list[str]:
        """What to start the program with."""
        return [sys.executable, "-m", MODULE, json.dumps(asdict(self))]


class Count(KeyedProcessFunction):
    """Numbers the records of a key from 1."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
        """Emit key, number and count."""
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield f"{ctx.get_current_key()}:{value}:{count}"


class KeyOfResult(SerializationSchema):
    """The key of a result, as bytes; takes its time while there is a brake."""

    def __init__(self, brake: str) -> None:
        self._brake = brake

    def serialize(self, value: str) -> bytes:
        """What stands before the first colon."""
        if self._brake and os.path.exists(self._brake):
            threading.Event().wait(SLOW_SECONDS)
        return value.partition(":")[0].encode()


def build(environment: StreamExecutionEnvironment, order: Order) -> None:
    """The job: count the numbers of each key."""
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(order.servers)
        .set_topics(order.source)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(order.sink)
        .set_key_serialization_schema(KeyOfResult(order.brake))
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(order.servers)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(order.sink)
        .build()
    )
    if order.in_files:
        sink.inline_bytes = 0
    numbers = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    numbers.map(int).key_by(key_of).process(Count()).sink_to(sink)


def main(order: Order) -> None:
    """Run the job to its end."""
    configuration = Configuration()
    configuration.set_string("penstock.batch.max-records", str(order.batch_records))
    for key, value in order.settings.items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(2)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(order.checkpoint)
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(order.restarts, 500))
    build(environment, order)
    started = time.monotonic()
    environment.execute("numbers")
    print(f"ran for {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main(Order(**json.loads(sys.argv[1])))
