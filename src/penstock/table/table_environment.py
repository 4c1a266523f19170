"""`TableEnvironment`: where a program of tables starts - SQL, catalogs, settings, results."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlglot import exp

from penstock.common.configuration import Configuration
from penstock.common.masking import shown
from penstock.connectors.discarding_sink import DiscardingSink
from penstock.connectors.driver_sinks import CollectSink
from penstock.datastream.closeable_iterator import CloseableIterator
from penstock.datastream.stream import DataStream
from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
from penstock.errors import CatalogError, SqlError
from penstock.graph.declared_settings import JOB_NAME
from penstock.graph.nodes import Role
from penstock.pyflink_names import names_from_elsewhere
from penstock.runtime.operators.sink import DriverSinkOperator
from penstock.table import planner
from penstock.table.binder.session import SERIES_SIZES, PlanningContext, Session
from penstock.table.catalog.catalog import Catalog
from penstock.table.catalog.entries import CatalogTable, CatalogView
from penstock.table.catalog.lookup import CatalogManager
from penstock.table.connectors import registry
from penstock.table.ddl import CatalogStatements
from penstock.table.environment_settings import EnvironmentSettings
from penstock.table.explain_detail import ExplainDetail
from penstock.table.expression import Expression
from penstock.table.function_registry import FunctionRegistry, user_function_of
from penstock.table.given_elements import given_table
from penstock.table.module import ModuleEntry
from penstock.table.resolved_schema import ResolvedSchema
from penstock.table.showing import Shower
from penstock.table.sql import parse, parse_expression, parse_query
from penstock.table.sql.statements import (
    CreateTable,
    Describe,
    Explain,
    Insert,
    Name,
    Query,
    Reset,
    Set,
    Show,
    Statement,
)
from penstock.table.sql.statements import (
    StatementSet as StatementSetStatement,
)
from penstock.table.statement_set import StatementSet
from penstock.table.table import Table
from penstock.table.table_config import TableConfig
from penstock.table.table_descriptor import TableDescriptor
from penstock.table.table_queries import values_query
from penstock.table.table_result import TableResult, ok, told
from penstock.table.translation.reuse import Reuse
from penstock.vocabulary.sql import scalar
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["StreamTableEnvironment", "TableEnvironment"]  # noqa: F822 (the first by __getattr__)


def __getattr__(name: str) -> Any:
    """`StreamTableEnvironment` too, which PyFlink has in this module; it builds on what is in here."""
    if name == "StreamTableEnvironment":
        from penstock.table.stream_table_environment import StreamTableEnvironment

        return StreamTableEnvironment
    return names_from_elsewhere(__name__)(name)


BIGINT = LogicalType(Kind.BIGINT)

# Settings of tables and of Flink's own shell; all others are those of jobs.
TABLE_PREFIXES = ("table.", "sql-client.", "__table")


class TableEnvironment(FunctionRegistry):
    """Runs SQL: `execute_sql` any statement, `sql_query` a query as a Table to go on with."""

    def __init__(
        self, settings: EnvironmentSettings | None = None, environment: StreamExecutionEnvironment | None = None
    ) -> None:
        """Made by `create`."""
        settings = settings or EnvironmentSettings.in_streaming_mode()
        self.stream_environment = environment or StreamExecutionEnvironment.get_execution_environment()
        self._is_streaming = settings.is_streaming_mode()
        self._catalogs = CatalogManager(settings.get_built_in_catalog_name(), settings.get_built_in_database_name())
        self._config = TableConfig(self._configure)
        # What the program's configuration, or the command line, says about tables.
        for key, value in self.stream_environment.get_configuration().to_dict().items():
            if key.startswith("table."):
                self._config.set(key, value)
        self._config.add_configuration(settings.get_configuration())
        self._statements = CatalogStatements(self._catalogs)
        self._shower = Shower(self._catalogs, self._schema_of, scalar.function_names)
        self._numbers = itertools.count()

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """Return a new environment for settings, or for a configuration."""
        if isinstance(environment_settings, Configuration):
            builder = EnvironmentSettings.new_instance().with_configuration(environment_settings)
            environment_settings = builder.build()
        return TableEnvironment(environment_settings)

    def _configure(self, key: str, value: str) -> None:
        if not key.startswith(TABLE_PREFIXES) and key not in SERIES_SIZES:
            self.stream_environment.configure(Configuration.from_dict({key: value}))

    def _is_batch(self) -> bool:
        """Whether the settings of the environment, or of the program, ask for batch mode."""
        configured = self.stream_environment.get_configuration().get_string("execution.runtime-mode", "STREAMING")
        return not self._is_streaming or configured.upper() == "BATCH"

    def get_config(self) -> TableConfig:
        """The settings of this environment."""
        return self._config

    # ---- statements ----

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement. An INSERT starts a job and returns at once; `wait()` of the result waits for its end."""
        statements = parse(stmt)
        if len(statements) != 1:
            raise SqlError(f"execute_sql: expected one statement, got {len(statements)}; run them one by one.")
        return self._run(statements[0])

    def _run(self, statement: Statement) -> TableResult:
        if isinstance(statement, CreateTable) and statement.query is not None:
            return self.run_inserts(self.planned_writes(statement))
        if self._statements.run(statement):
            return ok()
        if isinstance(statement, Query):
            return self._table_of(statement).execute()
        if isinstance(statement, Insert | StatementSetStatement):
            return self.run_inserts(self.planned_writes(statement))
        if isinstance(statement, Explain):
            return told(("result",), [(self._explain(statement.statement),)])
        if isinstance(statement, Show):
            return self._shower.show(statement)
        if isinstance(statement, Describe):
            return self._shower.describe(statement)
        return self._run_setting(statement)

    def _run_setting(self, statement: Statement) -> TableResult:
        if isinstance(statement, Set):
            if statement.key is None:
                return told(
                    ("key", "value"), [(key, shown(key, value)) for key, value in sorted(self._config.to_map().items())]
                )
            self._config.set(statement.key, statement.value or "")
            return ok()
        assert isinstance(statement, Reset), statement
        self._config.remove(statement.key)
        return ok()

    def create_statement(self, name: Name) -> str:
        """The statement that makes a table as it is; unlike what SHOW CREATE TABLE shows it has its passwords."""
        return self._shower.create_statement(name)

    def planned_writes(self, statement: Statement) -> list[tuple[str, Any]]:
        """The plans of an INSERT, a statement set or a CREATE TABLE ... AS, whose table is created then."""
        if isinstance(statement, StatementSetStatement):
            return [self.planned_insert(each) for each in statement.inserts]
        if isinstance(statement, Insert):
            return [self.planned_insert(statement)]
        assert isinstance(statement, CreateTable), statement
        return [self._planned_create_as(statement)]

    def _planned_create_as(self, statement: CreateTable) -> tuple[str, Any]:
        from penstock.table.created_as import table_of_query

        assert statement.query is not None
        planned = planner.plan_query(statement.query.query, self._context(statement.query.source))
        entry = table_of_query(statement, planned.row_type)
        self._catalogs.create(
            statement.name, entry, if_not_exists=statement.if_not_exists, or_replace=statement.or_replace
        )
        context = self._context(statement.query.source)
        made = planner.plan_insert(statement.name, planned, context, columns=statement.column_names)
        return ".".join(self._catalogs.full_name(statement.name)), made

    def sql_query(self, query: str) -> Table:
        """A query as a Table: nothing runs until its rows are wanted."""
        return self._table_of(parse_query(query))

    def _table_of(self, statement: Query) -> Table:
        return Table(self, planner.plan_query(statement.query, self._context(statement.source)))

    def bound(self, query: exp.Expr) -> planner.PlannedTable:
        """The plan of a query that is a tree already, as the Table API makes them."""
        return planner.plan_query(query, self._context())

    def session(self) -> Session:
        """What binds parts of queries of the Table API."""
        return Session.of(self._context())

    def create_statement_set(self) -> StatementSet:
        """An empty set of INSERTs that run as one job."""
        return StatementSet(self)

    def explain_sql(self, stmt: str, *extra_details: ExplainDetail) -> str:
        """The plan of a query or INSERT: as bound, optimized with changelog modes, and the graph of the job."""
        statements = parse(stmt)
        if len(statements) != 1:
            raise SqlError(f"explain_sql: expected one statement, got {len(statements)}.")
        return self._explain(statements[0])

    def _explain(self, statement: Statement) -> str:
        if isinstance(statement, Query):
            return self.explained([self._table_of(statement).planned])
        if isinstance(statement, Insert | StatementSetStatement):
            return self.explained([made for _, made in self.planned_writes(statement)])
        raise SqlError("EXPLAIN explains a query, an INSERT or a statement set.")

    # ---- planning and running, for Table and StatementSet ----

    def _context(self, text: str = "") -> PlanningContext:
        settings = self._config.to_map()
        if self._is_batch():
            settings = {**settings, "execution.runtime-mode": "BATCH"}
        return PlanningContext(
            catalog=self._catalogs,
            source_of=registry.source_of,
            sink_of=registry.sink_of,
            parse_query=lambda query: parse_query(query).query,
            parse_expression=parse_expression,
            settings=settings,
            text=text,
            function_of=lambda name: user_function_of(self._catalogs, name),
        )

    def planned_insert(self, statement: Insert) -> tuple[str, Any]:
        """The full name of the target of an INSERT, and its plan."""
        made = planner.plan_insert(
            statement.table,
            statement.query,
            self._context(statement.source),
            columns=statement.columns,
            partition=statement.partition,
            options=statement.options,
            on_conflict=statement.on_conflict,
            overwrites=statement.is_overwrite,
        )
        return ".".join(self._catalogs.full_name(statement.table)), made

    def planned_table_insert(
        self, target: str | TableDescriptor, table: Table, overwrite: bool = False
    ) -> tuple[str, Any]:
        """The same for a Table and a path, or for a table that is described in place."""
        if isinstance(target, TableDescriptor):
            target = self._described(target)
        parts = self._path(target)
        made = planner.plan_insert(parts, table.planned, self._context(), overwrites=overwrite)
        return ".".join(self._catalogs.full_name(parts)), made

    def translate(self, planned: Any, reuse: Reuse | None = None) -> Any:
        """Append a plan to the graph; a plan that fails leaves nothing there."""
        with self._added_nodes():
            return planned.translate(self.stream_environment, reuse)

    @contextmanager
    def _added_nodes(self, keeps: bool = True) -> Iterator[Callable[[], set[int]]]:
        """The nodes that are added meanwhile; they are taken out again after a failure, or if they are not kept."""
        nodes = self.stream_environment.graph.nodes
        known = set(nodes)
        try:
            yield lambda: set(nodes) - known
        except BaseException:
            keeps = False
            raise
        finally:
            if not keeps:
                for node_id in set(nodes) - known:
                    del nodes[node_id]

    def run_query(self, table: Table) -> TableResult:
        """Start the job of a query whose rows go to this program."""
        name = f"collect-{next(self._numbers)}"
        with self._added_nodes() as added:
            stream = table.planned.translate(self.stream_environment)
            stream._end("Collect", DriverSinkOperator(CollectSink(name))).uid(name)
            is_bounded = self._is_bounded(added())
            client = self.stream_environment.execute_part(added(), name)
        rows = CloseableIterator(client.collected(name), lambda: client.cancel().result())
        return TableResult(
            table.planned.row_type,
            lambda: rows,
            client=client,
            is_streaming=not self._is_batch(),
            is_bounded=is_bounded,
            has_updates=len(table.planned.changelog_kinds) > 1,
            zone=self._config.get_local_timezone(),
        )

    def run_inserts(self, planned: Sequence[tuple[str, Any]]) -> TableResult:
        """Start one job for all of them."""
        names, counts = [name for name, _ in planned], [-1] * len(planned)
        with self._added_nodes() as added:
            reuse = Reuse()
            for each in planner.sharing_parts([each for _, each in planned]):
                each.translate(self.stream_environment, reuse)
            is_bounded = self._is_bounded(added())
            name = self._config.get(JOB_NAME, "insert-into_" + ",".join(names))
            client = self.stream_environment.execute_part(added(), name)
        return told(names, [counts], [BIGINT] * len(names), client=client, is_bounded=is_bounded)

    def _is_bounded(self, node_ids: set[int]) -> bool:
        """Whether a job of these nodes ends by itself."""
        nodes = self.stream_environment.graph.part(node_ids).nodes.values()
        return all(node.operator.source.is_bounded() for node in nodes if node.role is Role.SOURCE)

    def explained(self, planned: Sequence[Any]) -> str:
        """The plans as text, with the graph they would become."""
        text = planner.explain(planned)
        with self._added_nodes(keeps=False) as added:
            reuse = Reuse()
            for each in planner.sharing_parts(planned):
                made = each.translate(self.stream_environment, reuse)
                if isinstance(made, DataStream):
                    made.sink_to(DiscardingSink())
            return f"{text}\n== Penstock Graph ==\n{self.stream_environment.explain_part(added())}"

    def name_of(self, table: Table) -> str:
        """A name under which a Table can be read."""
        name = f"UnnamedTable${next(self._numbers)}"
        self.create_temporary_view(name, table)
        return f"`{name}`"

    # ---- tables and views ----

    def _path(self, path: str) -> Name:
        from penstock.table.sql.parsing import parse_name

        return parse_name(path)

    def from_path(self, path: str) -> Table:
        """The table or view of a path."""
        return self.sql_query("SELECT * FROM " + ".".join(f"`{each}`" for each in self._path(path)))

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """A table that is described in place."""
        return self.from_path(self._described(descriptor))

    def _described(self, descriptor: TableDescriptor) -> str:
        name = f"`Unregistered${next(self._numbers)}`"
        self.create_temporary_table(name, descriptor)
        return name

    def from_elements(self, elements: Iterable[Any], schema: Any = None, verify_schema: bool = True) -> Table:
        """A table of rows of the program; `schema` are names of columns, or a row type from DataTypes.

        Elements may be expressions too: `row(1, "a")`.
        """
        given = list(elements)
        if any(isinstance(each, Expression) for each in given):
            return Table(self, self.bound(values_query(given, schema)))
        return self._of_rows(given_table(given, schema))

    def from_pandas(self, pdf: Any, schema: Any = None, splits_num: int = 1) -> Table:
        """A table of the rows of a pandas DataFrame; `schema` are names or types of columns, or a row type."""
        from penstock.table.data_frames import rows_of

        rows, row_type = rows_of(pdf, schema)
        return self._of_rows(given_table(rows, row_type))

    def _of_rows(self, entry: CatalogTable) -> Table:
        name = f"Elements${next(self._numbers)}"
        self._catalogs.create((name,), entry, is_temporary=True)
        return self.from_path(f"`{name}`")

    def create_temporary_view(self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any) -> None:
        """Give a Table a name for statements; it hides a table of the same name."""
        self._create_view(view_path, table_or_data_stream, is_temporary=True)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool = False) -> bool:
        """Give a Table a name in the catalog, for as long as this program runs."""
        parts = self._path(view_path)
        if ignore_if_exists and self._catalogs.get(parts) is not None:
            return False
        self._create_view(view_path, table, is_temporary=False)
        return True

    def _create_view(self, view_path: str, table: Table, is_temporary: bool) -> None:
        if not isinstance(table, Table):
            raise SqlError(f"create_view: expected a Table, got {table!r}.")
        catalog, database = self._catalogs.database_name(())
        view = CatalogView("", catalog, database, query_operation=table.planned.plan)
        self._catalogs.create(self._path(view_path), view, is_temporary=is_temporary)

    def create_temporary_table(self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool = False) -> None:
        """Create a table from a descriptor, for this program only."""
        entry = descriptor.to_entry()
        self._catalogs.create(self._path(path), entry, is_temporary=True, if_not_exists=ignoreIfExists)

    def create_table(self, path: str, descriptor: TableDescriptor, ignoreIfExists: bool = False) -> None:
        """Create a table from a descriptor in its catalog."""
        self._catalogs.create(self._path(path), descriptor.to_entry(), if_not_exists=ignoreIfExists)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a table; returns whether it was there."""
        return self._catalogs.drop(self._path(table_path), CatalogTable, False, ignore_if_not_exists)

    def drop_temporary_table(self, table_path: str) -> bool:
        """Drop a temporary table; returns whether it was there."""
        return self._catalogs.drop(self._path(table_path), CatalogTable, True, if_exists=True)

    def drop_view(self, view_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a view; returns whether it was there."""
        return self._catalogs.drop(self._path(view_path), CatalogView, False, ignore_if_not_exists)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Drop a temporary view; returns whether it was there."""
        return self._catalogs.drop(self._path(view_path), CatalogView, True, if_exists=True)

    # ---- what functions need where they run ----

    def add_python_file(self, file_path: str) -> None:
        """Let user functions import a file or folder."""
        self.stream_environment.add_python_file(file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Let user functions read what is in an archive."""
        self.stream_environment.add_python_archive(archive_path, target_dir)

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Let user functions use packages that a file lists."""
        self.stream_environment.set_python_requirements(requirements_file_path, requirements_cache_dir)

    # ---- catalogs and modules ----

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """A catalog by its name; None if there is none."""
        return self._catalogs.catalogs.get(catalog_name)

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Give a catalog a name here."""
        if catalog_name in self._catalogs.catalogs:
            raise CatalogError(f"Catalog {catalog_name} exists already; drop it first.")
        self._catalogs.catalogs[catalog_name] = catalog

    def list_modules(self) -> list[str]:
        """The modules whose functions are found: Flink's core module."""
        return ["core"]

    def list_full_modules(self) -> list[ModuleEntry]:
        """All modules that are loaded."""
        return [ModuleEntry("core", True)]

    # ---- what there is ----

    def list_catalogs(self) -> list[str]:
        """The names of all catalogs."""
        return sorted(self._catalogs.catalogs)

    def list_databases(self) -> list[str]:
        """The databases of the current catalog."""
        return sorted(self._catalogs.catalog(self.get_current_catalog()).databases)

    def list_tables(self) -> list[str]:
        """The tables and views of the current database."""
        return sorted(self._catalogs.tables(self._catalogs.database_name(())))

    def list_views(self) -> list[str]:
        """The views of the current database."""
        return sorted(self._catalogs.tables(self._catalogs.database_name(()), CatalogView))

    def list_temporary_tables(self) -> list[str]:
        """The temporary tables and views of the current database."""
        here = self._catalogs.database_name(())
        return sorted(name[2] for name in self._catalogs.temporary if name[:2] == here)

    def list_temporary_views(self) -> list[str]:
        """The temporary views of the current database."""
        here, entries = self._catalogs.database_name(()), self._catalogs.temporary.items()
        return sorted(name[2] for name, each in entries if name[:2] == here and isinstance(each, CatalogView))

    def list_functions(self) -> list[str]:
        """The names of all functions."""
        return [row[0] for row in self.execute_sql("SHOW FUNCTIONS").collect()]

    def list_user_defined_functions(self) -> list[str]:
        """The names of the program's own functions."""
        return [row[0] for row in self.execute_sql("SHOW USER FUNCTIONS").collect()]

    def get_current_catalog(self) -> str:
        """The catalog in use."""
        return self._catalogs.current_catalog or ""

    def get_current_database(self) -> str:
        """The database in use."""
        return self._catalogs.current_database or ""

    def use_catalog(self, catalog_name: str) -> None:
        """Use a catalog, and its default database."""
        self.execute_sql(f"USE CATALOG `{catalog_name}`")

    def use_database(self, database_name: str) -> None:
        """Use a database of the current catalog."""
        self.execute_sql(f"USE `{database_name}`")

    def _schema_of(self, name: Name) -> ResolvedSchema:
        entry = self._catalogs.resolve(name)
        if isinstance(entry, CatalogView):
            quoted = ".".join(f"`{each}`" for each in name)
            return self.sql_query(f"SELECT * FROM {quoted}").get_resolved_schema()
        full = self._catalogs.full_name(name)
        table = planner.resolve_table(full, entry, self._context())
        key, watermark = entry.schema.primary_key, entry.schema.watermark
        return ResolvedSchema(
            table.row_type.names,
            table.row_type.parts,
            () if key is None else key.columns,
            None if key is None else key.constraint_name,
            () if watermark is None else ((watermark.column, watermark.expression),),
        )
