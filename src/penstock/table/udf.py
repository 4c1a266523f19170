"""User functions: classes to implement, and `udf`, `udtf`, `udaf`, `udtaf` that make functions of SQL of them.

>>> from penstock.table.expressions import col
>>> add = udf(lambda i, j: i + j, result_type="BIGINT")
>>> str(add(col("a"), 1))
'<lambda>(a, 1)'
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.errors import DeclaredTypeError, FunctionError
from penstock.pyflink_names import names_from_elsewhere
from penstock.table.data_type_texts import declared_type
from penstock.table.expression import Expression
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of
from penstock.vocabulary.sql.user_functions import FunctionContext, FunctionKind, UserFunction

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]

T = TypeVar("T")
ACC = TypeVar("ACC")


def _refusal(method: Any) -> Any:
    """Mark a method that a class inherits without having it."""
    method.is_refusal = True
    return method


class UserDefinedFunction(ABC):  # noqa: B024 (nothing is asked of all)
    """What all user functions have."""

    def open(self, function_context: FunctionContext) -> None:  # noqa: B027 (may be left out)
        """Called once where the function runs, before anything else."""

    def close(self) -> None:  # noqa: B027 (may be left out)
        """Called once when the job ends."""

    def is_deterministic(self) -> bool:
        """Whether the same arguments always give the same result."""
        return True


class ScalarFunction(UserDefinedFunction):
    """A function that makes a value of values."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The value."""


class AsyncScalarFunction(UserDefinedFunction):
    """A scalar function whose calls wait for something and run at the same time."""

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """The value."""


class TableFunction(UserDefinedFunction):
    """A function that makes any number of rows of values."""

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The rows: Rows, tuples, or values if there is one column. A generator, a list or None."""


class ImperativeAggregateFunction(UserDefinedFunction, Generic[T, ACC]):
    """What aggregate functions and table aggregate functions have."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """A new accumulator, which the other methods change in place."""

    @abstractmethod
    def accumulate(self, accumulator: ACC, *args: Any) -> None:
        """Add a row."""

    @_refusal
    def retract(self, accumulator: ACC, *args: Any) -> None:
        """Take back a row; needed where the input updates, and in OVER windows with a beginning."""
        raise FunctionError(f"{type(self).__name__} has no retract(), which is needed where rows are taken back.")

    @_refusal
    def merge(self, accumulator: ACC, accumulators: Any) -> None:
        """Add other accumulators to one."""
        raise FunctionError(f"{type(self).__name__} has no merge(), which is needed where windows are joined.")

    def get_result_type(self) -> Any:
        """The type of the result, unless `udaf` is given it."""
        raise DeclaredTypeError(
            f"{type(self).__name__} declares no result type: give one, or define get_result_type()."
        )

    def get_accumulator_type(self) -> Any:
        """The type of the accumulator, unless `udaf` is given it."""
        raise DeclaredTypeError(
            f"{type(self).__name__} declares no accumulator type: give one, or define get_accumulator_type()."
        )


class AggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """A function that makes a value of many rows."""

    @abstractmethod
    def get_value(self, accumulator: ACC) -> T:
        """The value."""


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """A function that makes any number of rows of many rows."""

    @abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]:
        """The rows."""


class _Called(UserDefinedFunction):
    """A scalar or table function that is a Python function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.eval = function


