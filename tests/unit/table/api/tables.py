"""What tests of the Table API share: an environment in one process, and results as texts."""

from __future__ import annotations

from penstock.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from penstock.table import StreamTableEnvironment, Table


def new_tables(*, is_batch: bool = False, parallelism: int = 1) -> StreamTableEnvironment:
    environment = StreamExecutionEnvironment.in_process()
    environment.set_parallelism(parallelism)
    if is_batch:
        environment.set_runtime_mode(RuntimeExecutionMode.BATCH)
    return StreamTableEnvironment.create(environment)


def changes(table: Table) -> list[str]:
    """The changelog of a table: `+I(1, 'a')`."""
    with table.execute().collect() as rows:
        return [f"{row.get_row_kind()}({', '.join(map(repr, row))})" for row in rows]


def names(table: Table) -> list[str]:
    return table.get_resolved_schema().get_column_names()
