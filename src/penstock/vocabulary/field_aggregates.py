"""Declared aggregates of fields: what is counted, summed or compared, and under which name.

`FieldAggregation` makes a function of them; columns are folded by the runtime from the same declarations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from penstock.errors import GraphError

__all__ = ["FieldAggregate", "Measure", "avg_of", "count", "count_of", "max_of", "measures_of", "min_of", "sum_of"]

Kind = Literal["count", "sum", "min", "max", "avg"]


@dataclass(frozen=True)
class Measure:
    """One running value of an accumulator. A count without a field counts records, one with a field what is not None.

    Counts begin with 0, the others with None: nothing has been seen.
    """

    kind: Literal["count", "sum", "min", "max"]
    field: int | str | None = None


@dataclass(frozen=True)
class FieldAggregate:
    """An aggregate of one field, or the number of records; made by `count()`, `sum_of("f")` and the others."""

    kind: Kind
    field: int | str | None = None
    name: str = ""

    def alias(self, name: str) -> FieldAggregate:
        """The same under another name."""
        if not isinstance(name, str) or not name:
            raise GraphError(f"alias: expected a non-empty name, got {name!r}.")
        return replace(self, name=name)

    def measures(self) -> tuple[Measure, ...]:
        """The running values it is made of."""
        if self.kind == "avg":
            return Measure("sum", self.field), Measure("count", self.field)
        return (Measure(self.kind, self.field),)


def count() -> FieldAggregate:
    """The number of records, whatever is in them."""
    return FieldAggregate("count", None, "count")


def count_of(field: int | str) -> FieldAggregate:
    """The number of records whose field is not None."""
    return _of("count", field)


def sum_of(field: int | str) -> FieldAggregate:
    """The sum of a field; None if it was None in all records."""
    return _of("sum", field)


def min_of(field: int | str) -> FieldAggregate:
    """The smallest value of a field; None if it was None in all records. NaN is greater than every number."""
    return _of("min", field)


def max_of(field: int | str) -> FieldAggregate:
    """The largest value of a field; None if it was None in all records. NaN is greater than every number."""
    return _of("max", field)


def avg_of(field: int | str) -> FieldAggregate:
    """The mean of a field, never rounded to an int; None if it was None in all records."""
    return _of("avg", field)


def measures_of(aggregates: Iterable[FieldAggregate]) -> tuple[Measure, ...]:
    """The running values of several aggregates, each once: a sum and a mean of one field share it."""
    return tuple(dict.fromkeys(measure for aggregate in aggregates for measure in aggregate.measures()))


def _of(kind: Kind, field: Any) -> FieldAggregate:
    is_position = isinstance(field, int) and not isinstance(field, bool) and field >= 0
    if not (is_position or (isinstance(field, str) and field)):
        raise GraphError(f"{kind}_of: a field is a name or a position from 0, got {field!r}.")
    return FieldAggregate(kind, field, f"{kind}_{field}")
