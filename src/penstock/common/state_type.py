"""The types that a state descriptor accepts."""

from __future__ import annotations

from penstock.common.avro_type import AvroSchema, GenericRecordAvroTypeInfo
from penstock.common.type_inference import from_hint, is_record
from penstock.common.type_variables import T
from penstock.common.typeinfo import TypeInformation, Types

__all__ = ["StateType", "checked_state_type"]

StateType = TypeInformation[T] | AvroSchema | type[T]
"""One of `Types.*`, an Avro schema, or a class: a dataclass or a named tuple."""


def checked_state_type(state_name: str, declared: StateType[T] | None) -> TypeInformation[T]:
    """Return the declared type of a state; None means that it is pickled."""
    if declared is None:
        return Types.PICKLED_BYTE_ARRAY()
    if isinstance(declared, AvroSchema):
        return GenericRecordAvroTypeInfo(declared)
    if isinstance(declared, type) and is_record(declared):
        return from_hint(declared)
    if not isinstance(declared, TypeInformation):
        raise TypeError(
            f"state {state_name!r}: expected one of Types.*, a dataclass whose __init__ takes its fields only, "
            f"a named tuple or an AvroSchema, got {type(declared).__name__} {declared!r}"
        )
    return declared


def checked_queryable_name(name: str) -> str:
    """Return a queryable name; anything but a text that is not empty is refused."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"a queryable state needs a non-empty string as its name, got {name!r}")
    return name
