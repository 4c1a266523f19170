"""Lookups written in Python: classes that find the rows of a table by key, for lookup joins.

A table WITH ('connector' = 'python-lookup', 'class' = 'module.Class') is looked up by an object of that class.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakValueDictionary

from penstock.common.types import Row
from penstock.vocabulary.functions import RuntimeContext

__all__ = ["AsyncLookupFunction", "LookupFunction", "lookup_class"]

_classes: WeakValueDictionary[str, type] = WeakValueDictionary()


def lookup_class(path: str) -> Any:
    """The class `module.Class`: one that was defined anywhere in this process, or that can be imported."""
    known = _classes.get(path)
    if known is not None:
        return known
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


class _Findable:
    """Subclasses are found by their name even where they cannot be imported: in a notebook, or in a script."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        _classes[f"{cls.__module__}.{cls.__qualname__}"] = cls


class LookupFunction(_Findable, ABC):
    """Finds rows by key. Rows are Rows, tuples or dicts of all physical columns of the table."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once in a worker process, before anything is looked up."""

    @abstractmethod
    def lookup(self, key_row: Row) -> Iterable[Any]:
        """The rows of a key: `key_row` has the columns that a query looks up by, under their names; none is NULL."""

    def lookup_all(self, key_rows: Sequence[Row]) -> Iterable[Iterable[Any]]:
        """The rows of each of several keys; override it where many can be asked for in one go."""
        return [self.lookup(each) for each in key_rows]

    def close(self) -> None:
        """Called once, when nothing will be looked up any more."""


class AsyncLookupFunction(_Findable, ABC):
    """Finds rows by key, many keys at the same time. A class may be a LookupFunction too: a query may choose."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once in a worker process, before anything is looked up."""

    @abstractmethod
    async def async_lookup(self, key_row: Row) -> Iterable[Any]:
        """The rows of a key. It runs in an event loop: it must await, not wait."""

    def close(self) -> None:
        """Called once, when none of its calls goes on."""
