"""Makes functions of typed expressions: a filter with projections over a whole block, or one value of a row.

The source is one list comprehension where nothing in it needs a name, else one loop. What occurs twice is computed
once.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.errors import EvaluationError
from penstock.vocabulary.sql.scalar.code import CodeWriter, key_of
from penstock.vocabulary.sql.scalar.context import EvaluationContext
from penstock.vocabulary.sql.scalar.registry import FUNCTIONS
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression

__all__ = ["compiled_calc", "compiled_value", "constant", "is_deterministic"]

_NOWHERE = EvaluationContext()
_LOOP = "def calc(rows):\n    out = []"
Rows = list[tuple[Any, ...]]


@contextmanager
def _refused_if_deep() -> Iterator[None]:
    """Tell in a sentence where Python gives up: at 200 brackets within brackets, or at its limit of calls."""
    try:
        yield
    except (SyntaxError, RecursionError, MemoryError):
        raise EvaluationError(
            "An expression is too deep: its operators stand within each other too many times. Compute parts of it in a "
            "subquery, or in a user-defined function."
        ) from None


@_refused_if_deep()
def compiled_calc(
    condition: TypedExpression | None,
    projections: Sequence[TypedExpression] | None,
    context: EvaluationContext = _NOWHERE,
) -> Callable[[Rows], Rows]:
    """Return a function of a block of rows, each `(kind, *fields)`, that keeps the kinds.

    Rows whose condition is not TRUE are left out. Without projections rows stay as they are.
    """
    source, writer = _source(condition, projections, context, names_fields=False)
    if source.startswith(_LOOP):
        # In a loop it pays to read a field once.
        source, writer = _source(condition, projections, context, names_fields=True)
    function: Callable[[Rows], Rows] = _executed(source, writer, "calc")
    return function


def _source(
    condition: TypedExpression | None,
    projections: Sequence[TypedExpression] | None,
    context: EvaluationContext,
    names_fields: bool,
) -> tuple[str, CodeWriter]:
    writer = CodeWriter(context)
    given = [] if condition is None else _bind(writer, [condition], projections or (), names_fields)
    test = "" if condition is None else writer.truth(condition)
    then = _bind(writer, projections, (), names_fields) if projections is not None else []
    made = "row" if projections is None else _tuple_source(writer, projections)
    if given or then or writer.uses_temporaries:
        return _loop(given, test, then, made), writer
    return f"def calc(rows):\n    return [{made} for row in rows{f' if {test}' if test else ''}]\n", writer


@_refused_if_deep()
def compiled_value(
    expression: TypedExpression, context: EvaluationContext = _NOWHERE, *, offset: int = 1
) -> Callable[[tuple[Any, ...]], Any]:
    """Return a function of one row. `offset` is where its first field is: 1 behind the kind, 0 without a kind."""
    writer = CodeWriter(context, offset)
    given = _bind(writer, [expression], (), True)
    source = "def calc(row):\n" + "".join([f"    {line}\n" for line in given])
    function: Callable[[tuple[Any, ...]], Any] = _executed(
        f"{source}    return {writer.value(expression)}\n", writer, "calc"
    )
    return function


def constant(expression: TypedExpression, context: EvaluationContext = _NOWHERE) -> Any:
    """Return the value of an expression that reads no fields."""
    return compiled_value(expression, context)(())


def is_deterministic(expression: TypedExpression) -> bool:
    """Return whether an expression gives the same for the same row, whenever it is computed."""
    if not isinstance(expression, Call):
        return True
    return FUNCTIONS[expression.function].is_deterministic and all(map(is_deterministic, expression.arguments))


def _tuple_source(writer: CodeWriter, projections: Sequence[TypedExpression]) -> str:
    return f"({', '.join(['row[0]', *[writer.value(each) for each in projections]])},)"


def _loop(given: list[str], test: str, then: list[str], made: str) -> str:
    lines = [_LOOP, "    append = out.append", "    for row in rows:"]
    lines += [f"        {line}" for line in given]
    if test:
        lines.append(f"        if not {test}: continue")
    lines += [f"        {line}" for line in then]
    return "\n".join([*lines, f"        append({made})", "    return out", ""])


def _executed(source: str, writer: CodeWriter, name: str) -> Any:
    names = dict(writer.names)
    with warnings.catch_warnings():
        # A constant that is asked whether it is None: odd for a person, right for code that is made.
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(source, "<expressions>", "exec", dont_inherit=True), names)
    names[name].source = source
    return names[name]


def _bind(
    writer: CodeWriter, expressions: Sequence[TypedExpression], later: Sequence[TypedExpression], names_fields: bool
) -> list[str]:
    """Statements for what the expressions share, with each other or with what is computed later; it gets names."""
    uses = _Uses()
    for each in expressions:
        uses.count(each, True)
    uses.is_later = True
    for each in later:
        uses.count(each, False)
    lines = []
    for key, expression in uses.shared():
        if key not in writer.bound and (names_fields or not isinstance(expression, FieldRef)):
            name = f"f{expression.index}" if isinstance(expression, FieldRef) else f"s{len(writer.bound)}"
            lines.append(f"{name} = {writer.fresh_value(expression)}")
            writer.bound[key] = name
    return lines


class _Uses:
    """How often each part of some expressions occurs, and which parts are computed for every row."""

    def __init__(self) -> None:
        self.is_later = False
        self._seen: dict[Any, TypedExpression] = {}
        self._times: Counter[Any] = Counter()
        self._always: set[Any] = set()

    def count(self, expression: TypedExpression, is_always: bool) -> None:
        if isinstance(expression, Literal):
            return
        key = key_of(expression)
        self._times[key] += 1
        is_new = key not in self._always
        if is_always or (isinstance(expression, FieldRef) and not self.is_later):
            self._always.add(key)
        if isinstance(expression, Call) and (self._times[key] == 1 or (is_always and is_new)):
            lazy_from = FUNCTIONS[expression.function].lazy_from
            for at, each in enumerate(expression.arguments):
                self.count(each, is_always and (lazy_from is None or at < lazy_from))
        self._seen.setdefault(key, expression)

    def shared(self) -> Iterator[tuple[Any, TypedExpression]]:
        """What has to be named, inner parts before outer ones."""
        for key, expression in self._seen.items():
            if self._times[key] > 1 and key in self._always and is_deterministic(expression):
                yield key, expression
