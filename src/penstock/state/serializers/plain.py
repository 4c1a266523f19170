"""Bytes of state without the classes of its user: as dicts, lists and primitives, and as Arrow columns.

They are in a form that `pyarrow.array(values, arrow_type(schema))` takes: fields are dicts by name (f0, f1, ... if they
have none), maps are lists of pairs, instants are microseconds, parts that were pickled are bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from penstock.common.time import Instant
from penstock.common.typeinfo import SqlTimeTypeInfo, Types
from penstock.errors import StateError
from penstock.state.serializers.avro_forms import avro_form
from penstock.state.serializers.avro_plain import avro_arrow_type
from penstock.state.serializers.basic_forms import BASIC, MisfitError
from penstock.state.serializers.descriptions import described
from penstock.state.serializers.encoding import HEAD_BYTES, NULL, PICKLED, encoding_of
from penstock.state.serializers.schema_visitor import SchemaVisitor
from penstock.state.serializers.schemas import Schema, number_of

Convert = Callable[[Any], Any]

_ARROW: dict[str, pa.DataType] = {
    **{name: getattr(Types, name)().arrow_type() for name in BASIC if name not in ("BYTES",) and "SQL" not in name},
    "BYTES": pa.binary(),
    "SQL_DATE": SqlTimeTypeInfo.DATE().arrow_type(),
    "SQL_TIME": SqlTimeTypeInfo.TIME().arrow_type(),
    "SQL_TIMESTAMP": SqlTimeTypeInfo.TIMESTAMP().arrow_type(),
}


def arrow_type(schema: Schema) -> pa.DataType | None:
    """Return the Arrow type of a schema's values; None where they are bytes that only their owner can read."""
    if schema["type"] == "PICKLE":
        return None
    if schema["type"] == "AVRO":
        return avro_arrow_type(schema["schema"])
    return _ArrowTypes().visit(schema)


class _ArrowTypes(SchemaVisitor[pa.DataType]):
    def of_simple(self, schema: Schema, kind: str) -> pa.DataType:
        if kind == "AVRO":
            return avro_arrow_type(schema["schema"]) or pa.binary()
        return pa.binary() if kind == "PICKLE" else _ARROW[kind]

    def of_list(self, schema: Schema, element: pa.DataType) -> pa.DataType:
        return pa.list_(element)

    def of_map(self, schema: Schema, key: pa.DataType, value: pa.DataType) -> pa.DataType:
        return pa.map_(key, value)

    def of_fields(self, schema: Schema, fields: list[tuple[str, pa.DataType]]) -> pa.DataType:
        return pa.struct(fields)


def plain_reader(written: Schema) -> Callable[[bytes], Any]:
    """Return what reads bytes of a schema as plain values; those that are pickled stay bytes."""
    if written["type"] == "PICKLE":
        return _same
    encoding, convert = encoding_of(written), _Reading().visit(written) or _same

    def read(data: bytes) -> Any:
        if data[:HEAD_BYTES] == encoding.head:
            return convert(encoding.unpack(data))
        if data[:1] == NULL:
            return None
        raise StateError(f"bytes of state are not those of {described(written)}: another schema has written them")

    return read


def plain_reader_of(written: Sequence[Schema]) -> Callable[[bytes], Any]:
    """Return what reads bytes of any of some schemas, told apart by their numbers; pickles stay bytes."""
    readers = {number_of(schema): plain_reader(schema) for schema in written}

    def read(data: bytes) -> Any:
        if data[:1] == PICKLED:
            return data
        reader = readers.get(data[1:HEAD_BYTES])
        if reader is None:
            raise StateError("bytes of state have a type that is not described beside them: they are damaged")
        return reader(data)

    return read


def plain_writer(written: Schema) -> Callable[[Any], bytes]:
    """Return what makes bytes of a schema of plain values, as `plain_reader` gives them; wrong ones are refused."""
    if written["type"] == "PICKLE":
        return _same
    encoding, convert = encoding_of(written), _Writing().visit(written)

    def write(value: Any) -> bytes:
        if value is None:
            return encoding.null
        try:
            return encoding.pack(convert(value))
        except MisfitError as misfit:
            raise StateError(f"a value does not fit {described(written)}: {misfit}") from None

    return write


def _same(value: Any) -> Any:
    return value


class _Reading(SchemaVisitor[Convert | None]):
    """What makes plain values of the encoded data; None where they are the same."""

    def of_simple(self, schema: Schema, kind: str) -> Convert | None:
        if kind == "AVRO":
            return avro_form("", schema["schema"]).from_plain if avro_arrow_type(schema["schema"]) is not None else None
        back = BASIC[kind].from_plain if kind in BASIC else None
        if kind == "INSTANT":
            # As Arrow has it: a datetime ends with the year 9999.
            return lambda data: None if data is None else data[0] * 1_000_000 + data[1] // 1000
        if kind == "SQL_TIMESTAMP" and back is not None:
            return lambda data: None if data is None else _without_zone(back(data))
        return back

    def of_list(self, schema: Schema, element: Convert | None) -> Convert:
        if element is None:  # what is unpacked has tuples only
            return lambda data: None if data is None else list(data)
        return lambda data: None if data is None else [element(each) for each in data]

    def of_map(self, schema: Schema, key: Convert | None, value: Convert | None) -> Convert:
        a_key, held = key or _same, value or _same
        return lambda data: None if data is None else [(a_key(each), held(item)) for each, item in data.items()]

    def of_fields(self, schema: Schema, fields: list[tuple[str, Convert | None]]) -> Convert:
        parts = [(name, part or _same) for name, part in fields]
        return lambda data: (
            # Rows may have their kind behind the fields.
            None if data is None else {name: part(each) for (name, part), each in zip(parts, data, strict=False)}
        )


def _without_zone(value: datetime) -> datetime:
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


class _Writing(SchemaVisitor[Convert]):
    """What makes encoded data of plain values."""

    def of_simple(self, schema: Schema, kind: str) -> Convert:
        if kind == "AVRO" and avro_arrow_type(schema["schema"]) is not None:
            return avro_form(described(schema), schema["schema"]).to_plain
        if kind == "INSTANT":
            return lambda value: BASIC[kind].to_plain(Instant(0, value * 1000) if type(value) is int else value)
        return BASIC["BYTES" if kind in ("AVRO", "PICKLE") else kind].to_plain

    def of_list(self, schema: Schema, element: Convert) -> Convert:
        return lambda value: None if value is None else [element(each) for each in _sequence(schema, value)]

    def of_map(self, schema: Schema, key: Convert, value: Convert) -> Convert:
        return lambda given: None if given is None else {key(each): value(held) for each, held in _pairs(schema, given)}

    def of_fields(self, schema: Schema, fields: list[tuple[str, Convert]]) -> Convert:
        names = {name for name, _ in fields}

        def write(value: Any) -> Any:
            if value is None:
                return None
            if not isinstance(value, dict) or value.keys() != names:
                raise MisfitError(f"a dict of the fields {', '.join(sorted(names))}", value)
            found = []
            for name, part in fields:
                try:
                    found.append(part(value[name]))
                except MisfitError as misfit:
                    raise misfit.within(f"field {name!r}") from None
            return tuple(found)

        return write


def _sequence(schema: Schema, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return value
    raise MisfitError(described(schema), value)


def _pairs(schema: Schema, value: Any) -> Any:
    if isinstance(value, dict):
        return value.items()
    return _sequence(schema, value)
