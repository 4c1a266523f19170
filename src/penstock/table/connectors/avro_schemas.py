"""Avro schemas for row types, and internal values as fastavro wants them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import SqlError
from penstock.vocabulary.sql.external_values import to_external, to_internal
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["avro_schema", "from_avro", "to_avro"]

_PLAIN = {
    Kind.BOOLEAN: "boolean",
    Kind.TINYINT: "int",
    Kind.SMALLINT: "int",
    Kind.INTEGER: "int",
    Kind.BIGINT: "long",
    Kind.FLOAT: "float",
    Kind.DOUBLE: "double",
    Kind.CHAR: "string",
    Kind.VARCHAR: "string",
    Kind.BINARY: "bytes",
    Kind.VARBINARY: "bytes",
}


def avro_schema(row_type: LogicalType, name: str = "record") -> dict[str, Any]:
    """The schema of a row type; a column that may be NULL is a union with null."""
    fields = [
        {
            "name": column,
            "type": _schema(declared, f"{name}_{column}"),
            **({"default": None} if declared.nullable else {}),
        }
        for column, declared in zip(row_type.names, row_type.parts, strict=True)
    ]
    return {"type": "record", "name": name, "fields": fields}


def _schema(declared: LogicalType, name: str) -> Any:
    bare = _bare(declared, name)
    return ["null", bare] if declared.nullable else bare


def _bare(declared: LogicalType, name: str) -> Any:
    kind = declared.kind
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind is Kind.DECIMAL:
        return {"type": "bytes", "logicalType": "decimal", "precision": declared.precision, "scale": declared.scale}
    if kind is Kind.DATE:
        return {"type": "int", "logicalType": "date"}
    if kind is Kind.TIME:
        return {"type": "int", "logicalType": "time-millis"}
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ) and declared.precision <= 6:
        local = "local-" if kind is Kind.TIMESTAMP else ""
        return {"type": "long", "logicalType": f"{local}timestamp-{'millis' if declared.precision <= 3 else 'micros'}"}
    if kind is Kind.ARRAY:
        return {"type": "array", "items": _schema(declared.parts[0], name)}
    if kind is Kind.MAP:
        return {"type": "map", "values": _schema(declared.parts[1], name)}
    if kind is Kind.ROW:
        return avro_schema(declared, name)
    raise SqlError(f"The format 'avro' has no columns of type {declared}.")


def from_avro(row_type: LogicalType) -> Callable[[Any], tuple[Any, ...]]:
    """What makes the fields of a row of a record."""
    convert = to_internal(row_type)
    return lambda record: convert(record)


def to_avro(row_type: LogicalType) -> Callable[[tuple[Any, ...]], Any]:
    """What makes a record of the fields of a row."""
    converts = [_writer(each) for each in row_type.parts]
    names = row_type.names
    return lambda row: {name: convert(each) for name, convert, each in zip(names, converts, row, strict=True)}


def _writer(declared: LogicalType) -> Callable[[Any], Any]:
    if declared.kind is Kind.ROW:
        convert = to_avro(declared)
        return lambda value: None if value is None else convert(value)
    return to_external(declared)