class _CalledOnColumns(AggregateFunction[Any, Any]):
    """An aggregate that is a Python function of pandas Series."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.append(self.function(*args))

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0]


class UserDefinedFunctionWrapper:
    """A user function with its types; calling it with expressions makes an expression."""

    def __init__(self, user_function: UserFunction) -> None:
        """Made by `udf`, `udtf`, `udaf` and `udtaf`."""
        self.user_function = user_function
        self._name = user_function.name
        self._deterministic = user_function.is_deterministic

    def __call__(self, *args: Any) -> Expression:
        from penstock.table.expressions import call

        return call(self, *args)

    def alias(self, *alias_names: str) -> UserDefinedFunctionWrapper:
        """The same with names for its columns, for `map`, `flat_map`, `aggregate` and `join_lateral`."""
        from dataclasses import replace

        return type(self)(replace(self.user_function, aliases=tuple(alias_names)))


def wrapped(function: Any) -> UserDefinedFunctionWrapper:
    """A function that declares its own types, or one that has a wrapper already."""
    if isinstance(function, UserDefinedFunctionWrapper):
        return function
    if isinstance(function, type) and issubclass(function, UserDefinedFunction):
        function = function()
    if isinstance(function, AggregateFunction):
        return _aggregate(function, FunctionKind.AGGREGATE)
    if isinstance(function, TableAggregateFunction):
        return _aggregate(function, FunctionKind.TABLE_AGGREGATE)
    raise TypeError(
        f"{function!r} is no user function: make one with udf(), udtf(), udaf() or udtaf(), which also take its types"
    )


def udf(
    f: Any = None,
    input_types: Any = None,
    result_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """A scalar function; `func_type="pandas"`: on Series of many rows. Without `f` it is a decorator."""
    _check_kind(func_type, ("general", "pandas"))
    if f is None:
        return functools.partial(
            udf,
            input_types=input_types,
            result_type=result_type,
            deterministic=deterministic,
            name=name,
            func_type=func_type,
        )
    is_async = isinstance(f, AsyncScalarFunction) or inspect.iscoroutinefunction(f)
    if is_async and func_type == "pandas":
        raise ValueError("Async scalar functions do not support pandas func_type: leave out func_type.")
    _check_callable(f)
    function = f if isinstance(f, UserDefinedFunction) else _Called(f)
    return UserDefinedFunctionWrapper(
        UserFunction(
            _name(f, name),
            FunctionKind.SCALAR,
            function,
            _declared(result_type, "result_type"),
            is_pandas=func_type == "pandas",
            is_async=is_async,
            is_deterministic=_determinism(f, deterministic),
            input_types=_input_types(input_types),
        )
    )


def udtf(
    f: Any = None,
    input_types: Any = None,
    result_types: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """A table function, which yields rows. Without `f` it is a decorator."""
    if f is None:
        return functools.partial(
            udtf, input_types=input_types, result_types=result_types, deterministic=deterministic, name=name
        )
    _check_callable(f)
    function = f if isinstance(f, UserDefinedFunction) else _Called(f)
    return UserDefinedFunctionWrapper(
        UserFunction(
            _name(f, name),
            FunctionKind.TABLE,
            function,
            _row_type(result_types),
            is_deterministic=_determinism(f, deterministic),
            input_types=_input_types(input_types),
        )
    )


def udaf(
    f: Any = None,
    input_types: Any = None,
    result_type: Any = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """An aggregate function; `func_type="pandas"`: a function of Series of all rows. Without `f` it is a decorator."""
    _check_kind(func_type, ("general", "pandas"))
    given = {
        "input_types": input_types,
        "result_type": result_type,
        "accumulator_type": accumulator_type,
        "deterministic": deterministic,
        "name": name,
        "func_type": func_type,
    }
    if f is None:
        return functools.partial(udaf, **given)
    _check_callable(f)
    return _aggregate(f, FunctionKind.AGGREGATE, **given)


def udtaf(
    f: Any = None,
    input_types: Any = None,
    result_type: Any = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """A table aggregate function. Without `f` it is a decorator."""
    _check_kind(func_type, ("general",))
    given = {
        "input_types": input_types,
        "result_type": result_type,
        "accumulator_type": accumulator_type,
        "deterministic": deterministic,
        "name": name,
    }
    if f is None:
        return functools.partial(udtaf, **given)
    if inspect.isclass(f):
        f = f()
    return _aggregate(f, FunctionKind.TABLE_AGGREGATE, **given)


def _aggregate(f: Any, kind: FunctionKind, **given: Any) -> UserDefinedFunctionWrapper:
    is_pandas = given.get("func_type") == "pandas"
    result = given.get("result_type")
    accumulator = given.get("accumulator_type")
    if not isinstance(f, UserDefinedFunction) and not is_pandas:
        raise TypeError(f"{f!r} must be an AggregateFunction, or a function with func_type='pandas'.")
    if accumulator is None and not is_pandas:
        accumulator = f.get_accumulator_type()
    declared = _declared(f.get_result_type() if result is None else result, "result_type")
    if is_pandas and declared.kind is Kind.MAP:
        raise TypeError(f"Invalid returnType: a pandas aggregate cannot return {declared}.")
    return UserDefinedFunctionWrapper(
        UserFunction(
            _name(f, given.get("name")),
            kind,
            f if isinstance(f, UserDefinedFunction) else _CalledOnColumns(f),
            declared,
            is_pandas=is_pandas,
            is_deterministic=_determinism(f, given.get("deterministic")),
            input_types=_input_types(given.get("input_types")),
            accumulator_type=None if accumulator is None else _declared(accumulator, "accumulator_type"),
        )
    )


def _check_kind(func_type: str, known: tuple[str, ...]) -> None:
    if func_type not in known:
        raise ValueError(f"The func_type must be one of '{', '.join(known)}', got {func_type}.")


def _check_callable(f: Any) -> None:
    if inspect.isclass(f) or not (isinstance(f, UserDefinedFunction) or callable(f)):
        raise TypeError(
            f"Invalid function: not a function or callable (__call__ is not defined): {type(f)}; of a class give an "
            f"object."
        )


def _name(f: Any, given: str | None) -> str:
    return given or getattr(f, "__name__", None) or type(f).__name__


def _determinism(f: Any, given: bool | None) -> bool:
    if not isinstance(f, UserDefinedFunction):
        return given is not False
    if given is not None and given != f.is_deterministic():
        raise ValueError(f"Inconsistent deterministic: {given} and {f.is_deterministic()}")
    return f.is_deterministic()


def _declared(given: Any, what: str) -> LogicalType:
    from penstock.table.types import DataType

    if not isinstance(given, DataType | str):
        raise TypeError(f"Invalid {what}: {what} should be DataType or str but is {given}")
    return declared_type(given)


def _input_types(given: Any) -> tuple[LogicalType, ...] | None:
    from penstock.table.types import DataType

    if given is None:
        return None
    if isinstance(given, DataType) and given.logical_type.kind is Kind.ROW:
        return given.logical_type.parts
    listed = [given] if isinstance(given, DataType | str) else list(given)
    return tuple([_declared(each, "input_type") for each in listed])


def _row_type(given: Any) -> LogicalType:
    from penstock.table.types import DataType

    if isinstance(given, DataType | str):
        declared = _declared(given, "result_type")
        return declared if declared.kind is Kind.ROW else row_of(("f0",), (declared,))
    if given is None:
        raise TypeError("Invalid result_type: result_types should be DataType or str but is None")
    types = [_declared(each, "result_type") for each in given]
    return row_of(tuple([f"f{at}" for at in range(len(types))]), tuple(types))


if not TYPE_CHECKING:
    __getattr__ = names_from_elsewhere(__name__)
