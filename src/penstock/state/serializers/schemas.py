"""Types of state as JSON: schemas, the part of them that decides about bytes, and their number.

A schema is a dict with "type": a basic type by its name in `Types`, or

    BYTES                                   bytes
    LIST        element                     lists and arrays
    MAP         key, value
    TUPLE, ROW  fields: [schema]            by position
    RECORD      fields: [{name, type}]      rows with names, dataclasses, named tuples; "class" and "form" tell which
    AVRO        schema: text
    PICKLE

What is wanted of a RECORD also says of a field which other names it had ("aliases") and whether it may be absent
("default"); neither changes bytes, so the *layout* is without them, and without the class.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

from penstock.common.avro_type import GenericRecordAvroTypeInfo
from penstock.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicTypeInfo,
    DateTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RecordTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

Schema = dict[str, Any]
PICKLE: Schema = {"type": "PICKLE"}

_BY_NAME = (BasicTypeInfo, DateTypeInfo, TimeTypeInfo, TimestampTypeInfo)
_LISTS = (ListTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)
_BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
_INFORMATIVE = frozenset({"class", "form", "aliases", "default"})


def schema_of(type_info: TypeInformation | None) -> Schema:
    """Return the schema of a declared type; what has none of its own is pickled."""
    if isinstance(type_info, _BY_NAME):
        return {"type": repr(type_info)}
    if isinstance(type_info, GenericRecordAvroTypeInfo):
        return {"type": "AVRO", "schema": type_info.canonical_text()}
    if type_info == _BYTES:
        return {"type": "BYTES"}
    if isinstance(type_info, _LISTS):
        return {"type": "LIST", "element": schema_of(type_info.element_type)}
    if isinstance(type_info, MapTypeInfo):
        return {"type": "MAP", "key": schema_of(type_info.key_type), "value": schema_of(type_info.value_type)}
    if isinstance(type_info, TupleTypeInfo):
        return {"type": "TUPLE", "fields": [schema_of(each) for each in type_info.get_field_types()]}
    if isinstance(type_info, RowTypeInfo):
        return _row_schema(type_info)
    return PICKLE


def _row_schema(type_info: RowTypeInfo) -> Schema:
    if not type_info.has_names:
        return {"type": "ROW", "fields": [schema_of(each) for each in type_info.get_field_types()]}
    schema: Schema = {"type": "RECORD", "form": "row", "fields": []}
    if isinstance(type_info, RecordTypeInfo):
        cls = type_info.record_class
        schema["form"] = "dataclass" if dataclasses.is_dataclass(cls) else "namedtuple"
        schema["class"] = f"{cls.__module__}.{cls.__qualname__}"
    aliases, defaults = type_info.field_aliases(), type_info.field_defaults()
    for name, field_type in zip(type_info.get_field_names(), type_info.get_field_types(), strict=True):
        field: dict[str, Any] = {"name": name, "type": schema_of(field_type)}
        if aliases.get(name):
            field["aliases"] = list(aliases[name])
        if name in defaults:
            field["default"] = True
        schema["fields"].append(field)
    return schema


def layout_of(schema: Any) -> Any:
    """Return a schema without what does not change bytes."""
    if isinstance(schema, dict):
        return {key: layout_of(value) for key, value in schema.items() if key not in _INFORMATIVE}
    return [layout_of(each) for each in schema] if isinstance(schema, list) else schema


def number_of(schema: Schema) -> bytes:
    """Return the four bytes that stand for a schema; the same in every process, so that rows can be dealt out anew."""
    text = json.dumps(layout_of(schema), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()[:4]


def schema_text(schema: Schema) -> bytes:
    """Return a schema as it is kept beside the rows."""
    return json.dumps(schema, sort_keys=True, separators=(",", ":")).encode()
