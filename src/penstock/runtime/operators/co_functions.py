"""Functions of two connected streams: map, flat_map and process, plain and keyed.

The first one, timers and contexts are those of operators with one input.
"""

from __future__ import annotations

from itertools import compress
from typing import Any

from penstock.runtime.callables import with_collector
from penstock.runtime.operators.process import KeyedProcessOperator, ProcessOperator
from penstock.runtime.operators.stateless import FlatMapOperator, MapOperator
from penstock.runtime.rows import Timestamps


class CoMapOperator(MapOperator):
    """One result for each record of either stream, or none: PyFlink's programs leave records out by returning None."""

    kind = "co-map"
    state_identity = "CoMapOperator"
    method = "map1"

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Map a block of the second stream."""
        self._map_each(self.function.map2, values, timestamps, keys, keeps_nothing=self.context.shares_objects)

    def _emit(self, results: list[Any], timestamps: Timestamps) -> None:
        chosen = [result is not None for result in results]
        if all(chosen):
            self.output.emit(results, timestamps)
        else:
            times = None if timestamps is None else list(compress(timestamps, chosen))
            self.output.emit(list(compress(results, chosen)), times)


class CoFlatMapOperator(FlatMapOperator):
    """Any number of results for each record of either stream."""

    kind = "co-flat-map"
    state_identity = "CoFlatMapOperator"
    method = "flat_map1"

    def open(self) -> None:
        """Open the function and see which style its second method has."""
        super().open()
        self._call_second = with_collector(self.function.flat_map2, 1, self._collector)

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Flat-map a block of the second stream."""
        self._flat_map_each("flat_map2", self._call_second, values, timestamps, keys)


class CoProcessOperator(ProcessOperator):
    """A process function on two streams that are not both keyed."""

    kind = "co-process"
    state_identity = "CoProcessOperator"
    method = "process_element1"

    def open(self) -> None:
        """Open the function and see which style its second method has."""
        super().open()
        self._process_second = self._bound("process_element2")

    def process_second_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Call process_element2 for each record."""
        self._process_each("process_element2", self._process_second, values, timestamps, keys)


class KeyedCoProcessOperator(CoProcessOperator, KeyedProcessOperator):
    """A process function on two keyed streams, whose records of one key share state and timers of both kinds."""

    kind = "keyed co-process"
    state_identity = "KeyedCoProcessOperator"
