"""The job between topics on Kafka Streams: compiles `StreamsDelays.java` and runs it on the JVM."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.delays.marks import TOPIC_IN, TOPIC_OUT, DelayTask, let_run
from benchmarks.peers.reporting import end_with_the_parent
from penstock.java import java_home
from tests.conformance.kstreams.kafka_streams import compiled

SOURCE = Path(__file__).with_name("StreamsDelays.java")


def main(task: DelayTask) -> None:
    """Run for the time that is asked for."""
    folder = Path(tempfile.mkdtemp())
    classes = folder / "classes"
    classes.mkdir()
    told = [task.servers, TOPIC_IN, TOPIC_OUT, task.parallelism, folder / "state", task.checkpoint_ms]
    java = str(Path(java_home()) / "bin" / "java")
    command = [java, "-cp", compiled(classes, SOURCE), "StreamsDelays", *map(str, told)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        let_run(task.folder, task.seconds)
        process.kill()


if __name__ == "__main__":
    end_with_the_parent()
    main(DelayTask.from_words(sys.argv[1:]))
