"""map, flat_map and filter, on plain and on keyed streams (there their functions may use keyed state)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import compress, repeat
from typing import Any

from penstock.common.column_block import ColumnMap
from penstock.common.own_copies import ATOMS, cannot_change
from penstock.common.sealed_functions import is_sealed
from penstock.runtime.callables import Collector, checked_results, method_or_callable, with_collector
from penstock.runtime.columns import ColumnBlock, Stamps
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.refusals import called_for_each
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
        self._own = self.context.own
        self._keeps_nothing = self.context.shares_objects or is_sealed(self._call)

    def close(self) -> None:
        """Close the user function."""
        self.close_function(self.function)

    def records(self, consumed: Iterator[Any], keys: list[Any] | None) -> Iterator[Any]:
        """The same values; on keyed streams each is given when its key is the current one."""
        if keys is None or not self.is_keyed:  # a keyed edge brings keys to operators that have no use for them too
            return consumed
        assert self.context.backend is not None
        return self._keyed_records(consumed, keys, self.context.backend.set_key)

    def _keyed_records(self, consumed: Iterator[Any], keys: list[Any], set_key: Callable[[Any], None]) -> Iterator[Any]:
        for value, key in zip(consumed, keys, strict=False):
            set_key(key)
            yield value


class MapOperator(_FunctionOperator):
    """One result for each record."""

    kind = "map"
    state_identity = "MapOperator"
    method = "map"

    def refusal(self) -> str | None:
        """Refuse all functions but those that know columns."""
        return self.function.refusal() if isinstance(self.function, ColumnMap) else called_for_each(self.function)

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Map a block."""
        self._map_each(self._call, values, timestamps, keys, keeps_nothing=self._keeps_nothing)

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Map columns, if the function can."""
        made = self.function.map_columns(block) if isinstance(self.function, ColumnMap) else None
        if made is None:
            super().process_columns(block, timestamps, keys)
        else:
            self.output.emit(made, timestamps)

    def _map_each(
        self,
        call: Callable[[Any], Any],
        values: list[Any],
        timestamps: Timestamps,
        keys: list[Any] | None,
        *,
        keeps_nothing: bool,
    ) -> None:
        own, consumed = self._own, iter(values)
        records = self.records(consumed, keys)
        try:
            if keeps_nothing:
                results = [call(value) for value in records]
            else:  # copied at once where it can change: the function may do so when it is called again
                results = [result if (result := call(value)).__class__ in ATOMS else own(result) for value in records]
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self._emit(results, timestamps)

    def _emit(self, results: list[Any], timestamps: Timestamps) -> None:
        self.output.emit(results, timestamps)


class FilterOperator(_FunctionOperator):
    """Records for which the function says yes."""

    kind = "filter"
    state_identity = "FilterOperator"
    method = "filter"

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Filter a block."""
        call, own, consumed = self._call, self._own, iter(values)
        kept: list[Any] = []
        try:
            if self._keeps_nothing or cannot_change(values):
                chosen = [call(value) for value in self.records(consumed, keys)]
                kept = list(compress(values, chosen))
            else:
                chosen = []
                for value in self.records(consumed, keys):
                    is_chosen = call(value)
                    chosen.append(is_chosen)
                    if is_chosen:
                        kept.append(own(value))
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(kept, None if timestamps is None else list(compress(timestamps, chosen)))


class FlatMapOperator(_FunctionOperator):
    """Any number of results for each record: yielded, returned as an iterable, or given to a collector."""

    kind = "flat-map"
    state_identity = "FlatMapOperator"
    method = "flat_map"

    def open(self) -> None:
        """Open the function and see which of the three styles it has."""
        super().open()
        self._collector = Collector(self.output, self.context.own)
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
        consumed = iter(values)
        try:
            for value, timestamp in zip(self.records(consumed, keys), timestamps or repeat(None), strict=False):
                collector.timestamp = timestamp
                results = call(value)
                if results is not None:
                    collector.take(checked_results(results, method))
        except Exception as error:
            collector.discard()
            raise self.record_failure(error, values, consumed) from None
        collector.flush()
