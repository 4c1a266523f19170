"""One program planned by Penstock beside the plans that Flink made of it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from penstock.table.binder.session import PlanningContext
from penstock.table.catalog import CatalogTable, CatalogView, TableSchema
from penstock.table.catalog.lookup import CatalogManager
from penstock.table.connectors.registry import sink_of, source_of
from penstock.table.explanation import plan_text
from penstock.table.planner import PlannedInsert, PlannedTable, plan_insert, plan_query, resolve_table
from penstock.table.sql import parse, parse_expression, parse_query
from penstock.table.sql.statements import CreateTable, CreateView, Insert, Query, Statement
from tests.conformance.flink_plans.type_texts import flink_row_types, type_text

NODE = re.compile(r"[ |:+-]*(\w+)\(.*changelogMode=\[([^\]]*)\]\)")
OUR_NAMES = {"TableSourceScan": "Scan", "GlobalWindowAggregate": "WindowAggregate", "TemporalSort": "Sort"}
WORDS = """Scan GroupAggregate Join OverAggregate WindowAggregate ChangelogNormalize GroupWindowAggregate WindowJoin
    IntervalJoin SortLimit Limit DropUpdateBefore WindowRank Sort Union Correlate Expand"""
COMPARED = frozenset(WORDS.split())
Pair = tuple[Any, Any]


@dataclass(frozen=True)
class Comparison:
    """What is compared, ours and Flink's; None where Flink says nothing."""

    schemas: Pair
    types: Pair
    modes: Pair
    our_plan: str
    flink_plan: str


def compared(program: dict[str, Any]) -> Comparison | None:
    """The comparison of a program's first statement; None if it is not one that both plan."""
    if program["is_table_api"] or any(step["kind"] in ("function", "temporal", "model") for step in program["setup"]):
        return None
    pairs = zip(program["run"], program["flink_plan"].get("runs", ()), strict=False)
    texts = [(step["sql"], run) for step, run in pairs if step["kind"] == "sql" and isinstance(run.get("explain"), str)]
    if not texts:
        return None
    context = _context(program)
    text, run = texts[0]
    planned = _planned(text, context)
    flink = run["explain"].split("== Optimized Physical Plan ==")[1].split("== Optimized Execution")[0].strip()
    ours = plan_text(planned.inferred.root, planned.inferred.modes)
    return Comparison(_schemas(program, context), _types(planned, run), _modes(ours, flink), ours, flink)


def _context(program: dict[str, Any]) -> PlanningContext:
    manager = CatalogManager()
    settings = {"table.exec.sink.require-on-conflict": "false"}
    for step in program["setup"]:
        if step["kind"] == "config" and step["value"] is not None:
            settings[step["key"]] = str(step["value"])
        elif step["kind"] in ("source", "sink"):
            options = {"sink-insert-only": "false"} if step["kind"] == "sink" else {}
            _create(manager, parse(step["ddl"])[0], options)
        elif step["kind"] == "sql":
            for statement in parse(step["sql"]):
                _create(manager, statement, {})
    return PlanningContext(
        manager, source_of, sink_of, lambda text: parse_query(text).query, parse_expression, settings
    )


def _create(manager: CatalogManager, statement: Statement, options: dict[str, str]) -> None:
    if isinstance(statement, CreateView):
        home = (str(manager.current_catalog), str(manager.current_database))
        manager.create(statement.name, CatalogView(statement.query, *home, statement.column_names))
    elif isinstance(statement, CreateTable):
        schema = TableSchema(statement.columns, statement.watermark, statement.primary_key)
        manager.create(statement.name, CatalogTable(schema, {**options, **statement.options}))


def _planned(text: str, context: PlanningContext) -> PlannedInsert | PlannedTable:
    (statement,) = parse(text)
    if isinstance(statement, Insert):
        return plan_insert(
            statement.table,
            statement.query,
            context.with_text(statement.source),
            columns=statement.columns,
            partition=statement.partition,
            options=statement.options,
            on_conflict=statement.on_conflict,
        )
    assert isinstance(statement, Query)
    return plan_query(statement.query, context.with_text(statement.source))


def _schemas(program: dict[str, Any], context: PlanningContext) -> Pair:
    """Of each table: names and types of its columns."""
    ours, flink = {}, {}
    for name, schema in program["flink_plan"]["schemas"].items():
        if "$error" in schema:
            continue
        entry = context.catalog.resolve((name,))
        if not isinstance(entry, CatalogTable):
            continue
        table = resolve_table((name,), entry, context)
        ours[name] = [(each.name, type_text(each.type), each.is_computed) for each in table.columns]
        flink[name] = [(each["name"], each["type"], each["kind"] == "computed") for each in schema["columns"]]
    return ours, flink


def _types(planned: PlannedInsert | PlannedTable, run: dict[str, Any]) -> Pair:
    """The types of what a sink gets."""
    plan = run.get("compiled")
    if not isinstance(planned, PlannedInsert) or not isinstance(plan, dict) or "nodes" not in plan:
        return None, None
    sinks = [each for each in plan["nodes"] if each["type"].startswith("stream-exec-sink")]
    if len(sinks) != 1:
        return None, None
    return [type_text(each) for each in planned.sink.input.types], flink_row_types(sinks[0]["outputType"])


def _modes(ours: str, flink: str) -> Pair:
    first, second = _nodes(ours), _nodes(flink)
    families = [Counter(name for name, _ in each[1].elements()) for each in (first, second)]
    if families[0] == families[1]:
        return first, second
    ends = [
        (top, {each: count for each, count in nodes.items() if each[0] == "Scan"}) for top, nodes in (first, second)
    ]
    return ends[0], ends[1]


def _nodes(text: str) -> tuple[str, Counter[tuple[str, str]]]:
    """The mode of what the end of a plan gets, and how many nodes of each kind and mode there are."""
    top, found = "", Counter[tuple[str, str]]()
    for line in text.splitlines():
        matched = NODE.match(line)
        if matched is None:
            continue
        name, mode = OUR_NAMES.get(matched[1], matched[1]), matched[2]
        if name in COMPARED:
            found[name, mode] += 1
        if not top and name != "Sink":
            top = mode
    return top, found
