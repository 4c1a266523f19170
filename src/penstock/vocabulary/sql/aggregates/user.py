"""User aggregate functions: an accumulator of the program's own in a slot.

The program changes its accumulator in place, so a counter beside it says that it is another one now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.typeinfo import Types
from penstock.vocabulary.sql.aggregates.code import CallCode, Compiling
from penstock.vocabulary.sql.logical_types import LogicalType
from penstock.vocabulary.sql.pandas_values import series_of
from penstock.vocabulary.sql.scalar.user_calls import frame_of
from penstock.vocabulary.sql.user_functions import UserFunction, argument_maker, result_taker

__all__ = ["accumulating", "user_aggregate"]


def user_aggregate(compiling: Compiling) -> CallCode:
    """A user aggregate; it takes rows back if it has `retract`, and is merged if it has `merge`."""
    function: UserFunction = compiling.call.options[0]
    types = [each.as_plain_time() for each in compiling.call.argument_types]
    implementation = accumulating(function, types)
    slot = compiling.slot("accumulator", Types.PICKLED_BYTE_ARRAY())
    turn = compiling.slot("turn", Types.LONG(), "0")
    add = compiling.known("accumulate", _changing(implementation, implementation.accumulate, function, types))
    value = compiling.known("value", _valuing(implementation, function, compiling.call.type))
    arguments = "".join(f"{each}, " for each in compiling.arguments)
    lines = [f"{slot.name} = {{}}({slot.name}, ({arguments}))", f"{turn.name} += 1"]
    retract = None
    if has_own(implementation, "retract"):
        take = compiling.known("retract", _changing(implementation, implementation.retract, function, types))
        retract = [lines[0].format(take), lines[1]]
    merge = None
    if has_own(implementation, "merge"):
        merged = compiling.known("merged", _merging(implementation))
        merge = [f"{slot.name} = {merged}({slot.name}, {slot.name}_)", f"{turn.name} += {turn.name}_"]
    return CallCode([slot, turn], [lines[0].format(add), lines[1]], retract, f"{value}({slot.name})", merge)


def accumulating(function: UserFunction, types: list[LogicalType]) -> Any:
    """The object with `create_accumulator`, `accumulate` and the rest; that of a function on pandas keeps its rows."""
    return PandasAggregate(function, types) if function.is_pandas else function.function


def has_own(implementation: Any, method: str) -> bool:
    """Whether a class defines a method itself, and does not only inherit the one that refuses."""
    found = getattr(type(implementation), method, None)
    return found is not None and not getattr(found, "is_refusal", False)


def _changing(implementation: Any, change: Callable[..., Any], function: UserFunction, types: list[LogicalType]) -> Any:
    make, create = argument_maker(function, types), implementation.create_accumulator

    def changed(accumulator: Any, values: tuple[Any, ...]) -> Any:
        if accumulator is None:
            accumulator = create()
        change(accumulator, *make(values))
        return accumulator

    return changed


def _valuing(implementation: Any, function: UserFunction, declared: LogicalType) -> Any:
    take, create = result_taker(function, declared), implementation.create_accumulator
    return lambda accumulator: take(implementation.get_value(create() if accumulator is None else accumulator))


def _merging(implementation: Any) -> Any:
    def merged(first: Any, second: Any) -> Any:
        # Slices of windows are used again for the next window: neither may change.
        whole = implementation.create_accumulator()
        implementation.merge(whole, [each for each in (first, second) if each is not None])
        return whole

    return merged


class PandasAggregate:
    """A function on whole columns: the accumulator is the list of rows it is to be asked for."""

    def __init__(self, function: UserFunction, types: list[LogicalType]) -> None:
        self._function = function
        self._types = types

    def create_accumulator(self) -> list[tuple[Any, ...]]:
        """No rows."""
        return []

    def accumulate(self, accumulator: list[tuple[Any, ...]], *arguments: Any) -> None:
        """Keep a row."""
        accumulator.append(arguments)

    def retract(self, accumulator: list[tuple[Any, ...]], *arguments: Any) -> None:
        """Forget a row."""
        accumulator.remove(arguments)

    def merge(self, accumulator: list[tuple[Any, ...]], accumulators: list[list[tuple[Any, ...]]]) -> None:
        """Take over rows."""
        for each in accumulators:
            accumulator += each

    def get_value(self, accumulator: list[tuple[Any, ...]]) -> Any:
        """Ask the function for the columns."""
        function = self._function
        if function.takes_row:
            columns = [frame_of([row[0] for row in accumulator], function.row_names, self._types)]
        else:
            zone = function.surroundings.zone
            columns = [series_of([row[at] for row in accumulator], each, zone) for at, each in enumerate(self._types)]
        user = function.function
        held = user.create_accumulator()
        user.accumulate(held, *columns)
        return _plain(user.get_value(held))


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python, also in a row."""
    if isinstance(value, tuple | list):
        return type(value)(map(_plain, value)) if type(value) in (tuple, list) else value
    value = value.item() if hasattr(value, "item") and not hasattr(value, "index") else value
    return None if value != value else value
