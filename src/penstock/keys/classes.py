"""Classes of dataclass and enum keys by name."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from typing import Any

from penstock.common.dataclass_defaults import default_maker
from penstock.errors import KeyEncodingError

# Classes met while encoding: a class of a script shipped to a worker can be found in no module there.
_CLASSES: dict[tuple[str, str], type] = {}


def remember_class(cls: type) -> None:
    """Let `find_class` give this class for its name in this process."""
    _CLASSES[cls.__module__, cls.__qualname__] = cls


def find_class(module: str, name: str) -> Any:
    """Return a class by module and qualified name; `__main__` is tried as well."""
    cls = _CLASSES.get((module, name))
    if cls is None:
        cls = _CLASSES[module, name] = _look_up(module, name)
    return cls


def type_name(cls: type) -> str:
    """Return the name of a class as a user would write it."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def has_default(field: dataclasses.Field[Any]) -> bool:
    """Tell whether a dataclass field has a default or a default factory."""
    return default_maker(field) is not None


def _look_up(module: str, name: str) -> Any:
    try:
        found: Any = importlib.import_module(module)
    except ImportError:
        found = None
    for scope in (found, sys.modules.get("__main__")):
        for part in name.split("."):
            scope = getattr(scope, part, None)
        if scope is not None:
            return scope
    raise KeyEncodingError(f"Key type {module}.{name} cannot be found: keep the class importable under that name.")
