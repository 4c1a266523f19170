"""Wrong state is put right: a job has counted bob's payments in cents, so its state is read as a DataFrame, divided,
and written as a savepoint that the corrected job starts from. Mirrors Flink's State Processor API."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import functions as F

from penstock.common import Configuration, Types
from penstock.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.state_processor import SavepointReader, SavepointWriter

Payment = tuple[str, int]


class Total(KeyedProcessFunction[str, Payment, Payment]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, payment: Payment, ctx: KeyedProcessFunction.Context) -> Iterator[Payment]:
        total = (self.total.value() or 0) + payment[1]
        self.total.update(total)
        yield payment[0], total


def totals(env: StreamExecutionEnvironment, payments: list[Payment], day: str) -> DataStream[Payment]:
    stream = env.from_collection(payments).uid(day)
    return stream.key_by(lambda payment: payment[0]).process(Total()).uid("totals")


def corrected(checkpoint: Path, target: Path) -> str:
    """A savepoint like the last checkpoint of a job, with other totals and without the source that is at its end."""
    reader = SavepointReader.read(str(checkpoint))
    state = reader.read_keyed_state("totals", "total")
    euros = F.when(F.col("key") == "bob", F.floor(F.col("value") / 100)).otherwise(F.col("value"))
    writer = SavepointWriter.from_existing_savepoint(reader).remove_operator("monday")
    return writer.with_keyed_state("totals", "total", state.withColumn("value", euros)).write(str(target))


def main(folder: Path) -> list[Payment]:
    """Monday's job, the correction, and Tuesday's job, whose results are returned."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.get_checkpoint_config().set_checkpoint_storage_dir(str(folder / "monday"))
    with totals(env, [("ann", 5), ("bob", 200), ("ann", 2), ("bob", 300)], "monday").execute_and_collect() as results:
        print("wrong:", sorted(results))
    savepoint = corrected(folder / "monday", folder / "corrected")
    configuration = Configuration().set_string("execution.state-recovery.path", savepoint)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    with totals(env, [("ann", 1), ("bob", 4)], "tuesday").execute_and_collect() as results:
        return sorted(results)


if __name__ == "__main__":
    print("right:", main(Path(tempfile.mkdtemp(prefix="penstock-fix-"))))
