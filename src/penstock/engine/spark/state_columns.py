"""Whether a user's DataFrame has the columns that state needs."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StructType,
)

from penstock.errors import StateError

_WHOLE: list[type[DataType]] = [ByteType, ShortType, IntegerType, LongType]
_WIDER: dict[type[DataType], list[type[DataType]]] = {
    LongType: _WHOLE,
    IntegerType: _WHOLE[:3],
    ShortType: _WHOLE[:2],
    DoubleType: [*_WHOLE[:3], FloatType],
}


def conformed(frame: object, schema: pa.Schema, optional: set[str], method: str) -> DataFrame:
    """The frame with exactly the columns of a schema, in its order; refuses one that has others, or other types."""
    if not isinstance(frame, DataFrame):
        raise StateError(f"{method}: expected a Spark DataFrame, got {type(frame).__name__}")
    wanted = {field.name: field.dataType for field in from_arrow_schema(schema)}
    found = {field.name: field.dataType for field in frame.schema}
    if set(found) - set(wanted) or set(wanted) - set(found) - optional:
        needed = ", ".join(f"{name} {kind.simpleString()}" for name, kind in wanted.items())
        raise StateError(f"{method}: the frame has the columns {', '.join(found)}, but must have {needed}")
    for name, kind in found.items():
        if not _fits(kind, wanted[name]):
            raise StateError(
                f"{method}: column {name} is {kind.simpleString()}, but must be {wanted[name].simpleString()}: cast it"
            )
    # Quoted, because a dot in a name would mean a field.
    return frame.select(*(col(f"`{name}`").cast(wanted[name]).alias(name) for name in wanted if name in found))


def _fits(found: DataType, wanted: DataType) -> bool:
    """Whether nothing is lost by a cast."""
    if isinstance(found, NullType) or type(found) in _WIDER.get(type(wanted), ()):
        return True
    if isinstance(found, StructType) and isinstance(wanted, StructType):
        return found.names == wanted.names and all(
            _fits(one.dataType, other.dataType) for one, other in zip(found, wanted, strict=True)
        )
    if isinstance(found, ArrayType) and isinstance(wanted, ArrayType):
        return _fits(found.elementType, wanted.elementType)
    if isinstance(found, MapType) and isinstance(wanted, MapType):
        return _fits(found.keyType, wanted.keyType) and _fits(found.valueType, wanted.valueType)
    return found == wanted
