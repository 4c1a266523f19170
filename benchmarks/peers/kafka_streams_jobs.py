"""The Kafka Streams jobs on Kafka Streams itself: compiles `kafka_streams/StreamsJob.java` and runs it on the JVM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.peers.kafka_input import PREFIX, filled_broker
from benchmarks.peers.reporting import Task, end_with_the_parent
from penstock.java import java_home
from tests.conformance.kstreams.kafka_streams import compiled

SOURCE = Path(__file__).parent / "kafka_streams" / "StreamsJob.java"


def main(words: list[str]) -> int:
    """Fill topics, then run the job in one JVM with all numbers of records."""
    end_with_the_parent()
    task = Task(**json.loads(words[0]))
    folder = Path(os.environ.get("TMPDIR", ".")).resolve()
    classes = folder / "classes"
    classes.mkdir()
    path = compiled(classes, SOURCE)
    with filled_broker(task, folder) as servers:
        sizes = ",".join(map(str, task.sizes))
        told = [task.report, sizes, task.job, servers, PREFIX, task.parallelism, folder / "state", task.collect]
        command = [str(Path(java_home()) / "bin" / "java"), "-cp", path, "StreamsJob", *map(str, told)]
        return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
