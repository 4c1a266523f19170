"""What "field" and "position" mean for each shape of record; owns the reading of fields, not what is done with them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from penstock.common.types import Row

__all__ = ["Field", "field_names", "position_of", "read_field"]

Field = int | str


def field_names(record: Any) -> list[Any]:
    """Names of the record's fields, as far as it has any."""
    if isinstance(record, Mapping):
        return list(record)
    if isinstance(record, (tuple, list, Row)):
        return list(getattr(record, "_fields", None) or ())  # a Row or a named tuple may have them
    if dataclasses.is_dataclass(record):
        return [field.name for field in dataclasses.fields(record)]
    return sorted(name for name in getattr(record, "__dict__", {}) if not name.startswith("_"))


def _missing(record: Any, field: Field) -> KeyError:
    kind = "position" if isinstance(field, int) else "field"
    if isinstance(record, (tuple, list, Row)):
        has = f"it has {len(record)} positions"
        names = field_names(record)
        has += f", fields {names}" if names else " and no named fields"
    else:
        has = f"its fields are {field_names(record)}"
    return KeyError(f"no {kind} {field!r} in a record of type {type(record).__name__}: {has}.")


def position_of(record: Any, field: Field) -> int:
    """Return the position of a field in a tuple, list or Row."""
    if isinstance(field, int):
        if field >= len(record):
            raise _missing(record, field)
        return field
    try:
        return field_names(record).index(field)
    except ValueError:
        raise _missing(record, field) from None


def read_field(record: Any, field: Field) -> Any:
    """Value of a field: by name on Row, mapping, named tuple or object; by position on tuple, list or Row."""
    if isinstance(record, (tuple, list, Row)):
        return record[position_of(record, field)]
    if isinstance(record, Mapping):
        if field not in record:
            raise _missing(record, field)
        return record[field]
    # Built-in values have attributes (`int.real`, `str.count`) that nobody means as fields.
    if isinstance(field, int) or type(record).__module__ == "builtins":
        raise _missing(record, field)
    try:
        return getattr(record, field)
    except AttributeError:
        raise _missing(record, field) from None
