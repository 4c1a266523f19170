"""Both ends of the job between topics, outside the systems: a broker, a sender of records that are due, a reader.

`python -m benchmarks.delays.kafka_ends send|read TASK` is a process for each; a result counts when a consumer that asks
for single messages has it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from confluent_kafka import Consumer, Producer

from benchmarks.delays.marks import TOPIC_IN, TOPIC_OUT, DelayTask, Marks, key_of
from benchmarks.peers.reporting import end_with_the_parent
from penstock.kafka_broker import LocalBroker

_STEP_S = 0.001
"""How often the sender looks what is due."""


@contextmanager
def open_ends(task: DelayTask, folder: Path, variables: Mapping[str, str]) -> Iterator[DelayTask]:
    """Run the broker, the sender and the reader; gives the task with the brokers' address in it."""
    with LocalBroker(folder / "kafka", ends_with_starter=True) as broker, ExitStack() as ends:
        for name in (TOPIC_IN, TOPIC_OUT):
            broker.create_topic(name, task.parallelism)
        given = replace(task, servers=broker.address)
        for end in ("read", "send"):
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.delays.kafka_ends", end, given.as_json()],
                env=dict(variables),
                stdin=subprocess.PIPE,
            )
            ends.callback(process.wait)
            ends.callback(process.kill)
        yield given


def send(task: DelayTask) -> None:
    """Send records at an even rate, each at once."""
    settings = {"linger.ms": 0, "partitioner": "murmur2_random", "enable.idempotence": True}  # as of Java's client
    producer = Producer({"bootstrap.servers": task.servers, **settings})
    began_ms, step, sent = time.time_ns() / 1e6, 1000 / task.rate, 0
    while True:
        due = int((time.time_ns() / 1e6 - began_ms) / step)
        for number in range(sent, due):
            key = str(key_of(number, task.keys))
            producer.produce(TOPIC_IN, f"{key},{began_ms + number * step:.3f}", key)
        sent = due
        producer.poll(0)
        time.sleep(_STEP_S)


def read(task: DelayTask) -> None:
    """Note the delay of every result, as it is read."""
    consumer = Consumer(
        {
            "bootstrap.servers": task.servers,
            "group.id": f"reader-{os.getpid()}",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
        }
    )
    consumer.subscribe([TOPIC_OUT])
    marks = Marks(task.folder)
    while True:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            marks.note(float(message.value().split(b",")[1]))


if __name__ == "__main__":
    end_with_the_parent()
    {"send": send, "read": read}[sys.argv[1]](DelayTask.from_words(sys.argv[2:]))
