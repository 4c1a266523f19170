"""Bytes of user objects in state; owns pickling, not the rows."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle

from penstock.errors import StateError


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


def _dump_by_value(value: Any, state_name: str) -> bytes:
    # Classes of a script or of a function body cannot be named from another process; cloudpickle sends them along.
    try:
        return bytes(cloudpickle.dumps(value, 5))
    except Exception as error:
        raise StateError(
            f"State {state_name!r} cannot keep an object of type {type(value).__qualname__} ({error}): "
            "keep only objects in state that can be pickled."
        ) from error
