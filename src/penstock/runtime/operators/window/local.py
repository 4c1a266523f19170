"""Window aggregation in front of the exchange: records of one key and pane travel as one partial result.

Windows fire, and are late, behind the exchange.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from penstock.common.column_block import ColumnSelector
from penstock.common.constants import MIN_WATERMARK
from penstock.common.own_copies import ATOMS, own_copy
from penstock.errors import KeyEncodingError
from penstock.keys.codec import encode_key
from penstock.runtime.callables import method_or_callable
from penstock.runtime.columns import ColumnBlock, KeyFields, Stamps
from penstock.runtime.key_selection import select_keys
from penstock.runtime.operators.operator import StreamOperator
from penstock.runtime.operators.window.field_panes import PaneColumns
from penstock.runtime.operators.window.partials import Partial
from penstock.runtime.operators.window.rest import ALL
from penstock.runtime.refusals import called_for_each, name_of
from penstock.runtime.rows import Timestamps
from penstock.vocabulary.field_aggregation import FieldAggregation
from penstock.vocabulary.functions import AggregateFunction
from penstock.vocabulary.window.pane_grid import PaneGrid

GROUP_LIMIT = 100_000
TRIAL_RECORDS = 20_000
WORTHWHILE = 0.7
BATCHES_ALONE = 10
"""Groups per record above which aggregating in front of the exchange saves less than it costs."""


@dataclass(frozen=True)
class KeyOfPart(ColumnSelector):
    """The key of what comes out of a local aggregation: partials know theirs, elements are asked for it."""

    selector: Callable[[Any], Any]

    @property
    def key_fields(self) -> KeyFields | None:
        """The fields of the key, for elements that travel as columns."""
        return self.selector.key_fields if isinstance(self.selector, ColumnSelector) else None

    def __call__(self, value: Any) -> Any:
        """Return the key."""
        return value.key if type(value) is Partial else self.selector(value)


"""Key selector of the exchange behind the operator."""

_CODED = object()
"""Marks stand-ins of keys that cannot be hashed; a user's key is never equal to it."""

_Group = list[Any]
"""Accumulator, number of records, key, number in the order of the groups' first records."""


