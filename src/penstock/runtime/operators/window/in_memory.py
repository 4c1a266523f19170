"""What a batch brings to tumbling windows of field aggregates: held in memory until they fire, or the batch ends.

Most windows of a busy stream begin and end within one batch. Such a window needs neither state nor a timer for
each of its keys, and where its records or partials come as columns, its rows leave as columns. Nothing stays over the
end of a batch: what is left becomes state. What comes for a window that has state already waits here too, and joins it
before the window fires.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.column_block import ColumnBlock
from penstock.common.types import Row
from penstock.errors import KeyEncodingError
from penstock.runtime.columns import KeyFields, Stamps
from penstock.runtime.field_columns import Folded, result_arrays
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.window.field_panes import TIME_LIMIT, PaneColumns
from penstock.runtime.operators.window.grouping import HashableKeys
from penstock.runtime.operators.window.partials import Partial
from penstock.runtime.operators.window.rest import ALL, Rest
from penstock.runtime.operators.window.shapes import event_time_panes, fires_once_at_the_end
from penstock.runtime.operators.window.spec import WindowSpec
from penstock.runtime.rows import Timestamps
from penstock.state.timers import EVENT
from penstock.vocabulary.field_aggregation import FieldAggregation
from penstock.vocabulary.window.pane_grid import PaneGrid
from penstock.vocabulary.window_rows import WindowRow

GROUP_LIMIT = 200_000
"""Keys of windows in memory, all together, above which they become state."""

_Group = list[Any]
"""Accumulator, number of records, key."""


def can_stay_in_memory(spec: WindowSpec) -> bool:
    """Whether nothing but the rows of a window can be seen of it."""
    panes = event_time_panes(spec)
    return (
        isinstance(spec.combine, FieldAggregation)
        and isinstance(spec.function, WindowRow)
        and panes is not None
        and panes.is_window
        and fires_once_at_the_end(spec)
        and spec.allowed_lateness == 0
        and spec.takes_partials
    )


class InMemoryWindows:
    """The windows of an operator that a batch has brought something to, by start."""

    def __init__(self, operator: StreamOperator, spec: WindowSpec, key_fields: KeyFields | None) -> None:
        """Columns are taken if the fields of the key are known."""
        grid = event_time_panes(spec)
        assert grid is not None
        self._operator = operator
        self._function: FieldAggregation = spec.combine
        self._row: WindowRow = spec.function
        self._grid: PaneGrid = grid
        self._size = grid.width
        # Without the fields of the key no block of columns comes: the name is never looked for.
        self._columns = PaneColumns(self._function.measures, key_fields or "", grid)
        self.begin_batch()

    def begin_batch(self) -> None:
        """Start with none."""
        self._windows: dict[int, dict[Any, _Group]] = {}
        self._with_state: set[int] = set()
        self._groups = 0
        self._columns.clear()

    # What comes in

    def take(self, values: list[Any], timestamps: Timestamps, keys: list[Any]) -> Rest:
        """Fold what belongs to windows that are ahead."""
        try:
            starts = self._grid.panes_of(timestamps)  # type: ignore[arg-type]
            hashables = HashableKeys(keys).hashables
            ahead = {start: self._ahead(start) for start in set(starts)}
        except (TypeError, ValueError, KeyEncodingError):  # no timestamp or usable key: the ordinary way says it
            return ALL
        rest: list[int] = []
        consumed = iter(values)
        try:
            for index, (value, start, hashable) in enumerate(zip(consumed, starts, hashables, strict=False)):
                groups = ahead[start]
                if groups is None:
                    rest.append(index)
                else:
                    self._fold(groups, value, hashable, keys[index])
        except Exception as error:
            raise self._operator.record_failure(error, values, consumed) from None
        self._groups = sum(map(len, self._windows.values()))
        return Rest(rest)

    def take_columns(self, block: ColumnBlock, timestamps: Stamps) -> Rest:
        """Let columns of windows that are ahead wait; `ALL` is left if only objects will do."""
        return self._columns.take(block, timestamps, self._is_ahead)

    def is_full(self) -> bool:
        """Whether the windows have become too many."""
        return self._groups > GROUP_LIMIT or (self._columns.compact() and self._columns.count > GROUP_LIMIT)

    def _is_ahead(self, start: int) -> bool:
        return self._ahead(start) is not None

    def _ahead(self, start: int) -> dict[Any, _Group] | None:
        """The groups of a window that is ahead, None if it has passed."""
        found = self._windows.get(start)
        if found is not None:
            return found
        last = self.last_of(start)
        if last <= self._operator.watermark or not -TIME_LIMIT < start < TIME_LIMIT:
            return None
        timers = self._operator.context.timers
        assert timers is not None
        if timers.has_any_at(EVENT, last):
            self._with_state.add(start)
        return self._windows.setdefault(start, {})

    def _fold(self, groups: dict[Any, _Group], value: Any, hashable: Any, key: Any) -> None:
        function = self._function
        group = groups.get(hashable)
        if group is None:
            group = groups[hashable] = [function.create_accumulator(), 0, key]
        if type(value) is Partial:
            group[0] = function.merge(group[0], value.accumulator)
            group[1] += value.count
        else:
            group[0] = function.add(value, group[0])
            group[1] += 1

    # What comes out

    def due(self, watermark: int) -> tuple[list[int], list[int]]:
        """The starts of windows that end by the watermark, in order: with state, and in memory only."""
        found = sorted(start for start in self._windows if self.last_of(start) <= watermark)
        with_state = [start for start in found if start in self._with_state]
        return with_state, [start for start in found if start not in self._with_state]

    def last_of(self, start: int) -> int:
        """The last timestamp of a window."""
        return start + self._size - 1

    def take_out(self, starts: list[int] | None = None) -> list[Partial]:
        """What windows (all, if not told) have, to become state."""
        taken: list[Partial] = []
        for start in list(self._windows) if starts is None else starts:
            groups, parts = self._windows.pop(start), self._columns.pop(start)
            self._groups -= len(groups)
            if groups or len(parts) != 1:
                self._join(groups, parts)
                taken += [Partial(key, start, accumulator, count) for accumulator, count, key in groups.values()]
            else:
                taken += _partials(start, parts[0])
            self._with_state.discard(start)
        return taken

    def fire(self, start: int) -> None:
        """Emit the rows of a window that is in memory only, and forget it."""
        groups, parts = self._windows.pop(start), self._columns.pop(start)
        self._groups -= len(groups)
        if not groups and len(parts) == 1:
            self._emit_columns(start, parts[0])
            return
        self._join(groups, parts)
        rows = [self._row_of(key, start, accumulator) for accumulator, _, key in groups.values()]
        self._operator.output.emit(rows, [self.last_of(start)] * len(rows))

    def _row_of(self, key: Any, start: int, accumulator: Any) -> Row:
        leading = key if self._row.key_is_spread else (key,)
        results = self._function.get_result(accumulator)
        return Row.of_fields(self._row.names, [*leading, start, start + self._size, *results])

    def _emit_columns(self, start: int, folded: Folded) -> None:
        size = len(folded.counts)
        keys = [pa.array(part) if isinstance(part, np.ndarray) else part for part in folded.keys.parts]
        times = [pa.array(np.full(size, time)) for time in (start, start + self._size)]
        results = result_arrays(self._function.aggregates, self._function.measures, folded.measures)
        batch = pa.RecordBatch.from_arrays([*keys, *times, *results], names=list(self._row.names))
        self._operator.output.emit(ColumnBlock(batch, "row"), np.full(size, self.last_of(start)))

    def _join(self, groups: dict[Any, _Group], parts: list[Folded]) -> None:
        for part in parts:
            keys = part.key_objects()
            folded = zip(keys, HashableKeys(keys).hashables, part.accumulators(), part.counts.tolist(), strict=True)
            for key, hashable, accumulator, count in folded:
                self._fold(groups, Partial(key, 0, accumulator, count), hashable, key)


def _partials(start: int, folded: Folded) -> list[Partial]:
    rows = zip(folded.key_objects(), repeat(start), folded.accumulators(), folded.counts.tolist(), strict=False)
    return list(map(Partial._make, rows))
