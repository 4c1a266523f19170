"""Functions of dates and times: parts, rounding to units, differences, texts, and the current time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.errors import EvaluationError, FunctionError
from penstock.vocabulary.sql.logical_types import Kind, LogicalType
from penstock.vocabulary.sql.scalar.calendar_values import DAY_MS, add_months, days_of, year_month_day, zone_named
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.kinds import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    INTERVALS,
    TIME_POINTS,
    time,
    timestamp,
    timestamp_ltz,
    units_per_milli,
)
from penstock.vocabulary.sql.scalar.mathematics import make_ceil, make_floor, rounded_down_type
from penstock.vocabulary.sql.scalar.parameters import A_DATE_TIME, A_NUMBER, AN_INT, ANYTHING, of_kinds
from penstock.vocabulary.sql.scalar.registry import Arguments, any_nullable, special, strict_function
from penstock.vocabulary.sql.typed_expressions import Call

__all__ = ["CLOCK_FUNCTIONS", "local_nanos"]

UNIT_MILLIS = {"SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": DAY_MS, "WEEK": 7 * DAY_MS}
_UNIT_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12_000}


def local_nanos(type_: LogicalType, writer: CodeWriter) -> Callable[[int], int]:
    """The function that gives nanoseconds since 1970, as clocks of the session show them, for a type of times."""
    if type_.kind is Kind.DATE:
        return lambda value: value * DAY_MS * 1_000_000
    if type_.kind is Kind.TIME or type_.kind in INTERVALS:
        return lambda value: value * 1_000_000
    units = units_per_milli(type_)
    factor = 1_000_000 // units
    zone = zone_named(writer.context.time_zone)
    if type_.kind is Kind.TIMESTAMP or zone.is_utc:
        return lambda value: value * factor
    return lambda value: value * factor + zone.offset_at(value // units) * 1_000_000


def _iso_year_week(days: int) -> tuple[int, int]:
    thursday = days - (days + 3) % 7 + 3
    year = year_month_day(thursday)[0]
    return year, (thursday - days_of(year, 1, 1)) // 7 + 1


def _century(year: int, length: int) -> int:
    return (year + length - 1) // length if year > 0 else year // length


_OF_DAYS: dict[str, Callable[[int], int]] = {
    "YEAR": lambda days: year_month_day(days)[0],
    "QUARTER": lambda days: (year_month_day(days)[1] + 2) // 3,
    "MONTH": lambda days: year_month_day(days)[1],
    "WEEK": lambda days: _iso_year_week(days)[1],
    "DAY": lambda days: year_month_day(days)[2],
    "DOY": lambda days: days - days_of(year_month_day(days)[0], 1, 1) + 1,
    "DOW": lambda days: (days + 4) % 7 + 1,
    "ISODOW": lambda days: (days + 3) % 7 + 1,
    "ISOYEAR": lambda days: _iso_year_week(days)[0],
    "DECADE": lambda days: year_month_day(days)[0] // 10,
    "CENTURY": lambda days: _century(year_month_day(days)[0], 100),
    "MILLENNIUM": lambda days: _century(year_month_day(days)[0], 1000),
}
_OF_NANOS: dict[str, Callable[[int], int]] = {
    "HOUR": lambda nanos: nanos // 3_600_000_000_000 % 24,
    "MINUTE": lambda nanos: nanos // 60_000_000_000 % 60,
    "SECOND": lambda nanos: nanos // 1_000_000_000 % 60,
    "MILLISECOND": lambda nanos: nanos // 1_000_000 % 1000,
    "MICROSECOND": lambda nanos: nanos // 1_000 % 1_000_000,
    "NANOSECOND": lambda nanos: nanos % 1_000_000_000,
    "EPOCH": lambda nanos: nanos // 1_000_000_000,
}
_NAMED = {"DAYOFYEAR": "DOY", "DAYOFMONTH": "DAY", "DAYOFWEEK": "DOW"}
_DAY_NANOS = DAY_MS * 1_000_000


def _make_extract(call: Call, writer: CodeWriter) -> Callable[[int], int]:
    unit = call.options[0] if call.function == "EXTRACT" else _NAMED.get(call.function, call.function)
    return _extraction(unit, call.arguments[0].type, writer)


def _extraction(unit: str, type_: LogicalType, writer: CodeWriter) -> Callable[[int], int]:
    if type_.kind is Kind.INTERVAL_MONTHS:
        return _months_part(unit)
    nanos = local_nanos(type_, writer)
    if unit in _OF_NANOS:
        of_nanos = _OF_NANOS[unit]
        return lambda value: of_nanos(nanos(value))
    if unit not in _OF_DAYS:
        raise FunctionError(f"EXTRACT knows no unit {unit}: use one such as YEAR, MONTH, DAY, HOUR or SECOND")
    if type_.kind is Kind.INTERVAL_MILLIS:
        return lambda value: value // DAY_MS
    of_days = _OF_DAYS[unit]
    if type_.kind is Kind.DATE:
        return of_days
    return lambda value: of_days(nanos(value) // _DAY_NANOS)


def _months_part(unit: str) -> Callable[[int], int]:
    return (lambda months: int(months / 12)) if unit == "YEAR" else (lambda months: months - int(months / 12) * 12)


_EXTRACTABLE = of_kinds("a date, a time or an interval", *TIME_POINTS, *INTERVALS)
strict_function("EXTRACT", [_EXTRACTABLE], BIGINT, make=_make_extract)
for _name in ["YEAR", "QUARTER", "MONTH", "WEEK", "DAYOFYEAR", "DAYOFMONTH", "DAYOFWEEK", "HOUR", "MINUTE", "SECOND"]:
    strict_function(_name, [_EXTRACTABLE], BIGINT, make=_make_extract)


def _infer_rounding(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    if options:
        (argument,) = arguments
        A_DATE_TIME.take(argument, f"what is rounded to {options[0]}")
        return arguments, argument.type.as_plain_time()
    taken = tuple([A_NUMBER.take(each, "the argument of FLOOR and CEIL") for each in arguments])
    return taken, rounded_down_type([taken[0].type]).with_nullable(any_nullable(taken))


def _write_rounding(writer: CodeWriter, call: Call) -> str:
    if not call.options:
        function = (make_floor if call.function == "FLOOR" else make_ceil)(call, writer)
    else:
        function = _unit_rounding(call.options[0], call.type, writer, call.function == "CEIL")
    name = writer.name_of(function, call.function.lower())
    return writer.strict(call.arguments, lambda texts: f"{name}({texts[0]})")


def _unit_rounding(unit: str, type_: LogicalType, writer: CodeWriter, is_up: bool) -> Callable[[int], int]:
    if type_.kind is Kind.DATE:
        of_days = _day_rounding(unit, is_up)
        return (lambda days: days) if of_days is None else of_days
    units = units_per_milli(type_)
    if type_.kind is Kind.TIME:
        return _time_rounding(_local_rounding(unit, 1, is_up))
    if type_.kind is not Kind.TIMESTAMP_LTZ or zone_named(writer.context.time_zone).is_utc:
        return _local_rounding(unit, units, is_up)
    local, zone = _local_rounding(unit, units, is_up), zone_named(writer.context.time_zone)

    def rounded(value: int) -> int:
        # As in Flink, by the clock of the value: the day of a change begins an hour off for what is after it.
        offset = zone.offset_at(value // units) * units
        return local(value + offset) - offset

    return rounded


def _time_rounding(rounding: Callable[[int], int]) -> Callable[[int], int]:
    def rounded(value: int) -> int:
        made = rounding(value)
        if made >= DAY_MS:
            raise EvaluationError("CEIL of a TIME goes beyond the day: round a TIMESTAMP instead")
        return made

    return rounded


def _local_rounding(unit: str, units: int, is_up: bool) -> Callable[[int], int]:
    step = {"MILLISECOND": units, "MICROSECOND": max(units // 1000, 1), "NANOSECOND": 1}.get(unit)
    if step is None and unit in UNIT_MILLIS and unit != "WEEK":
        step = UNIT_MILLIS[unit] * units
    if step is not None:
        size = step
        return (lambda value: -(-value // size) * size) if is_up else (lambda value: value // size * size)
    of_days = _day_rounding(unit, is_up)
    if of_days is None:
        raise FunctionError(f"FLOOR and CEIL know no unit {unit}: use one such as YEAR, MONTH, DAY or HOUR")
    rounding, day = of_days, DAY_MS * units
    # Also upwards the time of day is dropped first, as in Flink: noon of January 1 is a whole month.
    return lambda value: rounding(value // day) * day


def _day_rounding(unit: str, is_up: bool) -> Callable[[int], int] | None:
    if unit == "WEEK":
        return lambda days: days - (days + 4) % 7 + (7 if is_up and (days + 4) % 7 else 0)
    months = _UNIT_MONTHS.get(unit)
    if months is None:
        return None
    size = months
    begin = 12 if unit in ("CENTURY", "MILLENNIUM") else 0  # They begin with a year 1.

    def rounded(days: int) -> int:
        year, month, _ = year_month_day(days)
        at = (year * 12 + month - 1 - begin) // size * size + begin
        first = days_of(at // 12, at % 12 + 1, 1)
        return add_months(first, size) if is_up and first != days else first

    return rounded


special("FLOOR", _infer_rounding, _write_rounding)
special("CEIL", _infer_rounding, _write_rounding)
special("CEILING", _infer_rounding, _write_rounding)


def _difference(unit: str, nanos_left: Callable[[int], int], nanos_right: Callable[[int], int]) -> Callable[..., int]:
    if unit in UNIT_MILLIS:
        size = UNIT_MILLIS[unit] * 1_000_000

        def steps(left: int, right: int) -> int:
            difference = nanos_right(right) // 1_000_000 * 1_000_000 - nanos_left(left) // 1_000_000 * 1_000_000
            return difference // size if difference >= 0 else -(-difference // size)

        return steps
    months = _UNIT_MONTHS[unit]
    return lambda left, right: int(_months_between(nanos_left(left), nanos_right(right)) / months)


def _months_between(left: int, right: int) -> int:
    """Whole months from one moment to another; a month is whole once its day and time of day are reached."""
    if right < left:
        return -_months_between(right, left)
    (days, rest), (other_days, other_rest) = divmod(left, _DAY_NANOS), divmod(right, _DAY_NANOS)
    (year, month, _), (other_year, other_month, _) = year_month_day(days), year_month_day(other_days)
    months = (other_year - year) * 12 + other_month - month
    return months - ((add_months(days, months), rest) > (other_days, other_rest))


def _make_difference(call: Call, writer: CodeWriter) -> Callable[..., int]:
    types = [each.type for each in call.arguments]
    if [each.kind for each in types].count(Kind.TIMESTAMP_LTZ) == 1:
        raise FunctionError("TIMESTAMPDIFF takes two TIMESTAMP_LTZ or none: write a CAST")
    if types[0].kind is Kind.TIMESTAMP_LTZ:  # moments, whatever clocks show
        types = [timestamp(each.precision) for each in types]
    left, right = [local_nanos(each, writer) for each in types]
    return _difference(_unit(call), left, right)


def _unit(call: Call) -> str:
    unit = str(call.options[0])
    if unit not in UNIT_MILLIS and unit not in _UNIT_MONTHS:
        raise FunctionError(f"{call.function} knows no unit {unit}: use one such as YEAR, MONTH, DAY, HOUR or SECOND")
    return unit


strict_function("TIMESTAMPDIFF", [A_DATE_TIME, A_DATE_TIME], INT, make=_make_difference)


def _infer_add(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    count, point = arguments
    taken = (AN_INT.take(count, "the count of TIMESTAMPADD"), A_DATE_TIME.take(point, "the time of TIMESTAMPADD"))
    type_ = point.type.as_plain_time()
    if type_.kind is Kind.DATE and options[0] in ("HOUR", "MINUTE", "SECOND"):
        type_ = timestamp(6)
    return taken, type_.with_nullable(any_nullable(taken))


def _write_add(writer: CodeWriter, call: Call) -> str:
    name = writer.name_of(_addition(_unit(call), call.arguments[1].type, call.type))
    return writer.strict(call.arguments, lambda texts: f"{name}({texts[0]}, {texts[1]})")


def _addition(unit: str, source: LogicalType, target: LogicalType) -> Callable[[int, int], int]:
    units = {Kind.DATE: 1, Kind.TIME: 1}.get(target.kind) or units_per_milli(target)
    day = 1 if target.kind is Kind.DATE else DAY_MS * units
    scale = DAY_MS * units if source.kind is Kind.DATE and target.kind is not Kind.DATE else 1
    if unit in UNIT_MILLIS:
        step = UNIT_MILLIS[unit] // DAY_MS if target.kind is Kind.DATE else UNIT_MILLIS[unit] * units
        if target.kind is Kind.TIME:
            return lambda count, value: (value + count * step) % DAY_MS
        return lambda count, value: value * scale + count * step
    months = _UNIT_MONTHS[unit]
    return lambda count, value: add_months(value // day, count * months) * day + value % day


special("TIMESTAMPADD", _infer_add, _write_add)


def _make_overlaps(call: Call, writer: CodeWriter) -> Callable[..., bool]:
    types = [each.type for each in call.arguments]
    ends = [_ending(types[0], types[1], writer), _ending(types[2], types[3], writer)]

    def overlaps(a: int, b: int, c: int, d: int) -> bool:
        (start, end), (other, until) = sorted(ends[0](a, b)), sorted(ends[1](c, d))
        return end >= other and until >= start

    return overlaps


def _ending(start: LogicalType, end: LogicalType, writer: CodeWriter) -> Callable[[int, int], tuple[int, int]]:
    nanos = local_nanos(start, writer)
    if end.kind is Kind.INTERVAL_MILLIS:
        return lambda a, b: (nanos(a), nanos(a) + b * 1_000_000)
    if end.kind is Kind.INTERVAL_MONTHS:
        return lambda a, b: (nanos(a), add_months(nanos(a) // _DAY_NANOS, b) * _DAY_NANOS + nanos(a) % _DAY_NANOS)
    other = local_nanos(end, writer)
    return lambda a, b: (nanos(a), other(b))


strict_function("OVERLAPS", [ANYTHING] * 4, BOOLEAN, make=_make_overlaps)


def _now(kind: str) -> Callable[[Call, CodeWriter], Callable[[], int]]:
    def make(call: Call, writer: CodeWriter) -> Callable[[], int]:
        clock, zone = writer.context.clock, zone_named(writer.context.time_zone)
        return {
            "moment": clock,
            "local": lambda: zone.local(clock()),
            "date": lambda: zone.local(clock()) // DAY_MS,
            "time": lambda: zone.local(clock()) % DAY_MS // 1000 * 1000,
            "seconds": lambda: clock() // 1000,
        }[kind]

    return make


CLOCK_FUNCTIONS: set[str] = set()
"""Functions that ask the clock and nothing else: rows of one block may have one answer."""


def _current(names: Sequence[str], type_: LogicalType, kind: str) -> None:
    CLOCK_FUNCTIONS.update(names)
    strict_function(names[0], [], type_.not_null(), make=_now(kind), is_deterministic=False, aliases=names[1:])


_current(["CURRENT_TIMESTAMP", "NOW", "CURRENT_ROW_TIMESTAMP", "PROCTIME"], timestamp_ltz(3), "moment")
_current(["LOCALTIMESTAMP"], timestamp(3), "local")
_current(["CURRENT_DATE"], DATE, "date")
_current(["CURRENT_TIME", "LOCALTIME"], time(0), "time")


def _watermark_type(types: Sequence[LogicalType]) -> LogicalType:
    return LogicalType(types[0].kind, parameters=(3,))


def _write_watermark(writer: CodeWriter, call: Call) -> str:
    return f"{writer.name_of(writer.context.watermark, 'watermark')}()"


def _infer_watermark(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    (argument,) = arguments
    if argument.type.kind not in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        raise FunctionError(f"CURRENT_WATERMARK takes a row time attribute, and {argument.type} was given")
    return arguments, _watermark_type([argument.type])


special("CURRENT_WATERMARK", _infer_watermark, _write_watermark, is_deterministic=False)
strict_function(
    "CURRENT_DATABASE", [], LogicalType(Kind.VARCHAR, False, (2**31 - 1,)), make=lambda c, w: lambda: w.context.database
)
