"""Results as pandas DataFrames, and DataFrames as rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.errors import SqlError
from penstock.table.data_type_texts import declared_type
from penstock.table.table_result import TableResult
from penstock.vocabulary.sql.logical_types import MAX_LENGTH, Kind, LogicalType, row_of
from penstock.vocabulary.sql.pandas_values import series_of

__all__ = ["data_frame_of", "rows_of"]

_KINDS = {
    pa.bool_(): Kind.BOOLEAN,
    pa.int8(): Kind.TINYINT,
    pa.int16(): Kind.SMALLINT,
    pa.int32(): Kind.INTEGER,
    pa.int64(): Kind.BIGINT,
    pa.float32(): Kind.FLOAT,
    pa.float64(): Kind.DOUBLE,
    pa.date32(): Kind.DATE,
}


def data_frame_of(result: TableResult, row_type: LogicalType) -> Any:
    """What a table holds when its job has ended: insertions and updates are applied in their order."""
    import pandas as pd

    rows: list[list[Any]] = []
    with result.collect() as changes:
        for row in changes:
            if row.get_row_kind().value in (0, 2):
                rows.append(list(row))
            else:
                rows.remove(list(row))
    columns = {index: _column([row[index] for row in rows], each) for index, each in enumerate(row_type.parts)}
    frame = pd.DataFrame(columns)
    frame.columns = pd.Index(list(row_type.names))
    return frame


def _column(values: list[Any], declared: LogicalType) -> Any:
    import pandas as pd

    if declared.kind is Kind.ROW:
        return pd.Series([None if each is None else each.as_dict(True) for each in values], dtype=object)
    return series_of(values, declared)


def rows_of(frame: Any, schema: Any = None) -> tuple[list[tuple[Any, ...]], LogicalType]:
    """The rows of a DataFrame and their type; `schema` are names, types, or a row type."""
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except pa.ArrowException as error:
        raise SqlError(f"from_pandas: a column has values of several types: {error}") from None
    names, types = tuple(map(str, frame.columns)), tuple([_logical(each.type, each.name) for each in table.schema])
    if isinstance(schema, list | tuple) and schema and not isinstance(schema[0], str):
        types = tuple([declared_type(each) for each in schema])
    elif isinstance(schema, list | tuple):
        names = tuple(schema)
    elif schema is not None:
        declared = declared_type(schema)
        names, types = declared.names, declared.parts
    if len(names) != len(table.schema):
        raise SqlError(f"from_pandas: {len(names)} columns are declared, and the DataFrame has {len(table.schema)}.")
    for field, name, declared in zip(table.schema, names, types, strict=True):
        if declared.kind in (Kind.CHAR, Kind.VARCHAR) and not _is_text(field.type):
            raise SqlError(
                f"from_pandas: column {name} is declared as {declared}. Expected a string dtype, got {field.type}."
            )
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)), row_of(names, types)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_null(type_))


def _logical(type_: pa.DataType, name: str) -> LogicalType:
    if type_ in _KINDS:
        return LogicalType(_KINDS[type_])
    if _is_text(type_):
        return LogicalType(Kind.VARCHAR, parameters=(MAX_LENGTH,))
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return LogicalType(Kind.VARBINARY, parameters=(MAX_LENGTH,))
    if pa.types.is_decimal(type_):
        return LogicalType(Kind.DECIMAL, parameters=(38, 18))
    if pa.types.is_time(type_):
        return LogicalType(Kind.TIME, parameters=(0 if str(type_.unit) == "s" else 3,))
    if pa.types.is_timestamp(type_):
        digits = {"s": 0, "ms": 3, "us": 6, "ns": 6}[str(type_.unit)]
        return LogicalType(Kind.TIMESTAMP, parameters=(digits,))
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return LogicalType(Kind.ARRAY, parts=(_logical(type_.value_type, name),))
    if pa.types.is_struct(type_):
        fields = [type_.field(at) for at in range(type_.num_fields)]
        parts = tuple([_logical(each.type, each.name) for each in fields])
        return row_of(tuple([each.name for each in fields]), parts, nullable=True)
    raise SqlError(f"from_pandas: column {name} is of type {type_}, which tables do not have; give a schema.")
