"""`python -m benchmarks.kafka`: Kafka to keyed count to Kafka on a broker of its own: records a second, and delay."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import count
from statistics import quantiles

from confluent_kafka import Consumer, Producer
from rich.console import Console
from rich.table import Table

sys.path.insert(0, __file__.rpartition("/benchmarks/")[0])

from benchmarks import results
from benchmarks.measuring import run, slope
from penstock.common import Configuration, SimpleStringSchema, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.kafka_broker import LocalBroker

GUARANTEES = (DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE)
PARTITIONS = 2
KEYS = 2_000
SMALL, LARGE = 200_000, 1_000_000
RATE = 1_000
WARM_UP_SECONDS, MEASURED_SECONDS = 6, 15
_numbers = count()


class CountMessage(KafkaRecordSerializationSchema):
    """Key, count, and what came with the last record of the key."""

    def __init__(self, topic: str) -> None:
        super().__init__()
        self._target = topic

    def to_record(self, value: tuple[str, int, str], timestamp: int | None) -> KafkaProducerRecord:
        key, number, text = value
        return KafkaProducerRecord(self._target, f"{number},{text}".encode(), key.encode())


def build(
    environment: StreamExecutionEnvironment,
    servers: str,
    topic: str,
    target: str,
    promise: DeliveryGuarantee,
    ends: bool,
) -> None:
    """The job: how many records each key has had."""
    source = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(topic)
    source.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    source.set_value_only_deserializer(SimpleStringSchema())
    if ends:
        source.set_bounded(KafkaOffsetsInitializer.latest())
    sink = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(CountMessage(target))
    sink.set_delivery_guarantee(promise)
    if promise == DeliveryGuarantee.EXACTLY_ONCE:
        sink.set_transactional_id_prefix(target)
    texts = environment.from_source(source.build(), WatermarkStrategy.no_watermarks(), "texts")
    ones = texts.map(lambda text: (text.partition(",")[0], 1, text))
    counts = ones.key_by(lambda one: one[0]).reduce(lambda before, one: (one[0], before[1] + 1, one[2]))
    counts.sink_to(sink.build())


def send(servers: str, topic: str, records: int) -> None:
    """Fill a topic: 100 bytes a record."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20, "queue.buffering.max.messages": records + 1})
    for number in range(records):
        producer.produce(topic, f"k{number % KEYS},{number}".ljust(100, "."))
    assert producer.flush(120) == 0


def speed(broker: LocalBroker, promise: DeliveryGuarantee, scale: float) -> float:
    """Records a second in steady state."""

    def job(environment: StreamExecutionEnvironment, records: int) -> None:
        target = _topic(broker)
        build(environment, broker.address, f"in-{records}", target, promise, ends=True)

    run(job, int(SMALL * scale))  # the first job of a session pays for what all share
    rate, _ = slope(job, int(SMALL * scale), int(LARGE * scale))
    return rate


def delays(broker: LocalBroker, promise: DeliveryGuarantee) -> list[float]:
    """Milliseconds from being sent to being read, of every record after the warm-up."""
    topic, target = _topic(broker), _topic(broker)
    environment = StreamExecutionEnvironment.get_execution_environment(Configuration()).set_parallelism(2)
    build(environment, broker.address, topic, target, promise, ends=False)
    job = environment.execute_async("delays")
    stop = threading.Event()
    sender = threading.Thread(target=_send_steadily, args=(broker.address, topic, stop), daemon=True)
    sender.start()
    try:
        return list(_timed(broker.address, target))
    finally:
        stop.set()
        sender.join()
        job.cancel().result()


def _send_steadily(servers: str, topic: str, stop: threading.Event) -> None:
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 0})
    started = time.monotonic()
    for number in count():
        ahead = started + number / RATE - time.monotonic()
        if ahead > 0 and stop.wait(ahead):
            break
        producer.produce(topic, f"k{number % KEYS},{time.time()}")
        producer.poll(0)
    producer.flush(30)


def _timed(servers: str, target: str) -> Iterator[float]:
    settings = {"group.id": target, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    reader = Consumer({"bootstrap.servers": servers, "fetch.wait.max.ms": 5, **settings})
    reader.subscribe([target])
    begun: float | None = None
    while begun is None or time.time() < begun + WARM_UP_SECONDS + MEASURED_SECONDS:
        message = reader.poll(1.0)
        if message is None or message.error() is not None:
            continue
        now = time.time()
        begun = begun or now
        if now > begun + WARM_UP_SECONDS:
            yield 1000 * (now - float(message.value().decode().rpartition(",")[2]))
    reader.close()


def _topic(broker: LocalBroker) -> str:
    name = f"t{next(_numbers)}"
    broker.create_topic(name, PARTITIONS)
    return name


def main(scale: float = 1.0) -> int:
    """Measure and print."""
    table = Table(title=f"Kafka to keyed count to Kafka; delay at {RATE:,} records/s")
    for column in ("promise of the sink", "records/s", "delay p50, ms", "delay p99, ms"):
        table.add_column(column, justify="left" if column.startswith("promise") else "right")
    with tempfile.TemporaryDirectory() as folder, LocalBroker(folder) as broker:
        for records in {int(SMALL * scale), int(LARGE * scale)}:
            broker.create_topic(f"in-{records}", PARTITIONS)
            send(broker.address, f"in-{records}", records)
        measured = {}
        for promise in GUARANTEES:
            rate = speed(broker, promise, scale)
            cuts = quantiles(delays(broker, promise), n=100)
            name = promise.name.lower().replace("_", " ")
            table.add_row(name, f"{rate:,.0f}", f"{cuts[49]:,.0f}", f"{cuts[98]:,.0f}")
            measured[name] = {"records_per_second": round(rate), "p50_ms": round(cuts[49]), "p99_ms": round(cuts[98])}
    Console().print(table)
    if scale == 1:
        heading = results.heading(parallelism=PARTITIONS, rounds=1)
        results.write("kafka", {**heading, "rate": RATE, "promises": measured})
    return 0


if __name__ == "__main__":
    sys.exit(main())
