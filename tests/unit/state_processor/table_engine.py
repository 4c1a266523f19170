"""The state processor's engine in this process: Arrow tables are its frames, and tasks are calls."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa

from penstock.errors import StateError
from penstock.keys.groups import subtask_of
from penstock.savepoint import open_origin
from penstock.savepoint.row_sources import RowSource
from penstock.savepoint.writing import PartResult, write_part_rows
from penstock.state_processor import KeyedStateReaderFunction, SavepointReader, SavepointWriter
from penstock.state_processor.assembling import PartAssembly, assemble_part
from penstock.state_processor.bootstrap import StateBootstrap, bootstrapped_rows, keyed_records
from penstock.state_processor.changes import Changes
from penstock.state_processor.columns import NewRow, StateColumns
from penstock.state_processor.entries import EntryReader
from penstock.state_processor.key_reading import read_keys
from penstock.state_processor.slices import Slice

Order = TypeVar("Order")
Result = TypeVar("Result")


class TableEngine:
    def parallelism(self) -> int:
        return 3

    def run(self, work: Callable[[Order], Result], orders: list[Order]) -> list[Result]:
        return [work(pickle.loads(pickle.dumps(order))) for order in orders]

    def state_frame(self, columns: StateColumns, parts: list[Slice]) -> pa.Table:
        batches = [
            columns.to_batch(entries, state)
            for part in parts
            for state in columns.states
            for entries in EntryReader(state, columns.kind, columns.written).read(part.blocks(state, columns.kind))
        ]
        return pa.Table.from_batches(batches, columns.schema())

    def function_frame(
        self,
        function: KeyedStateReaderFunction,
        sources: list[RowSource],
        uid: str,
        max_parallelism: int,
        output_type: Any,
    ) -> list[Any]:
        return [each for source in sources for each in read_keys(function, source, uid, max_parallelism, lambda: 0)]

    def table_frame(self, table: pa.Table) -> pa.Table:
        return table

    def is_frame(self, data: Any) -> bool:
        return isinstance(data, pa.Table)

    def table_of(self, frame: pa.Table) -> pa.Table:
        return frame

    def checked(self, frame: pa.Table, schema: pa.Schema, optional: set[str], method: str) -> pa.Table:
        if set(schema.names) - set(frame.column_names) - optional:
            raise StateError(f"{method}: the frame must have {', '.join(schema.names)}")
        return frame

    def assemble(
        self, orders: list[PartAssembly], frames: list[tuple[StateColumns, pa.Table]], max_parallelism: int
    ) -> list[PartResult]:
        rows = [
            row
            for columns, table in frames
            for batch in table.to_batches(2)
            for row in columns.from_batch(batch, max_parallelism)
        ]
        rows.sort(key=lambda row: (row.key_group, row.state, row.key, row.namespace, row.suffix))

        def mine(subtask: int) -> list[NewRow]:
            return [row for row in rows if subtask_of(row.key_group, len(orders), max_parallelism) == subtask]

        return [assemble_part(order, mine(order.subtask)) for order in orders]

    def bootstrap(
        self, bootstrap: StateBootstrap, target_uri: str, uid: str, parallelism: int, max_parallelism: int
    ) -> list[PartResult]:
        records = sorted(keyed_records(bootstrap.data, bootstrap.key, uid, max_parallelism), key=lambda each: each[:2])
        results = []
        for subtask in range(parallelism):
            mine = (each for each in records if subtask_of(each.key_group, parallelism, max_parallelism) == subtask)
            function = pickle.loads(pickle.dumps(bootstrap.function))
            rows = bootstrapped_rows(function, mine, uid, subtask, parallelism, max_parallelism, lambda: 0)
            results.append(write_part_rows(target_uri, uid, subtask, rows))
        return results


def reader_of(path: Any) -> SavepointReader:
    return SavepointReader(open_origin(str(path)), TableEngine())


def writer_from(source: Any) -> SavepointWriter:
    reader = source if isinstance(source, SavepointReader) else reader_of(source)
    return SavepointWriter.from_existing_savepoint(reader)


def new_writer(max_parallelism: int = 128) -> SavepointWriter:
    return SavepointWriter(Changes.of_nothing(max_parallelism), TableEngine(), None)
