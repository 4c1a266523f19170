"""Which calls of a query are of user functions, and how they are bound."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.errors import PenstockError
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.session import Session
from penstock.vocabulary.sql.scalar.user_calls import user_call
from penstock.vocabulary.sql.typed_expressions import Call, TypedExpression
from penstock.vocabulary.sql.user_functions import FunctionKind, UserFunction, surrounded

__all__ = ["is_user_aggregate", "user_arguments", "user_function", "user_scalar", "user_taken"]


def user_function(node: exp.Expr, session: Session) -> UserFunction | None:
    """The user function that a call means; None if it is one of SQL's. A user function hides a built-in one."""
    given = node.args.get("function")
    if isinstance(given, UserFunction):
        return surrounded(given, session.context.surroundings)
    lookup = session.context.function_of
    if lookup is None or not isinstance(node, exp.Func):
        return None
    for name in _names(node):
        found = lookup(name)
        if found is not None:
            node.set("function", found)
            return surrounded(found, session.context.surroundings)
    return None


def _names(node: exp.Func) -> Sequence[tuple[str, ...]]:
    if not isinstance(node, exp.Anonymous):
        return [(node.sql_name(),)]
    this = node.this if isinstance(node.this, str) else node.this.name
    written = node.args.get("api_name")
    return [tuple(this.split(".")), *([] if written is None else [(written,)])]


def is_user_aggregate(function: UserFunction) -> bool:
    """Whether it makes one value of many rows."""
    return function.kind is FunctionKind.AGGREGATE


def user_scalar(binder: ExpressionBinder, node: exp.Func, function: UserFunction) -> TypedExpression:
    """The typed expression of a call in an expression."""
    if function.kind is not FunctionKind.SCALAR:
        places = {
            FunctionKind.TABLE: "it makes rows; use it as LATERAL TABLE(...), or with join_lateral and flat_map",
            FunctionKind.AGGREGATE: "it needs a group; use it in a SELECT list or HAVING",
            FunctionKind.TABLE_AGGREGATE: "it makes rows of groups; use it with flat_aggregate",
        }
        raise binder.session.problems.at(
            node, f"{function.name} is {_article(function)} {function.kind.value}: {places[function.kind]}"
        )
    return user_call(function, user_arguments(binder, node, function))


def _article(function: UserFunction) -> str:
    return "an" if function.kind is FunctionKind.AGGREGATE else "a"


def user_arguments(binder: ExpressionBinder, node: exp.Func, function: UserFunction) -> tuple[TypedExpression, ...]:
    """The bound arguments of a call, of the types that the function declares if it does."""
    listed = node.expressions
    if not isinstance(node, exp.Anonymous):
        listed = [each for each in node.iter_expressions() if not isinstance(each, exp.Var)]
    given = [each.expression if isinstance(each, exp.Kwarg) else each for each in listed]
    return user_taken(binder, node, function, [binder.value(each) for each in given if not isinstance(each, exp.Star)])


def user_taken(
    binder: ExpressionBinder, node: exp.Expr, function: UserFunction, bound: Sequence[TypedExpression]
) -> tuple[TypedExpression, ...]:
    """Bound arguments of the types that a function declares, if it does."""
    try:
        call = user_call(function, bound)
    except PenstockError as error:
        raise binder.session.problems.at(node, str(error)) from None
    assert isinstance(call, Call)
    return call.arguments
