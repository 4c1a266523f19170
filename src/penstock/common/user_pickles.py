"""Pickles of objects that users keep without a type. They name the classes of the user, but none of Penstock's.

A `Row` or a `TimeWindow` inside such an object is written as a short name that stays when modules move. Give a class
its name with `name_in_pickles`. Only what a program itself has kept is ever loaded here: bytes of records from topics,
files and sockets are never taken for a pickle.
"""

from __future__ import annotations

import io
import pickle
from types import FunctionType
from typing import Any

import cloudpickle

_OURS = b"penstock."
_names: dict[Any, str] = {}
_named: dict[str, Any] = {}


def name_in_pickles(found: Any, name: str) -> None:
    """Give a class of Penstock that users may keep objects of, or the function that makes such objects, its name."""
    assert name not in _named, f"{name!r} is the name of {_named[name].__qualname__}"
    _names[found] = name
    _named[name] = found


def names_in_pickles() -> dict[str, Any]:
    """Return the classes and functions that have such a name, by name."""
    return dict(_named)


def dump(value: Any) -> bytes:
    """Return the bytes of any object that can be pickled; they start with the byte 0x80."""
    try:
        data = pickle.dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        # Classes of a script or of a function body cannot be named from another process; they are sent along.
        return _written_by(_NamingCloudPickler, value)
    # Looking for the name costs next to nothing; asking for each object whether it is ours would.
    return _written_by(_NamingPickler, value) if _OURS in data else data


def load(data: bytes) -> Any:
    """Return the object that `dump` gave these bytes for."""
    try:
        return pickle.loads(data)
    except pickle.UnpicklingError:  # it has names of ours in it, or is damaged
        return _NamingUnpickler(io.BytesIO(data)).load()


def _written_by(pickler: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    pickler(stream, 5).dump(value)
    return stream.getvalue()


def _name_of(found: Any) -> str | None:
    if isinstance(found, (type, FunctionType)):
        return _names.get(found)
    return None


class _NamingPickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> str | None:
        return _name_of(obj)


class _NamingCloudPickler(cloudpickle.Pickler):  # type: ignore[misc]
    def persistent_id(self, obj: Any) -> str | None:
        return _name_of(obj)


class _NamingUnpickler(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> Any:
        try:
            return _named[pid]
        except KeyError:
            raise pickle.UnpicklingError(
                f"it has an object of a class that Penstock calls {pid!r}, which is not imported here"
            ) from None
