"""The types of internal values as types of state."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.common.composite_types import FrozenListTypeInfo
from penstock.common.typeinfo import TypeInformation, Types
from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["row_state_type", "state_type"]

_WHOLE = (
    *(Kind.TINYINT, Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT, Kind.DATE, Kind.TIME),
    *(Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ, Kind.INTERVAL_MONTHS, Kind.INTERVAL_MILLIS),
)


def state_type(logical: LogicalType) -> TypeInformation:
    """Return the type of state that keeps internal values of a logical type."""
    kind = logical.kind
    if kind in _WHOLE:
        return Types.LONG()
    if kind in _PLAIN:
        return _PLAIN[kind]
    parts = [state_type(part) for part in logical.parts]
    if kind is Kind.ARRAY:
        return FrozenListTypeInfo(parts[0])
    if kind is Kind.MAP:
        return Types.MAP(*parts)
    if kind is Kind.MULTISET:
        return Types.MAP(parts[0], Types.INT())
    if kind is Kind.ROW:
        return Types.TUPLE(parts)
    return Types.PICKLED_BYTE_ARRAY()


def row_state_type(types: Iterable[LogicalType]) -> TypeInformation:
    """Return the type of state that keeps rows, as tuples of their fields without the kind."""
    return Types.TUPLE([state_type(each) for each in types])


_PLAIN = {
    Kind.BOOLEAN: Types.BOOLEAN(),
    Kind.FLOAT: Types.DOUBLE(),
    Kind.DOUBLE: Types.DOUBLE(),
    Kind.DECIMAL: Types.BIG_DEC(),
    Kind.CHAR: Types.STRING(),
    Kind.VARCHAR: Types.STRING(),
    Kind.BINARY: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Kind.VARBINARY: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Kind.NULL: Types.STRING(),
    Kind.SYMBOL: Types.STRING(),
}
