"""`TablePipeline`: a query with the table it is to be written to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from penstock.table.explain_detail import ExplainDetail
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.table.table import Table
    from penstock.table.table_environment import TableEnvironment

__all__ = ["TablePipeline"]


class TablePipeline:
    """Made by `Table.insert_into`; `execute` runs it as a job of its own."""

    def __init__(self, environment: TableEnvironment, table: Table, target: Any, overwrite: bool) -> None:
        """Made by `Table.insert_into`."""
        self._environment = environment
        self._name, self._planned = environment.planned_table_insert(target, table, overwrite)
        self.overwrite = overwrite

    def execute(self) -> TableResult:
        """Start the job."""
        return self._environment.run_inserts([self.planned])

    @property
    def planned(self) -> tuple[str, Any]:
        """The name of the table and the plan, for a statement set."""
        return self._name, self._planned

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan."""
        return self._environment.explained([self._planned])

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Show the plan."""
        sys.stdout.write(self.explain(*extra_details) + "\n")

    def get_sink_identifier(self) -> str:
        """The full name of the table it writes to."""
        return ".".join(f"`{each}`" for each in self._name.split("."))
