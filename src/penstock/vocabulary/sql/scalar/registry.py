"""The table of functions: how each finds the type of a call, and how its source is written.

A module of functions makes `Function`s with `define`, `strict_function` or `special`; importing it fills the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import FunctionError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.parameters import Parameter
from penstock.vocabulary.sql.typed_expressions import Call, TypedExpression

__all__ = ["FUNCTIONS", "Function", "Infer", "any_nullable", "define", "special", "strict_function"]

Arguments = tuple[TypedExpression, ...]
Infer = Callable[[Arguments, tuple[Any, ...]], tuple[Arguments, LogicalType]]
Prepare = Callable[[Arguments, tuple[Any, ...]], tuple[Arguments, tuple[Any, ...]]]
Write = Callable[[CodeWriter, Call], str]
Make = Callable[[Call, CodeWriter], Callable[..., Any]]
Result = LogicalType | Callable[[Sequence[LogicalType]], LogicalType]


@dataclass(frozen=True)
class Function:
    """A function or operator.

    `infer` gets arguments and options, brings the arguments to the types the function takes, and gives the type of the
    result. `write` and `write_truth` write source, see `code`. `lazy_from`: arguments from this one on may not be
    evaluated at all. `prepare` brings options, as a query has them, into the form that the others know.
    `is_deterministic` is false where two calls may differ, so that they are not made one.
    """

    name: str
    infer: Infer
    write: Write
    write_truth: Write | None = None
    lazy_from: int | None = None
    is_deterministic: bool = True
    prepare: Prepare | None = None


FUNCTIONS: dict[str, Function] = {}


def any_nullable(arguments: Sequence[TypedExpression]) -> bool:
    """Whether one of the arguments may be NULL, so that what is strict in them may be too."""
    return any([each.type.nullable or each.type.kind is Kind.NULL for each in arguments])


def define(function: Function, *aliases: str) -> None:
    """Put a function into the table."""
    for name in (function.name, *aliases):
        FUNCTIONS[name] = function


def special(
    name: str,
    infer: Infer,
    write: Write,
    *,
    write_truth: Write | None = None,
    lazy_from: int | None = None,
    is_deterministic: bool = True,
    prepare: Prepare | None = None,
) -> None:
    """Define a form that handles NULL and evaluation itself."""
    define(Function(name, infer, write, write_truth, lazy_from, is_deterministic, prepare))


def strict_function(
    name: str,
    parameters: Sequence[Parameter],
    result: Result,
    implementation: Callable[..., Any] | str | None = None,
    *,
    make: Make | None = None,
    optional: int = 0,
    variadic: bool = False,
    may_be_null: bool = False,
    takes_null: bool = False,
    result_of: Callable[[Arguments], LogicalType] | None = None,
    is_deterministic: bool = True,
    prepare: Prepare | None = None,
    aliases: Sequence[str] = (),
) -> None:
    """Define a function of values that are not NULL, whose result is NULL where one of them is.

    `implementation` is a Python function of internal values, or source with `{0}`, `{1}` for the arguments, each used
    once. `make` makes the Python function for a call, where it depends on types or the context. The last `optional`
    parameters may be left out; the last one may be given many times if `variadic`. `may_be_null`: the result may be
    NULL without any argument being so. `result_of` finds the type where it depends on values of literals.
    `takes_null`: NULLs are passed to the implementation.
    """
    shape = _Shape(name, tuple(parameters), optional, variadic)

    def infer(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
        taken = shape.taken(arguments)
        type_ = _result_type(result, taken) if result_of is None else result_of(taken)
        if takes_null and not type_.nullable:
            return taken, type_
        return taken, type_.with_nullable(may_be_null or any_nullable(taken))

    def write(writer: CodeWriter, call: Call) -> str:
        if isinstance(implementation, str):
            template = implementation
            return writer.strict(call.arguments, lambda texts: template.format(*texts))
        function = implementation if make is None else make(call, writer)
        called = writer.name_of(function)
        if takes_null:
            return f"{called}({', '.join([writer.value(each) for each in call.arguments])})"
        return writer.strict(call.arguments, lambda texts: f"{called}({', '.join(texts)})")

    define(Function(name, infer, write, is_deterministic=is_deterministic, prepare=prepare), *aliases)


def _result_type(result: Result, taken: Arguments) -> LogicalType:
    return result if isinstance(result, LogicalType) else result([each.type for each in taken])


@dataclass(frozen=True)
class _Shape:
    name: str
    parameters: tuple[Parameter, ...]
    optional: int
    variadic: bool

    def taken(self, arguments: Arguments) -> Arguments:
        fewest, most = len(self.parameters) - self.optional, len(self.parameters)
        if len(arguments) < fewest or (len(arguments) > most and not self.variadic):
            raise FunctionError(f"{self.name} takes {self._count(fewest, most)}, and {len(arguments)} were given")
        padded = [*self.parameters, *self.parameters[-1:] * (len(arguments) - most)]
        return tuple(
            [
                parameter.take(argument, f"argument {at + 1} of {self.name}")
                for at, (argument, parameter) in enumerate(zip(arguments, padded, strict=False))
            ]
        )

    def _count(self, fewest: int, most: int) -> str:
        if self.variadic:
            return f"{fewest} or more arguments"
        return f"{fewest} arguments" if fewest == most else f"{fewest} to {most} arguments"
