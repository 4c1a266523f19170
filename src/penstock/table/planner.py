"""The planner: from a parsed query to a planned table, which can be translated, written to a sink, or explained.

plan = plan_query(parse_query(text).query, context)
plan.row_type, plan.changelog_kinds, plan.translate(environment)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.algebra.nodes import PlanNode, Sink
from penstock.table.algebra.resolved_tables import ResolvedTable
from penstock.table.binder.inserts import bind_insert
from penstock.table.binder.queries import QueryBinder
from penstock.table.binder.session import PlanningContext, Session
from penstock.table.binder.tables import resolve_table as resolve_catalog_table
from penstock.table.catalog.entries import CatalogTable
from penstock.table.changelog.inference import InferredPlan, infer_changelog
from penstock.table.changelog.modes import Updates
from penstock.table.changelog.sinks import infer_for_sink
from penstock.table.explanation import plan_text
from penstock.table.metadata.keys import Keys, upsert_keys
from penstock.table.rules.batch import final_plan
from penstock.table.sql.nesting import deep_statements
from penstock.table.translation.common_parts import with_common_parts
from penstock.table.translation.reuse import Reuse
from penstock.table.translation.settings import TableSettings
from penstock.table.translation.sinks import translate_sink
from penstock.table.translation.translator import Translator
from penstock.vocabulary.sql.logical_types import LogicalType

__all__ = ["PlannedInsert", "PlannedTable", "explain", "plan_insert", "plan_query", "resolve_table", "sharing_parts"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PlannedTable:
    """A query with its schema, ready to be run."""

    plan: PlanNode
    context: PlanningContext

    @property
    def row_type(self) -> LogicalType:
        """Names and types of its columns, time attributes too."""
        return self.plan.row_type

    @cached_property
    def inferred(self) -> InferredPlan:
        """The optimized plan with changelog modes."""
        return infer_changelog(final_plan(self.plan, self.context.settings))

    @property
    def changelog_kinds(self) -> frozenset[int]:
        """The kinds of rows in its changelog."""
        return self.inferred.modes[self.inferred.root].kinds

    @property
    def upsert_keys(self) -> Keys:
        """Sets of columns by which its changelog updates."""
        return upsert_keys(self.inferred.root)

    def by_key(self, key: tuple[int, ...]) -> PlannedTable:
        """The same query, whose updates have no row before them; `key` is what they are known by."""
        inferred = infer_changelog(final_plan(self.plan, self.context.settings), (Updates.AFTER,))
        if not inferred.modes[inferred.root].is_append and frozenset(key) not in upsert_keys(inferred.root):
            found = [", ".join(self.row_type.names[at] for at in sorted(each)) for each in upsert_keys(inferred.root)]
            raise SqlValidationError(
                f"Changes by ({', '.join(self.row_type.names[at] for at in key)}) are asked for, but the rows of the "
                f"query are updated by {' or by '.join(f'({each})' for each in found) or 'no key'}."
            )
        return _Known(self.plan, self.context, inferred)

    @deep_statements()
    def translate(self, environment: Any, reuse: Reuse | None = None) -> Any:
        """The stream of its rows, `(kind, *fields)`, in the graph of an environment."""
        settings = TableSettings.of(self.context.settings)
        return Translator(self.inferred, environment, settings, reuse).stream(self.inferred.root)


class _Known(PlannedTable):
    """A query whose changelog has been inferred already."""

    def __init__(self, plan: PlanNode, context: PlanningContext, inferred: InferredPlan) -> None:
        super().__init__(plan, context)
        self.__dict__["inferred"] = inferred


@dataclass(frozen=True, eq=False)
class PlannedInsert:
    """A query and the table it is written to."""

    sink: Sink
    context: PlanningContext

    @cached_property
    def inferred(self) -> InferredPlan:
        """The optimized plan with changelog modes."""
        return infer_for_sink(self.sink, self.context.settings)

    @deep_statements()
    def translate(self, environment: Any, reuse: Reuse | None = None) -> Any:
        """Append the query and its sink to the graph of an environment; `reuse` has parts of other queries."""
        settings = TableSettings.of(self.context.settings)
        root = self.inferred.root
        assert isinstance(root, Sink)
        return translate_sink(Translator(self.inferred, environment, settings, reuse), root)


@deep_statements()
def plan_query(query: exp.Expr, context: PlanningContext) -> PlannedTable:
    """Bind a parsed query."""
    return PlannedTable(QueryBinder(Session.of(context)).bind(query), context)


@deep_statements()
def plan_insert(
    table: Sequence[str],
    query: exp.Expr | PlanNode | PlannedTable,
    context: PlanningContext,
    *,
    columns: Sequence[str] | None = None,
    partition: Mapping[str, exp.Expr] | None = None,
    options: Mapping[str, str] | None = None,
    on_conflict: str | None = None,
    overwrites: bool = False,
) -> PlannedInsert:
    """Bind a query, or take a bound one, for a table of the catalog."""
    session = Session.of(context)
    if isinstance(query, PlannedTable):
        query = query.plan
    plan = query if isinstance(query, PlanNode) else QueryBinder(session).bind(query)
    sink = bind_insert(session, tuple(table), plan, columns, partition or {}, options or {}, on_conflict)
    if overwrites and not sink.sink.can_overwrite:
        raise SqlValidationError(
            f"INSERT OVERWRITE {'.'.join(sink.table.path)} is not supported: its connector only adds to what is there, "
            "and a stream cannot replace what it has not read to its end. Write to an empty table, or by primary key."
        )
    return PlannedInsert(sink, context)


def sharing_parts(planned: Sequence[T]) -> list[T]:
    """Return the queries of a job with what their INSERTs have in common planned apart, if settings ask for it."""
    inserts = [each for each in planned if isinstance(each, PlannedInsert)]
    if len(inserts) < 2 or not TableSettings.of(inserts[0].context.settings).shares_parts:
        return list(planned)
    plans = with_common_parts([each.sink.input for each in inserts])
    made: dict[int, Any] = {
        id(each): replace(each, sink=replace(each.sink, input=plan)) for each, plan in zip(inserts, plans, strict=True)
    }
    return [made.get(id(each), each) for each in planned]


def resolve_table(path: Sequence[str], entry: CatalogTable, context: PlanningContext) -> ResolvedTable:
    """A table of the catalog with types for computed columns, and a bound watermark expression."""
    return resolve_catalog_table(tuple(path), entry, Session.of(context))


@deep_statements()
def explain(planned: Sequence[PlannedTable | PlannedInsert], environment: Any = None) -> str:
    """The plan as bound, the optimized plan with changelog modes, and the graph if there is an environment for it."""
    if not planned:
        raise SqlValidationError("There is nothing to explain.")
    bound = [each.plan if isinstance(each, PlannedTable) else each.sink for each in planned]
    parts = ["== Abstract Syntax Tree ==", *[plan_text(each) for each in bound], ""]
    parts.append("== Optimized Plan ==")
    planned = sharing_parts(planned)
    parts += [plan_text(each.inferred.root, each.inferred.modes) for each in planned]
    if environment is not None:
        reuse = Reuse()
        for each in planned:
            each.translate(environment, reuse)
        parts += ["", "== Penstock Graph ==", environment.explain()]
    return "\n".join(parts) + "\n"
