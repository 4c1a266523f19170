"""Window functions that make rows of field aggregates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.common.types import Row
from penstock.vocabulary.functions import AllWindowFunction, WindowFunction

__all__ = ["AllWindowRow", "WindowRow"]


class WindowRow(WindowFunction[Any, Any, Any, Any]):
    """Makes a row of a window's aggregates, with its key and, where it has them, its start and end."""

    def __init__(self, names: tuple[str, ...], key_is_spread: bool, has_times: bool) -> None:
        """Take the names of all columns; a key that is spread is a tuple of several."""
        self.names = names
        self.key_is_spread = key_is_spread
        self.has_times = has_times

    def apply(self, key: Any, window: Any, inputs: Iterable[tuple[Any, ...]]) -> Iterable[Row]:
        """Return the row of each result."""
        leading = key if self.key_is_spread else (key,)
        times = (window.start, window.end) if self.has_times else ()
        return [Row.of_fields(self.names, [*leading, *times, *results]) for results in inputs]


class AllWindowRow(AllWindowFunction[Any, Any, Any]):
    """Makes a row of the aggregates of a window over a whole stream."""

    def __init__(self, names: tuple[str, ...], has_times: bool) -> None:
        """Take the names of all columns."""
        self.names = names
        self.has_times = has_times

    def apply(self, window: Any, inputs: Iterable[tuple[Any, ...]]) -> Iterable[Row]:
        """Return the row of each result."""
        times = (window.start, window.end) if self.has_times else ()
        return [Row.of_fields(self.names, [*times, *results]) for results in inputs]
