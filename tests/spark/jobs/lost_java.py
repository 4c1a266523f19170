"""A program that kills its own Java process under running jobs, and starts further jobs after that.

Writes what it saw as JSON lines: `python -m tests.spark.jobs.lost_java FOLDER`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.common import Configuration
from penstock.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.errors import PenstockError
from tests.spark.processes import QUICK_JAVA
from tests.spark.waiting import wait_until

_OPTIONS = {"spark.driver.extraJavaOptions": QUICK_JAVA, "spark.ui.enabled": "false"}
# The default; what is tested is decided before a strategy is asked.
_STRATEGIES: dict[str, RestartStrategyConfiguration] = {"exponential": RestartStrategies.exponential_delay_restart()}


def _environment() -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in _OPTIONS.items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    return environment.set_parallelism(1)


def _endless(environment: StreamExecutionEnvironment, checkpoint: Path) -> Any:
    environment.get_checkpoint_config().set_checkpoint_storage_dir(str(checkpoint))
    source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(50))
    environment.from_source(source, None, "numbers").map(lambda n: n).print()
    client: Any = environment.execute_async("endless")
    wait_until(lambda: client.progress().batch >= 1 or client.last_failure(), "a batch is done")
    return client


def _kill_java() -> None:
    gateway: Any = SparkContext._gateway
    os.kill(gateway.proc.pid, signal.SIGKILL)


def _failure(client: Any) -> dict[str, Any]:
    _kill_java()
    started = time.monotonic()
    try:
        client.wait(timeout=60)
        text = "ended well"
    except PenstockError as error:
        text = str(error)
    except TimeoutError:
        text = "did not end"
    return {"text": text, "seconds": time.monotonic() - started, "restarts": client.restarts()}


def _small_job() -> str:
    """What a further job of the process says."""
    try:
        return str(list(_environment().from_collection([1, 2, 3]).map(lambda n: n + 1).execute_and_collect()))
    except PenstockError as error:
        return f"{type(error).__name__}: {error}"


def main(folder: Path) -> None:
    """Kill, look, go on."""
    with (folder / "seen").open("w") as seen:
        for name, strategy in _STRATEGIES.items():
            environment = _environment()
            environment.set_restart_strategy(strategy)
            found = _failure(_endless(environment, folder / name))
            print(json.dumps({"strategy": name, **found}), file=seen, flush=True)
        _user_session()
        _failure(_endless(_environment(), folder / "users"))
        told = [_small_job(), _small_job()]
        _user_session()
        print(json.dumps({"user's session": [*told, _small_job()]}), file=seen, flush=True)


def _user_session() -> None:
    builder = SparkSession.builder.master("local[2]")
    for key, value in _OPTIONS.items():
        builder = builder.config(key, value)
    builder.getOrCreate()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
