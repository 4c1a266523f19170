"""Queries that the Table API makes: the trees that SQL would be parsed into, over plans that are there already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.table.algebra.nodes import Limit, PlanNode, Project, Sort
from penstock.table.binder.table_aggregates import bind_count_window
from penstock.table.column_choices import aliased, chosen, column, named
from penstock.table.data_type_texts import declared_type
from penstock.table.expression import Expression
from penstock.table.expression_methods.term import term_of
from penstock.table.expressions import col
from penstock.table.sql.nodes import BoundTable, CastTo
from penstock.table.window import GroupWindow, OverWindow
from penstock.vocabulary.sql.logical_types import LogicalType

if TYPE_CHECKING:
    from penstock.table.planner import PlannedTable
    from penstock.table.table_environment import TableEnvironment

__all__ = ["Source", "is_window", "limited", "nodes_of", "set_operation", "values_query"]

PROPERTIES = {"$WINDOW_START": "_START", "$WINDOW_END": "_END", "$WINDOW_ROWTIME": "_ROWTIME"}
PROPERTIES |= {"$WINDOW_PROCTIME": "_PROCTIME"}
SIDES = {"INNER": "", "LEFT": "LEFT", "RIGHT": "RIGHT", "FULL": "FULL"}


def nodes_of(expressions: Iterable[Any]) -> list[exp.Expr]:
    """The trees of expressions; a text is the name of a column."""
    given = [each if isinstance(each, Expression) else col(each) for each in expressions]
    return [each._node.copy() for each in given]


@dataclass(frozen=True)
class Source:
    """What a query reads: the plan of a table, and the joins it consists of as long as nothing came behind them."""

    environment: TableEnvironment
    plan: PlanNode
    joined: tuple[PlanNode, exp.Expr] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.plan.names

    def query(self, items: Sequence[exp.Expr], **clauses: Any) -> exp.Select:
        """A SELECT over it."""
        plan, joins = self.plan, []
        if self.joined is not None:
            plan, joins = self.joined[0], [self.joined[1].copy()]
        return exp.Select(expressions=list(items), from_=exp.From(this=BoundTable(plan=plan)), joins=joins, **clauses)

    def bound(self, items: Sequence[exp.Expr], **clauses: Any) -> PlannedTable:
        """The plan of a SELECT over it."""
        return self.environment.bound(self.query(items, **clauses))

    def all_columns(self) -> list[exp.Expr]:
        """Every column."""
        return [aliased(column(each), each) for each in self.names]

    def type_of(self, node: exp.Expr) -> LogicalType:
        """The type of an expression over it."""
        return self.bound([aliased(node, "value")]).row_type.parts[0]

    def items(self, expressions: Iterable[Any]) -> list[exp.Expr]:
        """The columns of a select list, each with its name."""
        return named(chosen(nodes_of(expressions), self.names, self.type_of))

    def select(self, expressions: Iterable[Any], **clauses: Any) -> PlannedTable:
        """The plan of a select list."""
        return self.bound(self.items(expressions), **clauses)

    def filtered(self, condition: Any) -> PlannedTable:
        """The rows that meet a condition."""
        (node,) = nodes_of([condition])
        return self.bound(self.all_columns(), where=exp.Where(this=node))

    # ---- groups ----

    def with_keys(self, keys: Sequence[exp.Expr]) -> tuple[Source, list[exp.Expr]]:
        """The table with a column for each key that has a name of its own, and the keys."""
        extra = [each for each in keys if isinstance(each, exp.Alias)]
        if not extra:
            return self, list(keys)
        plan = self.bound([*self.all_columns(), *extra]).plan
        plain = [column(each.alias) if isinstance(each, exp.Alias) else each for each in keys]
        return Source(self.environment, plan), plain

    def grouped(
        self, keys: Sequence[exp.Expr], expressions: Iterable[Any], window: GroupWindow | None = None
    ) -> PlannedTable:
        """A select list over groups."""
        source, plain = self.with_keys(keys)
        items = named(chosen(nodes_of(expressions), source.names, source.type_of))
        if window is not None and window.counts_rows:
            return source.counted(plain, items, window)
        if window is not None:
            items = [_with_properties(each, window) for each in items]
            plain = [window.node() if is_window(each, window) else each for each in plain]
        return source.bound(items, group=exp.Group(expressions=[each.copy() for each in plain]))

    def counted(self, keys: Sequence[exp.Expr], items: Sequence[exp.Expr], window: GroupWindow) -> PlannedTable:
        """A select list over windows of counted rows."""
        from penstock.table.planner import PlannedTable

        session = self.environment.session()
        slide, size = (window.row_counts() * 2)[:2]
        others = [each for each in keys if not is_window(each, window)]
        return PlannedTable(bind_count_window(session, self.plan, items, others, size, slide), session.context)

    def over(self, windows: Sequence[OverWindow], expressions: Iterable[Any]) -> PlannedTable:
        """A select list with aggregates over windows."""
        return self.bound(self.items(expressions), windows=[each.node() for each in windows])

    # ---- joins ----

    def join(self, right: Source, kind: str, condition: Any = None) -> tuple[PlanNode, exp.Expr]:
        """The clause of a join, and what is on its left."""
        both = [each for each in self.names if each in right.names]
        if both:
            raise SqlValidationError(
                f"Both sides of the join have columns named {', '.join(both)}; rename those of one side with "
                f"alias(...) or rename_columns(...)."
            )
        on = exp.Boolean(this=True) if condition is None else nodes_of([condition])[0]
        return self.plan, exp.Join(this=BoundTable(plan=right.plan), side=SIDES[kind], on=on)

    def lateral(self, call: exp.Expr, names: Sequence[str], kind: str, condition: Any = None) -> PlannedTable:
        """Each row with what a table function makes of it."""
        alias = exp.TableAlias(columns=[exp.to_identifier(each, quoted=True) for each in names])
        item = exp.Lateral(this=call.copy(), alias=alias if names else None)
        on = exp.Boolean(this=True) if condition is None else nodes_of([condition])[0]
        joined = exp.Join(this=item, side=SIDES[kind], on=on)
        query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=BoundTable(plan=self.plan)), joins=[joined])
        return self.environment.bound(query)

    def renamed(self, names: Sequence[str]) -> PlanNode:
        """The plan with other names for its first columns."""
        if len(names) > len(self.names):
            raise SqlValidationError(
                f"alias: {len(names)} names are given for the {len(self.names)} columns {', '.join(self.names)}."
            )
        whole = (*names, *self.names[len(names) :])
        for name in whole:
            if whole.count(name) > 1:
                raise SqlValidationError(f"alias: the column name {name} is given twice.")
        return Project(self.plan, self.plan.fields, whole)


def values_query(rows: Sequence[Any], schema: Any = None) -> exp.Expr:
    """A query of rows that are given as expressions, of the types of a row type or with names."""
    listed = [each._node.copy() for each in map(term_of, rows)]
    tuples = [
        exp.Tuple(expressions=each.expressions) if _is_row(each) else exp.Tuple(expressions=[each]) for each in listed
    ]
    values = exp.Values(expressions=tuples, alias=exp.TableAlias(this=exp.to_identifier("given")))
    width = len(tuples[0].expressions)
    names = [f"f{at}" for at in range(width)]
    types: list[LogicalType | None] = [None] * width
    if isinstance(schema, list | tuple):
        names = list(schema)
    elif schema is not None:
        declared = declared_type(schema)
        names, types = list(declared.names), list(declared.parts)
    items: list[exp.Expr] = []
    for at, (name, declared_part) in enumerate(zip(names, types, strict=True)):
        value = column(f"EXPR${at}")
        items.append(aliased(value if declared_part is None else CastTo(this=value, to=declared_part), name))
    return exp.Select(expressions=items, from_=exp.From(this=values))


def _is_row(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.this == "ROW"


def is_window(node: exp.Expr, window: GroupWindow) -> bool:
    """Whether a key is the alias of a window."""
    return isinstance(node, exp.Column) and node.name == window.name


def _with_properties(node: exp.Expr, window: GroupWindow) -> exp.Expr:
    """The tree with the properties of a window as calls of SQL."""

    def change(each: exp.Expr) -> exp.Expr:
        if isinstance(each, exp.Anonymous) and each.this in PROPERTIES and is_window(each.expressions[0], window):
            return window.node(PROPERTIES[each.this])
        return each

    return node.transform(change)


def set_operation(kind: type[exp.SetOperation], left: PlanNode, right: PlanNode, is_distinct: bool) -> exp.Expr:
    """UNION, INTERSECT or EXCEPT of two plans."""
    sides = [exp.Select(expressions=[exp.Star()], from_=exp.From(this=BoundTable(plan=each))) for each in (left, right)]
    return kind(this=sides[0], expression=sides[1], distinct=is_distinct)


def limited(plan: PlanNode, offset: int, fetch: int | None) -> PlanNode:
    """The plan with some rows left out at its beginning, and no more than some; an order below it stays its order."""
    if isinstance(plan, Sort):
        return Limit(plan.input, offset, fetch, plan.order)
    if isinstance(plan, Limit):
        kept = plan.fetch if fetch is None else fetch if plan.fetch is None else min(plan.fetch - offset, fetch)
        return Limit(plan.input, plan.offset + offset, kept, plan.order)
    return Limit(plan, offset, fetch, ())
