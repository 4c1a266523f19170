"""Tables and SQL: `TableEnvironment`, `Table` and the rest, under the names of `pyflink.table`."""

from typing import TYPE_CHECKING

from penstock.common.types import Row, RowKind
from penstock.pyflink_names import names_from_elsewhere as _names_from_elsewhere
from penstock.table.changelog_mode import ChangelogMode
from penstock.table.data_view import DataView, ListView, MapView
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.explain_detail import ExplainDetail
from penstock.table.expression import Expression
from penstock.table.lookup_functions import AsyncLookupFunction, LookupFunction
from penstock.table.module import Module, ModuleEntry
from penstock.table.resolved_schema import ResolvedSchema
from penstock.table.sql_dialect import SqlDialect
from penstock.table.statement_set import StatementSet
from penstock.table.stream_table_environment import StreamTableEnvironment
from penstock.table.table import (
    AggregatedTable,
    FlatAggregateTable,
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    Table,
    WindowGroupedTable,
)
from penstock.table.table_config import TableConfig
from penstock.table.table_descriptor import FormatDescriptor, Schema, TableDescriptor
from penstock.table.table_environment import TableEnvironment
from penstock.table.table_pipeline import TablePipeline
from penstock.table.table_result import ResultKind, TableResult
from penstock.table.table_schema import TableSchema
from penstock.table.types import DataTypes
from penstock.table.udf import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
)

__all__ = [
    "AggregateFunction",
    "AggregatedTable",
    "AsyncLookupFunction",
    "AsyncScalarFunction",
    "ChangelogMode",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FlatAggregateTable",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "LookupFunction",
    "MapView",
    "Module",
    "ModuleEntry",
    "OverWindowedTable",
    "ResolvedSchema",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "WindowGroupedTable",
]

if not TYPE_CHECKING:
    __getattr__ = _names_from_elsewhere(__name__)
