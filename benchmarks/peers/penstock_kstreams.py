"""The Kafka Streams jobs in Penstock: the same topologies on Spark, from topics to topics."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.peers import reporting
from benchmarks.peers.kafka_input import PREFIX, filled_broker
from penstock.kstreams import Consumed, Grouped, KafkaStreams, Produced, Serdes, StreamsBuilder, Topology

TEXT = Serdes.String()
BOTH = Consumed.with_(TEXT, TEXT)


def is_kstreams(job: str) -> bool:
    """Whether a job is one of Kafka Streams."""
    return job.startswith("kstreams_")


def topology(job: str, prefix: str) -> Topology:
    """A running count of each key, or a stream joined with a table."""
    builder = StreamsBuilder()
    stream = builder.stream(f"{prefix}-in", BOTH)
    if job == "kstreams_count":
        results = stream.group_by_key(Grouped.with_(TEXT, TEXT)).count().to_stream().map_values(str)
    else:
        results = stream.join(builder.table(f"{prefix}-table", BOTH), lambda value, row: f"{value}:{row}")
    results.to(f"{prefix}-out", Produced.with_(TEXT, TEXT))
    return builder.build()


def serve(task: reporting.Task) -> None:
    """Fill topics, then run the application with each number of records and report the seconds of each."""
    reporting.end_with_the_parent()
    folder = Path(os.environ.get("TMPDIR", ".")).resolve()
    with filled_broker(task, folder) as servers, open(task.report, "a", encoding="utf-8") as report:
        for turn, records in enumerate(task.sizes):
            config: dict[str, Any] = {
                "application.id": f"{PREFIX}-{turn}",
                "bootstrap.servers": servers,
                "num.stream.threads": task.parallelism,
                "state.dir": str(folder / "state"),
                "kstreams.bounded": True,
                **task.options,
            }
            started = time.monotonic()
            streams = KafkaStreams(topology(task.job, f"{PREFIX}-{turn}"), config)
            streams.start()
            streams.wait()
            found = {"records": records, "seconds": time.monotonic() - started, "ended": time.time()}
            results = _written(servers, f"{PREFIX}-{turn}-out", records) if task.collect else []
            report.write(json.dumps({**found, "results": results}) + "\n")
            report.flush()


def _written(servers: str, topic: str, records: int) -> list[list[int]]:
    """What is in the output topic, as numbers."""
    from confluent_kafka import Consumer

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "check", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found: list[list[int]] = []
    give_up = time.monotonic() + 60
    while len(found) < records and time.monotonic() < give_up:
        for message in consumer.consume(1_000, 0.2):
            key, value = message.key() or b"", message.value() or b""
            found.append([int(key), *map(int, value.split(b":"))])
    consumer.close()
    return found
