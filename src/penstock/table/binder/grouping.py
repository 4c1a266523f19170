"""Binding of GROUP BY: keys, aggregates, grouping sets, and the windows of the legacy syntax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from sqlglot import exp

from penstock.errors import PenstockError, SqlError
from penstock.table.algebra.nodes import Aggregate, Expand, GroupWindowAggregate, PlanNode
from penstock.table.binder.aggregates import aggregate_call, is_aggregate
from penstock.table.binder.columns import ColumnList
from penstock.table.binder.expressions import ExpressionBinder, plain_time
from penstock.table.binder.function_calls import function_name
from penstock.table.binder.group_windows import GROUP_WINDOWS, GroupWindow, property_of
from penstock.table.binder.scopes import OUTER
from penstock.table.binder.session import Session
from penstock.table.rules.window_aggregates import recognise_window_aggregate
from penstock.table.sql.nodes import BoundValue, TemporalLiteral
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import AggregateCall, Call, FieldRef, Literal, TypedExpression

__all__ = ["Grouping", "find_aggregates"]

CONSTANTS = (exp.Literal, exp.Null, exp.Boolean, exp.Interval, BoundValue, TemporalLiteral, exp.DataType, exp.Var)
BIGINT = LogicalType(Kind.BIGINT, False)
SET_FUNCTIONS = ("GROUPING", "GROUPING_ID", "GROUP_ID")


def find_aggregates(nodes: Sequence[exp.Expr], session: Session) -> list[exp.Expr]:
    """The aggregate calls in expressions, those of subqueries and the functions of OVER apart."""
    found: list[exp.Expr] = []
    for node in nodes:
        if isinstance(node, (exp.Query, exp.Subquery)):
            continue
        if isinstance(node, exp.Window):
            function = node.this
            inside = [function.this] if isinstance(function, (exp.IgnoreNulls, exp.RespectNulls)) else [function]
            found += find_aggregates([child for each in inside for child in each.iter_expressions()], session)
            found += find_aggregates([each for each in node.iter_expressions() if each is not function], session)
        elif is_aggregate(node, session):
            found.append(node)
        else:
            found += find_aggregates(list(node.iter_expressions()), session)
    return found


class Grouping:
    """The groups of a SELECT: the plan that makes them, and what expressions over them mean."""

    def __init__(
        self, session: Session, binder: ExpressionBinder, group: exp.Expr | None, aggregates: list[exp.Expr]
    ) -> None:
        self.session = session
        self.binder = binder
        self.quiet = ExpressionBinder(session, binder.scope)
        self.answers: dict[int, TypedExpression] = {}
        self.window: GroupWindow | None = None
        self._properties: list[str] = []
        self._columns = ColumnList()
        self._keys: list[TypedExpression] = []
        self._sets = self._grouping_sets(group)
        self._calls: list[AggregateCall] = []
        self._bind_calls(aggregates)
        self._width = 0
        self._call_names = tuple([f"EXPR${index}" for index in range(len(self._calls))])
        self._set_field: FieldRef | None = None

    # ---- keys ----

    def _grouping_sets(self, group: exp.Expr | None) -> list[tuple[int, ...]]:
        if group is None:
            return [()]
        choices: list[list[tuple[int, ...]]] = []
        for each in self._elements(group):
            choices.append(self._element(each))
        return [tuple(dict.fromkeys(key for part in chosen for key in part)) for chosen in product(*choices)]

    @staticmethod
    def _elements(group: exp.Expr) -> list[exp.Expr]:
        found = list(group.expressions)
        for key in ("grouping_sets", "rollup", "cube"):
            found += group.args.get(key) or []
        return found

    def _element(self, node: exp.Expr) -> list[tuple[int, ...]]:
        if isinstance(node, exp.GroupingSets):
            return [chosen for each in node.expressions for chosen in self._element(each)]
        if isinstance(node, exp.Rollup):
            parts = [self._tuple(each) for each in node.expressions]
            return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
        if isinstance(node, exp.Cube):
            parts = [self._tuple(each) for each in node.expressions]
            return [
                _joined([part for part, is_in in zip(parts, mask, strict=True) if is_in])
                for mask in product((True, False), repeat=len(parts))
            ]
        return [self._tuple(node)]

    def _tuple(self, node: exp.Expr) -> tuple[int, ...]:
        if isinstance(node, exp.Tuple):
            return tuple([key for each in node.expressions for key in self._tuple(each)])
        if isinstance(node, exp.Paren):
            return self._tuple(node.this)
        if isinstance(node, exp.Anonymous) and function_name(node) in GROUP_WINDOWS:
            self.window = GroupWindow.of(node, self.binder)
            return ()
        bound = self.binder.bind(node)
        if isinstance(bound, Literal):
            return ()  # a constant is the same for all rows, and no position in the list: as in Flink
        plain = [plain_time(each) for each in self._keys]
        if plain_time(bound) not in plain:
            self._keys.append(bound)
            return (len(self._keys) - 1,)
        return (plain.index(plain_time(bound)),)

    # ---- aggregates ----

    def _bind_calls(self, aggregates: list[exp.Expr]) -> None:
        for key in self._keys:
            self._columns.append(key)
        self._columns.seal()
        self._call_of: list[tuple[exp.Expr, int]] = []
        for node in aggregates:
            is_grouped = all(self._sets)
            call = aggregate_call(node, self.binder, self._columns, is_grouped or self.window is not None)
            if call not in self._calls:
                self._calls.append(call)
            self._call_of.append((node, self._calls.index(call)))

    # ---- the plan ----

    def plan(self, source: Callable[[], PlanNode]) -> PlanNode:
        """The plan of the groups: keys, results, then what says the window or the grouping set."""
        time = None if self.window is None else self._columns.append(self.window.time)
        projected: PlanNode = self._columns.project(source())
        keys = tuple(range(len(self._keys)))
        if self.window is not None and time is not None:
            return self._windowed(projected, keys, time)
        if len(self._sets) > 1:
            return self._expanded(projected, keys)
        grouped = Aggregate(projected, keys, tuple(self._calls), self._call_names)
        plan = recognise_window_aggregate(grouped)
        self._answer_calls(plan, len(keys))
        return plan

    def _answer_calls(self, plan: PlanNode, first: int) -> None:
        self.key_fields = [plan.field(each) for each in range(len(self._keys))]
        for node, index in self._call_of:
            self.answers[id(node)] = plan.field(first + index)

    def _windowed(self, projected: PlanNode, keys: tuple[int, ...], time: int) -> PlanNode:
        if len(self._sets) > 1:
            raise SqlError(
                "GROUPING SETS cannot be used together with a window of GROUP BY; use a window table function"
            )
        assert self.window is not None
        properties = ("start", "end", self.window.time_property)
        names = tuple([f"w$${each}" for each in properties])
        plan = GroupWindowAggregate(
            projected, keys, tuple(self._calls), self._call_names, self.window.spec, time, properties, names
        )
        self._properties = list(properties)
        self._answer_calls(plan, len(keys))
        self._property_fields = plan.fields[len(keys) + len(self._calls) :]
        return plan

    def _expanded(self, projected: PlanNode, keys: tuple[int, ...]) -> PlanNode:
        missing = tuple([key for key in keys if any(key not in each for each in self._sets)])
        expand = Expand(projected, tuple(self._sets), missing)
        set_field = len(projected.types)
        plan = Aggregate(expand, (*keys, set_field), tuple(self._calls), self._call_names)
        self._set_field = plan.field(len(keys))
        self._answer_calls(plan, len(keys) + 1)
        return plan

    # ---- expressions over groups ----

    def answer(self, node: exp.Expr) -> TypedExpression | None:
        """What a part of an expression over the groups means, if it is a key or about the group; else None."""
        if isinstance(node, CONSTANTS):
            return None
        name = function_name(node)
        if name in SET_FUNCTIONS:
            return self._set_function(node, name)
        if self.window is not None:
            found = property_of(node, name, self.window, self.binder)
            if found is not None:
                return self._property_fields[self._properties.index(found)]
        return self._key(node)

    def _key(self, node: exp.Expr) -> TypedExpression | None:
        is_name = isinstance(node, exp.Column) or (isinstance(node, exp.Dot) and isinstance(node.this, exp.Column))
        try:
            bound = plain_time(self.quiet.bind(node))
        except PenstockError:
            if is_name:
                raise
            return None
        plain = [plain_time(each) for each in self._keys]
        if bound in plain:
            return self.key_fields[plain.index(bound)]
        if isinstance(bound, Call) and bound.function == OUTER:
            return bound
        if is_name and not _has_part_in(bound, plain):
            raise self.session.problems.at(
                node,
                f"Column '{node.sql(dialect='')}' is neither grouped nor aggregated; add it to GROUP BY, or use an "
                f"aggregate function such as MAX",
            )
        return None

    def outer_field(self, index: int, type_: LogicalType) -> TypedExpression:
        """What a column of FROM that a subquery uses is among the groups: a key."""
        wanted = FieldRef(index, type_)
        plain = [plain_time(each) for each in self._keys]
        if wanted not in plain:
            raise SqlError(
                "A subquery uses a column of the query around that is neither grouped nor aggregated; add it to GROUP "
                "BY."
            )
        return self.key_fields[plain.index(wanted)]

    def _set_function(self, node: exp.Expr, name: str) -> TypedExpression:
        arguments = [] if name == "GROUP_ID" else list(node.expressions) or ([node.this] if node.this else [])
        wanted = [self._key_number(each) for each in arguments]
        values = [sum((key not in each) << place for place, key in enumerate(reversed(wanted))) for each in self._sets]
        if self._set_field is None:
            return Literal(values[0], BIGINT)
        parts: list[TypedExpression] = []
        for number, value in enumerate(values):
            same = Call("=", (self._set_field, Literal(number, BIGINT)), LogicalType(Kind.BOOLEAN, False))
            parts += [same, Literal(value, BIGINT)]
        return Call("CASE", (*parts, Literal(0, BIGINT)), BIGINT)

    def _key_number(self, node: exp.Expr) -> int:
        bound = plain_time(self.quiet.bind(node))
        plain = [plain_time(each) for each in self._keys]
        if bound not in plain:
            raise self.session.problems.at(node, "GROUPING needs a column of GROUP BY")
        return plain.index(bound)


def _joined(parts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple([key for part in parts for key in part])


def _has_part_in(bound: TypedExpression, keys: list[TypedExpression]) -> bool:
    """Whether a field inside a key is meant: `GROUP BY a` and `a.b`."""
    while isinstance(bound, Call) and bound.function == "FIELD":
        bound = bound.arguments[0]
        if bound in keys:
            return True
    return False
