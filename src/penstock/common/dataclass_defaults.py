"""Defaults of dataclass fields, also of classes that travelled by value."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["default_maker"]

# A class that is pickled by value brings a copy of the mark along, so that identity says nothing.
_MISSING = type(dataclasses.MISSING)


def default_maker(field: dataclasses.Field[Any]) -> Callable[[], Any] | None:
    """Return what makes the default of a field; None if it has none."""
    factory: Any = field.default_factory
    if not isinstance(factory, _MISSING):
        return partial(factory)
    return None if isinstance(field.default, _MISSING) else partial(_given, field.default)


def _given(value: Any) -> Any:
    return value
