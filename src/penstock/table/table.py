"""`Table`: a query that has not run yet, and what can be made of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.pyflink_names import names_from_elsewhere
from penstock.table.algebra.nodes import PlanNode
from penstock.table.column_choices import aliased, column, without_alias
from penstock.table.explain_detail import ExplainDetail
from penstock.table.expression import Expression
from penstock.table.expressions import col
from penstock.table.grouped_tables import (
    AggregatedTable,
    FlatAggregateTable,
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    WindowGroupedTable,
)
from penstock.table.planner import PlannedTable
from penstock.table.resolved_schema import ResolvedSchema
from penstock.table.table_queries import Source, limited, nodes_of, set_operation
from penstock.table.table_result import TableResult
from penstock.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from penstock.table.table_environment import TableEnvironment
    from penstock.table.table_pipeline import TablePipeline

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]


class Table:
    """A query as an object: each method makes another one, `execute` and `execute_insert` run it.

    Made by `sql_query`, `from_path`, `from_elements` and others of a table environment. `table.name` is its column
    `name` as an expression.
    """

    def __init__(self, environment: TableEnvironment, planned: Any) -> None:
        """Made by the environment."""
        self._environment = environment
        self.planned: PlannedTable = planned
        self._joined: tuple[PlanNode, exp.Expr] | None = None

    def __getattr__(self, name: str) -> Expression:
        if name.startswith("_") or name == "planned":
            raise AttributeError(name)
        names = self.planned.row_type.names
        if name not in names:
            raise AttributeError(
                f"The current table has no column named '{name}', available columns: [{', '.join(names)}]"
            )
        return col(name)

    @property
    def _source(self) -> Source:
        return Source(self._environment, self.planned.plan, self._joined)

    def _with(self, planned: PlannedTable) -> Table:
        return Table(self._environment, planned)

    def _of(self, plan: PlanNode) -> Table:
        return self._with(PlannedTable(plan, self.planned.context))

    # ---- columns and rows ----

    def select(self, *fields: Expression) -> Table:
        """Some columns, and expressions of them; aggregates make one group of all rows."""
        return self._with(self._source.select(fields))

    def alias(self, field: str, *fields: str) -> Table:
        """The table with other names for its columns."""
        return self._of(self._source.renamed((field, *fields)))

    def filter(self, predicate: Expression) -> Table:
        """The rows that meet a condition."""
        return self._with(self._source.filtered(predicate))

    def where(self, predicate: Expression) -> Table:
        """The rows that meet a condition."""
        return self.filter(predicate)

    def distinct(self) -> Table:
        """Each row once."""
        source = self._source
        return self._with(source.bound(source.all_columns(), distinct=exp.Distinct()))

    def add_columns(self, *fields: Expression) -> Table:
        """All columns and some more."""
        source = self._source
        return self._with(source.select([*map(col, source.names), *fields]))

    def add_or_replace_columns(self, *fields: Expression) -> Table:
        """All columns and some more, which take the place of those of the same name."""
        source = self._source
        given = source.items(fields)
        by_name = {each.alias: each for each in given}
        kept = [by_name.pop(name, aliased(column(name), name)) for name in source.names]
        return self._with(source.bound([*kept, *by_name.values()]))

    def rename_columns(self, *fields: Expression) -> Table:
        """The table with other names for some columns: `col("a").alias("b")`."""
        changed: dict[str, str] = {}
        for node in nodes_of(fields):
            inner = without_alias(node)
            if not isinstance(node, exp.Alias) or not isinstance(inner, exp.Column):
                raise SqlValidationError('rename_columns needs columns with an alias, as col("a").alias("b").')
            changed[self._checked(inner.name, "rename_columns")] = node.alias
        return self._of(self._source.renamed([changed.get(name, name) for name in self._source.names]))

    def drop_columns(self, *fields: Expression) -> Table:
        """The table without some columns."""
        gone = {self._checked(node.name, "drop_columns") for node in nodes_of(fields)}
        return self.select(*[col(name) for name in self._source.names if name not in gone])

    def _checked(self, name: str, during: str) -> str:
        if name not in self._source.names:
            raise SqlValidationError(
                f"{during}: there is no column '{name}'; there are {', '.join(self._source.names)}."
            )
        return name

    # ---- groups and windows ----

    def group_by(self, *fields: Expression) -> GroupedTable:
        """Groups of rows that are equal in some expressions."""
        return GroupedTable(self, nodes_of(fields))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Rows in windows of time or of counted rows, to be grouped by."""
        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Each row with the rows before it."""
        return OverWindowedTable(self, over_windows)

    # ---- two tables ----

    def join(self, right: Table, join_predicate: Expression | None = None) -> Table:
        """Pairs of rows of both tables."""
        return self._join(right, "INNER", join_predicate)

    def left_outer_join(self, right: Table, join_predicate: Expression | None = None) -> Table:
        """Pairs of rows, and rows of the left table that have no partner, with NULLs."""
        return self._join(right, "LEFT", join_predicate)

    def right_outer_join(self, right: Table, join_predicate: Expression) -> Table:
        """Pairs of rows, and rows of the right table that have no partner, with NULLs."""
        return self._join(right, "RIGHT", join_predicate)

    def full_outer_join(self, right: Table, join_predicate: Expression) -> Table:
        """Pairs of rows, and rows of both tables that have no partner, with NULLs."""
        return self._join(right, "FULL", join_predicate)

    def _join(self, right: Table, kind: str, predicate: Expression | None) -> Table:
        joined = self._source.join(right._source, kind, predicate)
        left, clause = joined
        query = Source(self._environment, left, (left, clause))
        names = (*self._source.names, *right._source.names)
        made = self._with(query.bound([aliased(column(each), each) for each in names]))
        made._joined = joined
        return made

    def join_lateral(self, table_function_call: Any, join_predicate: Expression | None = None) -> Table:
        """Each row with the rows that a table function makes of it."""
        return self._lateral(table_function_call, "INNER", join_predicate)

    def left_outer_join_lateral(self, table_function_call: Any, join_predicate: Expression | None = None) -> Table:
        """The same, with NULLs where the function makes no row."""
        return self._lateral(table_function_call, "LEFT", join_predicate)

    def _lateral(self, function: Any, kind: str, predicate: Expression | None) -> Table:
        from penstock.table.row_based import call_of

        call, names = call_of(function, self._source)
        return self._with(self._source.lateral(call, names, kind, predicate))

    def minus(self, right: Table) -> Table:
        """Rows that the right table does not have, each once."""
        return self._set(exp.Except, right, True)

    def minus_all(self, right: Table) -> Table:
        """Rows, as many times as the left table has more of them."""
        return self._set(exp.Except, right, False)

    def union(self, right: Table) -> Table:
        """Rows of either table, each once."""
        return self._set(exp.Union, right, True)

    def union_all(self, right: Table) -> Table:
        """All rows of both tables."""
        return self._set(exp.Union, right, False)

    def intersect(self, right: Table) -> Table:
        """Rows of both tables, each once."""
        return self._set(exp.Intersect, right, True)

    def intersect_all(self, right: Table) -> Table:
        """Rows, as many times as both tables have them."""
        return self._set(exp.Intersect, right, False)

    def _set(self, kind: type[exp.SetOperation], right: Table, is_distinct: bool) -> Table:
        query = set_operation(kind, self.planned.plan, right.planned.plan, is_distinct)
        return self._with(self._environment.bound(query))

    # ---- order ----

    def order_by(self, *fields: Expression) -> Table:
        """The rows in an order: on a stream by a time attribute first, or with `fetch`."""
        source = self._source
        ordered = [
            each if isinstance(each, exp.Ordered) else exp.Ordered(this=each, desc=False) for each in nodes_of(fields)
        ]
        return self._with(source.bound(source.all_columns(), order=exp.Order(expressions=ordered)))

    def offset(self, offset: int) -> Table:
        """The rows behind the first ones."""
        return self._of(limited(self.planned.plan, offset, None))

    def fetch(self, fetch: int) -> Table:
        """The first rows."""
        return self._of(limited(self.planned.plan, 0, fetch))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """So many rows, behind so many others."""
        return self._of(limited(self.planned.plan, offset, fetch))

    # ---- functions of whole rows ----

    def map(self, func: Any) -> Table:
        """One row for each row, made by a scalar function."""
        from penstock.table.row_based import mapped

        return self._with(mapped(self._source, func))

    def flat_map(self, func: Any) -> Table:
        """Any number of rows for each row, made by a table function."""
        from penstock.table.row_based import flat_mapped

        return self._with(flat_mapped(self._source, func))

    def aggregate(self, func: Any) -> AggregatedTable:
        """One row for all rows, made by an aggregate function."""
        return AggregatedTable(self, func, [])

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """Any number of rows for all rows, made by a table aggregate function."""
        return FlatAggregateTable(self, func, [])

    # ---- what it is ----

    def get_resolved_schema(self) -> ResolvedSchema:
        """Names and types of the columns."""
        return ResolvedSchema.of_row_type(self.planned.row_type)

    def get_schema(self) -> ResolvedSchema:
        """Names and types of the columns."""
        return self.get_resolved_schema()

    def print_schema(self) -> None:
        """Show names and types of the columns."""
        sys.stdout.write(f"{self.get_resolved_schema()}\n")

    # ---- results ----

    def execute(self) -> TableResult:
        """Run the query; its rows are in the result."""
        return self._environment.run_query(self)

    def execute_insert(self, table_path_or_descriptor: Any, overwrite: bool = False) -> TableResult:
        """Write the result of the query to a table, as `INSERT INTO` does."""
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def insert_into(self, table_path_or_descriptor: Any, overwrite: bool = False) -> TablePipeline:
        """The query with a table to write it to: to be run, explained, or added to a statement set."""
        from penstock.table.table_pipeline import TablePipeline

        return TablePipeline(self._environment, self, table_path_or_descriptor, overwrite)

    def explain(self, *extra_details: ExplainDetail) -> str:
        """The plan of the query."""
        return self._environment.explained([self.planned])

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Show the plan of the query."""
        sys.stdout.write(self.explain(*extra_details) + "\n")

    def to_changelog(self, *arguments: Expression) -> Table:
        """Its changes as rows of a table that only grows, with a column that says what each does."""
        return self._with(self._environment.bound(_function_query("TO_CHANGELOG", self, arguments)))

    def from_changelog(self, *arguments: Expression) -> Table:
        """A table of rows that say what they do; the opposite of `to_changelog`."""
        return self._with(self._environment.bound(_function_query("FROM_CHANGELOG", self, arguments)))

    def to_pandas(self) -> Any:
        """Run the query, which must end, and return what the table then holds as a pandas DataFrame."""
        from penstock.table.data_frames import data_frame_of

        return data_frame_of(self.execute(), self.planned.row_type)

    def __str__(self) -> str:
        """A name for the query that statements can use: `f"SELECT * FROM {table}"`."""
        return self._environment.name_of(self)


def _function_query(function: str, table: Table, arguments: tuple[Expression, ...]) -> exp.Expr:
    from penstock.table.sql.nodes import BoundTable, TableArgument

    given = TableArgument(this=BoundTable(plan=table.planned.plan))
    call = exp.Anonymous(this=function, expressions=[given, *nodes_of(arguments)])
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Table(this=call)))


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
