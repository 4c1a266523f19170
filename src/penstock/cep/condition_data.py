"""Conditions as plain data, fit for JSON: read without `eval` and without a pickle.

    {"field": "amount", "op": ">", "value": 100}
    {"and": [{"field": "country", "op": "in", "value": ["DE", "FR"]}, {"not": {"field": "is_known"}}]}
    {"op": ">", "args": [{"op": "*", "args": [{"field": "price"}, {"field": "count"}]}, 500]}

They are the expressions of `penstock.vocabulary.expressions`, and mean the same. docs/cep.md has the whole form.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import operator
from collections.abc import Callable
from typing import Any, get_args

from penstock.cep.pattern import MalformedPatternError
from penstock.errors import GraphError
from penstock.runtime.operators.cep.conditions import BooleanConditions
from penstock.vocabulary.expressions import (
    Binary,
    Column,
    Constant,
    Expression,
    Named,
    Operation,
    Unary,
    as_expression,
    col,
    lit,
)

_WORDS = {"and": "&", "or": "|", "not": "~"}
_OF_TWO = [each for each in get_args(Binary) if each not in _WORDS.values()]
_OF_ONE = [each for each in get_args(Unary) if each not in _WORDS.values()]
_OPERATORS = ", ".join([*_OF_TWO, "in", *_OF_ONE])

_TYPES: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "datetime": (datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    "date": (datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    "time": (datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    "microseconds": (
        datetime.timedelta,
        lambda value: value // datetime.timedelta(microseconds=1),
        lambda value: datetime.timedelta(microseconds=value),
    ),
    "hex": (bytes, bytes.hex, bytes.fromhex),
}
"""Constants that JSON has no form for: how they become one and come back. A datetime is a date, so it comes first."""


def refuse(place: str, text: str) -> MalformedPatternError:
    """The complaint about a place in the data."""
    return MalformedPatternError(f"{place}: {text}.")


# ---- to data ----


def condition_to_data(condition: Any, place: str, functions: list[Any] | None) -> dict[str, Any]:
    """A condition as data. Python functions are put into the list, if there is one, and become their number."""
    if isinstance(condition, BooleanConditions):
        parts = [condition_to_data(part, place, functions) for part in condition.parts]
        return _flat(condition.operator, parts)
    if isinstance(condition, Expression):
        return _expression_data(condition)
    if functions is None:
        raise refuse(
            place,
            f"the condition {condition!r} is a Python function, which cannot be stored as data; write it as an "
            "expression",
        )
    for number, known in enumerate(functions):
        if known is condition:
            return {"python": number}
    functions.append(condition)
    return {"python": len(functions) - 1}


def _flat(word: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {word: [inner for part in parts for inner in part.get(word, [part])]}


def _expression_data(expression: Expression) -> dict[str, Any]:
    if isinstance(expression, Named):
        return _expression_data(expression.expression)
    if isinstance(expression, Column):
        return {"field": expression.field}
    if isinstance(expression, Constant):
        return _constant_data(expression.value)
    assert isinstance(expression, Operation)
    parts = [_expression_data(operand) for operand in expression.operands]
    if expression.operator in ("&", "|"):
        return _flat("and" if expression.operator == "&" else "or", parts)
    if expression.operator == "~":
        return {"not": parts[0]}
    kinds = tuple([type(operand) for operand in expression.operands])
    if kinds in ((Column,), (Column, Constant)):
        return {**parts[0], "op": expression.operator, **(parts[1] if len(parts) > 1 else {})}
    return {"op": expression.operator, "args": parts}


def _constant_data(value: Any) -> dict[str, Any]:
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return {"value": plain(value)}
    for name, (kind, to_data, _) in _TYPES.items():
        if isinstance(value, kind):
            return {"value": to_data(value), "type": name}
    return {"value": None}


# ---- from data ----


def condition_from_data(data: Any, place: str, functions: tuple[Any, ...] = ()) -> Any:
    """The condition that data stand for; `functions` are those that the data name by number."""
    if isinstance(data, dict) and data.keys() & {"and", "or"}:
        word, parts = _list_of(data, place)
        read = [condition_from_data(part, f"{place}.{word}[{n}]", functions) for n, part in enumerate(parts)]
        return read[0] if len(read) == 1 else BooleanConditions(word, tuple(read))
    if functions and isinstance(data, dict) and data.keys() == {"python"}:
        return functions[data["python"]]
    expression = _expression(data, place)
    if isinstance(expression, Constant):
        raise refuse(place, f"a condition must refer to the event, got {data!r}")
    return expression


def _expression(data: Any, place: str) -> Expression:
    if not isinstance(data, dict):
        if isinstance(data, list):
            raise refuse(place, f"expected a condition such as {{'field': 'a', 'op': '>', 'value': 1}}, got {data!r}")
        return _checked(place, lit, data)
    if data.keys() & {"and", "or"}:
        word, parts = _list_of(data, place)
        join = operator.and_ if word == "and" else operator.or_
        return functools.reduce(join, [_expression(part, f"{place}.{word}[{n}]") for n, part in enumerate(parts)])
    if "not" in data:
        only_keys(data, {"not"}, place)
        return ~_expression(data["not"], f"{place}.not")
    if "op" in data:
        return _operation(data, place)
    if "field" in data:
        only_keys(data, {"field"}, place)
        return _checked(f"{place}.field", col, data["field"])
    only_keys(data, {"value", "type"}, place)
    if "value" not in data:
        raise refuse(place, "expected one of the keys field, value, op, and, or, not")
    return _constant(data, place)


def _operation(data: dict[str, Any], place: str) -> Expression:
    name = data["op"]
    if "args" in data:
        only_keys(data, {"op", "args"}, place)
        given = data["args"]
        if not isinstance(given, list) or not given:
            raise refuse(f"{place}.args", f"expected a list of operands for {name!r}, got {given!r}")
        operands = [_expression(each, f"{place}.args[{number}]") for number, each in enumerate(given)]
    elif name == "in":
        return _one_of(data, place)
    else:
        only_keys(data, {"field", "op", "value", "type"}, place)
        operands = [_expression({"field": data.get("field")}, place)]
        operands += [_constant(data, place)] if "value" in data else []
    known = {1: _OF_ONE, 2: _OF_TWO}.get(len(operands), [])
    if name not in known:
        if name in (*_OF_ONE, *_OF_TWO):
            raise refuse(f"{place}.op", f"{name!r} takes {1 if name in _OF_ONE else 2} operands, got {len(operands)}")
        raise refuse(f"{place}.op", f"no operator {name!r}; there are {_OPERATORS}")
    return Operation(name, tuple(operands))


def _one_of(data: dict[str, Any], place: str) -> Expression:
    only_keys(data, {"field", "op", "value", "type"}, place)
    values = data.get("value")
    if not isinstance(values, list) or not values:
        raise refuse(f"{place}.value", f"'in' needs a list of values, got {values!r}")
    field = _expression({"field": data.get("field")}, place)
    asked = [field == _constant({**data, "value": value}, place) for value in values]
    return functools.reduce(operator.or_, asked)


def _constant(data: dict[str, Any], place: str) -> Expression:
    value, kind = data["value"], data.get("type")
    if kind is None:
        if isinstance(value, (dict, list)):
            raise refuse(f"{place}.value", f"expected a number, a string, true, false or null, got {value!r}")
        return _checked(f"{place}.value", as_expression, value)
    if not isinstance(kind, str) or kind not in _TYPES:
        raise refuse(f"{place}.type", f"no type {kind!r} of constants; there are {', '.join(_TYPES)}")
    try:
        return lit(_TYPES[kind][2](value))
    except (ValueError, TypeError, ArithmeticError):
        raise refuse(f"{place}.value", f"{value!r} is no {kind}") from None


def _checked(place: str, make: Callable[[Any], Expression], value: Any) -> Expression:
    try:
        return make(value)
    except GraphError as error:
        raise MalformedPatternError(f"{place}: {error}") from None


def _list_of(data: dict[str, Any], place: str) -> tuple[str, list[Any]]:
    word = "and" if "and" in data else "or"
    only_keys(data, {word}, place)
    if not isinstance(data[word], list) or not data[word]:
        raise refuse(f"{place}.{word}", f"expected a list of conditions, got {data[word]!r}")
    return word, data[word]


def only_keys(data: dict[str, Any], known: set[str], place: str) -> None:
    """Refuse keys that nobody knows: a slip of the pen must not make a pattern another one."""
    unknown = sorted(map(repr, data.keys() - known))
    if unknown:
        raise refuse(place, f"{', '.join(unknown)} is not allowed here; expected {', '.join(sorted(known))}")
