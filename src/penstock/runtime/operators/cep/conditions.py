"""Conditions of patterns become plain functions, whatever shape the user gave them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from penstock.common.sealed_functions import attributes_read
from penstock.runtime.expression_objects import compiled
from penstock.runtime.operators.cep.matcher import Test
from penstock.vocabulary.expressions import Expression


class BooleanConditions:
    """Several conditions as one: `and` or `or`, asked from the left, and only as far as needed."""

    def __init__(self, operator: str, parts: tuple[Any, ...]) -> None:
        self.operator = operator
        self.parts = parts


def parts_of(condition: Any) -> Iterator[Any]:
    """What the user wrote, without what was put together of it."""
    if isinstance(condition, BooleanConditions):
        for part in condition.parts:
            yield from parts_of(part)
    else:
        yield condition


def attributes_asked(condition: Any) -> frozenset[str] | None:
    """The attributes of an event that a condition reads which otherwise only computes; None: it does more.

    Where reading them is plain, nobody can tell that such a condition is asked of events, or at times, at which the
    pattern would not ask.
    """
    found: frozenset[str] = frozenset()
    for part in parts_of(condition):
        read = _attributes_asked(part)
        if read is None:
            return None
        found |= read
    return found


def _attributes_asked(part: Any) -> frozenset[str] | None:
    if isinstance(part, Expression) or getattr(part, "is_pure", False) is True:
        return frozenset()
    function = getattr(part, "function", part)
    read = attributes_read(function)
    return read if read is not None and required_arguments(function) == 1 else None


def test_of(condition: Any) -> Test:
    """The function that a condition stands for."""
    if isinstance(condition, BooleanConditions):
        return _combined(condition.operator == "and", [test_of(part) for part in condition.parts])
    if isinstance(condition, Expression):
        return Test(compiled(condition), False)
    function = condition.filter if callable(getattr(condition, "filter", None)) else condition
    return Test(function, required_arguments(function) > 1)


def _combined(is_and: bool, tests: list[Test]) -> Test:
    if not any(test.is_iterative for test in tests):
        calls = [test.call for test in tests]
        join: Callable[[Any], bool] = all if is_and else any
        return Test(lambda value: join(call(value) for call in calls), False)
    asked = [test.call if test.is_iterative else _with_context(test.call) for test in tests]
    combine: Callable[[Any], bool] = all if is_and else any
    return Test(lambda value, ctx: combine(call(value, ctx) for call in asked), True)


def _with_context(call: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda value, ctx: call(value)


def required_arguments(function: Callable[..., Any]) -> int:
    """How many positional arguments a function must be given; 1 where that is not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-ins have no signature
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for parameter in parameters if parameter.kind in kinds and parameter.default is parameter.empty)
