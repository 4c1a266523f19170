"""Failure and resumption: a job that fails is restarted; one that was stopped goes on where it was, and nothing is
counted twice. Mirrors Flink's StateMachineExample, started again from its checkpoint."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from penstock.common import RestartStrategies
from penstock.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.data_gen import DataGeneratorSource, RateLimiterStrategy
from penstock.datastream.connectors.file_system import FileSink

COUNT = 4_000


class FailOnce(MapFunction):
    """Fails in the middle of the input, but not in a job that was restarted for it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.is_first_attempt = runtime_context.get_attempt_number() == 0

    def map(self, number: int) -> int:
        if number == COUNT // 2 and self.is_first_attempt:
            raise RuntimeError("the disk is on fire")
        return number


def job(folder: Path) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.get_checkpoint_config().set_checkpoint_storage_dir(str(folder / "checkpoint"))
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 100))
    numbers = DataGeneratorSource(lambda number: number, COUNT, RateLimiterStrategy.per_second(2_000))
    ones = env.from_source(numbers, None, "numbers").map(FailOnce()).map(lambda number: (number % 10, 1))
    counts = ones.key_by(0).sum(1).uid("counts")
    counts.sink_to(FileSink.json(folder / "counts"))
    return env


def main(folder: Path) -> int:
    """Stop the job once it has read something, start it again, and return how often it was restarted."""
    first = job(folder).execute_async("numbers")
    while first.progress().records == 0 and not first.get_job_execution_result().done():
        time.sleep(0.05)
    first.cancel().result()
    # The same program with the same checkpoint directory goes on where the first one was stopped.
    second = job(folder).execute_async("numbers")
    second.wait()
    return first.restarts() + second.restarts()


if __name__ == "__main__":
    place = Path(tempfile.mkdtemp(prefix="penstock-resume-"))
    print(main(place), "restart(s); counts in", place / "counts")
