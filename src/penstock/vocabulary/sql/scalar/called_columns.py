"""Functions that have no kernel, on Arrow columns: their generated Python is called with values of their arguments.

A call may fail for a row that no branch of CASE would have asked for; whoever uses it then works on rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.vocabulary.sql.logical_types import Kind
from penstock.vocabulary.sql.scalar.calendar_values import zone_named
from penstock.vocabulary.sql.scalar.column_kernels import Column, Compile, NoKernelError, folded
from penstock.vocabulary.sql.scalar.compilation import compiled_value
from penstock.vocabulary.sql.scalar.context import EvaluationContext
from penstock.vocabulary.sql.scalar.kinds import units_per_milli
from penstock.vocabulary.sql.scalar.registry import FUNCTIONS
from penstock.vocabulary.sql.scalar.temporal import CLOCK_FUNCTIONS
from penstock.vocabulary.sql.scalar.user_calls import VARYING
from penstock.vocabulary.sql.typed_expressions import Call, FieldRef, Literal, TypedExpression
from penstock.vocabulary.sql.user_functions import USER_FUNCTION, UserFunction

__all__ = ["called_column", "user_reason"]

_MOST_COMBINATIONS = 1 << 18
_MOST_KNOWN = 20_000
_TRIED_ROWS = 1_000
"""How many rows show whether values repeat."""
_MINUTE_MS = 60_000
_COARSE_UNITS = frozenset(
    ["YEAR", "QUARTER", "MONTH", "WEEK", "DAYOFYEAR", "DAYOFMONTH", "DAYOFWEEK", "HOUR", "MINUTE"]
)
_FINE_LETTERS = frozenset("sSAnNV'[")
"""Letters of patterns of times that tell seconds or less, or are not letters only."""


def called_column(call: Call, type_: pa.DataType, column: Compile, context: EvaluationContext) -> Column:
    """The column of a call by its generated Python; NoKernelError where that has to see whole rows."""
    function = FUNCTIONS[call.function]
    if call.function in CLOCK_FUNCTIONS:
        moment = compiled_value(call, context, offset=0)
        return lambda batch: pa.scalar(moment(()), type_)
    # A user's function is not called for rows that a branch leaves out, and not once for several of them.
    if call.function in (USER_FUNCTION, VARYING):
        raise NoKernelError(user_reason(call.options[0]))
    if not function.is_deterministic:
        raise NoKernelError(f"the function {call.function} gives each row a value of its own")
    places = [at for at, each in enumerate(call.arguments) if not isinstance(folded(each), Literal)]
    arguments = [column(call.arguments[at]) for at in places]
    value = compiled_value(replace(call, arguments=_numbered(call, places)), context, offset=0)
    if len(places) == 1:
        inner = arguments[0]
        if _is_same_time(call, context):
            return inner
        if _depends_on_minute(call, places[0], context):
            inner = _floored(inner, _MINUTE_MS * units_per_milli(call.arguments[places[0]].type))
        return _Repeating(value, inner, type_)

    # Two zeros of floats are equal to Python, and not to every function.
    repeats = not any(call.arguments[at].type.kind in (Kind.FLOAT, Kind.DOUBLE) for at in places)
    return _Combined(value, arguments, type_, repeats=repeats)


def user_reason(function: UserFunction) -> str:
    """Return why a function of the program has no column form."""
    if function.is_pandas:
        return f"the pandas function {function.name}() is called with Series of rows"
    return f"the {'asynchronous' if function.is_async else 'Python'} function {function.name}() is called for each row"


def _numbered(call: Call, places: list[int]) -> tuple[TypedExpression, ...]:
    """The arguments as a row has them that has the values of those that are no constants."""
    return tuple(
        [
            FieldRef(places.index(at), each.type) if at in places else folded(each)
            for at, each in enumerate(call.arguments)
        ]
    )


def _values(value: Any, batch: pa.RecordBatch) -> list[Any]:
    values: list[Any] = [value.as_py()] * batch.num_rows if isinstance(value, pa.Scalar) else value.to_pylist()
    return values


class _Repeating:
    """A function of one argument: called once for each of its values, as long as they repeat."""

    def __init__(self, function: Callable[[tuple[Any, ...]], Any], argument: Column, type_: pa.DataType) -> None:
        self._function = function
        self._argument = argument
        self._type = type_
        self._repeats = True

    def __call__(self, batch: pa.RecordBatch) -> Any:
        values = self._argument(batch)
        if isinstance(values, pa.Scalar):
            return pa.scalar(self._function((values.as_py(),)), self._type)
        if not self._repeats:
            return self._each(values)
        encoded = pc.dictionary_encode(values, null_encoding="encode")
        if len(values) >= _TRIED_ROWS and len(encoded.dictionary) > len(values) // 2:
            self._repeats = False
        return self._each(encoded.dictionary).take(encoded.indices)

    def _each(self, values: pa.Array) -> pa.Array:
        function = self._function
        return pa.array([function((value,)) for value in values.to_pylist()], self._type)


def _is_same_time(call: Call, context: EvaluationContext) -> bool:
    """Whether a cast only says that a time is local, in a zone that is UTC."""
    if call.function != "CAST" or not zone_named(context.time_zone).is_utc:
        return False
    source, target = call.arguments[0].type, call.type
    kinds = {Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ}
    return {source.kind, target.kind} == kinds and source.precision == target.precision


class _Combined:
    """A function of several arguments: called once for each combination of their values, as long as they repeat."""

    def __init__(
        self, function: Callable[[tuple[Any, ...]], Any], arguments: list[Column], type_: pa.DataType, *, repeats: bool
    ) -> None:
        self._function = function
        self._arguments = arguments
        self._type = type_
        self._repeats = repeats
        self._known: dict[tuple[Any, ...], Any] = {}

    def __call__(self, batch: pa.RecordBatch) -> Any:
        columns = [argument(batch) for argument in self._arguments]
        if self._repeats and batch.num_rows >= _TRIED_ROWS:
            found = self._by_combinations(columns)
            if found is not None:
                return found
            self._repeats = False
        rows = zip(*[_values(each, batch) for each in columns], strict=True)
        return pa.array([self._function(row) for row in rows], self._type)

    def _by_combinations(self, columns: list[Any]) -> pa.Array | None:
        """None where there are too many combinations to look for those that occur."""
        codes: Any = 0
        count = 1
        dictionaries: list[list[Any]] = []
        for column in columns:
            if isinstance(column, pa.Scalar):
                dictionaries.append([column.as_py()])
                continue
            encoded = pc.dictionary_encode(column, null_encoding="encode")
            count *= len(encoded.dictionary)
            if count > _MOST_COMBINATIONS:
                return None
            dictionaries.append(encoded.dictionary.to_pylist())
            codes = codes * len(dictionaries[-1]) + encoded.indices.to_numpy().astype(np.int64)
        if isinstance(codes, int):  # constants only
            return None
        occurs = np.zeros(count, np.bool_)
        occurs[codes] = True
        places = np.flatnonzero(occurs)
        if len(places) > len(codes) // 2:
            return None
        numbers = np.zeros(count, np.int32)
        numbers[places] = np.arange(len(places), dtype=np.int32)
        each_place = np.unravel_index(places, [len(each) for each in dictionaries])
        parts = [map(each.__getitem__, at.tolist()) for each, at in zip(dictionaries, each_place, strict=True)]
        values = pa.array([self._value(row) for row in zip(*parts, strict=True)], self._type)
        return values.take(pa.array(numbers[codes]))

    def _value(self, row: tuple[Any, ...]) -> Any:
        """The value of a combination, which the next batches have again."""
        if row in self._known:
            return self._known[row]
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        found = self._known[row] = self._function(row)
        return found


def _depends_on_minute(call: Call, place: int, context: EvaluationContext) -> bool:
    """Whether seconds of a time make no difference; clocks elsewhere than UTC have been ahead by odd seconds."""
    if call.arguments[place].type.kind not in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ) or place:
        return False
    if not zone_named(context.time_zone).is_utc:
        return False
    if call.function == "DATE_FORMAT":
        pattern = folded(call.arguments[1])
        return isinstance(pattern, Literal) and not _FINE_LETTERS & set(pattern.value or "'")
    return (call.options[0] if call.function == "EXTRACT" else call.function) in _COARSE_UNITS


def _floored(column: Column, step: int) -> Column:
    def floored(batch: pa.RecordBatch) -> Any:
        values = column(batch)
        if isinstance(values, pa.Scalar) or values.null_count:
            return values
        plain = values.to_numpy()
        return pa.array(plain - np.mod(plain, step))

    return floored
