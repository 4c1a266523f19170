"""The state processor on Spark: frames of state, savepoints changed and made from nothing, and jobs that use them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.common import Row, Types
from penstock.datastream import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ListStateDescriptor, ValueStateDescriptor
from penstock.errors import JobFailedError, StateError
from penstock.state_processor import (
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
)
from tests.spark.conftest import NewEnvironment
from tests.unit.savepoint.ledger import KEYS, Start, ledger, oracle, published, run_some

STATES = ("count", "names", "periods")


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The savepoint of a ledger that was left in the middle, with its output beside it."""
    folder = tmp_path_factory.mktemp("ledger")
    client = Start(folder / "out").client()
    run_some(client)
    return Path(client.stop_with_savepoint(False, str(folder)).result())


def changed_by_one(frame: DataFrame) -> DataFrame:
    return frame.withColumn("value", F.col("value") + 1)


def test_a_job_goes_on_from_a_savepoint_whose_state_was_rewritten(
    spark: SparkSession, new_environment: NewEnvironment, left: Path, tmp_path: Path
) -> None:
    reader = SavepointReader.read(str(left), spark)
    writer = SavepointWriter.from_existing_savepoint(reader).with_timers("ledger", reader.read_timers("ledger"))
    for state in STATES:
        writer.with_keyed_state("ledger", state, reader.read_keyed_state("ledger", state))
    path = writer.write(str(tmp_path / "same"))
    shutil.copytree(left.parent / "out", tmp_path / "out")
    ledger(new_environment(3, **{"execution.state-recovery.path": path}), tmp_path / "out").execute("rewritten")
    assert published(tmp_path / "out") == oracle()


class Fill(KeyedStateBootstrapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        self.numbers = runtime_context.get_list_state(ListStateDescriptor("numbers"))

    def process_element(self, value: Any, ctx: Any) -> None:
        if value.number < 0:
            raise ValueError("no such number")
        self.total.update((self.total.value() or 0) + value.number)
        self.numbers.add(value.number)


class GoOn(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))
        self.numbers = runtime_context.get_list_state(ListStateDescriptor("numbers"))

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        yield value, self.total.value(), self.numbers.get()


class Sums(KeyedStateReaderFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.numbers = runtime_context.get_list_state(ListStateDescriptor("numbers"))

    def read_key(self, key: str, ctx: Any, out: Any) -> None:
        out.collect((key, sum(self.numbers.get())))


def test_state_from_a_frame_is_read_changed_and_used_by_a_job(
    spark: SparkSession, new_environment: NewEnvironment, tmp_path: Path
) -> None:
    frame = spark.range(0, 40).selectExpr("concat('k', id % 7) as name", "id as number").coalesce(1)
    bootstrap = OperatorTransformation.bootstrap_with(frame).key_by("name").transform(Fill())
    path = SavepointWriter.new_savepoint(session=spark).with_operator("totals", bootstrap).write(str(tmp_path / "new"))
    expected = {f"k{key}": list(range(key, 40, 7)) for key in range(7)}

    reader = SavepointReader.read(path, spark)
    totals = reader.read_keyed_state("totals", "total")
    assert totals.dtypes == [("key", "string"), ("value", "bigint")]
    assert {row["key"]: row["value"] for row in totals.collect()} == {key: sum(all) for key, all in expected.items()}
    output = Types.ROW_NAMED(["name", "sum"], [Types.STRING(), Types.LONG()])
    sums = reader.read_keyed_state("totals", Sums(), output)
    assert sorted(map(tuple, sums.collect())) == sorted((key, sum(all)) for key, all in expected.items())

    writer = SavepointWriter.from_existing_savepoint(reader).change_uid("totals", "renamed")
    writer.with_keyed_state("renamed", "total", changed_by_one(totals).where("key != 'k6'"))
    environment = new_environment(3, **{"execution.state-recovery.path": writer.write(str(tmp_path / "changed"))})
    stream = environment.from_collection([*expected, "k7"]).key_by(lambda name: name).process(GoOn()).uid("renamed")
    found = {key: (total, numbers) for key, total, numbers in stream.execute_and_collect()}
    assert found == {
        **{key: (sum(all) + 1, all) for key, all in expected.items()},
        "k6": (None, expected["k6"]),
        "k7": (None, []),
    }


def test_mistakes_are_told_in_a_sentence_and_leave_nothing(spark: SparkSession, left: Path, tmp_path: Path) -> None:
    reader = SavepointReader.read(str(left), spark)
    counts = reader.read_keyed_state("ledger", "count")
    assert counts.count() == KEYS
    writer = SavepointWriter.from_existing_savepoint(reader)
    with pytest.raises(StateError, match="has the columns key, but must have key bigint, value bigint"):
        writer.with_keyed_state("ledger", "count", counts.select("key"))
    with pytest.raises(StateError, match="column value is string, but must be bigint: cast it"):
        writer.with_keyed_state("ledger", "count", counts.withColumn("value", F.lit("many")))
    with pytest.raises(StateError, match="expected a Spark DataFrame"):
        writer.with_keyed_state("ledger", "count", [1])
    nulls = counts.withColumn("key", F.when(F.col("key") > 2, F.col("key")).cast("int"))
    with pytest.raises(StateError, match="key is null in a row"):
        writer.with_keyed_state("ledger", "count", nulls).write(str(tmp_path / "new"))
    records = [Row(name="a", number=-1)]
    bootstrap = OperatorTransformation.bootstrap_with(records).key_by("name").transform(Fill())
    with pytest.raises(JobFailedError, match=r"(?s)no such number.*operator 'totals'.*record: Row"):
        SavepointWriter.new_savepoint(session=spark).with_operator("totals", bootstrap).write(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
