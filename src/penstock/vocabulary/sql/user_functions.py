"""User functions as a plan holds them: the program's object, its types, and what opens it.

A function gets Python values (`external_values`), and what it returns is checked against its declared type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from penstock.common.secret_references import resolved
from penstock.errors import DeclaredTypeError, EvaluationError
from penstock.metrics import MetricGroup
from penstock.vocabulary.sql.external_values import in_zone, to_external, to_internal
from penstock.vocabulary.sql.logical_types import Kind, LogicalType, row_of

__all__ = [
    "PLAIN_KINDS",
    "USER_FUNCTION",
    "FunctionContext",
    "FunctionKind",
    "Surroundings",
    "UserFunction",
    "argument_maker",
    "result_taker",
    "surrounded",
    "user_functions_in",
]

PLAIN_KINDS = frozenset(
    {
        *(Kind.BOOLEAN, Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL),
        *(Kind.CHAR, Kind.VARCHAR, Kind.BINARY, Kind.VARBINARY, Kind.NULL, Kind.INTERVAL_MONTHS),
    }
)
"""Kinds whose internal values are the Python values."""

USER_FUNCTION = "USER FUNCTION"
"""The name of calls whose options are a `UserFunction`."""

Convert = Callable[[Any], Any]


class FunctionKind(Enum):
    """What a user function makes: a value of a row, rows of a row, a value of many rows, rows of many rows."""

    SCALAR = "scalar function"
    TABLE = "table function"
    AGGREGATE = "aggregate function"
    TABLE_AGGREGATE = "table aggregate function"


@dataclass(frozen=True)
class Surroundings:
    """What settings say about user functions: the time zone of datetimes, and how asynchronous calls are made.

    `series_rows`: how many rows a pandas Series has at most; None for a whole block.
    """

    zone: str = "UTC"
    timeout_ms: int = 180_000
    capacity: int = 10
    attempts: int = 3
    retry_delay_ms: int = 100
    series_rows: int | None = None


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A function of the program. `function` has `eval`, or `accumulate` and its kin; it is opened where it runs.

    `takes_row`: its only argument is a whole row, with names `row_names`. `aliases` are names for its columns.
    """

    name: str
    kind: FunctionKind
    function: Any
    result_type: LogicalType
    is_pandas: bool = False
    is_async: bool = False
    is_deterministic: bool = True
    input_types: tuple[LogicalType, ...] | None = None
    accumulator_type: LogicalType | None = None
    takes_row: bool = False
    row_names: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    surroundings: Surroundings = Surroundings()

    @property
    def is_vectorized(self) -> bool:
        """Whether it is better asked for many rows at once."""
        return self.kind is FunctionKind.SCALAR and (self.is_pandas or self.is_async)

    @property
    def row_type(self) -> LogicalType:
        """The columns that it makes: the fields of a row, or one."""
        found = self.result_type
        if found.kind is not Kind.ROW:
            found = row_of(("f0",), (found,))
        return row_of(self.aliases, found.parts) if len(self.aliases) == len(found.parts) else found

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{self.name}@{id(self):x}"


@lru_cache(maxsize=1_000)
def surrounded(function: UserFunction, surroundings: Surroundings) -> UserFunction:
    """The function with what settings say; the same object for the same, so that equal calls stay equal."""
    return function if function.surroundings == surroundings else replace(function, surroundings=surroundings)


class FunctionContext:
    """What `open` of a user function gets: metrics, job parameters, and where it runs."""

    def __init__(
        self,
        base_metric_group: MetricGroup | None,
        job_parameters: dict[str, str],
        task_name: str | None = None,
        task_name_with_subtasks: str | None = None,
        number_of_parallel_subtasks: int | None = None,
        max_number_of_parallel_subtasks: int | None = None,
        index_of_this_subtask: int | None = None,
        attempt_number: int | None = None,
    ) -> None:
        """Made by the operator."""
        self._metrics = base_metric_group
        self._parameters = job_parameters
        self._task_name = task_name
        self._task_name_with_subtasks = task_name_with_subtasks
        self._parallelism = number_of_parallel_subtasks
        self._max_parallelism = max_number_of_parallel_subtasks
        self._subtask = index_of_this_subtask
        self._attempt = attempt_number

    def get_metric_group(self) -> MetricGroup:
        """Where the function's own metrics are registered."""
        assert self._metrics is not None
        return self._metrics

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A global job parameter."""
        return resolved(self._parameters.get(key, default_value), f"job parameter {key!r}")

    def get_task_name(self) -> str | None:
        """The name of the operator."""
        return self._task_name

    def get_task_name_with_subtasks(self) -> str | None:
        """The name with the subtask, as `Calc (1/2)`."""
        return self._task_name_with_subtasks

    def get_number_of_parallel_subtasks(self) -> int | None:
        """The parallelism of the operator."""
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int | None:
        """The max parallelism of the operator."""
        return self._max_parallelism

    def get_index_of_this_subtask(self) -> int | None:
        """The number of the subtask, from 0."""
        return self._subtask

    def get_attempt_number(self) -> int | None:
        """How often the job was restarted."""
        return self._attempt


def argument_maker(function: UserFunction, types: Sequence[LogicalType]) -> Callable[[Sequence[Any]], list[Any]]:
    """What makes the arguments of a call, in Python values, of internal ones."""
    if function.takes_row:
        whole = to_external(row_of(function.row_names, tuple(types)))
        return lambda values: [whole(tuple(values))]
    if all(each.kind in PLAIN_KINDS for each in types):
        return list
    zone = ZoneInfo(function.surroundings.zone)
    makers = [in_zone(each.as_plain_time(), zone) for each in types]
    return lambda values: [make(each) for make, each in zip(makers, values, strict=True)]


def result_taker(function: UserFunction, declared: LogicalType, during: str = "returned") -> Convert:
    """What makes internal values of what a function returns; a value of another type is refused with its name."""
    take = to_internal(declared)

    def taken(value: Any) -> Any:
        try:
            return take(value)
        except DeclaredTypeError as error:
            detail = "" if error.args and str(error.args[0]).startswith(repr(value)) else f": {error}"
            raise EvaluationError(
                f"{function.kind.value} {function.name} {during} {value!r}, which is not a value of its result type "
                f"{declared}{detail}"
            ) from None

    return taken


def user_functions_in(part: Any) -> list[UserFunction]:
    """The user functions that some data of a plan has in it, each once."""
    found: dict[int, UserFunction] = {}

    def look(each: Any) -> None:
        if isinstance(each, UserFunction):
            found.setdefault(id(each), each)
        elif isinstance(each, tuple | list):
            for inner in each:
                look(inner)
        elif is_dataclass(each) and not isinstance(each, LogicalType | type):
            for field in fields(each):
                look(getattr(each, field.name))

    look(part)
    return list(found.values())
