"""CAST and TRY_CAST: which types can be cast to which, and how."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.errors import EvaluationError, FunctionError
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType
from penstock.vocabulary.sql.scalar.calendar_values import DAY_MS, Zone, zone_named
from penstock.vocabulary.sql.scalar.code import CodeWriter
from penstock.vocabulary.sql.scalar.kinds import (
    CHARACTERS,
    EXACT,
    INTEGERS,
    INTERVALS,
    NUMBERS,
    OCTETS,
    units_per_milli,
    units_per_second,
)
from penstock.vocabulary.sql.scalar.numbers import MODULUS, decimal_fit, float32, java_long, wrap_source, wrapped
from penstock.vocabulary.sql.scalar.registry import Arguments, special
from penstock.vocabulary.sql.scalar.text_parsing import parse_function
from penstock.vocabulary.sql.scalar.value_texts import text_function
from penstock.vocabulary.sql.typed_expressions import Call, Literal, TypedExpression

__all__ = ["cast", "cast_function"]

Cast = Callable[[Any], Any] | None
_STAMPS = (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ)


def cast(expression: TypedExpression, target: LogicalType, is_try: bool = False) -> TypedExpression:
    """Return the expression as another type, as CAST does, or TRY_CAST, which makes NULL of what cannot be cast."""
    source = expression.type
    nullable = is_try or source.nullable or source.kind is Kind.NULL
    if source.kind is Kind.NULL or (isinstance(expression, Literal) and expression.value is None):
        return Literal(None, target.with_nullable(True))
    if source.as_plain_time() == target.with_nullable(source.nullable) and not is_try:
        return expression
    cast_function(source, target, zone_named("UTC"))
    return Call("TRY_CAST" if is_try else "CAST", (expression,), target.with_nullable(nullable))


def cast_function(source: LogicalType, target: LogicalType, zone: Zone) -> Cast:
    """Return the function of internal values that casts them, None where they stay as they are."""
    if source.same_but_for_null(target):
        return None
    for find in (_from_text, _to_text, _between_numbers, _between_times, _between_composites, _of_octets):
        found = find(source, target, zone)
        if found is not _UNKNOWN:
            return found
    raise FunctionError(f"{source} cannot be cast to {target}")


def _unknown(value: Any) -> Any:
    raise FunctionError("no such cast")


_UNKNOWN: Callable[[Any], Any] = _unknown


def _from_text(source: LogicalType, target: LogicalType, zone: Zone) -> Cast:
    if source.kind not in CHARACTERS or target.kind in CHARACTERS:
        return _UNKNOWN
    if target.kind in INTERVALS or target.parts:
        return _UNKNOWN
    return _fitted_octets(parse_function(target, zone), target)


def _to_text(source: LogicalType, target: LogicalType, zone: Zone) -> Cast:
    if target.kind not in CHARACTERS:
        return _UNKNOWN
    length = target.precision
    if source.kind in CHARACTERS:
        if target.kind is Kind.VARCHAR:
            return None if source.precision <= length else lambda value: value[:length]
        return lambda value: value[:length].ljust(length)
    text = text_function(source, zone)
    if target.kind is Kind.CHAR:
        return lambda value: text(value)[:length].ljust(length)
    return text if length == MAX_LENGTH else lambda value: text(value)[:length]


def _of_octets(source: LogicalType, target: LogicalType, zone: Zone) -> Cast:
    if source.kind not in OCTETS or target.kind not in OCTETS:
        return _UNKNOWN
    if target.kind is Kind.VARBINARY and source.precision <= target.precision:
        return None
    return _fitted_octets(lambda value: value, target)


def _fitted_octets(cast_: Callable[[Any], Any], target: LogicalType) -> Callable[[Any], Any]:
    if target.kind not in OCTETS or target.precision == MAX_LENGTH:
        return cast_
    length = target.precision
    if target.kind is Kind.BINARY:
        return lambda value: cast_(value)[:length].ljust(length, b"\0")
    return lambda value: cast_(value)[:length]


def _between_numbers(source: LogicalType, target: LogicalType, zone: Zone) -> Cast:
    kinds = (*NUMBERS, Kind.BOOLEAN)
    if source.kind in INTERVALS and target.kind in INTEGERS:
        return lambda value: wrapped(value, MODULUS[target.kind])
    if source.kind in INTEGERS and target.kind in INTERVALS:
        return None
    if source.kind not in kinds or target.kind not in kinds:
        return _UNKNOWN
    if target.kind is Kind.BOOLEAN:
        return lambda value: value != 0
    if source.kind is Kind.BOOLEAN and target.kind in INTEGERS:
        return int
    if target.kind in (Kind.FLOAT, Kind.DOUBLE):
        return (lambda value: float32(float(value))) if target.kind is Kind.FLOAT else float
    if target.kind is Kind.DECIMAL:
        return lambda value: decimal_fit(
            Decimal(repr(value) if isinstance(value, float) else int(value) if isinstance(value, bool) else value),
            target,
        )
    return _to_integer(source, target)


def _to_integer(source: LogicalType, target: LogicalType) -> Cast:
    modulus, kind = MODULUS[target.kind], target.kind
    if source.kind in EXACT:
        if source.kind in INTEGERS and MODULUS[source.kind] <= modulus:
            return None
        return lambda value: wrapped(int(value), modulus)
    if kind in (Kind.TINYINT, Kind.SMALLINT):
        # Java goes by way of INT.
        return lambda value: wrapped(java_long(value, Kind.INTEGER), modulus)
    return lambda value: java_long(value, kind)


def _between_times(source: LogicalType, target: LogicalType, zone: Zone) -> Cast:
    kinds = (Kind.DATE, Kind.TIME, *_STAMPS)
    if source.kind not in kinds or target.kind not in kinds or (Kind.DATE is source.kind and target.kind is Kind.TIME):
        return _UNKNOWN
    if source.kind is Kind.TIME and target.kind is Kind.TIME:
        return None if target.precision >= min(source.precision, 3) else _cut_time(target)
    if source.kind is Kind.TIME and target.kind is Kind.DATE:
        return _UNKNOWN
    to_local = _local_stamp(source, zone)
    if target.kind is Kind.DATE:
        per_day = 86_400 * units_per_second(source)
        return lambda value: to_local(value) // per_day
    if target.kind is Kind.TIME:
        units, cut = units_per_milli(source), _cut_time(target)
        return lambda value: cut(to_local(value) // units % DAY_MS)
    return _to_stamp(source, target, zone)


def _cut_time(target: LogicalType) -> Callable[[int], int]:
    step = 10 ** max(3 - target.precision, 0)
    return lambda value: value - value % step


def _local_stamp(source: LogicalType, zone: Zone) -> Callable[[Any], Any]:
    if source.kind is not Kind.TIMESTAMP_LTZ or zone.is_utc:
        return lambda value: value
    units = units_per_milli(source)
    return lambda value: value + zone.offset_at(value // units) * units


def _to_stamp(source: LogicalType, target: LogicalType, zone: Zone) -> Cast:
    scale, coarse = _rescale(source, target)
    units = units_per_milli(target)

    def moment(value: int) -> int:
        return zone.moment(value // units) * units + value % units

    same = source.kind is target.kind or zone.is_utc
    if same and source.kind in _STAMPS and scale is None and coarse == 1:
        return None
    change = scale or (lambda value: value)
    if same or (source.kind in (Kind.DATE, Kind.TIME) and target.kind is Kind.TIMESTAMP):
        return lambda value: change(value) - change(value) % coarse
    if target.kind is Kind.TIMESTAMP_LTZ:
        return lambda value: moment(change(value) - change(value) % coarse)
    to_local = _local_stamp(source, zone)
    return lambda value: change(to_local(value)) - change(to_local(value)) % coarse


def _rescale(source: LogicalType, target: LogicalType) -> tuple[Callable[[int], int] | None, int]:
    """The change of units, and the units that the precision of the target cannot tell apart."""
    to = units_per_second(target)
    coarse = max(to // 10**target.precision, 1)
    if source.kind is Kind.DATE:
        return (lambda value: value * 86_400 * to), 1
    of = 1000 if source.kind is Kind.TIME else units_per_second(source)
    if of == to:
        return None, coarse if source.kind is Kind.TIME or source.precision > target.precision else 1
    return ((lambda value: value * (to // of)) if to > of else (lambda value: value // (of // to))), coarse


def _between_composites(source: LogicalType, target: LogicalType, zone: Zone) -> Cast:
    kinds = (Kind.ARRAY, Kind.MAP, Kind.MULTISET, Kind.ROW)
    if source.kind is not target.kind or source.kind not in kinds or len(source.parts) != len(target.parts):
        return _UNKNOWN
    parts = [_of_part(of, to, zone) for of, to in zip(source.parts, target.parts, strict=True)]
    if all(part is None for part in parts):
        return None
    casts = [part or (lambda value: value) for part in parts]
    if source.kind is Kind.ARRAY:
        return lambda value: tuple([casts[0](each) for each in value])
    if source.kind is Kind.ROW:
        return lambda value: tuple([one(each) for one, each in zip(casts, value, strict=True)])
    second = casts[-1] if source.kind is Kind.MAP else lambda value: value
    return lambda value: {casts[0](key): second(each) for key, each in value.items()}


def _of_part(source: LogicalType, target: LogicalType, zone: Zone) -> Cast:
    if source.kind is Kind.NULL:
        return None
    found = cast_function(source, target, zone)
    return None if found is None else lambda value: None if value is None else found(value)


def _infer(arguments: Arguments, options: tuple[Any, ...]) -> tuple[Arguments, LogicalType]:
    raise FunctionError("CAST is made with the function `cast`, which takes the type")


def _write_cast(writer: CodeWriter, call: Call) -> str:
    (argument,) = call.arguments
    source, target = argument.type, call.type
    if source.kind in INTEGERS and target.kind in INTEGERS and MODULUS[source.kind] > MODULUS[target.kind]:
        return writer.strict(call.arguments, lambda texts: wrap_source(target.kind, texts[0]))
    function = cast_function(source, target, zone_named(writer.context.time_zone))
    if function is None:
        return writer.value(argument)
    name = writer.name_of(function, "cast")
    return writer.strict(call.arguments, lambda texts: f"{name}({texts[0]})")


def _write_try_cast(writer: CodeWriter, call: Call) -> str:
    (argument,) = call.arguments
    function = cast_function(argument.type, call.type, zone_named(writer.context.time_zone))
    if function is None:
        return writer.value(argument)
    known = function

    def try_cast(value: Any) -> Any:
        try:
            return known(value)
        except EvaluationError:
            return None

    name = writer.name_of(try_cast)
    return writer.strict(call.arguments, lambda texts: f"{name}({texts[0]})")


special("CAST", _infer, _write_cast)
special("TRY_CAST", _infer, _write_try_cast)
