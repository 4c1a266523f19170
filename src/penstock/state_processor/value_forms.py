"""The forms that bytes of a state's values may have, and one column type for all of them.

A form is "pickle", or the number of a schema in hexadecimal digits: state whose type has changed has rows of several
schemas, until each is written again. What is read of a form is plain (`penstock.state.serializers`), and is written in
the same form again, so that rows which nobody has changed mean the same to the job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import pyarrow as pa

from penstock.errors import ConfigurationError
from penstock.formats.ddl import arrow_to_ddl
from penstock.state.serializers import Schema, arrow_type, number_of

Convert = Callable[[Any], Any]
Schemas = dict[str, Schema]
"""Schemas by the name of their form."""

PICKLE_FORM = "pickle"
PICKLE_MARK = 0x80

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NUMBERS: list[pa.DataType] = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()]
_WHOLE = {"BYTE", "SHORT", "INT", "LONG", "BIG_INT"}


def schemas_by_form(schemas: Iterable[Schema]) -> Schemas:
    """Name the forms of some schemas."""
    return {number_of(schema).hex(): schema for schema in schemas}


def form_of(data: bytes) -> str:
    """Return the form that bytes of a value have."""
    return PICKLE_FORM if data[0] == PICKLE_MARK else data[1:5].hex()


def column_type(types: Sequence[pa.DataType | None]) -> pa.DataType | None:
    """Return the type of a column that takes values of all these types; None if there is none that Spark has."""
    found = reduce(_united, types) if types else None
    try:
        return None if found is None or arrow_to_ddl(found) == "" else found
    except ConfigurationError:
        return None


def type_of(schema: Schema) -> pa.DataType | None:
    """Return the column type of a schema's values; None if Spark has none."""
    return column_type([arrow_type(schema)])


def _united(one: pa.DataType | None, other: pa.DataType | None) -> pa.DataType | None:
    if one is None or other is None or one == other:
        return None if one is None or other is None else one
    if one in _NUMBERS and other in _NUMBERS:
        wider = max(one, other, key=_NUMBERS.index)
        # A float does not hold all whole numbers of its size.
        return wider if pa.types.is_floating(one) == pa.types.is_floating(other) else _exact_float(one, other)
    if pa.types.is_list(one) and pa.types.is_list(other):
        item = _united(one.value_type, other.value_type)
        return None if item is None else pa.list_(item)
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return _united_structs(one, other)
    return None


def _exact_float(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    return None if pa.int64() in (one, other) else pa.float64()


def _united_structs(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    fields = {field.name: field.type for field in one}
    for field in other:
        united = _united(fields[field.name], field.type) if field.name in fields else field.type
        if united is None:
            return None
        fields[field.name] = united
    return pa.struct(list(fields.items()))


def plain_from_arrow(schema: Schema) -> Convert:
    """Return what makes plain values of a schema of what Arrow gives as Python for a column that takes them too."""
    convert = _plain(schema)
    return lambda given: None if given is None else convert(given)


def _plain(schema: Schema) -> Convert:
    kind = schema["type"]
    if kind == "LIST":
        element = plain_from_arrow(schema["element"])
        return lambda given: [element(each) for each in given]
    if kind == "MAP":
        key, value = plain_from_arrow(schema["key"]), plain_from_arrow(schema["value"])
        return lambda given: [(key(each), value(held)) for each, held in given]
    if kind in ("TUPLE", "ROW"):
        parts = [(f"f{at}", plain_from_arrow(part)) for at, part in enumerate(schema["fields"])]
        return lambda given: {name: part(given[name]) for name, part in parts}
    if kind == "RECORD":
        parts = [(field["name"], plain_from_arrow(field["type"])) for field in schema["fields"]]
        return lambda given: {name: part(given[name]) for name, part in parts}
    if kind in _WHOLE:
        return int
    if kind == "INSTANT":
        return lambda given: (given - _EPOCH) // _MICROSECOND
    return _same


def _same(given: Any) -> Any:
    return given
