"""map, flat_map and filter, on plain and on keyed streams (there their functions may use keyed state)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from typing import Any

from penstock.runtime.callables import Collector, checked_results, method_or_callable, with_collector
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.rows import Timestamps


class _FunctionOperator(StreamOperator):
    """An operator around one user function; `method` is the function class's method."""

    method = ""

    def __init__(self, function: Any, keyed: bool = False) -> None:
        self.function = function
        self.is_keyed = keyed

    def open(self) -> None:
        """Open the user function."""
        self.open_function(self.function)
        self._call = method_or_callable(self.function, self.method)

    def close(self) -> None:
        """Close the user function."""
        self.close_function(self.function)

    def results(self, values: list[Any], keys: list[Any] | None, call: Callable[[Any], Any]) -> list[Any]:
        """Results of a function for each value, with the key set on keyed streams."""
        consumed = iter(values)
        try:
            if keys is None or not self.is_keyed:  # a keyed edge brings keys to operators that have no use for them too
                return [call(value) for value in consumed]
            return list(self._keyed_results(consumed, keys, call))
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None

    def _keyed_results(self, values: Iterator[Any], keys: list[Any], call: Callable[[Any], Any]) -> Iterator[Any]:
        assert self.context.backend is not None
        set_key = self.context.backend.set_key
        for value, key in zip(values, keys, strict=False):
            set_key(key)
            yield call(value)


class MapOperator(_FunctionOperator):
    """One result for each record."""

    method = "map"

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Map a block."""
        self.output.emit(self.results(values, keys, self._call), timestamps)


class FilterOperator(_FunctionOperator):
    """Records for which the function says yes."""

    method = "filter"

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Filter a block."""
        chosen = self.results(values, keys, self._call)
        kept = list(compress(values, chosen))
        self.output.emit(kept, None if timestamps is None else list(compress(timestamps, chosen)))


class FlatMapOperator(_FunctionOperator):
    """Any number of results for each record: yielded, returned as an iterable, or given to a collector."""

    method = "flat_map"

    def open(self) -> None:
        """Open the function and see which of the three styles it has."""
        super().open()
        self._collector = Collector(self.output)
        self._call = with_collector(self._call, 1, self._collector)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Flat-map a block; a result carries the timestamp of its record."""
        self._flat_map_each(self.method, self._call, values, timestamps, keys)

    def _flat_map_each(
        self,
        method: str,
        call: Callable[[Any], Iterable[Any] | None],
        values: list[Any],
        timestamps: Timestamps,
        keys: list[Any] | None,
    ) -> None:
        collector = self._collector
        stamps: Iterable[int | None] = timestamps if timestamps is not None else [None] * len(values)
        stamp = iter(stamps)

        def expand(value: Any) -> None:
            collector.timestamp = next(stamp)
            results = call(value)
            if results is not None:
                collector.take(checked_results(results, method))

        try:
            self.results(values, keys, expand)
        except Exception:
            collector.discard()
            raise
        collector.flush()
