"""User functions that are asked for many rows at once: on pandas Series, or by asynchronous calls that run together.

Such a call becomes a column of its own, computed for a block, before the rest of the expressions is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from penstock.runtime.calls import Call as AsynchronousCall
from penstock.runtime.calls import CallFault, CallRunner, CallRunners, CallSettings, Sleep
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar import compiled_calc
from penstock.vocabulary.sql.scalar.code import key_of
from penstock.vocabulary.sql.scalar.context import EvaluationContext
from penstock.vocabulary.sql.scalar.user_calls import vectorized_evaluation
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, TypedExpression
from penstock.vocabulary.sql.user_functions import UserFunction, argument_maker, result_taker

__all__ = ["has_vectorized", "vectorized_calc"]

Rows = list[tuple[Any, ...]]
Evaluate = Callable[[Sequence[Sequence[Any]]], list[Any]]

_UNKNOWN = LogicalType(Kind.NULL)


def has_vectorized(expressions: Sequence[TypedExpression | None]) -> bool:
    """Whether an expression has such a call in it."""
    return any(
        _function_of(each) is not None or has_vectorized(each.arguments)
        for each in expressions
        if isinstance(each, Call)
    )


def _function_of(expression: TypedExpression) -> UserFunction | None:
    if isinstance(expression, Call) and expression.options and isinstance(expression.options[0], UserFunction):
        function = expression.options[0]
        return function if function.is_vectorized else None
    return None


def vectorized_calc(
    condition: TypedExpression | None,
    projections: Sequence[TypedExpression] | None,
    context: EvaluationContext,
    calls: CallRunners | None,
) -> Callable[[Rows], Rows]:
    """A filter with projections over a block, like `compiled_calc`; made when the width of rows is known."""
    before = None
    if condition is not None and not has_vectorized([condition]):
        before, condition = compiled_calc(condition, None, context), None
    made: dict[int, Callable[[Rows], Rows]] = {}

    def calc(rows: Rows) -> Rows:
        if before is not None:
            rows = before(rows)
        if not rows:
            return []
        width = len(rows[0]) - 1
        if width not in made:
            made[width] = _Stages(width, condition, projections, context, calls).run
        return made[width](rows)

    return calc


class _Stages:
    """The steps over a block of rows of one width: each vectorized call adds a column, then comes the rest."""

    def __init__(
        self,
        width: int,
        condition: TypedExpression | None,
        projections: Sequence[TypedExpression] | None,
        context: EvaluationContext,
        calls: CallRunners | None,
    ) -> None:
        self._context = context
        self._calls = calls
        self._width = width
        self._places: dict[Any, FieldRef] = {}
        self._steps: list[Callable[[Rows], Rows]] = []
        kept = projections
        if kept is None:
            kept = [FieldRef(at, _UNKNOWN) for at in range(width)]
        test = None if condition is None else self._without(condition)
        self._rest = compiled_calc(test, [self._without(each) for each in kept], context)

    def run(self, rows: Rows) -> Rows:
        """The rows of a block."""
        for step in self._steps:
            rows = step(rows)
        return self._rest(rows)

    def _without(self, expression: TypedExpression) -> TypedExpression:
        """The expression with vectorized calls replaced by the columns that steps add, inner ones first."""
        if not isinstance(expression, Call):
            return expression
        inner = replace(expression, arguments=tuple([self._without(each) for each in expression.arguments]))
        function = _function_of(inner)
        if function is None:
            return inner
        key = key_of(inner)
        if key not in self._places or not function.is_deterministic:
            self._places[key] = FieldRef(self._width + len(self._steps), inner.type)
            self._steps.append(self._step(function, inner))
        return self._places[key]

    def _step(self, function: UserFunction, call: Call) -> Callable[[Rows], Rows]:
        types = [each.type for each in call.arguments]
        arguments = compiled_calc(None, list(call.arguments), self._context)
        evaluate = self._asynchronous(function, types) if function.is_async else vectorized_evaluation(function, types)

        def step(rows: Rows) -> Rows:
            results = evaluate([row[1:] for row in arguments(rows)])
            return [(*row, result) for row, result in zip(rows, results, strict=True)]

        return step

    def _asynchronous(self, function: UserFunction, types: Sequence[LogicalType]) -> Evaluate:
        make, take = argument_maker(function, types), result_taker(function, function.result_type)

        policy = function.surroundings

        async def invoke(arguments: Any, sleep: Sleep) -> list[Any]:
            for _ in range(policy.attempts - 1):
                try:
                    return [take(await function.function.eval(*arguments))]
                except Exception:
                    await sleep(policy.retry_delay_ms / 1000)
            return [take(await function.function.eval(*arguments))]

        def on_timeout(arguments: Any) -> list[Any]:
            raise TimeoutError(
                f"{function.name}: Async function call has timed out for input: {arguments}; it took longer than "
                f"{policy.timeout_ms} ms (table.exec.async-scalar.timeout)."
            )

        runners = self._calls
        assert runners is not None
        settings = CallSettings(invoke, on_timeout, policy.timeout_ms / 1000, policy.capacity, is_ordered=True)
        runner: list[CallRunner] = []

        def evaluated(rows: Sequence[Sequence[Any]]) -> list[Any]:
            if not runner:
                runner.append(runners(settings))
            calls = [AsynchronousCall(make(each), None) for each in rows]
            try:
                runner[0].start(calls)
                runner[0].drain()
            except CallFault as fault:
                runner[0].cancel()
                raise fault.error from None
            return [each.results[0] for each in calls if each.results is not None]

        return evaluated
