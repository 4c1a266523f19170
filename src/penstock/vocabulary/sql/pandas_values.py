"""Python values of columns as pandas Series, with the types that PyFlink gives them, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.vocabulary.sql.logical_types import Kind, LogicalType

__all__ = ["arrow_type_of", "series_of", "values_of"]

_PLAIN = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.TINYINT: pa.int8(),
    Kind.SMALLINT: pa.int16(),
    Kind.INTEGER: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.CHAR: pa.string(),
    Kind.VARCHAR: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.VARBINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.NULL: pa.null(),
}
_UNITS = ("s", "ms", "us", "ns")


def arrow_type_of(declared: LogicalType, zone: str | None = None) -> pa.DataType | None:
    """The Arrow type of Python values of a type; None if there is none. `zone` is that of moments."""
    kind = declared.kind
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind is Kind.DECIMAL:
        return pa.decimal128(declared.precision, declared.scale)
    if kind is Kind.TIME:
        return pa.time32("s") if declared.precision == 0 else pa.time32("ms")
    if kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        is_moment = kind is Kind.TIMESTAMP_LTZ
        return pa.timestamp(_UNITS[(declared.precision + 2) // 3], zone if is_moment else None)
    if kind is Kind.ARRAY:
        element = arrow_type_of(declared.parts[0], zone)
        return None if element is None else pa.list_(element)
    return None


def series_of(values: Sequence[Any], declared: LogicalType, zone: str | None = None) -> Any:
    """A Series of Python values; of objects where Arrow has no such type."""
    import pandas as pd

    if declared.kind is Kind.ROW:
        plain = [list(each) if each is not None else [None] * len(declared.names) for each in values]
        columns = [series_of([row[at] for row in plain], part, zone) for at, part in enumerate(declared.parts)]
        return pd.DataFrame(dict(zip(declared.names, columns, strict=True)))
    type_ = arrow_type_of(declared, zone)
    if type_ is None:
        return pd.Series(list(values), dtype=object)
    return pa.array(values, type_).to_pandas(date_as_object=True)


def values_of(series: Any) -> list[Any]:
    """The values of a Series, or of what a vectorized function returns in place of one; missing ones are None.

    Rows of a DataFrame are tuples.
    """
    import pandas as pd

    if isinstance(series, pd.DataFrame):
        return list(zip(*[values_of(series[each]) for each in series.columns], strict=True))
    if isinstance(series, tuple):
        return list(zip(*map(values_of, series), strict=True))
    if not isinstance(series, pd.Series):
        series = pd.Series(series)
    if series.dtype.kind in "iufb":
        values: list[Any] = series.tolist()
        return [None if each != each else each for each in values] if series.hasnans else values
    return [None if _is_missing(each) else _plain(each) for each in series.tolist()]


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return True
    return isinstance(value, float) and value != value


def _plain(value: Any) -> Any:
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    if hasattr(value, "tolist"):
        return value.tolist()
    return value
