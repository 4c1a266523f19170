"""Binding of scalar expressions: a parsed expression and a scope give a typed expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from penstock.errors import PenstockError
from penstock.table.binder import literals
from penstock.table.binder.function_calls import function_call
from penstock.table.binder.problems import near_names
from penstock.table.binder.scopes import Ambiguous, NotFound, Scope, nested_field
from penstock.table.binder.session import Session
from penstock.table.sql.data_types import logical_type
from penstock.table.sql.nodes import BoundValue, CastTo, IntervalPrecision, MapConstructor, TemporalLiteral
from penstock.vocabulary.sql import scalar
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, TimeAttribute
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression

__all__ = ["ExpressionBinder", "plain_time"]

Hook = Callable[[exp.Expr], TypedExpression | None]

BOOLEAN = LogicalType(Kind.BOOLEAN, False)
BINARY_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "AND",
    exp.Or: "OR",
    exp.DPipe: "||",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}
WITHOUT_PARENTHESES: dict[type[exp.Expr], str] = {
    exp.CurrentTimestamp: "CURRENT_TIMESTAMP",
    exp.CurrentDate: "CURRENT_DATE",
    exp.CurrentTime: "CURRENT_TIME",
    exp.Localtime: "LOCALTIME",
    exp.Localtimestamp: "LOCALTIMESTAMP",
}
NOW_WORDS = frozenset(["CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP"])


def plain_time(expression: TypedExpression) -> TypedExpression:
    """The expression as a value: what was a time attribute is an ordinary timestamp."""
    attribute = expression.type.time_attribute
    if attribute is None:
        return expression
    plain = expression.type.as_plain_time()
    if isinstance(expression, FieldRef):
        return FieldRef(expression.index, plain)
    if isinstance(expression, Call) and attribute is not TimeAttribute.PROCTIME:
        return Call(expression.function, expression.arguments, plain, expression.options)
    return Call("CAST", (expression,), plain) if not isinstance(expression, Call) else _now(expression, plain)


def _now(expression: Call, plain: LogicalType) -> TypedExpression:
    return Call(expression.function, expression.arguments, plain, expression.options)


class ExpressionBinder:
    """Binds expressions over one scope. `hook` is asked first about each part, and may answer for it."""

    def __init__(self, session: Session, scope: Scope, hook: Hook | None = None) -> None:
        self.session = session
        self.scope = scope
        self.hook = hook

    def bind(self, node: exp.Expr) -> TypedExpression:
        """The typed expression of a node."""
        if self.hook is not None:
            answer = self.hook(node)
            if answer is not None:
                return answer
        handler = HANDLERS.get(type(node))
        if handler is not None:
            return handler(self, node)
        operator = BINARY_OPERATORS.get(type(node))
        if operator is not None:
            return self.call(node, operator, [self.value(node.this), self.value(node.expression)])
        if type(node) in WITHOUT_PARENTHESES:
            return self.call(node, WITHOUT_PARENTHESES[type(node)], [])
        if isinstance(node, exp.Func):
            return function_call(self, node)
        raise self.session.problems.at(node, f"{type(node).__name__.upper()} is not supported in an expression")

    def value(self, node: exp.Expr) -> TypedExpression:
        """The typed expression of a node whose value is used, be it a time attribute or not."""
        return plain_time(self.bind(node))

    def condition(self, node: exp.Expr, clause: str) -> TypedExpression:
        """The typed expression of a condition, which must be BOOLEAN."""
        bound = self.value(node)
        if bound.type.kind is Kind.NULL:
            return Literal(None, LogicalType(Kind.BOOLEAN))
        if bound.type.kind is not Kind.BOOLEAN:
            raise self.session.problems.at(
                node, f"{clause} needs a condition of type BOOLEAN, but this is {bound.type}; compare it with a value"
            )
        return bound

    def call(
        self, node: exp.Expr, name: str, arguments: Sequence[TypedExpression], options: tuple[Any, ...] = ()
    ) -> TypedExpression:
        """A function of bound arguments, its type inferred; a refusal is told at the node."""
        try:
            return scalar.call(name, tuple(map(plain_time, arguments)), options)
        except PenstockError as error:
            raise self.session.problems.at(node, str(error)) from None

    def cast(self, node: exp.Expr, value: TypedExpression, to: LogicalType, is_try: bool = False) -> TypedExpression:
        """A cast, or a refusal at the node."""
        try:
            return scalar.cast(plain_time(value), to, is_try)
        except PenstockError as error:
            raise self.session.problems.at(node, str(error)) from None

    # ---- names ----

    def _column(self, node: exp.Column) -> TypedExpression:
        parts = [part.name for part in node.parts]
        if isinstance(node.this, exp.Star):
            raise self.session.problems.at(node, "* stands for all columns and cannot be used in an expression")
        return self._named(node, parts)

    def _named(self, node: exp.Expr, parts: list[str]) -> TypedExpression:
        if len(parts) == 1 and parts[0].upper() in NOW_WORDS and parts[0] not in self.scope.all_names:
            return self.call(node, parts[0].upper(), [])
        try:
            found, rest = self.scope.resolve(parts)
            for name in rest:
                found = nested_field(found, name)
            return found
        except NotFound as error:
            name = error.name
            hint = near_names(name, error.known)
            raise self.session.problems.at(node, f"There is no column '{name}' here.{hint}") from None
        except Ambiguous as error:
            qualified = " or ".join(f"{owner}.{error.name}" for owner in error.owners)
            raise self.session.problems.at(
                node, f"Column '{error.name}' is ambiguous: it is in {', '.join(error.owners)}. Write {qualified}"
            ) from None

    def _dot(self, node: exp.Dot) -> TypedExpression:
        names = _dotted_names(node)
        if names is not None:
            return self._named(node, names)
        base = self.bind(node.this)
        try:
            return nested_field(base, node.expression.name)
        except NotFound as error:
            hint = near_names(error.name, error.known) if error.known else f" It is in no ROW, but in {base.type}."
            raise self.session.problems.at(node, f"There is no field '{error.name}'.{hint}") from None

    # ---- constants ----

    def _literal(self, node: exp.Literal) -> TypedExpression:
        return literals.text_literal(node.this) if node.is_string else literals.number_literal(node.this)

    def _temporal(self, node: TemporalLiteral) -> TypedExpression:
        kind = logical_type(node.args["to"]).kind
        try:
            return literals.temporal_literal(kind, node.this.name)
        except ValueError:
            raise self.session.problems.at(node, f"'{node.this.name}' is not a {kind.value}") from None

    def _interval(self, node: exp.Interval) -> TypedExpression:
        unit = node.args.get("unit")
        first, last = _interval_units(unit)
        this = node.this
        sign = "-" if isinstance(this, exp.Neg) else ""
        text = this.this.name if isinstance(this, exp.Neg) else this.name
        try:
            return literals.interval_literal(sign + text, first, last)
        except (ValueError, ArithmeticError):
            raise self.session.problems.at(node, f"'{text}' is not an INTERVAL of {first}") from None

    def _neg(self, node: exp.Neg) -> TypedExpression:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return literals.number_literal("-" + inner.this)
        return self.call(node, "-", [self.value(inner)])

    # ---- forms ----

    def _is(self, node: exp.Is) -> TypedExpression:
        what = node.expression
        negated = isinstance(what, exp.Not)
        what = what.this if isinstance(what, exp.Not) else what
        words = {True: "TRUE", False: "FALSE"}
        if isinstance(what, exp.JSON):
            found = self.call(node, "IS JSON", [self.value(node.this)], (what.args.get("this") or "VALUE",))
            return self.call(node, "NOT", [found]) if negated else found
        if isinstance(what, exp.Boolean):
            word = words[what.this]
        elif isinstance(what, exp.Null):
            word = "NULL"
        else:
            word = what.name.upper()
        return self.call(node, f"IS {'NOT ' if negated else ''}{word}", [self.value(node.this)])

    def _not(self, node: exp.Not) -> TypedExpression:
        inner = node.this.unnest() if isinstance(node.this, exp.Paren) else node.this
        if isinstance(inner, exp.Is) and not isinstance(inner.expression, exp.Not):
            positive = self._is(inner)
            assert isinstance(positive, Call)
            return self.call(node, positive.function.replace("IS ", "IS NOT ", 1), positive.arguments)
        return self.call(node, "NOT", [self.value(node.this)])

    def _in(self, node: exp.In) -> TypedExpression:
        if node.args.get("query") is not None:
            raise self.session.problems.at(
                node,
                "IN (SELECT ...) is not supported here; use it in WHERE, HAVING or the SELECT list, or write a join",
            )
        return self.call(node, "IN", [self.value(node.this), *map(self.value, node.expressions)])

    def _between(self, node: exp.Between) -> TypedExpression:
        parts = [self.value(node.this), self.value(node.args["low"]), self.value(node.args["high"])]
        return self.call(node, "BETWEEN", parts, ("SYMMETRIC",) if node.args.get("symmetric") else ())

    def _overlaps(self, node: exp.Overlaps) -> TypedExpression:
        ends = [*node.this.expressions, *node.expression.expressions]
        return self.call(node, "OVERLAPS", [self.value(each) for each in ends])

    def _like(self, node: exp.Like) -> TypedExpression:
        return self._pattern(node, "LIKE")

    def _similar(self, node: exp.SimilarTo) -> TypedExpression:
        return self._pattern(node, "SIMILAR TO")

    def _pattern(self, node: exp.Expr, name: str, escape: Sequence[TypedExpression] = ()) -> TypedExpression:
        matched = self.call(node, name, [self.value(node.this), self.value(node.expression), *escape])
        return self.call(node, "NOT", [matched]) if node.args.get("negate") else matched

    def _escape(self, node: exp.Escape) -> TypedExpression:
        name = "SIMILAR TO" if isinstance(node.this, exp.SimilarTo) else "LIKE"
        return self._pattern(node.this, name, [self.value(node.expression)])

    def _case(self, node: exp.Case) -> TypedExpression:
        parts: list[TypedExpression] = []
        for branch in node.args["ifs"]:
            if node.this is not None:
                parts.append(self.call(branch, "=", [self.value(node.this), self.value(branch.this)]))
            else:
                parts.append(self.condition(branch.this, "CASE WHEN"))
            parts.append(self.value(branch.args["true"]))
        default = node.args.get("default")
        parts.append(literals.null_literal() if default is None else self.value(default))
        return self.call(node, "CASE", parts)

    def _cast(self, node: exp.Cast) -> TypedExpression:
        to = logical_type(node.args["to"])
        return self.cast(node, self.value(node.this), to, isinstance(node, exp.TryCast))

    def _cast_to(self, node: CastTo) -> TypedExpression:
        return self.cast(node, self.value(node.this), node.args["to"], bool(node.args.get("is_try")))

    def _bound_value(self, node: BoundValue) -> TypedExpression:
        bound: Literal = node.args["literal"]
        return bound

    def _bracket(self, node: exp.Bracket) -> TypedExpression:
        return self.call(node, "ITEM", [self.value(node.this), self.value(node.expressions[0])])

    def _array(self, node: exp.Array) -> TypedExpression:
        return self.call(node, "ARRAY", [self.value(each) for each in node.expressions])

    def _map(self, node: MapConstructor) -> TypedExpression:
        return self.call(node, "MAP", [self.value(each) for each in node.expressions])

    def _row(self, node: exp.Expr) -> TypedExpression:
        return self.call(node, "ROW", [self.value(each) for each in node.expressions])

    def _paren(self, node: exp.Paren) -> TypedExpression:
        return self.bind(node.this)

    def _alias(self, node: exp.Alias) -> TypedExpression:
        return self.bind(node.this)

    def _boolean(self, node: exp.Boolean) -> TypedExpression:
        return Literal(bool(node.this), BOOLEAN)

    def _null(self, node: exp.Null) -> TypedExpression:
        return literals.null_literal()

    def _hex(self, node: exp.HexString) -> TypedExpression:
        return literals.binary_literal(node.name)

    def _unicode(self, node: exp.UnicodeString) -> TypedExpression:
        text = node.name.encode("ascii", "backslashreplace").decode("ascii")
        return literals.text_literal(_unescaped(text))

    def _any(self, node: exp.Any) -> TypedExpression:
        raise self.session.problems.at(
            node,
            "ANY, SOME and ALL are supported as = ANY and <> ALL of a subquery; compare with MIN or MAX of it instead",
        )

    def _subquery(self, node: exp.Expr) -> TypedExpression:
        raise self.session.problems.at(
            node, "A subquery is not supported here; move it to FROM, to WHERE or to the SELECT list"
        )

    def _window(self, node: exp.Expr) -> TypedExpression:
        raise self.session.problems.at(
            node, "OVER is only allowed in the SELECT list; compute it in a subquery and use its column here"
        )


def _unescaped(text: str) -> str:
    import re

    return re.sub(r"\\([0-9a-fA-F]{4})", lambda found: chr(int(found.group(1), 16)), text)


def _dotted_names(node: exp.Expr) -> list[str] | None:
    """The names of `a.b.c.d.e`, which the grammar reads as a column and dots behind it."""
    if isinstance(node, exp.Column):
        return [part.name for part in node.parts]
    if isinstance(node, exp.Identifier):
        return [node.name]
    if isinstance(node, exp.Dot):
        before = _dotted_names(node.this)
        after = _dotted_names(node.expression)
        return None if before is None or after is None else before + after
    return None


def _interval_units(unit: exp.Expr | None) -> tuple[str, str | None]:
    if isinstance(unit, exp.IntervalSpan):
        return _interval_units(unit.this)[0], _interval_units(unit.expression)[0]
    if isinstance(unit, IntervalPrecision):
        return unit.this.name, None
    return ("SECOND" if unit is None else unit.name), None


HANDLERS: dict[type[exp.Expr], Callable[[ExpressionBinder, Any], TypedExpression]] = {
    exp.Column: ExpressionBinder._column,
    exp.Dot: ExpressionBinder._dot,
    exp.Literal: ExpressionBinder._literal,
    exp.Boolean: ExpressionBinder._boolean,
    exp.Null: ExpressionBinder._null,
    exp.HexString: ExpressionBinder._hex,
    exp.UnicodeString: ExpressionBinder._unicode,
    TemporalLiteral: ExpressionBinder._temporal,
    exp.Interval: ExpressionBinder._interval,
    exp.Neg: ExpressionBinder._neg,
    exp.Paren: ExpressionBinder._paren,
    exp.Alias: ExpressionBinder._alias,
    exp.Is: ExpressionBinder._is,
    exp.Not: ExpressionBinder._not,
    exp.In: ExpressionBinder._in,
    exp.Between: ExpressionBinder._between,
    exp.Overlaps: ExpressionBinder._overlaps,
    exp.Like: ExpressionBinder._like,
    exp.SimilarTo: ExpressionBinder._similar,
    exp.Escape: ExpressionBinder._escape,
    exp.Case: ExpressionBinder._case,
    exp.Cast: ExpressionBinder._cast,
    CastTo: ExpressionBinder._cast_to,
    BoundValue: ExpressionBinder._bound_value,
    exp.TryCast: ExpressionBinder._cast,
    exp.Bracket: ExpressionBinder._bracket,
    exp.Array: ExpressionBinder._array,
    exp.Tuple: ExpressionBinder._row,
    exp.Struct: ExpressionBinder._row,
    MapConstructor: ExpressionBinder._map,
    exp.Any: ExpressionBinder._any,
    exp.All: ExpressionBinder._any,
    exp.Subquery: ExpressionBinder._subquery,
    exp.Exists: ExpressionBinder._subquery,
    exp.Select: ExpressionBinder._subquery,
    exp.Window: ExpressionBinder._window,
}
