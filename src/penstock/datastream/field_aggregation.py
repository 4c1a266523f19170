"""Field aggregates as one aggregate function over records of any shape; owns how values are folded, one by one.

The accumulator is a tuple of running values, one for each slot, so it can be neither shared nor changed by accident.
The functions that fold are written and compiled once for each declaration: a loop over slots would cost three times
as much for a record.
"""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Callable
from typing import Any

from penstock.common.record_fields import Field, FieldGetters, read_field
from penstock.datastream.field_aggregates import FieldAggregate, Slot, slots_of
from penstock.datastream.functions import AggregateFunction

__all__ = ["FieldAggregation", "read_value"]

_SCALARS = (numbers.Number, str, bytes, datetime.date, datetime.time, datetime.timedelta)


class FieldAggregation(AggregateFunction):
    """Folds records into a tuple of running values; the result is a tuple with one value for each aggregate."""

    is_commutative = True

    def __init__(self, aggregates: tuple[FieldAggregate, ...]) -> None:
        """Compile the functions."""
        self.aggregates = aggregates
        self.slots = slots_of(aggregates)
        self._empty = tuple([0 if slot.kind == "count" else None for slot in self.slots])
        functions = _compiled(aggregates, self.slots)
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


def _compiled(aggregates: tuple[FieldAggregate, ...], slots: tuple[Slot, ...]) -> dict[str, Any]:
    fields = tuple(dict.fromkeys(slot.field for slot in slots if slot.field is not None))
    names = {field: f"v{index}" for index, field in enumerate(fields)}
    getters = FieldGetters(fields, read_value)
    # Nothing of the user's own text gets into the source: fields and slots are numbered.
    known: dict[str, Any] = {
        "getters": getters,
        "slow": getters.slow,
        "number": _number,
        "slots": slots,
        "explained": _explained,
    }
    source = "\n".join((*_add_source(slots, names), *_merge_source(slots), *_result_source(aggregates, slots)))
    exec(compile(source, f"<{' '.join(aggregate.name for aggregate in aggregates)}>", "exec"), known)
    return known


def _add_source(slots: tuple[Slot, ...], names: dict[Field, str]) -> list[str]:
    lines = ["def add(value, accumulator):", f"    {_unpacked('a', slots)} = accumulator"]
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
    lines += ["    try:", *(f"        a{at} += 1" for at, slot in enumerate(slots) if slot.field is None)]
    for field, name in names.items():
        lines.append(f"        if {name} is not None:")
        lines += [f"            {_step(at, slot, name)}" for at, slot in enumerate(slots) if slot.field == field]
    lines += ["    except TypeError as error:", "        raise explained(error, slots, accumulator, value) from None"]
    return [*lines, f"    return {_unpacked('a', slots)}"]


def _unpacked(letter: str, slots: tuple[Slot, ...]) -> str:
    return "".join(f"{letter}{at}, " for at in range(len(slots)))


def _step(at: int, slot: Slot, name: str) -> str:
    """The statement that takes a value, which is not None, into a running value."""
    if slot.kind == "count":
        return f"a{at} += 1"
    if slot.kind == "sum":
        return f"a{at} = number({name}) if a{at} is None else a{at} + {name}"
    return f"a{at} = {name} if a{at} is None or {_is_better(slot, name, f'a{at}')} else a{at}"


def _is_better(slot: Slot, offered: str, held: str) -> str:
    """NaN, which alone differs from itself, is greater than every number: the order of records must not matter."""
    if slot.kind == "min":
        return f"{offered} < {held} or {held} != {held}"
    return f"{offered} > {held} or {offered} != {offered}"


def _merge_source(slots: tuple[Slot, ...]) -> list[str]:
    lines = ["def merge(first, second):"]
    lines += [f"    {_unpacked('a', slots)} = first", f"    {_unpacked('b', slots)} = second"]
    for at, slot in enumerate(slots):
        if slot.kind == "count":
            lines.append(f"    a{at} += b{at}")
            continue
        taken = (
            f"a{at} + b{at}" if slot.kind == "sum" else f"b{at} if {_is_better(slot, f'b{at}', f'a{at}')} else a{at}"
        )
        lines += [f"    if b{at} is not None:", f"        a{at} = b{at} if a{at} is None else ({taken})"]
    return [*lines, f"    return {_unpacked('a', slots)}"]


def _result_source(aggregates: tuple[FieldAggregate, ...], slots: tuple[Slot, ...]) -> list[str]:
    place = {slot: f"a{at}" for at, slot in enumerate(slots)}
    results = []
    for aggregate in aggregates:
        held = [place[slot] for slot in aggregate.slots()]
        results.append(held[0] if len(held) == 1 else f"{held[0]} / {held[1]} if {held[1]} else None")
    return [
        "def result(accumulator):",
        f"    {_unpacked('a', slots)} = accumulator",
        f"    return {', '.join(results)},",
    ]


def _explained(error: TypeError, slots: tuple[Slot, ...], accumulator: tuple[Any, ...], record: Any) -> TypeError:
    """Say which field it was whose values do not go together."""
    for slot, held in zip(slots, accumulator, strict=True):
        if slot.field is None or slot.kind == "count":
            continue
        value = read_value(record, slot.field)
        try:
            _tried(slot, held, value)
        except TypeError as wrong:
            with_held = "" if held is None else f" after {held!r}"
            return TypeError(f"{slot.kind} of field {slot.field!r} cannot take {value!r}{with_held}: {wrong}")
    return error


def _tried(slot: Slot, held: Any, value: Any) -> None:
    if slot.kind == "sum" and value is not None:
        _number(value) if held is None else held + value
    elif held is not None and value is not None:
        bool(value < held if slot.kind == "min" else value > held)
