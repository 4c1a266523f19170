"""Results of statements in the words of Flink's SQL gateway: columns, types, rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from penstock.table.connectors.json_values import JsonTexts
from penstock.table.shown_values import shown_rows
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

ROW_FORMATS = ("JSON", "PLAIN_TEXT")
ROW_KINDS = ("INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE")

Row = tuple[Any, ...]
# As Flink's gateway writes values: dates by the ISO standard, and a NULL key of a map as the word null.
_TEXTS = JsonTexts({"timestamp-format.standard": "ISO-8601", "map-null-key.mode": "LITERAL"})

_ROOTS = {
    Kind.INTEGER: "INTEGER",
    Kind.TIME: "TIME_WITHOUT_TIME_ZONE",
    Kind.TIMESTAMP: "TIMESTAMP_WITHOUT_TIME_ZONE",
    Kind.TIMESTAMP_LTZ: "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
    Kind.INTERVAL_MONTHS: "INTERVAL_YEAR_MONTH",
    Kind.INTERVAL_MILLIS: "INTERVAL_DAY_TIME",
}
_WITH_LENGTH = (Kind.CHAR, Kind.VARCHAR, Kind.BINARY, Kind.VARBINARY)
_WITH_PRECISION = (Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ)


def columns(row_type: LogicalType) -> list[dict[str, Any]]:
    """The columns of a result."""
    pairs = zip(row_type.names, row_type.parts, strict=True)
    return [{"name": name, "logicalType": logical_type(each), "comment": None} for name, each in pairs]


def logical_type(declared: LogicalType) -> dict[str, Any]:
    """A type as Flink's clients read it."""
    kind = declared.kind
    told: dict[str, Any] = {"type": _ROOTS.get(kind, kind.value)}
    if kind is Kind.NULL:
        return told
    told["nullable"] = declared.nullable
    if kind in _WITH_LENGTH:
        told["length"] = declared.precision
    elif kind in _WITH_PRECISION:
        told["precision"] = declared.parameters[0] if declared.parameters else 0
    elif kind is Kind.DECIMAL:
        told |= {"precision": declared.precision, "scale": declared.scale}
    elif kind is Kind.MAP:
        told |= {"keyType": logical_type(declared.parts[0]), "valueType": logical_type(declared.parts[1])}
    elif kind in (Kind.ARRAY, Kind.MULTISET):
        told["elementType"] = logical_type(declared.parts[0])
    elif kind is Kind.ROW:
        fields = zip(declared.names, declared.parts, strict=True)
        told["fields"] = [{"name": name, "fieldType": logical_type(each)} for name, each in fields]
    elif kind is Kind.INTERVAL_MONTHS:
        told |= {"resolution": "YEAR_TO_MONTH", "precision": 2}
    elif kind is Kind.INTERVAL_MILLIS:
        told |= {"resolution": "DAY_TO_SECOND", "precision": 2, "fractionalPrecision": 3}
    return told


def rows_writer(row_type: LogicalType, row_format: str, zone: str) -> Callable[[Iterable[Row]], str]:
    """What writes rows `(kind, *fields)` of internal values as the JSON array of an answer."""
    if row_format == "PLAIN_TEXT":
        return lambda rows: _array(
            (row[0], json.dumps(row[1:], ensure_ascii=False)) for row in shown_rows(row_type, rows, zone)
        )
    writes = [_TEXTS.of(each) for each in row_type.parts]

    def fields(row: Row) -> str:
        return "[" + ",".join([write(each) for write, each in zip(writes, row[1:], strict=True)]) + "]"

    return lambda rows: _array((row[0], fields(row)) for row in rows)


def _array(rows: Iterable[tuple[int, str]]) -> str:
    return "[" + ",".join([f'{{"kind":"{ROW_KINDS[kind]}","fields":{fields}}}' for kind, fields in rows]) + "]"
