"""Checks of arguments of the DataStream API; every error names the method and what it expects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from penstock.datastream.function_signatures import check_signatures
from penstock.datastream.selectors import Field
from penstock.datastream.unsaved_counters import warn_of_unsaved_counters
from penstock.errors import GraphError
from penstock.keys.groups import MAX_PARALLELISM_LIMIT
from penstock.vocabulary.functions import Function, Partitioner

_UID_HASH = re.compile(r"[0-9A-Fa-f]{32}")


def is_whole(value: Any) -> bool:
    """Whether a value is an int and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_parallelism(parallelism: Any, owner: str) -> int:
    """Return a parallelism of 1 or more."""
    if not is_whole(parallelism) or parallelism < 1:
        raise GraphError(f"set_parallelism: parallelism of {owner} must be an int of 1 or more, got {parallelism!r}.")
    return int(parallelism)


def check_max_parallelism(max_parallelism: Any, owner: str) -> int:
    """Return a number of key groups."""
    if not is_whole(max_parallelism) or not 1 <= max_parallelism <= MAX_PARALLELISM_LIMIT:
        raise GraphError(
            f"set_max_parallelism: max parallelism of {owner} must be an int from 1 to {MAX_PARALLELISM_LIMIT}, "
            f"got {max_parallelism!r}."
        )
    return int(max_parallelism)


def check_timeout(timeout_millis: Any) -> int:
    """Return a buffer timeout: -1, 0 or milliseconds."""
    if not is_whole(timeout_millis) or timeout_millis < -1:
        raise GraphError(f"set_buffer_timeout: expected milliseconds, 0 or -1, got {timeout_millis!r}.")
    return int(timeout_millis)


def non_empty_text(method: str, text: Any) -> str:
    """Return a text that is not blank."""
    if not isinstance(text, str) or not text.strip():
        raise GraphError(f"{method}: expected a non-empty string, got {text!r}.")
    return text


def check_uid_hash(uid_hash: Any) -> str:
    """Return a hash of 32 hex digits."""
    if not isinstance(uid_hash, str) or not _UID_HASH.fullmatch(uid_hash):
        raise GraphError(f"set_uid_hash: expected a string of 32 hex digits, got {uid_hash!r}.")
    return uid_hash


def check_type(method: str, parameter: str, declared: Any) -> TypeInformation | None:
    """Return a declared type, or None if there is none."""
    if declared is not None and not isinstance(declared, TypeInformation):
        raise GraphError(
            f"{method}: {parameter} is of unknown type {declared!r}; use one of Types, such as Types.INT()."
        )
    return declared


def check_function(method: str, func: Any, kind: type[Function], *, takes_callable: bool = True) -> None:
    """Raise unless this is a function object of that kind or, where allowed, a callable, and takes what it is given."""
    if isinstance(func, kind):
        check_signatures(method, func, kind)
        warn_of_unsaved_counters(method, func)
        return
    if isinstance(func, type) and issubclass(func, Function):
        raise GraphError(f"{method}: pass an instance, {func.__name__}(), not the class {func.__name__}.")
    if takes_callable and callable(func) and not isinstance(func, Function):
        check_signatures(method, func, kind)
        warn_of_unsaved_counters(method, func)
        return
    expected = f"a {kind.__name__} or a callable" if takes_callable else f"a {kind.__name__}"
    raise GraphError(f"{method}: expected {expected}, got {func!r} of type {type(func).__name__}.")


def partition_callable(partitioner: Any) -> Callable[[Any, int], int]:
    """Turn a Partitioner or a function into a plain callable (key, number of subtasks) -> subtask."""
    check_function("partition_custom", partitioner, Partitioner)
    if isinstance(partitioner, Partitioner):
        return partitioner.partition
    return partitioner  # type: ignore[no-any-return]


def projected_type(declared: TypeInformation | None, fields: tuple[Field, ...]) -> TypeInformation | None:
    """Type of a projection; a position that the declared type does not have is refused here."""
    if declared is None:
        return None
    if not isinstance(declared, (RowTypeInfo, TupleTypeInfo)):
        raise GraphError(f"project: only tuples and Rows have fields to choose, but the stream is of {declared!r}.")
    types = declared.get_field_types()
    names = declared.get_field_names() if isinstance(declared, RowTypeInfo) else []
    chosen = []
    for field in fields:
        position = names.index(field) if field in names else field
        if not isinstance(position, int) or position >= len(types):
            raise GraphError(f"project: no field {field!r} in {declared!r}, which has {len(types)} fields.")
        chosen.append(types[position])
    return Types.TUPLE(chosen)


def unusable_sink(method: str, expected: str, given: Any) -> GraphError:
    """Return the error for an object that is not a sink."""
    hint = "; call .build() on it first" if callable(getattr(given, "build", None)) else ""
    return GraphError(f"{method}: expected {expected}, got {given!r}{hint}.")
