"""From TypeInformation, which DataStreams declare, to types of tables."""

from __future__ import annotations

from penstock.common.typeinfo import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType, row_of

__all__ = ["table_type"]

_STRING = LogicalType(Kind.VARCHAR, parameters=(MAX_LENGTH,))
_PLAIN: list[tuple[TypeInformation, LogicalType]] = [
    (Types.STRING(), _STRING),
    (Types.BOOLEAN(), LogicalType(Kind.BOOLEAN)),
    (Types.BYTE(), LogicalType(Kind.TINYINT)),
    (Types.SHORT(), LogicalType(Kind.SMALLINT)),
    (Types.INT(), LogicalType(Kind.INTEGER)),
    (Types.LONG(), LogicalType(Kind.BIGINT)),
    (Types.FLOAT(), LogicalType(Kind.FLOAT)),
    (Types.DOUBLE(), LogicalType(Kind.DOUBLE)),
    (Types.BIG_DEC(), LogicalType(Kind.DECIMAL, parameters=(38, 18))),
    (Types.SQL_DATE(), LogicalType(Kind.DATE)),
    (Types.SQL_TIME(), LogicalType(Kind.TIME, parameters=(0,))),
    (Types.SQL_TIMESTAMP(), LogicalType(Kind.TIMESTAMP, parameters=(3,))),
]


def table_type(declared: TypeInformation) -> LogicalType | None:
    """The type of a column that holds such values; None if there is none."""
    if isinstance(declared, RowTypeInfo | TupleTypeInfo):
        types = declared.get_field_types()
        is_row = isinstance(declared, RowTypeInfo)
        names = declared.get_field_names() if is_row else [f"f{i}" for i in range(len(types))]  # type: ignore[union-attr]
        parts = [table_type(each) for each in types]
        known = [each for each in parts if each is not None]
        return row_of(tuple(names), tuple(known), nullable=True) if len(known) == len(parts) else None
    if isinstance(declared, ListTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo):
        element = table_type(declared.element_type)
        return None if element is None else LogicalType(Kind.ARRAY, parts=(element,))
    if isinstance(declared, MapTypeInfo):
        key, value = table_type(declared.key_type), table_type(declared.value_type)
        return None if key is None or value is None else LogicalType(Kind.MAP, parts=(key, value))
    return next((each for info, each in _PLAIN if info == declared), None)
