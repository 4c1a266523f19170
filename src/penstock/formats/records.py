"""Records as named columns: one reading of rows, dicts, dataclasses, named tuples, tuples and plain values.

Formats of file sinks build on it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

from penstock.common.types import Row

SCALAR_COLUMN = "value"
"""Name of the only column of records that have no fields."""

Columns = dict[str, list[Any]]


class RecordShapeError(ValueError):
    """A record's fields do not match the ones they are read with."""


def to_columns(values: Sequence[Any], names: Sequence[str] | None = None) -> Columns:
    """Turn records into columns; `names` names the fields of records that have positions only.

    Without `names` positions are called f0, f1, ..., as in Flink. A field that a record lacks is None.
    """
    if not values:
        return {name: [] for name in names or ()}
    kind = type(values[0])
    if all(type(value) is kind for value in values):
        return _COLUMN_READERS.get(kind, _reader_of(kind))(values, names)
    return _from_dicts([to_dict(value, names) for value in values], names)


def misshapen(values: Sequence[Any], names: Sequence[str] | None = None) -> Any:
    """The first record for which `to_columns` raises RecordShapeError, of some for which it did."""
    for value in values:
        try:
            to_columns([value], names)
        except RecordShapeError:
            return value
    return values[0]  # records that have positions only differ from each other


def to_dict(value: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Turn one record into a dict of its fields."""
    if isinstance(value, dict):
        return value
    return {name: column[0] for name, column in to_columns([value], names).items()}


def plain(value: Any) -> Any:
    """Turn rows, dataclasses and named tuples, however deep, into dicts, and other sequences into lists."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if has_names(value):
        return {name: plain(item) for name, item in to_dict(value).items()}
    if isinstance(value, (Row, list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value


def has_names(value: Any) -> bool:
    """Whether the value itself says what its fields are called."""
    if isinstance(value, Row):
        return value._fields is not None
    return isinstance(value, dict) or _is_dataclass(type(value)) or _is_named_tuple(type(value))


def _from_dicts(values: Sequence[dict[str, Any]], names: Sequence[str] | None) -> Columns:
    return {name: [value.get(name) for value in values] for name in dict.fromkeys(chain.from_iterable(values))}


def _from_rows(values: Sequence[Row], names: Sequence[str] | None) -> Columns:
    fields = values[0]._fields
    if any(value._fields != fields for value in values):
        return _from_dicts([to_dict(value, names) for value in values], names)
    return _from_positions([value._values for value in values], names if fields is None else fields)


def _from_positions(values: Sequence[Sequence[Any]], names: Sequence[str] | None) -> Columns:
    if names is None:
        names = [f"f{position}" for position in range(len(values[0]))]
    for value in values:
        if len(value) != len(names):
            raise RecordShapeError(f"has {len(value)} fields where {len(names)} are expected ({', '.join(names)})")
    return {name: list(column) for name, column in zip(names, zip(*values, strict=True), strict=True)}


def _from_scalars(values: Sequence[Any], names: Sequence[str] | None) -> Columns:
    if names is None or len(names) == 1:
        return {names[0] if names else SCALAR_COLUMN: list(values)}
    raise RecordShapeError(f"is not a record with the fields {', '.join(names)}")


def _from_dataclasses(values: Sequence[Any], names: Sequence[str] | None) -> Columns:
    fields = [field.name for field in dataclasses.fields(values[0])]
    return {name: list(map(attrgetter(name), values)) for name in fields}


def _from_named_tuples(values: Sequence[Any], names: Sequence[str] | None) -> Columns:
    return _from_positions(values, type(values[0])._fields)


def _is_dataclass(kind: type) -> bool:
    return dataclasses.is_dataclass(kind)


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


_COLUMN_READERS: dict[type, Callable[[Any, Sequence[str] | None], Columns]] = {
    dict: _from_dicts,
    Row: _from_rows,
    tuple: _from_positions,
    list: _from_positions,
}


def _reader_of(kind: type) -> Callable[[Any, Sequence[str] | None], Columns]:
    if _is_named_tuple(kind):
        return _from_named_tuples
    if _is_dataclass(kind):
        return _from_dataclasses
    parent = next((parent for parent in _COLUMN_READERS if issubclass(kind, parent)), None)
    return _from_scalars if parent is None else _COLUMN_READERS[parent]
