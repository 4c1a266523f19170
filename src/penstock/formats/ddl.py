"""Spark's DDL text of declared types, by way of Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.errors import ConfigurationError
from penstock.formats.file_formats import declared_schema


def schema_to_ddl(schema: Any) -> str:
    """Return the DDL text of a TypeInformation (its fields, or one column `value`); a DDL text stays as it is."""
    if isinstance(schema, str):
        return schema
    if not callable(getattr(schema, "arrow_type", None)):
        raise ConfigurationError(
            f"A schema is a DDL text such as 'id BIGINT, name STRING' or a type such as Types.ROW_NAMED(...), "
            f"got {schema!r}."
        )
    columns = declared_schema(schema)
    assert columns is not None
    return ", ".join(f"{_quoted(field.name)} {arrow_to_ddl(field.type)}" for field in columns)


def arrow_to_ddl(arrow_type: pa.DataType) -> str:
    """Return Spark's name of an Arrow type."""
    for is_kind, name_of in _NAMES:
        if is_kind(arrow_type):
            return name_of(arrow_type)
    raise ConfigurationError(f"Spark has no type for {arrow_type}; declare the column with another type.")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _struct(arrow_type: pa.DataType) -> str:
    return f"STRUCT<{', '.join(f'{_quoted(field.name)}: {arrow_to_ddl(field.type)}' for field in arrow_type)}>"


def _is_list(arrow_type: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_list(arrow_type) or types.is_large_list(arrow_type) or types.is_fixed_size_list(arrow_type))


_NAMES: list[tuple[Callable[[pa.DataType], bool], Callable[[Any], str]]] = [
    (pa.types.is_boolean, lambda _: "BOOLEAN"),
    (pa.types.is_int8, lambda _: "TINYINT"),
    (pa.types.is_int16, lambda _: "SMALLINT"),
    (pa.types.is_int32, lambda _: "INT"),
    (pa.types.is_int64, lambda _: "BIGINT"),
    (pa.types.is_float32, lambda _: "FLOAT"),
    (pa.types.is_float64, lambda _: "DOUBLE"),
    (pa.types.is_string, lambda _: "STRING"),
    (pa.types.is_large_string, lambda _: "STRING"),
    (pa.types.is_binary, lambda _: "BINARY"),
    (pa.types.is_large_binary, lambda _: "BINARY"),
    (pa.types.is_date, lambda _: "DATE"),
    (pa.types.is_timestamp, lambda kind: "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"),
    (pa.types.is_decimal, lambda kind: f"DECIMAL({kind.precision}, {kind.scale})"),
    (_is_list, lambda kind: f"ARRAY<{arrow_to_ddl(kind.value_type)}>"),
    (pa.types.is_map, lambda kind: f"MAP<{arrow_to_ddl(kind.key_type)}, {arrow_to_ddl(kind.item_type)}>"),
    (pa.types.is_struct, _struct),
]