class LocalWindowAggregation(StreamOperator):
    """Folds records into one accumulator for each key and pane, and sends it before any window of the pane can fire.

    Nothing stays over the end of a batch. A record that may be late goes alone: lateness is judged behind the exchange,
    where the watermark is at most this operator's. That does not hold for an input that was idle, whose watermark the
    others did not wait for; where late records are told apart (`minds_late`), everything goes alone from then on.
    """

    kind = "local window"
    state_identity = "LocalWindowAggregation"

    def __init__(
        self,
        key_selector: Callable[[Any], Any],
        grid: PaneGrid,
        combine: Any,
        *,
        minds_late: bool = False,
        is_pure: bool = False,
        sends_columns: bool = False,
        keeps_order: bool = False,
    ) -> None:
        """Take the combining function of the window; a pure one changes neither of its arguments.

        With `sends_columns`, partial results of columns travel as columns: where windows can work on them so. With
        `keeps_order`, groups leave in the order of their first records, whatever their panes.
        """
        self.key_selector = key_selector
        self.grid = grid
        self.combine = combine
        self.minds_late = minds_late
        self.is_pure = is_pure
        self.sends_columns = sends_columns
        self.keeps_order = keeps_order

    def refusal(self) -> str | None:
        """Refuse all but declared aggregates by a key of fields."""
        fields = self.key_selector.key_fields if isinstance(self.key_selector, ColumnSelector) else None
        if fields is None:
            return f"the Python function {name_of(self.key_selector)}() selects each key"
        return None if isinstance(self.combine, FieldAggregation) else called_for_each(self.combine)

    def emits_columns(self) -> bool:
        """Return whether partial results of columns stay columns: they do where windows can work on them so."""
        return self.sends_columns and self.refusal() is None

    def open(self) -> None:
        """Open the combining function and bring it to one shape."""
        self.open_function(self.combine)
        if isinstance(self.combine, AggregateFunction):
            create, add = self.combine.create_accumulator, self.combine.add
            self._first: Callable[[Any], Any] = lambda value: add(value, create())
            self._fold: Callable[[Any, Any], Any] = lambda accumulator, value: add(value, accumulator)
        else:
            self._first = _itself
            self._fold = method_or_callable(self.combine, "reduce")
        self._panes: dict[int, dict[Hashable, _Group]] = {}
        self._waiting = self._columns_of_fields()
        self._batches_alone = 0
        is_reduce = not isinstance(self.combine, AggregateFunction)
        self._settles = is_reduce and not self.is_pure and not self.context.shares_objects

    def _columns_of_fields(self) -> PaneColumns | None:
        """Where columns wait, if what is to be folded and by which key is known without asking a function."""
        fields = self.key_selector.key_fields if isinstance(self.key_selector, ColumnSelector) else None
        if self.refusal() is not None or fields is None:
            return None
        return PaneColumns(self.combine.measures, fields, self.grid)

    def close(self) -> None:
        """Close the combining function."""
        self.close_function(self.combine)

    def begin_batch(self, version: int, attempt: str, state: Any) -> None:
        """Start with no groups; `state` says whether the input was ever idle."""
        self._panes = {}
        if self._waiting is not None:
            self._waiting.clear()
        self._groups = self._tried = self._made = self._begun = 0
        # Keys are as many as in the batch before, most likely. Only the speed depends on it.
        self._goes_alone = self._batches_alone > 0
        self._batches_alone = max(0, self._batches_alone - 1)
        self._was_idle = state is not None
        self._open_from = self.grid.open_from(self.watermark)

    def snapshot(self) -> Any:
        """Whether the input was ever idle, in the shape that snapshots of a source's vertex have."""
        return (MIN_WATERMARK, MIN_WATERMARK) if self._was_idle else None

    def process_block(self, values: list[Any], timestamps: Timestamps, keys: list[Any] | None) -> None:
        """Fold a block into its groups, or pass its records on one by one where folding is no use."""
        # A record without timestamp fails where windows are assigned, with the sentence for it.
        if self._passes_on() or timestamps is None or None in timestamps:
            self._send_all()
            self.output.emit(values, timestamps)
            return
        before = self._groups
        self._fold_block(values, timestamps, self._selected(values))
        self._judge(len(values), self._groups - before)
        if self._groups > GROUP_LIMIT:
            self._send_all()

    def process_columns(self, block: ColumnBlock, timestamps: Stamps | None, keys: Any) -> None:
        """Let columns wait to be folded with others; as objects, where columns do not tell enough."""
        if self._passes_on() or timestamps is None:
            self._send_all()
            self.output.emit(block, timestamps)
            return
        rest = ALL if self._waiting is None else self._waiting.take(block, timestamps, self._is_open)
        if rest.is_all or self._waiting is None:
            super().process_columns(block, timestamps, keys)
            return
        if not rest.is_nothing:
            self.row_records += len(rest.positions)
            self.output.emit(block.take(rest.positions).values(), timestamps[rest.positions].tolist())
        if self._waiting.compact() and self._waiting.count > GROUP_LIMIT:
            self._send_all()

    def _is_open(self, start: int) -> bool:
        # No pane straddles the time from which on windows are open.
        return start >= self._open_from

    def _passes_on(self) -> bool:
        """Whether everything goes alone."""
        return self._goes_alone or (self._was_idle and self.minds_late)

    def _judge(self, records: int, groups: int) -> None:
        """Learn whether folding is worth it."""
        self._tried += records
        self._made += groups
        if self._tried >= TRIAL_RECORDS:
            self._goes_alone = self._made > WORTHWHILE * self._tried
            self._batches_alone = BATCHES_ALONE if self._goes_alone else 0
            self._tried = self._made = 0

    def _fold_block(self, values: list[Any], timestamps: Any, keys: list[Any]) -> None:
        grid, width, open_from = self.grid, self.grid.width, self._open_from
        first, fold, panes, settles = self._first, self._fold, self._panes, self._settles
        late: list[Any] = []
        late_at: list[int] = []
        start = stop = open_from
        pane: dict[Hashable, _Group] = {}
        consumed = iter(values)
        try:
            for value, timestamp, key, hashable in zip(
                consumed, timestamps, keys, self._hashables(keys, values), strict=False
            ):
                if not start <= timestamp < stop:
                    if timestamp < open_from:
                        late.append(value)
                        late_at.append(timestamp)
                        continue
                    start = grid.pane_of(timestamp)
                    stop = start + width
                    pane = panes.setdefault(start, {})
                group = pane.get(hashable)
                if group is None:
                    pane[hashable] = [first(value), 1, key, self._begun]
                    self._begun += 1
                    self._groups += 1
                else:
                    held = group[0]  # None if the function returned that: as for windows, then nothing is held
                    made = first(value) if held is None else fold(held, value)
                    if settles and made is not held and made.__class__ not in ATOMS:
                        made = own_copy(made)  # it may be the function's own
                    group[0] = made
                    group[1] += 1
        except Exception as error:
            raise self.record_failure(error, values, consumed) from None
        self.output.emit(late, late_at)  # no group is overtaken: those of such panes left with the watermark

    def on_watermark(self, watermark: int) -> None:
        """Send the groups of panes that are complete, then pass the watermark on."""
        width = self.grid.width
        starts = self._starts()
        complete = [start for start in starts if start + width - 1 <= watermark]
        # A group of an earlier record must not be overtaken, even if its pane is not complete.
        self._send_groups(starts if complete and self.keeps_order else complete)
        self._open_from = self.grid.open_from(watermark)
        super().on_watermark(watermark)

    def on_status(self, is_idle: bool) -> None:
        """Leave nothing behind: nobody will wait for an idle input."""
        self._send_all()
        self._was_idle = self._was_idle or is_idle
        super().on_status(is_idle)

    def on_end(self) -> None:
        """Send what is left."""
        self._send_all()
        super().on_end()

    def end_batch(self, now_ms: int, end_of_input: bool) -> None:
        """Send what is left: the next batch may run elsewhere."""
        self._send_all()

    def _starts(self) -> list[int]:
        """The panes that have anything."""
        if self._waiting is None or not self._waiting.count:
            return list(self._panes)
        return list(dict.fromkeys((*self._panes, *self._waiting.starts())))

    def _send_all(self) -> None:
        self._send_groups(self._starts())

    def _send_groups(self, starts: list[int]) -> None:
        if self.keeps_order:
            self._send_in_order(starts)
            return
        values: list[Any] = []
        stamps: list[int] = []
        for start in starts:
            groups = self._panes.pop(start, {}).values()
            self._groups -= len(groups)
            values += [Partial(key, start, accumulator, count) for accumulator, count, key, _ in groups]
            values += self._send_columns(start)
            stamps += repeat(start, len(values) - len(stamps))
        self.output.emit(values, stamps)

    def _send_in_order(self, starts: list[int]) -> None:
        # Nothing waits in columns: that is done for field aggregates only, to which order does not matter.
        groups = [(group, start) for start in starts for group in self._panes.pop(start).values()]
        groups.sort(key=_begun)
        self._groups -= len(groups)
        values = [Partial(key, start, accumulator, count) for (accumulator, count, key, _), start in groups]
        self.output.emit(values, [start for _, start in groups])

    def _send_columns(self, start: int) -> list[Partial]:
        """Send what waits in columns for a pane; returns what has to travel as objects."""
        left: list[Partial] = []
        if self._waiting is None:
            return left
        for folded in self._waiting.pop(start):
            self._judge(int(folded.counts.sum()), len(folded.counts))
            block = self._waiting.block_of(folded, start) if self.sends_columns else None
            if block is not None:
                self.output.emit(block, np.full(len(block), start))
                continue
            made = zip(folded.key_objects(), repeat(start), folded.accumulators(), folded.counts.tolist(), strict=False)
            left += map(Partial._make, made)
        return left

    def _selected(self, values: list[Any]) -> list[Any]:
        return select_keys(self.key_selector, values, self.failure)

    def _hashables(self, keys: list[Any], values: list[Any]) -> list[Any]:
        """Keys as they are, for equal keys are one key; stand-ins where one of them cannot be hashed."""
        try:
            dict.fromkeys(keys)
        except TypeError:
            return [self._coded(key, value) for key, value in zip(keys, values, strict=True)]
        return keys

    def _coded(self, key: Any, value: Any) -> Hashable:
        try:
            return _CODED, encode_key(key)
        except KeyEncodingError as error:
            raise self.failure(error, "encoding the key", value) from None


def _itself(value: Any) -> Any:
    return value


def _begun(group_and_start: tuple[_Group, int]) -> int:
    number: int = group_and_start[0][3]
    return number
