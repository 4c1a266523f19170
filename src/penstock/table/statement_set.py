"""`StatementSet`: several INSERTs that run as one job."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from penstock.errors import SqlError
from penstock.table.explain_detail import ExplainDetail
from penstock.table.planner import sharing_parts
from penstock.table.sql import parse
from penstock.table.sql.statements import Insert
from penstock.table.table import Table
from penstock.table.table_descriptor import TableDescriptor
from penstock.table.table_pipeline import TablePipeline
from penstock.table.table_result import TableResult
from penstock.table.translation.reuse import Reuse

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment

__all__ = ["StatementSet"]


class StatementSet:
    """Collects INSERTs; `execute` starts one job for all of them, in which common parts of queries run once."""

    def __init__(self, environment: TableEnvironment) -> None:
        """Made by `create_statement_set` of an environment."""
        self._environment = environment
        self._planned: list[tuple[str, object]] = []

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add an INSERT statement."""
        statements = parse(stmt)
        if len(statements) != 1 or not isinstance(statements[0], Insert):
            raise SqlError(f"add_insert_sql: expected one INSERT statement, got: {stmt.strip()}")
        self._planned.append(self._environment.planned_insert(statements[0]))
        return self

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Add a pipeline that `Table.insert_into` has made."""
        self._planned.append(table_pipeline.planned)
        return self

    def add_insert(
        self, target_path_or_descriptor: str | TableDescriptor, table: Table, overwrite: bool = False
    ) -> StatementSet:
        """Add writing a table's rows to the table of a path."""
        self._planned.append(self._environment.planned_table_insert(target_path_or_descriptor, table, overwrite))
        return self

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plans of all of them."""
        return self._environment.explained([planned for _, planned in self._planned])

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Show the plans."""
        sys.stdout.write(self.explain(*extra_details) + "\n")

    def execute(self) -> TableResult:
        """Start the job; the set is empty afterwards."""
        if not self._planned:
            raise SqlError("The statement set is empty: add an INSERT before execute().")
        planned, self._planned = self._planned, []
        return self._environment.run_inserts(planned)

    def attach_as_datastream(self) -> None:
        """Append the INSERTs to the DataStream program, which its own `execute` runs."""
        reuse = Reuse()
        for planned in sharing_parts([each for _, each in self._planned]):
            self._environment.translate(planned, reuse)
        self._planned = []
