"""A changed program goes on with the state of the old one: stopped with a savepoint, started from it with another
parallelism and one more operator. Mirrors Flink's `stop --savepointPath` and `run --fromSavepoint`."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from penstock.common import Configuration
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource
from penstock.datastream.connectors.file_system import FileSink

COUNT = 2_000


def counts(env: StreamExecutionEnvironment) -> DataStream:
    """What both versions share; uids are how state finds its operator again."""
    numbers = env.from_source(DataGeneratorSource(lambda number: number, COUNT), None, "numbers").uid("numbers")
    return numbers.map(lambda number: (number % 10, 1)).key_by(lambda pair: pair[0]).sum(1).uid("counts")


def first_version(folder: Path) -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("penstock.batch.max-records", "50")  # to have time to be stopped
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    counts(env).sink_to(FileSink.json(folder / "counts")).uid("counts out")
    return env


def second_version(folder: Path, savepoint: str) -> StreamExecutionEnvironment:
    configuration = Configuration().set_string("execution.state-recovery.path", savepoint)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(3)
    counted = counts(env)
    counted.sink_to(FileSink.json(folder / "counts")).uid("counts out")
    hundreds = counted.filter(lambda pair: pair[1] % 100 == 0).uid("hundreds")
    hundreds.sink_to(FileSink.json(folder / "hundreds")).uid("hundreds out")
    return env


def main(folder: Path) -> str:
    """Run the first version for a while and the second to the end; returns the path of the savepoint between them."""
    first = first_version(folder).execute_async("first version")
    while first.progress().records == 0 and not first.get_job_execution_result().done():
        time.sleep(0.05)
    savepoint = first.stop_with_savepoint(False, str(folder / "savepoints")).result()
    second_version(folder, savepoint).execute("second version")
    return savepoint


if __name__ == "__main__":
    place = Path(tempfile.mkdtemp(prefix="penstock-upgrade-"))
    print("savepoint", main(place), "; counts in", place / "counts")
