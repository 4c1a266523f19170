"""What "field" and "position" mean for each shape of record."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from operator import attrgetter, itemgetter
from typing import Any

from penstock.common.types import Row

__all__ = ["Field", "FieldGetters", "field_names", "position_of", "read_field"]

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


class FieldGetters(dict[type, Callable[[Any], Any]]):
    """By type of record, the quickest way to some fields: one gives its value, several a tuple.

    A getter raises LookupError, AttributeError or ValueError where a field is missing; `slow` has the right words.
    """

    def __init__(self, fields: tuple[Field, ...], read: Callable[[Any, Field], Any] = read_field) -> None:
        """Find the fields; `read` is what the quick ways must agree with."""
        super().__init__()
        self._fields = fields
        self._read = read

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        getter = self[kind] = self._quick(kind) or self.slow
        return getter

    def slow(self, record: Any) -> Any:
        """The way for records of any shape."""
        values = tuple([self._read(record, field) for field in self._fields])
        return values[0] if len(values) == 1 else values

    def _quick(self, kind: type) -> Callable[[Any], Any] | None:
        are_positions = all(isinstance(field, int) for field in self._fields)
        are_names = all(isinstance(field, str) for field in self._fields)
        if kind is Row or (kind is dict and are_names) or (issubclass(kind, (tuple, list)) and are_positions):
            return itemgetter(*self._fields)
        # Names are those of attributes for dataclasses and named tuples alone: an int has attributes as well.
        named = dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
        if named and are_names and all(str(field).isidentifier() for field in self._fields):
            return attrgetter(*map(str, self._fields))
        return None
