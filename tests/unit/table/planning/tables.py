"""A small catalog for tests of the planner, and functions that plan queries over it."""

from __future__ import annotations

from penstock.table.binder.session import PlanningContext
from penstock.table.catalog import CatalogTable, CatalogView, TableSchema
from penstock.table.catalog.lookup import CatalogManager
from penstock.table.connectors.registry import sink_of, source_of
from penstock.table.explanation import plan_text
from penstock.table.planner import PlannedInsert, PlannedTable, plan_insert, plan_query
from penstock.table.sql import parse, parse_expression, parse_query
from penstock.table.sql.statements import CreateTable, CreateView, Insert

ORDERS = """CREATE TABLE orders (
  id BIGINT, product STRING, amount INT, price DECIMAL(10, 2), ts TIMESTAMP(3),
  total AS amount * price, proc AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
) WITH ('connector' = 'values')"""
SHIPMENTS = """CREATE TABLE shipments (
  id BIGINT, order_id BIGINT, place ROW<city STRING, zip INT>, tags ARRAY<STRING>, ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts
) WITH ('connector' = 'values')"""
CUSTOMERS = """CREATE TABLE customers (
  id BIGINT, name STRING, city STRING, PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'values', 'changelog-mode' = 'I,UA,D')"""
CHANGES = """CREATE TABLE changes (
  id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'values', 'changelog-mode' = 'I,UB,UA,D')"""
LOG = "CREATE TABLE log (a BIGINT, b STRING) WITH ('connector' = 'values')"
ANY = "CREATE TABLE anything (a BIGINT, b BIGINT) WITH ('connector' = 'values', 'sink-insert-only' = 'false')"
UPSERT = """CREATE TABLE counts (
  product STRING, n BIGINT, PRIMARY KEY (product) NOT ENFORCED
) WITH ('connector' = 'values', 'sink-insert-only' = 'false')"""
PEOPLE = """CREATE TABLE people (
  id BIGINT, name STRING, PRIMARY KEY (id) NOT ENFORCED
) WITH ('connector' = 'values', 'sink-insert-only' = 'false')"""
READINGS = """CREATE TABLE readings (
  id BIGINT, ts TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED, WATERMARK FOR ts AS ts
) WITH ('connector' = 'values', 'changelog-mode' = 'I,UB,UA')"""
VIEW = "CREATE VIEW products AS SELECT DISTINCT product FROM orders"


def context(text: str = "", **settings: str) -> PlanningContext:
    """A context with the tables above; settings have `_` for `.`, and `__` for `-`."""
    manager = CatalogManager()
    for ddl in (ORDERS, SHIPMENTS, CUSTOMERS, CHANGES, LOG, ANY, UPSERT, PEOPLE, READINGS, VIEW):
        (statement,) = parse(ddl)
        if isinstance(statement, CreateView):
            manager.create(statement.name, CatalogView(statement.query, "default_catalog", "default_database"))
            continue
        assert isinstance(statement, CreateTable)
        schema = TableSchema(statement.columns, statement.watermark, statement.primary_key)
        manager.create(statement.name, CatalogTable(schema, statement.options))
    named = {key.replace("__", "-").replace("_", "."): value for key, value in settings.items()}
    return PlanningContext(
        manager, source_of, sink_of, lambda text: parse_query(text).query, parse_expression, named, text
    )


def query(text: str) -> PlannedTable:
    """A planned query."""
    return plan_query(parse_query(text).query, context(text))


def insert(text: str, **settings: str) -> PlannedInsert:
    """A planned INSERT."""
    (statement,) = parse(text)
    assert isinstance(statement, Insert)
    return plan_insert(
        statement.table,
        statement.query,
        context(text, **settings),
        columns=statement.columns,
        on_conflict=statement.on_conflict,
    )


def columns(text: str) -> list[str]:
    """Names and types of a query's columns."""
    planned = query(text)
    return [f"{name} {kind}" for name, kind in zip(planned.row_type.names, planned.row_type.parts, strict=True)]


def plan(text: str) -> str:
    """The optimized plan with modes."""
    planned = insert(text) if text.lstrip().upper().startswith("INSERT") else query(text)
    return plan_text(planned.inferred.root, planned.inferred.modes)
