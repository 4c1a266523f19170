"""Bytes of user objects in state; owns pickling and the question whether an object can change, not the rows."""

from __future__ import annotations

import pickle
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import cloudpickle

from penstock.errors import StateError

_FROZEN_TYPES = frozenset(
    {int, str, float, bool, bytes, complex, type(None), Decimal, UUID, datetime, date, time, timedelta}
)


def dump_value(value: Any, state_name: str) -> bytes:
    """Return the bytes of an object; they start with the byte 0x80, the mark of a pickle."""
    try:
        return pickle.dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return _dump_by_value(value, state_name)


def load_value(data: bytes, state_name: str) -> Any:
    """Return the object that `dump_value` gave these bytes for."""
    try:
        return pickle.loads(data)
    except (pickle.UnpicklingError, AttributeError, ImportError, EOFError, TypeError) as error:
        raise StateError(
            f"State {state_name!r} holds an object that can no longer be loaded ({error}): keep its class importable "
            "under the name it had."
        ) from error


def is_frozen(value: Any) -> bool:
    """Tell whether an object certainly cannot be changed in place."""
    kind = type(value)
    if kind in _FROZEN_TYPES:
        return True
    return (kind is tuple or kind is frozenset) and all(map(is_frozen, value))


def _dump_by_value(value: Any, state_name: str) -> bytes:
    # Classes of a script or of a function body cannot be named from another process; cloudpickle sends them along.
    try:
        return bytes(cloudpickle.dumps(value, 5))
    except Exception as error:
        raise StateError(
            f"State {state_name!r} cannot keep an object of type {type(value).__qualname__} ({error}): "
            "keep only objects in state that can be pickled."
        ) from error
