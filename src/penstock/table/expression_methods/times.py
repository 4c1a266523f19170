"""Methods of `Expression` on dates and times: casts, parts, lengths of time, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.table.binder.literals import MILLIS_OF, MONTHS_OF
from penstock.table.expression_methods.term import Term, call_node
from penstock.table.expression_units import TimeIntervalUnit
from penstock.table.sql.nodes import BoundValue, CastTo
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.typed_expressions import Literal

if TYPE_CHECKING:
    from penstock.table.expression import Expression

__all__ = ["TimeMethods"]


def _cast_to(kind: Kind, *parameters: int) -> property:
    to = LogicalType(kind, parameters=parameters)

    def made(self: Term) -> Expression:
        return self._made(CastTo(this=self._node.copy(), to=to), f"cast({self._text}, {to})")

    made.__doc__ = f"The value as {to}."
    return property(made)


def _length(unit: str) -> property:
    months = MONTHS_OF.get(unit)
    length = months if months is not None else 1 if unit == "MILLI" else MILLIS_OF[unit]
    kind = LogicalType(Kind.INTERVAL_MILLIS if months is None else Kind.INTERVAL_MONTHS, False)

    def made(self: Term) -> Expression:
        known = self._node.args.get("literal") if isinstance(self._node, BoundValue) else None
        if known is not None and known.value is not None:
            made = Literal(int(known.value) * length, kind)
            return self._made(BoundValue(literal=made), str(made.value))
        interval = BoundValue(literal=Literal(length, kind))
        return self._made(call_node("*", interval, self._node), f"times({self._text}, {length})")

    made.__doc__ = f"A length of time, of so many {unit.lower()}s."
    return property(made)


def _property_of_window(word: str, function: str, meaning: str) -> property:
    def made(self: Term) -> Expression:
        return self._call(word, function)

    made.__doc__ = meaning
    return property(made)


class TimeMethods(Term):
    """Functions of dates and times."""

    to_date = _cast_to(Kind.DATE)
    to_time = _cast_to(Kind.TIME, 0)
    to_timestamp = _cast_to(Kind.TIMESTAMP, 3)
    year = years = _length("YEAR")
    quarter = quarters = _length("QUARTER")
    month = months = _length("MONTH")
    week = weeks = _length("WEEK")
    day = days = _length("DAY")
    hour = hours = _length("HOUR")
    minute = minutes = _length("MINUTE")
    second = seconds = _length("SECOND")
    milli = millis = _length("MILLI")
    start = _property_of_window("start", "$WINDOW_START", "The beginning of a window, by its alias.")
    end = _property_of_window("end", "$WINDOW_END", "The end of a window, by its alias.")
    rowtime = _property_of_window("rowtime", "$WINDOW_ROWTIME", "The event time of a window, by its alias.")
    proctime = _property_of_window("proctime", "$WINDOW_PROCTIME", "The processing time of a window, by its alias.")

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Expression:
        """A part of a date or time, as a number."""
        unit = time_interval_unit.name
        return self._made(call_node("EXTRACT", self._node, options=(unit,)), f"extract({unit}, {self._text})")

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression:
        """The number rounded down, or the beginning of a unit of time."""
        return self._call("floor", "FLOOR", options=_unit(time_interval_unit))

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression:
        """The number rounded up, or the end of a unit of time."""
        return self._call("ceil", "CEIL", options=_unit(time_interval_unit))


def _unit(unit: TimeIntervalUnit | None) -> tuple[str, ...]:
    return () if unit is None else (unit.name,)
