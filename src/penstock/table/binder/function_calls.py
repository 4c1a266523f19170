"""Calls of functions by name, with the grammars of their own that some of them have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.table.binder.scopes import nested_field
from penstock.table.sql.data_types import logical_type
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType, TimeAttribute
from penstock.vocabulary.sql.typed_expressions import Call, TypedExpression

if TYPE_CHECKING:
    from penstock.table.binder.expressions import ExpressionBinder

__all__ = ["function_call", "function_name"]

UNITS_FIRST = frozenset(["TIMESTAMPADD", "TIMESTAMPDIFF"])
PROCTIME_TYPE = LogicalType(Kind.TIMESTAMP_LTZ, False, (3,), time_attribute=TimeAttribute.PROCTIME)


def function_name(node: exp.Expr) -> str:
    """The name a function was called by, in capitals."""
    if isinstance(node, exp.Anonymous):
        this = node.this
        return (this if isinstance(this, str) else this.name).upper()
    return node.sql_name().upper() if isinstance(node, exp.Func) else ""


def function_call(binder: ExpressionBinder, node: exp.Func) -> TypedExpression:
    """The typed expression of a call."""
    from penstock.table.binder.user_functions import user_function, user_scalar

    of_user = user_function(node, binder.session)
    if of_user is not None:
        return user_scalar(binder, node, of_user)
    special = SPECIAL.get(type(node))
    if special is not None:
        return special(binder, node)
    name = function_name(node)
    if name == "$FIELD":
        return _numbered_field(binder, node)
    if name == "PROCTIME" and not node.expressions:
        return Call("PROCTIME", (), PROCTIME_TYPE)
    if name.startswith("JSON_") and (node.args.get("clauses") or _has_words(node)):
        return _json(binder, node, name)
    if name in UNITS_FIRST:
        unit, *rest = node.expressions
        return binder.call(node, name, [binder.value(each) for each in rest], (unit.name.upper(),))
    arguments = node.expressions if isinstance(node, exp.Anonymous) else _arguments(node)
    options = node.args.get("options") or ()
    bound = [binder.value(_by_position(each)) for each in arguments]
    if name == "+" and len(bound) == 2 and any(each.type.kind in (Kind.CHAR, Kind.VARCHAR) for each in bound):
        return binder.call(node, "CONCAT", [_as_text(binder, node, each) for each in bound])
    made = binder.call(node, name, bound, options)
    if node.args.get("is_of_api") and isinstance(made, Call):  # SQL calls the fields of ROW(...) EXPR$0, EXPR$1
        names = tuple([f"f{at}" for at in range(len(bound))])
        return replace(made, type=replace(made.type, names=names))
    return made


def _as_text(binder: ExpressionBinder, node: exp.Expr, value: TypedExpression) -> TypedExpression:
    """A value as text: the Table API's + of texts puts them behind each other, which SQL's does not."""
    is_text = value.type.kind in (Kind.CHAR, Kind.VARCHAR)
    return value if is_text else binder.cast(node, value, LogicalType(Kind.VARCHAR, True, (MAX_LENGTH,)))


def _numbered_field(binder: ExpressionBinder, node: exp.Func) -> TypedExpression:
    """A field of a row by its number, which the Table API has beside its name."""
    row, number = binder.bind(node.expressions[0]), node.args["options"][0]
    if row.type.kind is not Kind.ROW or not 0 <= number < len(row.type.names):
        raise binder.session.problems.at(node, f"get({number}): there is no such field in {row.type}")
    return nested_field(row, row.type.names[number])


def _by_position(argument: exp.Expr) -> exp.Expr:
    return argument.expression if isinstance(argument, exp.Kwarg) else argument


def _arguments(node: exp.Func) -> list[exp.Expr]:
    """The arguments of a node of sqlglot's own, in the order of its declaration."""
    found: list[exp.Expr] = []
    for key in node.arg_types:
        value = node.args.get(key)
        if isinstance(value, exp.Expr):
            found.append(value)
        elif isinstance(value, list):
            found.extend(each for each in value if isinstance(each, exp.Expr))
    return found


def _has_words(node: exp.Expr) -> bool:
    return any(isinstance(each, exp.Var) for each in node.expressions)


def _json(binder: ExpressionBinder, node: exp.Func, name: str) -> TypedExpression:
    """JSON functions: values as arguments, clauses as options; types and defaults of clauses are bound."""
    values = [each for each in node.expressions if not isinstance(each, exp.Var)]
    options: list[Any] = []
    arguments = [binder.value(each) for each in values]
    for clause in node.args.get("clauses") or ():
        if isinstance(clause, exp.DataType):
            options.append(logical_type(clause))
        elif isinstance(clause, exp.Var):
            options.append(clause.name)
        else:
            options.append(binder.value(clause))
    return binder.call(node, name, arguments, tuple(options))


def _floor(binder: ExpressionBinder, node: Any) -> TypedExpression:
    name = "FLOOR" if isinstance(node, exp.Floor) else "CEIL"
    to = node.args.get("to")
    options = () if to is None else (to.name.upper(),)
    return binder.call(node, name, [binder.value(node.this)], options)


def _extract(binder: ExpressionBinder, node: Any) -> TypedExpression:
    return binder.call(node, "EXTRACT", [binder.value(node.expression)], (node.this.name.upper(),))


def _trim(binder: ExpressionBinder, node: Any) -> TypedExpression:
    where = (node.args.get("position") or "BOTH").upper()
    arguments = [binder.value(node.this)]
    if node.expression is not None:
        arguments.append(binder.value(node.expression))
    return binder.call(node, "TRIM", arguments, (where,))


def _in_order(name: str, *keys: str) -> Callable[[ExpressionBinder, Any], TypedExpression]:
    def bound(binder: ExpressionBinder, node: Any) -> TypedExpression:
        given = [node.args.get(key) for key in keys]
        return binder.call(node, name, [binder.value(each) for each in given if each is not None])

    return bound


def _coalesce(binder: ExpressionBinder, node: Any) -> TypedExpression:
    return binder.call(node, "COALESCE", [binder.value(each) for each in [node.this, *node.expressions]])


SPECIAL: dict[type[exp.Expr], Callable[[ExpressionBinder, Any], TypedExpression]] = {
    exp.Floor: _floor,
    exp.Ceil: _floor,
    exp.Extract: _extract,
    exp.Trim: _trim,
    exp.Substring: _in_order("SUBSTRING", "this", "start", "length"),
    exp.StrPosition: _in_order("POSITION", "substr", "this"),
    exp.Overlay: _in_order("OVERLAY", "this", "expression", "from_", "for_"),
    exp.Pow: _in_order("POWER", "this", "expression"),
    exp.Coalesce: _coalesce,
}
