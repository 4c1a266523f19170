"""Tables and SQL: `TableEnvironment`, `Table` and the rest, under the names of `pyflink.table`."""

from penstock.table.changelog_mode import ChangelogMode
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.explain_detail import ExplainDetail
from penstock.table.resolved_schema import ResolvedSchema
from penstock.table.statement_set import StatementSet
from penstock.table.stream_table_environment import StreamTableEnvironment
from penstock.table.table import Table
from penstock.table.table_config import TableConfig
from penstock.table.table_descriptor import Schema, TableDescriptor
from penstock.table.table_environment import TableEnvironment
from penstock.table.table_result import ResultKind, TableResult
from penstock.table.types import DataTypes

__all__ = [
    "ChangelogMode",
    "DataTypes",
    "EnvironmentSettings",
    "ExplainDetail",
    "ResolvedSchema",
    "ResultKind",
    "Schema",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableResult",
]
