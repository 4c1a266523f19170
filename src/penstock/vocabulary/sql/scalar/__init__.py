"""Flink's scalar functions, operators and casts: types of calls, and Python functions made of typed expressions.

`call` and `cast` make typed expressions, `compiled_calc` and `compiled_value` make functions of them.

>>> from penstock.vocabulary.sql.scalar.kinds import INT
>>> from penstock.vocabulary.sql.typed_expressions import FieldRef, Literal
>>> double = call("*", [FieldRef(0, INT), Literal(2, INT.not_null())])
>>> str(double.type), compiled_calc(None, [double])([(0, 21), (0, None)])
('INT', [(0, 42), (0, None)])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import EvaluationError, FunctionError
from penstock.vocabulary.sql.scalar import (
    arithmetic,
    collections,
    comparison,
    conditional,
    json_functions,
    mathematics,
    patterns,
    regular_expressions,
    strings,
    temporal,
    temporal_texts,
    user_calls,
)
from penstock.vocabulary.sql.scalar.casts import cast, cast_function
from penstock.vocabulary.sql.scalar.columns import arrow_type, calc_refusal, columnar_calc
from penstock.vocabulary.sql.scalar.common_types import common_type
from penstock.vocabulary.sql.scalar.compilation import compiled_calc, compiled_value, constant, is_deterministic
from penstock.vocabulary.sql.scalar.context import EvaluationContext
from penstock.vocabulary.sql.scalar.registry import FUNCTIONS
from penstock.vocabulary.sql.typed_expressions import Call, TypedExpression
from penstock.vocabulary.sql.user_functions import USER_FUNCTION

__all__ = [
    "EvaluationContext",
    "EvaluationError",
    "FunctionError",
    "arrow_type",
    "calc_refusal",
    "call",
    "cast",
    "cast_function",
    "columnar_calc",
    "common_type",
    "compiled_calc",
    "compiled_value",
    "constant",
    "function_names",
    "is_deterministic",
]

_MODULES = (
    arithmetic,
    collections,
    comparison,
    conditional,
    json_functions,
    mathematics,
    patterns,
    regular_expressions,
    strings,
    temporal,
    temporal_texts,
    user_calls,
)
"""Loaded so that their functions are in the table."""


def call(name: str, arguments: Sequence[TypedExpression], options: Sequence[Any] = ()) -> TypedExpression:
    """Return a call of a function by its name in SQL, with implicit casts put in and the type of its result.

    Raises FunctionError where there is no such function, or where it does not take these arguments.
    """
    function = FUNCTIONS.get(name.upper())
    if function is None:
        raise FunctionError(f"there is no function {name.upper()}: see docs/sql_functions.md for those that are")
    given, words = tuple(arguments), tuple(options)
    if function.prepare is not None:
        given, words = function.prepare(given, words)
    taken, type_ = function.infer(given, words)
    return Call(function.name, taken, type_, words)


def function_names() -> frozenset[str]:
    """Return the names that `call` knows."""
    return frozenset(FUNCTIONS) - {USER_FUNCTION, user_calls.VARYING}
