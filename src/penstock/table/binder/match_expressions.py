"""Binding of expressions over a match: MEASURES, and conditions of DEFINE.

Every name of a column is that of a row of a pattern variable; what is navigated to and aggregated becomes a column of
the view that the expression is evaluated over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.table.algebra.plan_node import PlanNode
from penstock.table.binder.aggregates import aggregate_call, is_aggregate
from penstock.table.binder.columns import ColumnList
from penstock.table.binder.expressions import NOW_WORDS, ExpressionBinder, plain_time
from penstock.table.binder.function_calls import PROCTIME_TYPE, function_name
from penstock.table.binder.problems import near_names
from penstock.table.binder.scopes import NotFound, Relation, Scope, nested_field
from penstock.table.binder.session import Session
from penstock.table.sql.nodes import FinalOrRunning
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, TimeAttribute
from penstock.vocabulary.sql.matches import (
    ALL_VARIABLES,
    CURRENT_ROW,
    MatchExpressions,
    MatchTime,
    Navigation,
    PatternElement,
    VariableAggregate,
    ViewColumn,
)
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, TypedExpression

__all__ = ["MatchExpressionBinder", "MatchRows"]

LOGICAL, PHYSICAL = ("FIRST", "LAST"), ("PREV", "NEXT")
RUNNING = "RUNNING is not supported, as in Flink: the one row of a match is about all of it; leave the word out"
NOT_SUPPORTED = {
    "CLASSIFIER": "CLASSIFIER() is not supported, as in Flink: add a measure for each variable, such as COUNT(A.price)",
    "MATCH_NUMBER": "MATCH_NUMBER() is not supported, as in Flink: number the rows with ROW_NUMBER() OVER (...)",
}


@dataclass(frozen=True)
class MatchRows:
    """What expressions may speak of: the rows that are searched, the pattern's elements, the field of the time."""

    source: PlanNode
    elements: tuple[PatternElement, ...]
    time: int
    only_defined: tuple[str, ...] = ()
    """Variables with a condition that are not in the pattern: as in Flink they may be spoken of, and have no rows."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that may be spoken of."""
        return (*[each.variable for each in self.elements], *self.only_defined)

    def least(self, variable: str) -> int:
        """How many rows of a variable, or of all, a match has at least."""
        return sum(each.least for each in self.elements if variable in (each.variable, ALL_VARIABLES))

    @property
    def time_type(self) -> LogicalType:
        """The type of the field that orders rows."""
        return self.source.types[self.time]


class _RowReader(ExpressionBinder):
    """Binds names with and without a pattern variable in front, and notes which variables are spoken of."""

    def __init__(self, session: Session, rows: MatchRows) -> None:
        super().__init__(session, Scope((Relation(None, rows.source.names, rows.source.types),)))
        self.rows = rows
        self.spoken_of: list[str] = []

    def _named(self, node: exp.Expr, parts: list[str]) -> TypedExpression:
        names = self.rows.source.names
        if len(parts) == 1 and parts[0].upper() in NOW_WORDS and parts[0] not in names:
            return super()._named(node, parts)
        variable, path = ALL_VARIABLES, parts
        if len(parts) > 1 and parts[0] in self.rows.variables:
            variable, path = parts[0], parts[1:]
        elif len(parts) > 1 and parts[0] not in names:
            hint = near_names(parts[0], self.rows.variables)
            raise self.session.problems.at(node, f"There is no pattern variable '{parts[0]}' in PATTERN.{hint}")
        if path[0] not in names:
            hint = near_names(path[0], names)
            raise self.session.problems.at(node, f"There is no column '{path[0]}' here.{hint}")
        self.spoken_of.append(variable)
        found = self.field(variable, names.index(path[0]))
        try:
            for name in path[1:]:
                found = nested_field(found, name)
        except NotFound as error:
            hint = near_names(error.name, error.known) if error.known else ""
            raise self.session.problems.at(node, f"There is no field '{error.name}' here.{hint}") from None
        return found

    def aggregates(self, node: exp.Expr) -> bool:
        """Whether a node is a call of an aggregate function."""
        return is_aggregate(node, self.session)

    def field(self, variable: str, index: int) -> TypedExpression:
        """What a column of a variable means."""
        return FieldRef(index, self.rows.source.types[index].as_plain_time())

    def one_variable(self, node: exp.Expr, what: str) -> str:
        """The one variable that was spoken of."""
        found = list(dict.fromkeys(self.spoken_of))
        if len(found) > 1:
            shown = " and ".join("all rows (a column without variable)" if each == "*" else each for each in found)
            raise self.session.problems.at(
                node, f"{what} looks at the rows of one pattern variable, but this speaks of {shown}"
            )
        return found[0] if found else ALL_VARIABLES


