"""State of savepoints as Spark DataFrames, both ways."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

import cloudpickle
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from penstock.connectors.frame_source import batch_to_values
from penstock.engine.spark.control import clock_ms
from penstock.engine.spark.program_imports import ProgramImports
from penstock.engine.spark.startup.session import get_session
from penstock.engine.spark.state_columns import conformed
from penstock.engine.spark.state_parts import MakeRows, ShuffledRow, to_shuffle, write_parts
from penstock.engine.spark.worker_orders import run_on_workers
from penstock.errors import GraphError, StateError
from penstock.formats.ddl import schema_to_ddl
from penstock.formats.records import RecordShapeError, plain, to_columns
from penstock.graph.settings import JobSettings
from penstock.savepoint.row_sources import RowSource
from penstock.savepoint.writing import PartResult, write_part_rows
from penstock.state_processor.assembling import PartAssembly, assemble_part
from penstock.state_processor.bootstrap import KeyedRecord, StateBootstrap, bootstrapped_rows, keyed_records
from penstock.state_processor.columns import NewRow, StateColumns
from penstock.state_processor.entries import EntryReader
from penstock.state_processor.functions import KeyedStateReaderFunction
from penstock.state_processor.key_reading import read_keys
from penstock.state_processor.slices import Slice

Order = TypeVar("Order")
Result = TypeVar("Result")
Batches = Iterator[pa.RecordBatch]

_BATCH_ROWS = 5_000


class SparkStates:
    """What the state processor needs of Spark, on one session."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    @classmethod
    def of(cls, session: SparkSession | None) -> SparkStates:
        """On a session: the one given, the active one, or one made anew."""
        return cls(session or get_session(JobSettings(job_name="state processor")))

    def parallelism(self) -> int:
        """How many parts are worth writing at a time."""
        return int(self._session.sparkContext.defaultParallelism)

    def run(self, work: Callable[[Order], Result], orders: list[Order]) -> list[Result]:
        """Do the work for each order in a task that finds the classes of the user's program."""
        imports = ProgramImports.of_this_process()

        def at_home(order: Order) -> Result:
            imports.install()
            return work(order)

        return run_on_workers(self._session, at_home, orders, what="Penstock reads and writes state")

    # Reading

    def state_frame(self, columns: StateColumns, parts: list[Slice]) -> DataFrame:
        """The entries of a state, or the timers; each part is read by a task."""

        def read(part: Slice) -> Batches:
            for state in columns.states:
                reader = EntryReader(state, columns.kind, columns.written)
                for entries in reader.read(part.blocks(state, columns.kind)):
                    yield columns.to_batch(entries, state)

        return self._frame_of_orders(parts, read, from_arrow_schema(columns.schema()))

    def function_frame(
        self,
        function: KeyedStateReaderFunction,
        sources: list[RowSource],
        uid: str,
        max_parallelism: int,
        output_type: Any,
    ) -> DataFrame:
        """What a function gives for each key."""
        schema = StructType.fromDDL(schema_to_ddl(output_type))
        assert isinstance(schema, StructType)
        arrow_schema = to_arrow_schema(schema, timezone="UTC")
        pickled = _pickled(function, f"read_keyed_state({uid!r})")

        def read(source: RowSource) -> Batches:
            results = read_keys(pickle.loads(pickled), source, uid, max_parallelism, clock_ms)
            while chunk := list(islice(results, _BATCH_ROWS)):
                yield _records_batch(chunk, arrow_schema, uid)

        return self._frame_of_orders(sources, read, schema)

    def table_frame(self, table: pa.Table) -> DataFrame:
        """A small table as a frame."""
        return self._session.createDataFrame(table)

    def _frame_of_orders(self, orders: list[Order], read: Callable[[Order], Batches], schema: StructType) -> DataFrame:
        if not orders:
            return self._session.createDataFrame([], schema)
        imports = ProgramImports.of_this_process()

        def run(batches: Batches) -> Batches:
            imports.install()
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from read(orders[number])

        return self._session.range(0, len(orders), 1, len(orders)).mapInArrow(run, schema)

    # Writing

    def is_frame(self, data: Any) -> bool:
        """Whether data are a DataFrame of Spark's."""
        return isinstance(data, DataFrame)

    def table_of(self, frame: DataFrame) -> pa.Table:
        """A small frame as a table."""
        return frame.toArrow()

    def checked(self, frame: Any, schema: pa.Schema, optional: set[str], method: str) -> DataFrame:
        """The frame as the schema wants it, or a refusal."""
        return conformed(frame, schema, optional, method)

    def assemble(
        self, orders: list[PartAssembly], frames: list[tuple[StateColumns, DataFrame]], max_parallelism: int
    ) -> list[PartResult]:
        """Write the parts of an operator in which the entries of some states are those of frames."""
        made = [
            to_shuffle(frame, _entry_maker(columns, max_parallelism), len(orders), max_parallelism)
            for columns, frame in frames
        ]

        def write(target: int, rows: Iterator[ShuffledRow]) -> PartResult:
            new = (NewRow(row.key_group, row.state, row.namespace, row.key, row.suffix, row.value) for row in rows)
            return assemble_part(orders[target], new)

        return write_parts(self._session, made, len(orders), write)

    def bootstrap(
        self, bootstrap: StateBootstrap, target_uri: str, uid: str, parallelism: int, max_parallelism: int
    ) -> list[PartResult]:
        """Write the parts of an operator that never ran."""
        frame, values_of = self._records(bootstrap.data, uid)
        key = _pickled(bootstrap.key, f"key_by of operator {uid!r}")
        function = _pickled(bootstrap.function, f"transform of operator {uid!r}")

        def rows_of(batches: Batches) -> Iterator[ShuffledRow]:
            context = TaskContext.get()
            assert context is not None
            place = context.partitionId().to_bytes(4, "big")
            values = chain.from_iterable(map(values_of, batches))
            records = keyed_records(values, pickle.loads(key), uid, max_parallelism)
            for number, record in enumerate(records):
                suffix = place + number.to_bytes(8, "big")  # records of a key keep the order that they have here
                yield ShuffledRow(record.key_group, "", record.key, b"", suffix, record.payload)

        def write(target: int, rows: Iterator[ShuffledRow]) -> PartResult:
            records = (KeyedRecord(row.key_group, row.key, row.value) for row in rows)
            made = bootstrapped_rows(
                pickle.loads(function), records, uid, target, parallelism, max_parallelism, clock_ms
            )
            return write_part_rows(target_uri, uid, target, made)

        shuffled = to_shuffle(frame, rows_of, parallelism, max_parallelism)
        return write_parts(self._session, [shuffled], parallelism, write)

    def _records(self, data: Any, uid: str) -> tuple[DataFrame, Callable[[pa.RecordBatch], list[Any]]]:
        if isinstance(data, DataFrame):
            return data, _rows_of
        try:
            records = list(data)
        except TypeError:
            raise GraphError(
                f"bootstrap_with: expected a Spark DataFrame or a collection for operator {uid!r}, got "
                f"{type(data).__name__}"
            ) from None
        pickled = [_pickled(record, f"bootstrap_with of operator {uid!r}") for record in records]
        return self._session.createDataFrame(pa.table({"record": pa.array(pickled, pa.binary())})), _unpickled


def _entry_maker(columns: StateColumns, max_parallelism: int) -> MakeRows:
    def make(batches: Batches) -> Iterator[ShuffledRow]:
        for row in chain.from_iterable(columns.from_batch(batch, max_parallelism) for batch in batches):
            yield ShuffledRow(row.key_group, row.state, row.key, row.namespace, row.suffix, row.value)

    return make


def _rows_of(batch: pa.RecordBatch) -> list[Any]:
    return batch_to_values(batch, "row")


def _unpickled(batch: pa.RecordBatch) -> list[Any]:
    return [pickle.loads(data) for data in batch.column(0).to_pylist()]


def _pickled(value: Any, what: str) -> bytes:
    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as error:
        raise GraphError(f"{what} cannot be sent to the workers: it cannot be pickled ({error})") from None


def _records_batch(records: list[Any], schema: pa.Schema, uid: str) -> pa.RecordBatch:
    try:
        columns = to_columns(records, schema.names)
        arrays = [pa.array([plain(value) for value in columns[field.name]], field.type) for field in schema]
    except (RecordShapeError, KeyError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise StateError(
            f"operator {uid!r}: what read_key collected does not fit output_type ({error}): its columns are "
            f"{', '.join(schema.names)}"
        ) from None
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
