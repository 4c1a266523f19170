"""The rows that field aggregates come out as, and the checks of what users declare; folds nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.common.basic_types import BasicType
from penstock.common.typed_key import TypedKey
from penstock.common.typeinfo import (
    BasicTypeInfo,
    DateTypeInfo,
    RecordTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from penstock.datastream.selectors import CompositeSelector, Field, FieldSelector
from penstock.errors import GraphError
from penstock.vocabulary.field_aggregates import FieldAggregate
from penstock.vocabulary.field_aggregation import FieldAggregation

__all__ = ["WINDOW_NAMES", "KeyColumns", "check_aggregates", "row_type"]

METHOD = "aggregate_fields"
WINDOW_NAMES = ("window_start", "window_end")

_WHOLE: tuple[TypeInformation, ...] = tuple(
    map(BasicTypeInfo, (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG))
)
_BROKEN: tuple[TypeInformation, ...] = tuple(map(BasicTypeInfo, (BasicType.FLOAT, BasicType.DOUBLE)))
_BIG: tuple[TypeInformation, ...] = tuple(map(BasicTypeInfo, (BasicType.BIG_INT, BasicType.BIG_DEC)))
_NUMBERS = (*_WHOLE, *_BROKEN, *_BIG, BasicTypeInfo(BasicType.BOOLEAN))
_PLAIN = (BasicTypeInfo, DateTypeInfo, TimeTypeInfo, TimestampTypeInfo)


@dataclass(frozen=True)
class KeyColumns:
    """How a key appears in a row: by its fields if it is made of fields, else as one column "key"."""

    names: tuple[str, ...]
    is_spread: bool
    """The key is a tuple of several columns."""
    types: tuple[TypeInformation | None, ...]

    @staticmethod
    def of(
        selector: Callable[[Any], Any], declared: TypeInformation | None, key_type: TypeInformation | None
    ) -> KeyColumns:
        """The columns of what `key_by` was given."""
        selector = selector.select if isinstance(selector, TypedKey) else selector
        parts = selector.parts if isinstance(selector, CompositeSelector) else (selector,)
        fields = [part.field for part in parts if isinstance(part, FieldSelector)]
        if len(fields) != len(parts):
            return KeyColumns(("key",), False, (key_type,))
        types = tuple([_declared_field("key_by", field, declared) for field in fields])
        names = tuple([_name_of(field, declared) for field in fields])
        return KeyColumns(names, isinstance(selector, CompositeSelector), types)


def check_aggregates(aggregates: tuple[Any, ...], declared: TypeInformation | None) -> FieldAggregation:
    """The function of aggregates; what is none, or names a field that the declared type does not have, is refused."""
    if not aggregates:
        raise GraphError(f'{METHOD}: give at least one aggregate, such as count() or sum_of("price").')
    for aggregate in aggregates:
        if not isinstance(aggregate, FieldAggregate):
            raise GraphError(
                f'{METHOD}: expected aggregates such as count() or sum_of("price"), got {aggregate!r}.'
                + (" Call it." if callable(aggregate) else "")
            )
        if aggregate.field is not None:
            _check_kind(aggregate, _declared_field(METHOD, aggregate.field, declared))
    return FieldAggregation(tuple(aggregates))


def row_type(
    leading: Iterable[tuple[str, TypeInformation | None]],
    function: FieldAggregation,
    declared: TypeInformation | None,
) -> tuple[tuple[str, ...], TypeInformation | None]:
    """Names of all columns, and the type of the rows if it is known of every column."""
    columns = list(leading)
    for aggregate in function.aggregates:
        found = None if aggregate.field is None else _declared_field(METHOD, aggregate.field, declared)
        columns.append((aggregate.name, _result_type(aggregate, found)))
    names = tuple([name for name, _ in columns])
    for name in names:
        if names.count(name) > 1:
            raise GraphError(f"{METHOD}: there would be two columns {name!r}; rename one with .alias(...).")
    known = [kind for _, kind in columns if kind is not None]
    return names, Types.ROW_NAMED(list(names), known) if len(known) == len(columns) else None


def _declared_field(method: str, field: Field, declared: TypeInformation | None) -> TypeInformation | None:
    """Type of a field; None if it is not declared. A field that the declared type does not have is refused."""
    if isinstance(declared, (RowTypeInfo, TupleTypeInfo)):
        types = declared.get_field_types()
        position = _position(field, declared)
        if position is None and isinstance(field, str) and isinstance(declared, RowTypeInfo) and not declared.has_names:
            return None  # the rows may have names all the same
        if position is None:
            raise GraphError(
                f"{method}: no {'field' if isinstance(field, str) else 'position'} {field!r} in {declared!r}."
            )
        return types[position]
    if isinstance(declared, _PLAIN):
        if field != 0:
            raise GraphError(f"{method}: no field {field!r} in {declared!r}; a plain value is its own position 0.")
        return declared
    return None


def _position(field: Field, declared: RowTypeInfo | TupleTypeInfo) -> int | None:
    if isinstance(field, int):
        # Objects of a dataclass have names only.
        has_positions = not (isinstance(declared, RecordTypeInfo) and dataclasses.is_dataclass(declared.record_class))
        return field if has_positions and field < len(declared.get_field_types()) else None
    names = declared.get_field_names() if isinstance(declared, RowTypeInfo) and declared.has_names else []
    return names.index(field) if field in names else None


def _name_of(field: Field, declared: TypeInformation | None) -> str:
    if isinstance(field, str):
        return field
    is_named = isinstance(declared, RowTypeInfo) and declared.has_names and field < len(declared.get_field_names())
    return declared.get_field_names()[field] if is_named else f"f{field}"  # type: ignore[union-attr]


def _check_kind(aggregate: FieldAggregate, found: TypeInformation | None) -> None:
    if aggregate.kind in ("sum", "avg") and isinstance(found, _PLAIN) and found not in _NUMBERS:
        raise GraphError(
            f"{METHOD}: {aggregate.kind}_of({aggregate.field!r}) needs numbers, but the field is {found!r}."
        )


def _result_type(aggregate: FieldAggregate, found: TypeInformation | None) -> TypeInformation | None:
    if aggregate.kind == "count":
        return Types.LONG()
    if aggregate.kind in ("min", "max") or found in _BIG:
        # A mean of whole big numbers is a float like any other mean.
        return Types.DOUBLE() if aggregate.kind == "avg" and found == _BIG[0] else found
    if found in _BROKEN or (aggregate.kind == "avg" and found in _NUMBERS):
        return Types.DOUBLE()
    return Types.LONG() if found in _NUMBERS else None
