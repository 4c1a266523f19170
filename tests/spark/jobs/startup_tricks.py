"""A job whose functions say how their worker was started: `python -m tests.spark.jobs.startup_tricks false`.

Prints what `looked` finds as JSON; the argument is the setting `penstock.spark.fast-start`.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from penstock.common import Configuration
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.spark.startup.fork_client import VARIABLE

MODULE = "tests.spark.jobs.startup_tricks"


def look(number: int) -> dict[str, Any]:
    """In a worker: what it was forked from, where its PySpark comes from, how it collects garbage and talks."""
    command = Path(f"/proc/{os.getppid()}/cmdline").read_text().split("\0")
    return {
        "daemon": command[command.index("-m") + 1],
        "zipped": any(entry.endswith("pyspark.zip") for entry in sys.path),
        "threshold": gc.get_threshold()[0],
        "is_frozen": gc.get_freeze_count() > 0,
        "unix_sockets": "PYTHON_WORKER_FACTORY_SOCK_DIR" in os.environ,
    }


def looked(fast_start: bool | None = None) -> dict[str, Any]:
    """What a job with the setting finds in its first worker, and the options of the JVM."""
    configuration = Configuration()
    # Without the tricks a Python process takes long to start, and Spark gives up on one after ten seconds.
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_integer("restart-strategy.fixed-delay.attempts", 20)
    if fast_start is not None:
        configuration.set_boolean("penstock.spark.fast-start", fast_start)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    (found,) = env.from_collection([1]).map(look).execute_and_collect("tricks")
    context = SparkContext._active_spark_context
    assert context is not None
    jvm: Any = context._jvm
    arguments = jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
    has_archive = any("SharedArchiveFile" in option or "ArchiveClassesAtExit" in option for option in arguments)
    has_server = os.path.exists(os.environ.get(VARIABLE, ""))
    return {**found, "archive": has_archive, "python": context.pythonExec, "fork_server": has_server}


if __name__ == "__main__":
    print(json.dumps(looked(sys.argv[1] == "true")))
