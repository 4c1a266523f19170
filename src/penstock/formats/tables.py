"""Tables that other libraries hold (pandas, Arrow, polars, numpy) as records."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.common.basic_types import shown
from penstock.common.conversions import MisfitError, conversion_of
from penstock.common.type_inference import from_arrow
from penstock.common.typeinfo import TypeInformation
from penstock.common.types import Row
from penstock.errors import GraphError

_MICROS = "us"


def rows_of_table(method: str, given: Any) -> tuple[list[Any], TypeInformation] | None:
    """The rows of a table, and their type; None for what is no table.

    Iterating over one would give its column names or its columns, which nobody means.
    """
    table = _as_arrow(method, given)
    if table is None:
        return None
    _check_names(method, table.schema.names)
    try:
        table = pa.table([_in_python(column) for column in table.columns], names=table.schema.names)
        row_type = from_arrow(table.schema)
    except (TypeError, pa.ArrowInvalid) as error:  # of Arrow: nanoseconds that Python's datetime would lose
        raise GraphError(f"{method}: {error}.") from None
    columns = [column.to_pylist() for column in table.columns]
    return Row.of_all(tuple(table.schema.names), zip(*columns, strict=True)), row_type


def python_values(given: Any) -> list[Any]:
    """The elements of a collection; those of a numpy array as Python's own numbers and texts."""
    if type(given).__module__ == "numpy" and hasattr(given, "tolist") and getattr(given, "ndim", 0) == 1:
        return list(given.tolist())
    return list(given)


def _as_arrow(method: str, given: Any) -> pa.Table | None:
    if isinstance(given, pa.Table):
        return given
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    package = type(given).__module__.partition(".")[0]
    if type(given).__name__ != "DataFrame" or package not in ("pandas", "polars"):
        return None
    return given.to_arrow() if package == "polars" else _pandas_as_arrow(method, given)


def _pandas_as_arrow(method: str, frame: Any) -> pa.Table:
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    _check_names(method, names)
    columns = []
    for position, name in enumerate(names):
        try:
            columns.append(pa.array(frame.iloc[:, position], from_pandas=True))
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise GraphError(
                f"{method}: column {name!r} of the frame has values of several types or of an unknown type "
                f"({error}); convert it first, or give the rows as a list."
            ) from None
    return pa.table(columns, names=names)


def _check_names(method: str, names: list[str]) -> None:
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise GraphError(f"{method}: the table has two columns named {double!r}; rename one of them.")


def _in_python(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """A column whose values are Python's own: Arrow makes objects of pandas of nanoseconds."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _in_python(column.cast(kind.value_type))
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return column.cast(pa.timestamp(_MICROS, kind.tz))
    return column


def values_of_type(method: str, type_info: TypeInformation | None, values: list[Any]) -> list[Any]:
    """Return values as their declared type has them; one that cannot be made so is named by its position."""
    convert = conversion_of(type_info)
    try:
        return values if convert is None else convert(values)
    except MisfitError as misfit:
        position = next(position for position, value in enumerate(values) if value is misfit.value)
        where = f"{method}: element {position}, {shown(misfit.value)},"
        raise GraphError(f"{where} is not of {type_info!r}: {misfit}.") from None
