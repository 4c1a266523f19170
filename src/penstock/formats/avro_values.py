"""Python values as an Avro schema has them, exactly or refused; writes no bytes (that is the library's part).

The library itself turns 2.5 into 2 for a long, "x" into true, and cuts datetimes to days or milliseconds.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from penstock.common.time import Instant
from penstock.formats.exact_columns import Misfit, elements, without_numpy
from penstock.formats.records import RecordShapeError, has_names, to_dict
from penstock.formats.shown_values import shortened

Fit = Callable[[Any], Any]

_FLOAT_LIMIT = 3.4028235677973366e38  # what rounds to the largest finite number of 32 bits is below
_EXACT_WHOLE = {"float": 2**24, "double": 2**53}


def avro_fitter(schema: Any) -> Fit:
    """What gives a value as the library takes it for a schema (as it was parsed), or raises `Misfit`."""
    return _fitter(schema, {})


def _fitter(schema: Any, named: dict[str, Fit]) -> Fit:
    if isinstance(schema, list):
        return _union(schema, named)
    if isinstance(schema, str):
        # A record within itself is not known before it is complete.
        return _SIMPLE[schema] if schema in _SIMPLE else lambda value: named[schema](value)
    logical = _LOGICAL.get(schema.get("logicalType", ""))
    if logical is not None:
        return logical(schema)
    kind = schema["type"]
    if kind in _MADE:
        return _MADE[kind](schema, named)
    return _fitter(kind, named)


def _wrong(value: Any, wanted: str) -> Misfit:
    return Misfit(f"expected {wanted}, got {type(value).__name__} {shortened(value)}", value)


def _whole(name: str, bits: int) -> Fit:
    half = 1 << bits - 1

    def fit(value: Any) -> int:
        if type(value) is not int:
            value = without_numpy(value)
            if isinstance(value, bool) or not isinstance(value, int):
                raise _wrong(value, name)
        if not -half <= value < half:
            raise Misfit(f"{shortened(value)} is beyond the {bits} bits of {name}", value)
        return int(value)

    return fit


def _real(name: str) -> Fit:
    exact = _EXACT_WHOLE[name]

    def fit(value: Any) -> float:
        number = without_numpy(value)
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise _wrong(value, name)
        if isinstance(number, int) and not -exact <= number <= exact:
            raise Misfit(f"a {name} has not enough digits for {shortened(value)}", value)
        if name == "float" and math.isfinite(number) and abs(number) >= _FLOAT_LIMIT:
            raise Misfit(f"{shortened(value)} is beyond the 32 bits of float", value)
        return float(number)

    return fit


def _instance(name: str, kinds: type | tuple[type, ...]) -> Fit:
    def fit(value: Any) -> Any:
        found = without_numpy(value)
        if not isinstance(found, kinds):
            raise _wrong(value, name)
        return found

    return fit


def _none(value: Any) -> None:
    if value is not None:
        raise _wrong(value, "null")


_SIMPLE: dict[str, Fit] = {
    "null": _none,
    "boolean": _instance("boolean", bool),
    "int": _whole("int", 32),
    "long": _whole("long", 64),
    "float": _real("float"),
    "double": _real("double"),
    "string": _instance("string", str),
    "bytes": _instance("bytes", (bytes, bytearray)),
}


def _union(schema: list[Any], named: dict[str, Fit]) -> Fit:
    parts = [(_branch_name(each), _fitter(each, named)) for each in schema if _kind(each) != "null"]
    takes_none = len(parts) < len(schema)
    by_name = {name: part for name, part in parts if name is not None}

    def fit(value: Any) -> Any:
        if value is None and takes_none:
            return None
        if len(parts) == 1:
            return parts[0][1](value)
        if isinstance(value, tuple) and len(value) == 2 and value[0] in by_name:  # the branch is said
            return value[0], by_name[value[0]](value[1])
        for name, part in parts:
            try:
                found = part(value)
            except Misfit:
                continue
            # The library would look for a branch itself, with fewer scruples; it takes a name of those that have one.
            return found if name is None else (name, found)
        raise _wrong(value, f"one of {', '.join(str(_branch_name(each) or _kind(each)) for each in schema)}")

    return fit


def _kind(schema: Any) -> Any:
    return schema["type"] if isinstance(schema, dict) else schema


def _branch_name(schema: Any) -> str | None:
    """What the library calls a branch of a union; arrays, maps and logical types have no name there."""
    return schema if isinstance(schema, str) else schema.get("name")


def _record(schema: Any, named: dict[str, Fit]) -> Fit:
    named[schema["name"]] = lambda value: fit(value)
    parts = [(field["name"], _fitter(field["type"], named), field) for field in schema["fields"]]
    names = [name for name, _, _ in parts]
    known = frozenset(names)

    def fit(value: Any) -> dict[str, Any]:
        if not has_names(value) and elements(value) is None:
            raise _wrong(value, f"a record {schema['name']} with the fields {', '.join(names)}")
        try:
            found = to_dict(value, names)
        except RecordShapeError as failure:
            raise Misfit(f"a record {failure}", value) from None
        for name in found:
            if name not in known:
                raise Misfit(f"field {name!r} is not in the schema; its fields are {', '.join(names)}", value)
        made = {}
        for name, part, field in parts:
            if name not in found and "default" in field:
                continue  # the library fills it in
            try:
                made[name] = part(found.get(name))
            except Misfit as misfit:
                raise Misfit(f"field {name!r}: {misfit}", found.get(name)) from None
        return made

    return fit


def _array(schema: Any, named: dict[str, Fit]) -> Fit:
    part = _fitter(schema["items"], named)

    def fit(value: Any) -> list[Any]:
        items = elements(value)
        if items is None:
            raise _wrong(value, "an array")
        return [part(item) for item in items]

    return fit


def _map(schema: Any, named: dict[str, Fit]) -> Fit:
    part = _fitter(schema["values"], named)

    def fit(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise _wrong(value, "a map with texts as keys")
        return {key: part(item) for key, item in value.items()}

    return fit


def _fixed(schema: Any, named: dict[str, Fit]) -> Fit:
    size = schema["size"]

    def fit(value: Any) -> bytes:
        if not isinstance(value, (bytes, bytearray)) or len(value) != size:
            raise _wrong(value, f"{size} bytes")
        return bytes(value)

    named[schema["name"]] = fit
    return fit


def _enum(schema: Any, named: dict[str, Fit]) -> Fit:
    symbols = frozenset(schema["symbols"])

    def fit(value: Any) -> str:
        if not isinstance(value, str) or value not in symbols:
            raise _wrong(value, f"one of {', '.join(schema['symbols'])}")
        return str(value)

    named[schema["name"]] = fit
    return fit


_MADE: dict[Any, Callable[[Any, dict[str, Fit]], Fit]] = {
    "record": _record,
    "error": _record,
    "array": _array,
    "map": _map,
    "fixed": _fixed,
    "enum": _enum,
}


def _date(schema: Any) -> Fit:
    def fit(value: Any) -> datetime.date:
        if not isinstance(value, datetime.date) or isinstance(value, datetime.datetime):
            raise _wrong(value, "a date")
        return value

    return fit


def _no_part_below(value: Any, microsecond: int, unit: str) -> None:
    if unit == "millis" and microsecond % 1000:
        raise Misfit(f"{value!r} has microseconds, and the schema milliseconds: round it, or use micros", value)


def _time(schema: Any) -> Fit:
    unit = schema["logicalType"].rpartition("-")[2]

    def fit(value: Any) -> datetime.time:
        if not isinstance(value, datetime.time) or value.tzinfo is not None:
            raise _wrong(value, "a time without a zone")
        _no_part_below(value, value.microsecond, unit)
        return value

    return fit


def _timestamp(schema: Any) -> Fit:
    """Points in time, of UTC where they have no zone (as `Types.SQL_TIMESTAMP`); "local" ones have none."""
    unit, is_local = schema["logicalType"].rpartition("-")[2], schema["logicalType"].startswith("local")

    def fit(value: Any) -> datetime.datetime:
        if isinstance(value, Instant) and not value.nanos % 1000:
            value = value.to_datetime()
        if not isinstance(value, datetime.datetime):
            raise _wrong(value, "a datetime")
        _no_part_below(value, value.microsecond, unit)
        if is_local:
            if value.tzinfo is not None:
                raise Misfit(f"{value!r} has a time zone, and the schema none", value)
            return value
        return value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)

    return fit


def _decimal(schema: Any) -> Fit:
    precision, scale = schema["precision"], schema.get("scale", 0)
    unit = Decimal(1).scaleb(-scale)

    def fit(value: Any) -> Decimal:
        number = without_numpy(value)
        if isinstance(number, bool) or not isinstance(number, (int, Decimal)):
            raise _wrong(value, "a Decimal")
        exact = Decimal(number)
        digits = exact.as_tuple().digits if exact.is_finite() else ()
        if not digits or exact.adjusted() + 1 > precision - scale or exact % unit:
            raise Misfit(f"{shortened(value)} does not fit into {precision} digits with {scale} after the point", value)
        return exact

    return fit


_LOGICAL: dict[str, Callable[[Any], Fit]] = {
    "date": _date,
    "time-millis": _time,
    "time-micros": _time,
    "timestamp-millis": _timestamp,
    "timestamp-micros": _timestamp,
    "local-timestamp-millis": _timestamp,
    "local-timestamp-micros": _timestamp,
    "decimal": _decimal,
    "uuid": lambda schema: lambda value: value,  # the library looks at it
}
