"""`Table`: a query that has not run yet."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.table.explain_detail import ExplainDetail
from penstock.table.resolved_schema import ResolvedSchema
from penstock.table.table_result import TableResult

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment

__all__ = ["Table"]


class Table:
    """A planned query; made by `sql_query`, `from_path`, `from_elements` and others of a table environment."""

    def __init__(self, environment: TableEnvironment, planned: Any) -> None:
        """Made by the environment."""
        self._environment = environment
        self.planned = planned

    def get_resolved_schema(self) -> ResolvedSchema:
        """Names and types of the columns."""
        return ResolvedSchema.of(self.planned.row_type)

    def get_schema(self) -> ResolvedSchema:
        """Names and types of the columns."""
        return self.get_resolved_schema()

    def print_schema(self) -> None:
        """Show names and types of the columns."""
        sys.stdout.write(f"{self.get_resolved_schema()}\n")

    def execute(self) -> TableResult:
        """Run the query; its rows are in the result."""
        return self._environment.run_query(self)

    def execute_insert(self, table_path_or_descriptor: str, overwrite: bool = False) -> TableResult:
        """Write the result of the query to a table, as `INSERT INTO` does."""
        statements = self._environment.create_statement_set()
        return statements.add_insert(table_path_or_descriptor, self, overwrite).execute()

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan of the query."""
        return self._environment.explained([self.planned])

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Show the plan of the query."""
        sys.stdout.write(self.explain(*extra_details) + "\n")

    def to_pandas(self) -> Any:
        """Run the query, which must end, and return what the table then holds as a pandas DataFrame."""
        import pandas as pd

        rows: list[list[Any]] = []
        with self.execute().collect() as results:
            _materialize(results, rows)
        return pd.DataFrame(rows, columns=list(self.planned.row_type.names))

    def __str__(self) -> str:
        """A name for the query that statements can use: `f"SELECT * FROM {table}"`."""
        return self._environment.name_of(self)


def _materialize(results: CloseableIterator[Any], rows: list[list[Any]]) -> None:
    for row in results:
        if row.get_row_kind().value in (0, 2):
            rows.append(list(row))
        else:
            rows.remove(list(row))
