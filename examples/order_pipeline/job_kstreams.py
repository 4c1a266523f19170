"""The order pipeline in Kafka Streams' DSL: revenue by country in windows of ten minutes.

With `--kafka HOST:PORT` it is an application from topic to topic. Without, the topology runs on the files by the test
driver, which needs no broker.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from penstock.common import Duration
from penstock.kstreams import (
    Consumed,
    Grouped,
    KafkaStreams,
    KeyValue,
    Materialized,
    Produced,
    Serdes,
    StreamsBuilder,
    TimeWindows,
    Topology,
    TopologyTestDriver,
    Windowed,
)

RUN = Path(__file__).parent / "run"
OUTPUT = RUN / "output" / "kstreams"
JSON = Serdes.JSON()


def topology() -> Topology:
    builder = StreamsBuilder()
    consumed = Consumed.with_(JSON, JSON).with_timestamp_extractor(lambda record, _: record.value["at_ms"])
    customers = builder.table("customers", consumed)
    orders = builder.stream("orders", consumed)
    (
        orders.filter(lambda _, order: order["cents"] > 0)
        .join(customers, lambda order, customer: {"country": customer["country"], "cents": order["cents"]})
        .group_by(lambda _, sale: sale["country"], Grouped.with_(Serdes.String(), JSON))
        .windowed_by(TimeWindows.of_size_and_grace(Duration.of_minutes(10), Duration.of_seconds(10)))
        .aggregate(lambda: {"orders": 0, "cents": 0}, add, Materialized.with_(Serdes.String(), JSON))
        .to_stream()
        .map(row)
        .to("revenue", Produced.with_(Serdes.String(), JSON))
    )
    return builder.build()


def add(country: str, sale: dict[str, Any], total: dict[str, int]) -> dict[str, int]:
    return {"orders": total["orders"] + 1, "cents": total["cents"] + sale["cents"]}


def row(key: Windowed, total: dict[str, int]) -> KeyValue:
    start_ms = key.window.start
    return KeyValue(f"{key.key} {start_ms}", {"country": key.key, "start_ms": start_ms, **total})


def run_on_files() -> None:
    """Pipe the files through the topology; as in a compacted topic, the last value of a key stays."""
    last: dict[str, dict[str, Any]] = {}
    with TopologyTestDriver(topology()) as driver:
        for name in ("customers", "orders"):
            topic = driver.create_input_topic(name)
            for line in (RUN / "input" / f"{name}.jsonl").read_text().splitlines():
                record = json.loads(line)
                topic.pipe_input(record["customer_id"], record)
        for result in driver.create_output_topic("revenue").read_key_values_to_list():
            last[result.key] = result.value
    OUTPUT.mkdir(parents=True)
    (OUTPUT / "part-0.json").write_text("".join(json.dumps(value) + "\n" for value in last.values()))
    print(f"revenue by country is in {OUTPUT}")


def run_on_kafka(servers: str, engine: str) -> None:
    """Run until the topics are read to their present end; leave `kstreams.bounded` out to run for ever."""
    config = {
        "application.id": "order-pipeline",
        "bootstrap.servers": servers,
        "processing.guarantee": "exactly_once_v2",
        "num.stream.threads": 1,
        "state.dir": str(RUN / "state"),
        "penstock.engine": engine,
        "kstreams.bounded": True,
    }
    application = KafkaStreams(topology(), config)
    application.clean_up()
    application.start()
    application.wait()
    print("revenue by country is in the topic revenue")


def main() -> None:
    parser = argparse.ArgumentParser(description="Revenue by country, in Kafka Streams' DSL.")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="read and write topics there, instead of files")
    parser.add_argument("--engine", choices=["spark", "in-process"], default="spark", help="what runs it with --kafka")
    args = parser.parse_args()
    shutil.rmtree(OUTPUT, ignore_errors=True)
    if args.kafka:
        run_on_kafka(args.kafka, args.engine)
    else:
        run_on_files()


if __name__ == "__main__":
    main()
