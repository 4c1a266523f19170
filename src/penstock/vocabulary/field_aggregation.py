"""Field aggregates as one aggregate function over records of any shape.

The accumulator is a tuple of running values, one for each measure, so it can be neither shared nor changed by accident.
The functions that fold are written and compiled once for each declaration: a loop over measures would cost three times
as much for a record.
"""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Callable
from typing import Any

from penstock.common.record_fields import Field, FieldGetters, read_field
from penstock.vocabulary.field_aggregates import FieldAggregate, Measure, measures_of
from penstock.vocabulary.functions import AggregateFunction

__all__ = ["FieldAggregation", "read_value"]

_SCALARS = (numbers.Number, str, bytes, datetime.date, datetime.time, datetime.timedelta)


class FieldAggregation(AggregateFunction):
    """Folds records into a tuple of running values; the result is a tuple with one value for each aggregate."""

    is_commutative = True

    def __init__(self, aggregates: tuple[FieldAggregate, ...]) -> None:
        """Compile the functions."""
        self.aggregates = aggregates
        self.measures = measures_of(aggregates)
        self._empty = tuple([0 if measure.kind == "count" else None for measure in self.measures])
        functions = _compiled(aggregates, self.measures)
        self._add: Callable[[Any, Any], tuple[Any, ...]] = functions["add"]
        self._merge: Callable[[Any, Any], tuple[Any, ...]] = functions["merge"]
        self._result: Callable[[Any], tuple[Any, ...]] = functions["result"]

    def __reduce__(self) -> Any:
        return FieldAggregation, (self.aggregates,)

    def create_accumulator(self) -> tuple[Any, ...]:
        """Nothing seen yet."""
        return self._empty

    # Properties, so that who asks once for `function.add` calls the compiled function itself.

    @property
    def add(self) -> Callable[[Any, Any], tuple[Any, ...]]:
        """Function of record and accumulator that returns the new accumulator."""
        return self._add

    @property
    def merge(self) -> Callable[[Any, Any], tuple[Any, ...]]:
        """Function of two accumulators that returns both together."""
        return self._merge

    @property
    def get_result(self) -> Callable[[Any], tuple[Any, ...]]:
        """Function of an accumulator that returns the aggregates."""
        return self._result


def read_value(record: Any, field: Field) -> Any:
    """A field of a record; a plain value counts as its own position 0, as in Flink."""
    return record if field == 0 and isinstance(record, _SCALARS) else read_field(record, field)


def _number(value: Any) -> Any:
    """The first value of a sum: the others are added to it, so it is enough that this one is a number."""
    if isinstance(value, numbers.Number):
        return +value  # type: ignore[operator]  # True counts as 1
    raise TypeError(f"expected a number, got {value!r} of type {type(value).__name__}")


def _compiled(aggregates: tuple[FieldAggregate, ...], measures: tuple[Measure, ...]) -> dict[str, Any]:
    fields = tuple(dict.fromkeys(measure.field for measure in measures if measure.field is not None))
    names = {field: f"v{index}" for index, field in enumerate(fields)}
    getters = FieldGetters(fields, read_value)
    # Nothing of the user's own text gets into the source: fields and measures are numbered.
    known: dict[str, Any] = {
        "getters": getters,
        "slow": getters.slow,
        "number": _number,
        "measures": measures,
        "explained": _explained,
    }
    source = "\n".join((*_add_source(measures, names), *_merge_source(measures), *_result_source(aggregates, measures)))
    exec(compile(source, f"<{' '.join(aggregate.name for aggregate in aggregates)}>", "exec", dont_inherit=True), known)
    return known


def _add_source(measures: tuple[Measure, ...], names: dict[Field, str]) -> list[str]:
    lines = ["def add(value, accumulator):", f"    {_unpacked('a', measures)} = accumulator"]
    if names:
        targets = ", ".join(names.values())
        lines += [
            "    try:",
            f"        {targets} = getters[type(value)](value)",
            "    except (LookupError, AttributeError, ValueError):",
            "        try:",
            f"            {targets} = slow(value)",
            "        except KeyError as missing:",
            "            raise missing from None",
        ]
    lines += ["    try:", *(f"        a{at} += 1" for at, measure in enumerate(measures) if measure.field is None)]
    for field, name in names.items():
        lines.append(f"        if {name} is not None:")
        lines += [
            f"            {_step(at, measure, name)}" for at, measure in enumerate(measures) if measure.field == field
        ]
    lines += [
        "    except TypeError as error:",
        "        raise explained(error, measures, accumulator, value) from None",
    ]
    return [*lines, f"    return {_unpacked('a', measures)}"]


def _unpacked(letter: str, measures: tuple[Measure, ...]) -> str:
    return "".join(f"{letter}{at}, " for at in range(len(measures)))


def _step(at: int, measure: Measure, name: str) -> str:
    """The statement that takes a value, which is not None, into a running value."""
    if measure.kind == "count":
        return f"a{at} += 1"
    if measure.kind == "sum":
        return f"a{at} = number({name}) if a{at} is None else a{at} + {name}"
    return f"a{at} = {name} if a{at} is None or {_is_better(measure, name, f'a{at}')} else a{at}"


def _is_better(measure: Measure, offered: str, held: str) -> str:
    """NaN, which alone differs from itself, is greater than every number: the order of records must not matter."""
    if measure.kind == "min":
        return f"{offered} < {held} or {held} != {held}"
    return f"{offered} > {held} or {offered} != {offered}"


def _merge_source(measures: tuple[Measure, ...]) -> list[str]:
    lines = ["def merge(first, second):"]
    lines += [f"    {_unpacked('a', measures)} = first", f"    {_unpacked('b', measures)} = second"]
    for at, measure in enumerate(measures):
        if measure.kind == "count":
            lines.append(f"    a{at} += b{at}")
            continue
        taken = (
            f"a{at} + b{at}"
            if measure.kind == "sum"
            else f"b{at} if {_is_better(measure, f'b{at}', f'a{at}')} else a{at}"
        )
        lines += [f"    if b{at} is not None:", f"        a{at} = b{at} if a{at} is None else ({taken})"]
    return [*lines, f"    return {_unpacked('a', measures)}"]


def _result_source(aggregates: tuple[FieldAggregate, ...], measures: tuple[Measure, ...]) -> list[str]:
    place = {measure: f"a{at}" for at, measure in enumerate(measures)}
    results = []
    for aggregate in aggregates:
        held = [place[measure] for measure in aggregate.measures()]
        results.append(held[0] if len(held) == 1 else f"{held[0]} / {held[1]} if {held[1]} else None")
    return [
        "def result(accumulator):",
        f"    {_unpacked('a', measures)} = accumulator",
        f"    return {', '.join(results)},",
    ]


def _explained(error: TypeError, measures: tuple[Measure, ...], accumulator: tuple[Any, ...], record: Any) -> TypeError:
    """Say which field it was whose values do not go together."""
    for measure, held in zip(measures, accumulator, strict=True):
        if measure.field is None or measure.kind == "count":
            continue
        value = read_value(record, measure.field)
        try:
            _tried(measure, held, value)
        except TypeError as wrong:
            with_held = "" if held is None else f" after {held!r}"
            return TypeError(f"{measure.kind} of field {measure.field!r} cannot take {value!r}{with_held}: {wrong}")
    return error


def _tried(measure: Measure, held: Any, value: Any) -> None:
    if measure.kind == "sum" and value is not None:
        _number(value) if held is None else held + value
    elif held is not None and value is not None:
        bool(value < held if measure.kind == "min" else value > held)