class MatchExpressionBinder(_RowReader):
    """Binds expressions over a match; with `defined`, the condition of that variable over a match in the making."""

    def __init__(self, session: Session, rows: MatchRows, defined: str | None = None) -> None:
        super().__init__(session, rows)
        self.hook = self._answer
        self.defined = defined
        self._view: list[ViewColumn] = []
        self._item: exp.Expr | None = None
        self._offset = 0
        self._is_from_first = False
        self._navigation = ""

    def expressions(self, bound: Sequence[TypedExpression]) -> MatchExpressions:
        """What was bound, with the view that it needs."""
        return MatchExpressions(tuple(self._view), tuple(bound))

    def measure(self, item: exp.Alias) -> TypedExpression:
        """The value of a measure."""
        self._item = item
        value = item.this
        if isinstance(value, FinalOrRunning) and value.args["word"] == "RUNNING":
            raise self._refusal(value, RUNNING)
        return self.bind(value)

    def definition(self, item: exp.Alias) -> TypedExpression:
        """The condition of a variable."""
        self._item = item
        return self.condition(item.this, f"DEFINE {item.alias}")

    # ---- columns of the view ----

    def _column_of(self, column: ViewColumn, type_: LogicalType) -> TypedExpression:
        if column not in self._view:
            self._view.append(column)
        return FieldRef(self._view.index(column), type_)

    def field(self, variable: str, index: int) -> TypedExpression:
        """The field of the row that is navigated to; without FIRST and LAST, of the last row."""
        is_last = self._offset == 0 and not self._is_from_first
        if self.defined is not None and is_last and variable in (self.defined, ALL_VARIABLES):
            variable = CURRENT_ROW
        column = Navigation(variable, index, self._offset, self._is_from_first)
        type_ = self.rows.source.types[index].as_plain_time()
        # Flink keeps NOT NULL here, and gives -1 or a wrong answer to IS NULL where there is no such row.
        is_there = variable == CURRENT_ROW or (self.defined is None and self.rows.least(variable) > self._offset)
        return self._column_of(column, type_ if is_there else type_.with_nullable(True))

    # ---- functions of matches ----

    def _answer(self, node: exp.Expr) -> TypedExpression | None:
        if isinstance(node, FinalOrRunning):
            return self._final(node)
        if not isinstance(node, exp.Func) and not self.aggregates(node):
            return None
        name = function_name(node)
        if name in LOGICAL or name in PHYSICAL:
            return self._navigated(node, name)
        if name in NOT_SUPPORTED:
            raise self._refusal(node, NOT_SUPPORTED[name])
        if name == "MATCH_ROWTIME":
            return self._rowtime(node)
        if name == "MATCH_PROCTIME":
            return Call("PROCTIME", (), PROCTIME_TYPE)
        return self._aggregated(node) if self.aggregates(node) else None

    def _refusal(self, node: exp.Expr, message: str) -> Exception:
        """An error at a part, or at the measure or condition that it is in, where the part does not know its place."""
        error = self.session.problems.at(node, message)
        return error if error.line else self.session.problems.at(self._item, message)

    def _final(self, node: FinalOrRunning) -> TypedExpression:
        if self.defined is not None:
            raise self._refusal(
                node, "FINAL and RUNNING can only be used in MEASURES: DEFINE is always about the rows so far"
            )
        if node.args["word"] == "RUNNING":
            raise self._refusal(node, RUNNING)
        return self.bind(node.this)

    def _navigated(self, node: exp.Expr, name: str) -> TypedExpression:
        if self._navigation:
            raise self._refusal(node, f"{name} cannot be used inside {self._navigation}; navigate to one row")
        arguments = list(node.expressions)
        if len(arguments) not in (1, 2):
            raise self._refusal(node, f"{name} takes a value and perhaps an offset, not {len(arguments)} arguments")
        offset = self._offset_of(node, name, arguments)
        if name in PHYSICAL:
            return self._physical(node, name, arguments[0], offset)
        outer, self.spoken_of = self.spoken_of, []
        self._navigation, self._offset, self._is_from_first = name, offset, name == "FIRST"
        try:
            found = plain_time(self.bind(arguments[0]))
        finally:
            self._navigation, self._offset, self._is_from_first = "", 0, False
        if not self.spoken_of:
            raise self._refusal(node, f"{name} needs a column of a pattern variable, such as {name}(A.price)")
        self.one_variable(node, name)
        self.spoken_of = outer + self.spoken_of
        return found

    def _physical(self, node: exp.Expr, name: str, value: exp.Expr, offset: int) -> TypedExpression:
        if self.defined is None:
            raise self._refusal(node, f"{name} cannot be used in MEASURES, as in Flink; use LAST(A.x, 1) or FIRST(A.x)")
        if offset != 0:
            raise self._refusal(
                node,
                f"{name} is not supported, as in Flink: rows that belong to no variable are not kept. Use LAST(A.x, 1) "
                "for the row of A before, or LAST(x, 1) for the row before of the match",
            )
        return self.value(value)

    def _offset_of(self, node: exp.Expr, name: str, arguments: list[exp.Expr]) -> int:
        if len(arguments) == 1:
            return 0 if name in LOGICAL else 1
        offset = arguments[1]
        if not isinstance(offset, exp.Literal) or offset.is_string or not offset.this.isdigit():
            raise self._refusal(node, f"The offset of {name} must be a number such as 1")
        return int(offset.this)

    def _rowtime(self, node: exp.Expr) -> TypedExpression:
        if self.rows.time_type.time_attribute is not TimeAttribute.ROWTIME:
            raise self._refusal(
                node, "MATCH_ROWTIME needs ORDER BY a row time; this one is by processing time: use MATCH_PROCTIME()"
            )
        arguments = list(node.expressions)
        type_ = LogicalType(Kind.TIMESTAMP, False, (3,), time_attribute=TimeAttribute.ROWTIME)
        if arguments:
            type_ = self._rowtime_argument(node, arguments)
        if self.defined is not None:
            return self._column_of(Navigation(CURRENT_ROW, self.rows.time), type_.as_plain_time())
        return self._column_of(MatchTime(), type_)

    def _rowtime_argument(self, node: exp.Expr, arguments: list[exp.Expr]) -> LogicalType:
        (argument, *more) = arguments
        names = self.rows.source.names
        parts = [part.name for part in argument.parts] if isinstance(argument, exp.Column) else []
        is_known = parts[:-1] in [[], *[[each] for each in self.rows.variables]]
        if more or not parts or not is_known or parts[-1] not in names:
            raise self._refusal(node, "MATCH_ROWTIME takes a row time column of the table, or nothing")
        found = self.rows.source.types[names.index(argument.name)]
        if found.time_attribute is not TimeAttribute.ROWTIME:
            raise self._refusal(node, f"MATCH_ROWTIME takes a row time column, but '{argument.name}' is {found}")
        return found

    def _aggregated(self, node: exp.Expr) -> TypedExpression:
        if self._navigation:
            raise self._refusal(node, f"An aggregate cannot be used inside {self._navigation}")
        if node.find(exp.Distinct) is not None:
            raise self._refusal(node, "Aggregates of DISTINCT values are not supported in MATCH_RECOGNIZE, as in Flink")
        reader = _AggregatedReader(self.session, self.rows)
        columns = ColumnList()
        call = aggregate_call(node, reader, columns, is_grouped=False)
        variable = reader.one_variable(node, "An aggregate")
        return self._column_of(VariableAggregate(variable, tuple(columns.columns), call), call.type)


class _AggregatedReader(_RowReader):
    """Binds what is aggregated: expressions over one row."""

    def __init__(self, session: Session, rows: MatchRows) -> None:
        super().__init__(session, rows)
        self.hook = self._refused

    def _refused(self, node: exp.Expr) -> TypedExpression | None:
        if not isinstance(node, exp.Func):
            return None
        name = function_name(node)
        if name in LOGICAL or name in PHYSICAL or self.aggregates(node):
            raise self.session.problems.at(node, f"{name} cannot be used inside an aggregate")
        return None
