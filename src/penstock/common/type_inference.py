"""Declared types from Python type hints and from Arrow schemas."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.common.time import Instant
from penstock.common.typeinfo import RecordTypeInfo, TypeInformation, Types

__all__ = ["from_arrow", "from_hint"]


def _bytes() -> TypeInformation:
    return Types.PRIMITIVE_ARRAY(Types.BYTE())


_HINTS: dict[Any, Callable[[], TypeInformation]] = {
    int: Types.LONG,
    float: Types.DOUBLE,
    str: Types.STRING,
    bool: Types.BOOLEAN,
    bytes: _bytes,
    bytearray: _bytes,
    decimal.Decimal: Types.BIG_DEC,
    datetime.datetime: Types.SQL_TIMESTAMP,
    datetime.date: Types.SQL_DATE,
    datetime.time: Types.SQL_TIME,
    Instant: Types.INSTANT,
}


def from_hint(hint: Any) -> TypeInformation:
    """Return the declared type for a Python type hint; Any, unions and bare lists are pickled.

    >>> from_hint(dict[str, list[int]])
    MAP(STRING, LIST(LONG))
    """
    if isinstance(hint, TypeInformation):
        return hint
    if isinstance(hint, str):
        raise TypeError(f"the type hint {hint!r} is text; resolve it first with typing.get_type_hints")
    known_kind = isinstance(hint, type) or typing.get_origin(hint) is not None
    if not known_kind and hint is not None and not isinstance(hint, (typing.TypeVar, typing.NewType)):
        if hint is Any:
            return Types.PICKLED_BYTE_ARRAY()
        raise TypeError(f"expected a Python type hint such as int or list[str], got {hint!r}")
    return _resolve(hint, ())


def _resolve(hint: Any, enclosing: tuple[type, ...]) -> TypeInformation:
    if isinstance(hint, typing.NewType):
        return _resolve(hint.__supertype__, enclosing)
    if hint in _HINTS:
        return _HINTS[hint]()
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is not None:
        return _resolve_generic(origin, arguments, enclosing)
    # A class that contains itself has no finite list of fields.
    if isinstance(hint, type) and hint not in enclosing and is_record(hint):
        return _record(hint, (*enclosing, hint))
    return Types.PICKLED_BYTE_ARRAY()


def _resolve_generic(origin: Any, arguments: tuple[Any, ...], enclosing: tuple[type, ...]) -> TypeInformation:
    if origin is typing.Annotated:
        return _resolve(arguments[0], enclosing)
    if origin in (typing.Union, types.UnionType):
        members = [argument for argument in arguments if argument is not type(None)]
        return _resolve(members[0], enclosing) if len(members) == 1 else Types.PICKLED_BYTE_ARRAY()
    if origin is list:
        return Types.LIST(_resolve(arguments[0], enclosing))
    if origin is dict:
        return Types.MAP(_resolve(arguments[0], enclosing), _resolve(arguments[1], enclosing))
    if origin is tuple and arguments and Ellipsis not in arguments:
        return Types.TUPLE([_resolve(argument, enclosing) for argument in arguments])
    return Types.PICKLED_BYTE_ARRAY()


def is_record(hint: type) -> bool:
    """Tell whether a class is a dataclass or named tuple whose objects can be made of their fields."""
    if dataclasses.is_dataclass(hint):
        # A field the constructor does not take could not be given back, and what it takes beside them is not kept.
        order = sorted(dataclasses.fields(hint), key=lambda field: bool(field.kw_only))
        taken = list(inspect.signature(hint.__init__).parameters)[1:]
        return taken == [field.name for field in order]
    return issubclass(hint, tuple) and hasattr(hint, "_fields")


def _record(record_class: type, enclosing: tuple[type, ...]) -> TypeInformation:
    if dataclasses.is_dataclass(record_class):
        names = [field.name for field in dataclasses.fields(record_class)]
    else:
        names = list(record_class._fields)  # type: ignore[attr-defined]
    try:
        hints = typing.get_type_hints(record_class)
    except NameError as error:
        raise TypeError(
            f"a field of {record_class.__qualname__} has a hint that cannot be resolved: {error}; a script's classes "
            "are sent without their module, so move them to a module, or remove 'from __future__ import annotations'"
        ) from None
    return RecordTypeInfo(record_class, names, [_resolve(hints.get(name, Any), enclosing) for name in names])


_ARROW_TESTS: list[tuple[Callable[[pa.DataType], bool], Callable[[], TypeInformation]]] = [
    (pa.types.is_string, Types.STRING),
    (pa.types.is_large_string, Types.STRING),
    (pa.types.is_string_view, Types.STRING),
    (pa.types.is_boolean, Types.BOOLEAN),
    (pa.types.is_int8, Types.BYTE),
    (pa.types.is_int16, Types.SHORT),
    (pa.types.is_int32, Types.INT),
    (pa.types.is_int64, Types.LONG),
    # Unsigned numbers take the next wider type, so that none of them wraps around.
    (pa.types.is_uint8, Types.SHORT),
    (pa.types.is_uint16, Types.INT),
    (pa.types.is_uint32, Types.LONG),
    (pa.types.is_uint64, Types.BIG_INT),
    (pa.types.is_float16, Types.FLOAT),
    (pa.types.is_float32, Types.FLOAT),
    (pa.types.is_float64, Types.DOUBLE),
    (pa.types.is_decimal, Types.BIG_DEC),
    (pa.types.is_date, Types.SQL_DATE),
    (pa.types.is_time, Types.SQL_TIME),
    (pa.types.is_binary, _bytes),
    (pa.types.is_large_binary, _bytes),
    (pa.types.is_fixed_size_binary, _bytes),
]


def from_arrow(schema: pa.Schema | pa.DataType) -> TypeInformation:
    """Return the type of an Arrow schema (a named row) or of one Arrow type."""
    if isinstance(schema, pa.Schema):
        return Types.ROW_NAMED(schema.names, [from_arrow(field.type) for field in schema])
    if not isinstance(schema, pa.DataType):
        raise TypeError(f"expected an Arrow schema or type, got {type(schema).__name__} {schema!r}")
    for is_kind, make in _ARROW_TESTS:
        if is_kind(schema):
            return make()
    return _from_nested_arrow(schema)


def _from_nested_arrow(arrow_type: pa.DataType) -> TypeInformation:
    if pa.types.is_timestamp(arrow_type):
        return Types.SQL_TIMESTAMP() if arrow_type.tz is None else Types.INSTANT()
    if pa.types.is_struct(arrow_type):
        return Types.ROW_NAMED([field.name for field in arrow_type], [from_arrow(field.type) for field in arrow_type])
    if pa.types.is_map(arrow_type):
        return Types.MAP(from_arrow(arrow_type.key_type), from_arrow(arrow_type.item_type))
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type) or pa.types.is_fixed_size_list(arrow_type):
        return Types.LIST(from_arrow(arrow_type.value_type))
    if pa.types.is_dictionary(arrow_type):
        return from_arrow(arrow_type.value_type)
    raise TypeError(f"the Arrow type {arrow_type} has no counterpart in Types.*: cast the column first")
