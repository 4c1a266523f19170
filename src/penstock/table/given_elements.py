"""Tables of elements that the program holds, with a schema that is given or learned from them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from penstock.common.types import Row
from penstock.errors import SqlError
from penstock.table.catalog.columns import PhysicalColumn, TableSchema
from penstock.table.catalog.entries import CatalogTable
from penstock.table.connectors.contract import ALL_KINDS, INSERTS
from penstock.table.data_type_texts import declared_type
from penstock.table.inline_tables import GivenRows
from penstock.vocabulary.sql.external_values import internal_row
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType, row_of

__all__ = ["given_table", "learned_type"]

_LEARNED = {
    bool: LogicalType(Kind.BOOLEAN),
    int: LogicalType(Kind.BIGINT),
    float: LogicalType(Kind.DOUBLE),
    str: LogicalType(Kind.VARCHAR, parameters=(MAX_LENGTH,)),
    bytes: LogicalType(Kind.VARBINARY, parameters=(MAX_LENGTH,)),
    bytearray: LogicalType(Kind.VARBINARY, parameters=(MAX_LENGTH,)),
    Decimal: LogicalType(Kind.DECIMAL, parameters=(38, 18)),
    datetime.date: LogicalType(Kind.DATE),
    datetime.time: LogicalType(Kind.TIME, parameters=(0,)),
    datetime.datetime: LogicalType(Kind.TIMESTAMP, parameters=(6,)),
    datetime.timedelta: LogicalType(Kind.INTERVAL_MILLIS),
}


def given_table(elements: list[Any], schema: Any = None) -> CatalogTable:
    """The entry of a table of elements; `schema` is a row type, or names."""
    row_type = _row_type(elements, schema)
    convert = internal_row(row_type)
    rows = [convert(each) for each in elements]
    source = GivenRows(rows)
    source.changelog_kinds = INSERTS if all(row[0] == 0 for row in rows) else ALL_KINDS
    columns = tuple(PhysicalColumn(n, t) for n, t in zip(row_type.names, row_type.parts, strict=True))
    return CatalogTable(TableSchema(columns), inline=source)


def _row_type(elements: list[Any], schema: Any) -> LogicalType:
    if schema is not None and not isinstance(schema, list | tuple):
        declared = declared_type(schema)
        return declared if declared.kind is Kind.ROW else row_of(("_1",), (declared,))
    if not elements:
        raise SqlError("from_elements: without elements a schema with types is needed.")
    rows = [_as_fields(each) for each in elements]
    width = len(rows[0])
    names = schema if schema is not None else _names(elements[0], width)
    if len(names) != width:
        raise SqlError(f"from_elements: {len(names)} names were given for elements of {width} fields.")
    types = [learned_type([row[i] for row in rows]) for i in range(width)]
    return row_of(tuple(map(str, names)), tuple(types))


def _as_fields(element: Any) -> list[Any]:
    if isinstance(element, dict):
        return list(element.values())
    return list(element) if isinstance(element, tuple | list | Row) else [element]


def _names(element: Any, width: int) -> list[str]:
    if isinstance(element, dict):
        return list(element)
    if isinstance(element, Row) and element._fields is not None:
        return list(element._fields)
    return [f"_{i + 1}" for i in range(width)]


def learned_type(values: list[Any]) -> LogicalType:
    """The type of a column, from its values."""
    present = [each for each in values if each is not None]
    if not present:
        raise SqlError("from_elements: a column has no values to learn its type from; give a schema with types.")
    first = present[0]
    if isinstance(first, float | int) and any(isinstance(each, float) for each in present):
        return _LEARNED[float]
    if isinstance(first, list):
        return LogicalType(Kind.ARRAY, parts=(learned_type([each for held in present for each in held]),))
    if isinstance(first, dict):
        keys, held = [k for each in present for k in each], [v for each in present for v in each.values()]
        return LogicalType(Kind.MAP, parts=(learned_type(keys), learned_type(held)))
    if isinstance(first, Row | tuple):
        rows = [_as_fields(each) for each in present]
        types = [learned_type([row[i] for row in rows]) for i in range(len(rows[0]))]
        return row_of(tuple(_names(first, len(types))), tuple(types), nullable=True)
    if type(first) not in _LEARNED:
        raise SqlError(f"from_elements: no type is known for {first!r}; give a schema with types.")
    return _LEARNED[type(first)]
