"""Key selectors from what `key_by` takes, and replacing fields of records."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from penstock.common.column_block import ColumnSelector
from penstock.common.conversions import conversion_of
from penstock.common.record_fields import Field, FieldGetters, field_names, position_of, read_field
from penstock.common.typed_key import TypedKey
from penstock.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from penstock.common.types import Row
from penstock.datastream.function_signatures import check_signatures
from penstock.errors import GraphError
from penstock.vocabulary.functions import KeySelector

__all__ = [
    "CompositeSelector",
    "Field",
    "FieldSelector",
    "KeyAndValue",
    "check_field",
    "make_key_selector",
    "only_key",
    "read_field",
    "replace_field",
    "typed_selector",
]


def check_field(method: str, field: Any) -> Field:
    """Return `field` if it can name a field (a name, or a position from 0), else raise GraphError."""
    is_position = isinstance(field, int) and not isinstance(field, bool) and field >= 0
    is_name = isinstance(field, str) and field != ""
    if not (is_position or is_name):
        raise GraphError(f"{method}: a field is a name or a position from 0, got {field!r}.")
    return field  # type: ignore[no-any-return]


def _replace_in_row(record: Row, position: int, value: Any) -> Row:
    values = list(record)
    values[position] = value
    return Row.of_fields(tuple(field_names(record)) or None, values, record.get_row_kind())


def _replace_in_sequence(record: Any, position: int, value: Any) -> Any:
    values = list(record)
    values[position] = value
    if isinstance(record, list):
        return values
    make = getattr(type(record), "_make", type(record))
    return make(values)


def replace_field(record: Any, field: Field, value: Any) -> Any:
    """A copy of the record with one field replaced; the record itself is left alone."""
    if isinstance(record, Row):
        return _replace_in_row(record, position_of(record, field), value)
    if isinstance(record, (tuple, list)):
        return _replace_in_sequence(record, position_of(record, field), value)
    if isinstance(record, Mapping):
        return {**record, field: value}
    changed = copy.copy(record)
    object.__setattr__(changed, str(field), value)  # frozen dataclasses too: the copy is ours until it is returned
    return changed


@dataclasses.dataclass(frozen=True)
class FieldSelector(ColumnSelector):
    """Key = one field of the record."""

    field: Field

    @property
    def key_fields(self) -> Field:
        """What the key is, for records that are columns."""
        return self.field

    def __post_init__(self) -> None:
        object.__setattr__(self, "_getters", FieldGetters((self.field,)))  # frozen for others

    def __reduce__(self) -> tuple[Any, ...]:
        return FieldSelector, (self.field,)

    def __call__(self, record: Any) -> Any:
        """Return the field's value."""
        try:
            return self._getters[type(record)](record)  # type: ignore[attr-defined]
        except (LookupError, AttributeError, ValueError):
            pass  # said below, without this one in the traceback
        return read_field(record, self.field)


@dataclasses.dataclass(frozen=True)
class CompositeSelector(ColumnSelector):
    """Key = a tuple of what several selectors give."""

    parts: tuple[Callable[[Any], Any], ...]

    @property
    def key_fields(self) -> tuple[Field, ...] | None:
        """The fields that make the key, for records that are columns; None if not all parts are fields."""
        fields = [part.field for part in self.parts if isinstance(part, FieldSelector)]
        return tuple(fields) if len(fields) == len(self.parts) else None

    def __call__(self, record: Any) -> tuple[Any, ...]:
        """Return the parts' keys in order."""
        return tuple([part(record) for part in self.parts])


def make_key_selector(selector: Any, method: str = "key_by") -> Callable[[Any], Any]:
    """Turn a callable, KeySelector, field name, position, or list or tuple of these into a plain callable."""
    if isinstance(selector, KeySelector):
        check_signatures(method, selector, KeySelector)
        return selector.get_key
    if isinstance(selector, type) and issubclass(selector, KeySelector):
        raise GraphError(f"{method}: pass an instance, {selector.__name__}(), not the class {selector.__name__}.")
    if isinstance(selector, (list, tuple)):
        if not selector:
            raise GraphError(f"{method}: give at least one field; for one group of all records use lambda value: 0.")
        return CompositeSelector(tuple([make_key_selector(part, method) for part in selector]))
    if callable(selector):
        check_signatures(method, selector, KeySelector)
        return selector  # type: ignore[no-any-return]
    if isinstance(selector, (str, int)):
        return FieldSelector(check_field(method, selector))
    raise GraphError(
        f"{method}: expected a callable, a KeySelector, a field name, a position or a list of these, got {selector!r}."
    )


def typed_selector(
    selector: Callable[[Any], Any], key_type: TypeInformation | None, record_type: TypeInformation | None
) -> Callable[[Any], Any]:
    """Return a selector whose keys are made to be of the declared type, if they are not so by themselves."""
    if key_type is None or conversion_of(key_type) is None or _type_of_key(selector, record_type) == key_type:
        return selector
    return TypedKey(selector, key_type)


def _type_of_key(selector: Callable[[Any], Any], record_type: TypeInformation | None) -> TypeInformation | None:
    """The type of a key that is made of fields with declared types."""
    if isinstance(selector, CompositeSelector):
        types = [_type_of_key(part, record_type) for part in selector.parts]
        known = [each for each in types if each is not None]
        return Types.TUPLE(known) if len(known) == len(types) else None
    if not isinstance(selector, FieldSelector) or not isinstance(record_type, (RowTypeInfo, TupleTypeInfo)):
        return None
    field, field_types = selector.field, record_type.get_field_types()
    if isinstance(field, str):
        field = record_type.get_field_index(field) if isinstance(record_type, RowTypeInfo) else -1
    return field_types[field] if 0 <= field < len(field_types) else None


def only_key(record: Any) -> int:
    """The one key of all records of a stream that is not keyed."""
    return 0


@dataclasses.dataclass(frozen=True)
class KeyAndValue:
    """Pairs each record with its key, as PyFlink's `KeyedStream.execute_and_collect` shows them."""

    key_selector: Callable[[Any], Any]

    def __call__(self, record: Any) -> Row:
        """Return Row(f0=key, f1=record)."""
        return Row(f0=self.key_selector(record), f1=record)
