"""The Arrow type that a column of Python values has, learned from the first and kept from then on.

Values that come later may be None, or leave fields out, but change nothing: a type that does not fit any more is a
`Misfit`. What fits a type is `penstock.formats.exact_columns`.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.common.time import Instant
from penstock.formats.exact_columns import ARROW_REFUSALS, Misfit, elements, without_numpy
from penstock.formats.records import has_names, to_dict
from penstock.formats.shown_values import clipped, shortened

_NONE = type(None)
_DECIMAL = pa.decimal128(38, 18)  # as BIG_DEC: the digits of the first value say nothing of the next

_LEAVES: dict[type, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    str: pa.string(),
    bytes: pa.binary(),
    bytearray: pa.binary(),
    memoryview: pa.binary(),
    Decimal: _DECIMAL,
    date: pa.date32(),
    time: pa.time64("us"),
    timedelta: pa.duration("us"),
    Instant: pa.timestamp("us", tz="UTC"),
    _NONE: pa.null(),
}


def learned_type(known: pa.DataType, column: list[Any]) -> pa.DataType:
    """The type of a column that has been `known` so far (`pa.null()` at first) and has these values now."""
    kinds = set(map(type, column))
    kinds.discard(_NONE)
    leaf = _LEAVES.get(next(iter(kinds))) if len(kinds) == 1 else None
    found = _type_of_all(column) if leaf is None else leaf
    try:
        return settled(known, found)
    except Misfit:
        for value in column:
            try:
                settled(known, _type_of(value))
            except Misfit as misfit:
                raise Misfit(str(misfit), value) from None
        raise


def _type_of_all(values: list[Any]) -> pa.DataType:
    found = pa.null()
    for value in values:
        try:
            found = _joined(found, _type_of(value))
        except Misfit as misfit:
            raise Misfit(str(misfit), value) from None
    return found


def _type_of(value: Any) -> pa.DataType:
    leaf = _LEAVES.get(type(value))
    if leaf is not None:
        return leaf
    if isinstance(value, datetime):
        return pa.timestamp("us", tz=None if value.tzinfo is None else "UTC")
    number = without_numpy(value)
    if has_names(number):
        return _record_type(to_dict(number))
    if (items := elements(number)) is not None:
        return pa.list_(_type_of_all(items))
    for kind in (bool, int, float, str, bytes, Decimal):  # classes derived from them, and numbers of numpy
        if isinstance(number, kind):
            return _LEAVES[kind]
    try:
        return pa.array([number]).type
    except ARROW_REFUSALS as failure:
        raise Misfit(clipped(str(failure)), value) from None


def _record_type(record: dict[str, Any]) -> pa.DataType:
    fields = []
    for name, item in record.items():
        if not isinstance(name, str):
            raise Misfit(f"{shortened(name)} is not a valid field name: declare a MAP", record)
        try:
            fields.append((name, _type_of(item)))
        except Misfit as misfit:
            raise Misfit(f"field {name!r}: {misfit}", record) from None
    return pa.struct(fields)


def _joined(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type of values that are learned together."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    for wide, is_wide in ((pa.float64(), pa.types.is_floating), (_DECIMAL, pa.types.is_decimal)):
        if (is_wide(one) and pa.types.is_integer(other)) or (is_wide(other) and pa.types.is_integer(one)):
            return wide
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(_joined(one.value_type, other.value_type))
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        fields = {each.name: each.type for each in one}
        for each in other:
            fields[each.name] = _named(each.name, _joined, fields.get(each.name, pa.null()), each.type)
        return pa.struct(list(fields.items()))
    raise Misfit(f"{_called(one)} and {_called(other)} are mixed")


def settled(known: pa.DataType, found: pa.DataType) -> pa.DataType:
    """The known type, with what it did not know yet filled in."""
    if known == found or pa.types.is_null(found):
        return known
    if pa.types.is_null(known):
        return found
    types = pa.types
    if types.is_integer(found) and (types.is_floating(known) or types.is_decimal(known)):
        return known  # exact, or refused value by value
    if types.is_decimal(known) and types.is_decimal(found):
        return known
    if types.is_timestamp(known) and types.is_timestamp(found) and (known.tz is None) == (found.tz is None):
        return known
    if types.is_list(known) and types.is_list(found):
        return pa.list_(settled(known.value_type, found.value_type))
    if types.is_struct(known) and types.is_struct(found):
        return _settled_record(known, found)
    raise Misfit(f"it is {_called(found)}, not {_called(known)}")


def _settled_record(known: pa.DataType, found: pa.DataType) -> pa.DataType:
    fields = {each.name: each.type for each in known}
    for each in found:
        if each.name not in fields:
            raise Misfit(f"there is no column for its field {each.name!r}")
        fields[each.name] = _named(each.name, settled, fields[each.name], each.type)
    return pa.struct(list(fields.items()))


def _named(name: str, rule: Any, one: pa.DataType, other: pa.DataType) -> pa.DataType:
    try:
        return rule(one, other)
    except Misfit as misfit:
        raise Misfit(f"field {name!r}: {misfit}") from None


def _called(kind: pa.DataType) -> str:
    return "decimal" if pa.types.is_decimal(kind) else str(kind)
