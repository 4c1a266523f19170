"""Bytes of user objects in state that has no type: pickles, see `penstock.common.user_pickles`."""

from __future__ import annotations

import pickle
from typing import Any

from penstock.common.user_pickles import dump, load
from penstock.errors import StateError


def dump_value(value: Any, state_name: str) -> bytes:
    """Return the bytes of an object; they start with the byte 0x80, the mark of a pickle."""
    try:
        return dump(value)
    except Exception as error:
        raise StateError(
            f"State {state_name!r} cannot keep an object of type {type(value).__qualname__} ({error}): "
            "keep only picklable objects in state."
        ) from error


def load_value(data: bytes, state_name: str) -> Any:
    """Return the object that `dump_value` gave these bytes for."""
    try:
        return load(data)
    except (pickle.UnpicklingError, AttributeError, ImportError, EOFError, TypeError) as error:
        raise StateError(
            f"State {state_name!r} holds an object that can no longer be loaded ({error}): keep its class importable "
            "under its old name."
        ) from error
