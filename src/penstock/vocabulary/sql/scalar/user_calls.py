"""Calls of user functions in expressions, a row at a time; operators ask for whole blocks where that is quicker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.errors import EvaluationError, FunctionError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.pandas_values import series_of, values_of
from penstock.vocabulary.sql.scalar.casts import cast
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.registry import special
from penstock.vocabulary.sql.typed_expressions import Call, TypedExpression
from penstock.vocabulary.sql.user_functions import (
    PLAIN_KINDS,
    USER_FUNCTION,
    UserFunction,
    argument_maker,
    result_taker,
)

__all__ = ["VARYING", "frame_of", "user_call", "vectorized_evaluation"]

VARYING = "VARYING USER FUNCTION"
"""Calls whose result may differ from one time to the next."""


def user_call(function: UserFunction, arguments: Sequence[TypedExpression]) -> TypedExpression:
    """A call, with its arguments cast to the types that the function declares, if it does."""
    declared = function.input_types
    taken = tuple(arguments)
    if declared is not None and not function.takes_row:
        if len(declared) != len(taken):
            raise FunctionError(
                f"{function.name} takes {len(declared)} arguments by its input_types, and {len(taken)} were given"
            )
        taken = tuple([_as_declared(each, to) for each, to in zip(taken, declared, strict=True)])
    name = USER_FUNCTION if function.is_deterministic else VARYING
    return Call(name, taken, function.result_type, (function,))


def _as_declared(argument: TypedExpression, to: LogicalType) -> TypedExpression:
    same = argument.type.as_plain_time().with_nullable(to.nullable) == to
    return argument if same else cast(argument, to.with_nullable(True))


def _write(writer: CodeWriter, call: Call) -> str:
    function: UserFunction = call.options[0]
    types = [each.type for each in call.arguments]
    if function.is_async:
        raise EvaluationError(
            f"The asynchronous function {function.name} cannot be used here, where rows are looked at one by one: "
            f"compute it in a select of its own first"
        )
    if function.is_pandas:
        many = vectorized_evaluation(function, types)
        called = writer.name_of(lambda *values: many([values])[0], "user_function")
    elif not function.takes_row and all(each.kind in PLAIN_KINDS for each in types):
        called = writer.name_of(function.function.eval, "user_function")
        return _checked(writer, function, f"{called}({', '.join([writer.value(each) for each in call.arguments])})")
    else:
        called = writer.name_of(_converting(function, types), "user_function")
    return f"{called}({', '.join([writer.value(each) for each in call.arguments])})"


_AS_THEY_ARE = {
    Kind.BOOLEAN: "{0} is True or {0} is False",
    Kind.DOUBLE: "type({0}) is float",
    Kind.VARCHAR: "type({0}) is str",
    Kind.CHAR: "type({0}) is str",
    Kind.TINYINT: "type({0}) is int and -0x80 <= {0} <= 0x7F",
    Kind.SMALLINT: "type({0}) is int and -0x8000 <= {0} <= 0x7FFF",
    Kind.INTEGER: "type({0}) is int and -0x80000000 <= {0} <= 0x7FFFFFFF",
    Kind.BIGINT: "type({0}) is int and -0x8000000000000000 <= {0} <= 0x7FFFFFFFFFFFFFFF",
}
"""What says that a result needs no conversion: most do not, and a test in place is cheaper than a call."""


def _checked(writer: CodeWriter, function: UserFunction, called: str) -> str:
    taken = writer.name_of(result_taker(function, function.result_type), "result")
    test = _AS_THEY_ARE.get(function.result_type.kind)
    if test is None:
        return f"{taken}({called})"
    value = writer.temporary()
    first, _, rest = test.format(value).partition(value)
    return f"({value} if {first}({value} := {called}){rest} else {taken}({value}))"


def _converting(function: UserFunction, types: Sequence[LogicalType]) -> Callable[..., Any]:
    make, take, evaluate = (
        argument_maker(function, types),
        result_taker(function, function.result_type),
        function.function.eval,
    )
    return lambda *values: take(evaluate(*make(values)))


def vectorized_evaluation(
    function: UserFunction, types: Sequence[LogicalType]
) -> Callable[[Sequence[Sequence[Any]]], list[Any]]:
    """A function of many rows of internal arguments: their results, by a function on pandas Series."""
    make, take = argument_maker(function, types), result_taker(function, function.result_type)
    plain = [each.as_plain_time() for each in types]

    def evaluated(rows: Sequence[Sequence[Any]]) -> list[Any]:
        given = rows if make is list else [make(each) for each in rows]
        if function.takes_row:
            columns = [frame_of([row[0] for row in given], function.row_names, plain)]
        else:
            zone = function.surroundings.zone
            columns = [
                series_of(values, each, zone) for values, each in zip(zip(*given, strict=True), plain, strict=True)
            ]
        returned = function.function.eval(*columns)
        if not hasattr(returned, "__len__") or isinstance(returned, (str, bytes)):
            # One value would do for a block of one row, and fail for the next one.
            raise EvaluationError(
                f"The result type of Pandas UDF '{function.name}' must be pandas.Series or pandas.DataFrame, got "
                f"{type(returned)}"
            )
        made = values_of(returned)
        if len(made) != len(rows):
            raise EvaluationError(
                f"The result length '{len(made)}' of Pandas UDF '{function.name}' is not equal to the input length "
                f"'{len(rows)}': it must return one value for each row"
            )
        return made if _are_all(made, function.result_type) else [take(each) for each in made]

    most = function.surroundings.series_rows
    if most is None:
        return evaluated
    return lambda rows: [each for at in range(0, len(rows), most) for each in evaluated(rows[at : at + most])]


_TYPES = {Kind.BIGINT: int, Kind.DOUBLE: float, Kind.VARCHAR: str, Kind.BOOLEAN: bool}


def _are_all(values: list[Any], declared: LogicalType) -> bool:
    """Whether values are internal ones already, told for all of them at once."""
    wanted = _TYPES.get(declared.kind)
    if wanted is None or set(map(type, values)) != {wanted}:
        return False
    return wanted is not int or (min(values) >= -(2**63) and max(values) < 2**63)


def frame_of(rows: Sequence[Any], names: Sequence[str], types: Sequence[LogicalType]) -> Any:
    """A DataFrame of whole rows; fields of rows inside of them are columns too."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for at, (name, declared) in enumerate(zip(names, types, strict=True)):
        values = series_of([row[at] for row in rows], declared)
        if isinstance(values, pd.DataFrame):
            columns.update({each: values[each] for each in values.columns})
        else:
            columns[name] = values
    return pd.DataFrame(columns)


def _infer(
    arguments: tuple[TypedExpression, ...], options: tuple[Any, ...]
) -> tuple[tuple[TypedExpression, ...], LogicalType]:
    return arguments, options[0].result_type


special(USER_FUNCTION, _infer, _write)
special(VARYING, _infer, _write, is_deterministic=False)
